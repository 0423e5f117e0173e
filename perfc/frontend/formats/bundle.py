"""Folders of ONNX Runtime GenAI, which contain an ONNX model, and Core ML models, which do not."""

from __future__ import annotations

import os

from perfc.ir import Module

from . import ReadOptions

GENAI = "genai_config.json"
"""Configuration of ONNX Runtime GenAI."""
MOST_BYTES = 1 << 20
"""Maximum bytes of a configuration."""
CORE_ML = (".mlpackage", ".mlmodel", ".mlmodelc")
"""Suffixes of Core ML models."""


def reads(path: str, head: bytes) -> bool:
    """Return True for a folder of ONNX Runtime GenAI, or a Core ML model."""
    if path.rstrip("/\\").lower().endswith(CORE_ML):
        return os.path.exists(path)
    # a folder has an empty head
    return not head and os.path.isfile(os.path.join(path, GENAI))


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of the decoder of a folder.

    Raises:
        ModelError: the configuration names no ONNX model of the folder; a Core ML model.
    """
    from perfc.errors import ModelError

    from ..source import one_line
    from .onnx import lower as lower_onnx

    assert isinstance(model, str)
    where = one_line(model)
    if model.rstrip("/\\").lower().endswith(CORE_ML):
        hint = "give the PyTorch module, the .pt2 archive or the ONNX model it was converted from"
        raise ModelError("a Core ML model", hint=hint, where=where)
    return lower_onnx(os.path.join(model, _decoder(model, where)), options)


def _decoder(folder: str, where: str) -> str:
    """Return the file of the decoder of a folder."""
    import json

    from perfc.errors import ModelError

    try:
        with open(os.path.join(folder, GENAI), "rb") as file:
            config = json.loads(file.read(MOST_BYTES))
        name = config["model"]["decoder"].get("filename", "model.onnx")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        name = None
    # a path could lead out of the folder
    if not isinstance(name, str) or os.path.basename(name) != name:
        hint = "give the .onnx file of the part to analyze"
        raise ModelError(f"{GENAI} names no ONNX model of the folder", hint=hint, where=where)
    return name
