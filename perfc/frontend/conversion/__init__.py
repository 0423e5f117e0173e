"""Models of frameworks that a converter in the user's environment turns into OpenVINO's form."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from enum import Enum
from pathlib import Path

from perfc.common.extras import install, install_package
from perfc.errors import MissingExtraError, ModelError

from ..openvino.program import read_openvino
from ..reading.process import answer_of
from ..reading.proto import ProtoModel
from ..source import one_line

LONGEST_S = 600
"""Maximum seconds of a conversion."""
HDF5 = b"\x89HDF\r\n"
"""First bytes of an HDF5 file."""
GRAPH = b"\n"
"""First byte of a frozen graph and of a Paddle program: a field that ONNX models do not begin
with."""


class Convertible(Enum):
    """Model that a converter reads, with the extra that has the converter."""

    SAVED_MODEL = "tensorflow"
    FROZEN = "tensorflow-frozen"
    KERAS = "tensorflow-keras"
    PADDLE = "paddle"

    @property
    def extra(self) -> str:
        """Return the extra of pyproject.toml."""
        return self.value.partition("-")[0]


def source_of(path: str, head: bytes) -> Convertible | None:
    """Return what a path is; None for what no converter is needed for.

    Args:
        path: path of a file or folder.
        head: first bytes of a file.
    """
    suffix = os.path.splitext(path)[1].lower()
    if head.startswith(HDF5) and suffix != ".nc":
        return Convertible.KERAS
    if suffix == ".keras" and head:
        return Convertible.KERAS
    if suffix == ".pdmodel" and head:
        return Convertible.PADDLE
    if os.path.basename(path) == "saved_model.pb" and head:
        return Convertible.SAVED_MODEL
    if suffix == ".pb" and head.startswith(GRAPH):
        return Convertible.FROZEN
    if head or not path:
        return None
    return Convertible.SAVED_MODEL if os.path.isfile(os.path.join(path, "saved_model.pb")) else None


def read_converted(path: str, source: Convertible) -> ProtoModel:
    """Return a model in messages of ONNX, converted by OpenVINO in another process.

    Args:
        path: path of the file or folder.
        source: what it is.

    Raises:
        ModelError: it cannot be converted, or that takes too long.
        MissingExtraError: the converter is not installed.
    """
    where = one_line(path)
    given = os.path.dirname(path) or "." if os.path.basename(path) == "saved_model.pb" else path
    with tempfile.TemporaryDirectory() as folder:
        made, reply = Path(folder, "model.xml"), Path(folder, "reply.json")
        answer = answer_of(
            "perfc.frontend.conversion.worker",
            [os.path.abspath(given), source.name, str(made), str(reply)], reply, where=where,
            late=(f"not converted in {LONGEST_S} s", "convert it to ONNX yourself"),
            longest_s=LONGEST_S, folder=folder,
        )  # fmt: skip
        if "missing" in answer:
            missing = answer["missing"]
            is_listed = missing in ("openvino", "tensorflow")
            hint = install(source.extra) if is_listed else install_package(missing)
            raise MissingExtraError(f"needs {missing} to convert it", hint=hint, where=where)
        if "error" in answer:
            hint = answer.get("hint") or "convert it to ONNX yourself"
            raise ModelError(answer["error"], hint=hint, where=where)
        converted = read_openvino(str(made))
    converted.origin = replace(converted.origin, path=path)
    return converted
