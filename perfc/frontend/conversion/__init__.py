"""Models of frameworks that a converter in the user's environment turns into OpenVINO's form."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from perfc.common.extras import install, install_package, name_of, requirements
from perfc.errors import MissingExtraError, ModelError

from ..openvino.program import read_openvino
from ..reading.convertible import Convertible
from ..reading.process import answer_of
from ..reading.proto import ProtoModel
from ..source import one_line

LONGEST_S = 600
"""Maximum seconds of a conversion."""


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
    # a SavedModel is a folder, of which this is the graph
    source_path = (
        os.path.dirname(path) or "." if os.path.basename(path) == "saved_model.pb" else path
    )
    with tempfile.TemporaryDirectory() as folder:
        document, reply = Path(folder, "model.xml"), Path(folder, "reply.json")
        answer = answer_of(
            "perfc.frontend.conversion.worker",
            [os.path.abspath(source_path), source.name, str(document), str(reply)],
            reply,
            where=where,
            late=(f"not converted in {LONGEST_S} s", "convert it to ONNX yourself"),
            longest_s=LONGEST_S,
            folder=folder,
        )
        if "missing" in answer:
            missing = answer["missing"]
            # packages of an extra are installed together
            is_listed = missing in map(name_of, requirements()[source.extra])
            hint = install(source.extra) if is_listed else install_package(missing)
            raise MissingExtraError(f"needs {missing} to convert it", hint=hint, where=where)
        if "error" in answer:
            hint = answer.get("hint") or "convert it to ONNX yourself"
            raise ModelError(answer["error"], hint=hint, where=where)
        converted = read_openvino(str(document))
    converted.origin = replace(converted.origin, path=path)
    return converted
