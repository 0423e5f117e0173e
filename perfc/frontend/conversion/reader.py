"""Models of frameworks that a converter in the user's environment turns into OpenVINO's form."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace

from perfc.common.extras import install, install_package, name_of, requirements
from perfc.errors import MissingExtraError, ModelError

from ..openvino.program import read_openvino
from ..reading.process import answer_of
from ..reading.proto import ProtoModel
from ..source import one_line
from .convertible import Convertible

LONGEST_S = 600
"""Maximum seconds of a conversion."""
CONVERT = "convert it to ONNX yourself"
"""Hint for a model that is not converted."""


def read_converted(path: str, source: Convertible) -> ProtoModel:
    """Return a model in messages of ONNX, converted by OpenVINO in another process.

    Args:
        path: path of the file or folder.
        source: framework of the model.

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
        document = os.path.join(folder, "model.xml")
        answer = answer_of(
            "perfc.frontend.conversion.worker",
            [os.path.abspath(source_path), source.name, document],
            where=where,
            late=(f"not converted in {LONGEST_S} s", CONVERT),
            longest_s=LONGEST_S,
            folder=None,  # an empty one, in which no module of the user hides a library
        )
        if "missing" in answer:
            missing = answer["missing"]
            # packages of an extra are installed together
            is_listed = missing in map(name_of, requirements()[source.extra])
            hint = install(source.extra) if is_listed else install_package(missing)
            raise MissingExtraError(f"needs {missing} to convert it", hint=hint, where=where)
        if "error" in answer:
            raise ModelError(answer["error"], hint=CONVERT, where=where)
        converted = read_openvino(document)
    converted.origin = replace(converted.origin, path=path)
    return converted
