"""OpenVINO models: an ``.xml`` document with its weights in a ``.bin`` file next to it."""

from __future__ import annotations

from perfc.ir import Module

from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for an XML document."""
    # a byte order mark may come first
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"<?xml", b"<net"))


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of an OpenVINO model."""
    from ..lowering import lowered
    from ..openvino.program import read_openvino

    return lowered(read_openvino(model), options)
