"""Formats of traces: each module of this folder recognizes one format and reads its traces.

A format is one module in this folder with the functions of `TraceFormat`; nothing lists them.
"""

from __future__ import annotations

import os
from typing import Protocol, cast

from perfc.common.declared import modules
from perfc.errors import ParseError

from ...measure.runtimes.events import head
from ..facts import DeviceTrace
from ..notes import notes_of

READ = "PyTorch, JAX, rocprofv3, Nsight Systems, onnxruntime and TensorRT profiles are read"
"""Hint for a file of no known format."""


class TraceFormat(Protocol):
    """Functions of a module that reads one format."""

    def reads(self, head: str) -> bool:
        """Return True if a trace has this format.

        Args:
            head: first 65,536 characters of the unpacked file.
        """

    def read(self, path: str) -> DeviceTrace:
        """Return the launches of a trace.

        Raises:
            ParseError: the trace cannot be read.
        """


def format_of(path: str) -> TraceFormat | None:
    """Return the format of a trace; None for any other file.

    Raises:
        ParseError: it cannot be opened.
    """
    start = head(path)
    formats = cast("list[TraceFormat]", list(modules(__name__)))
    return next((f for f in formats if f.reads(start)), None)


def read_trace(
    path: str | os.PathLike[str], layers: str = "", capture: str = "", *, has_frames: bool = False
) -> DeviceTrace:
    """Read a trace of any format.

    Args:
        path: path of the file, gzipped or not.
        layers: file of TensorRT's engine inspector in addition to its profile; empty without one.
        capture: trace of PyTorch with the capture of the graphs; empty without one.
        has_frames: read functions of Python, modules and ranges of the host too.

    Raises:
        ParseError: no trace, damaged, too large, or one without kernels.
    """
    where = os.fspath(path)
    detected = format_of(where)
    if detected is None:
        raise ParseError("not a trace of a known profiler", where=where, hint=READ)
    # these three take more than a path
    from . import kineto, nsys, tensorrt

    if layers and detected is not tensorrt:
        raise ParseError("not a profile of TensorRT, which has --layers", where=where)
    if capture and detected is not kineto:
        raise ParseError("not a trace of PyTorch, which has --capture", where=where)
    try:
        if layers:
            trace = tensorrt.read(where, layers)
        elif detected is kineto:
            trace = kineto.read(where, capture, has_frames=has_frames)
        elif detected is nsys:
            trace = nsys.read(where, has_frames=has_frames)
        else:
            trace = detected.read(where)
    except ParseError as error:
        error.where = error.where or where
        raise
    except OverflowError:
        raise ParseError("a number of more than 64 bits in a trace", where=where) from None
    if not any(trace.launches.duration_ns):
        what = "a trace in which no kernel ran"
        raise ParseError(", ".join((what, *notes_of(trace))), where=where)
    return trace
