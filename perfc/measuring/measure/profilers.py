"""Profiles of every known profiler, recognized by content."""

from __future__ import annotations

import os

from perfc.errors import ParseError

from .profile import Profile, ProfilerKind
from .runtimes import kineto, ort_profile, tensorrt
from .runtimes.events import head


def recognize(path: str | os.PathLike[str]) -> ProfilerKind:
    """Detect the tool that wrote a profile by its content.

    Raises:
        ParseError: no known profiler wrote it.
    """
    start = head(path)
    if not start.lstrip().startswith(("[", "{")):
        raise ParseError(
            "not a profile: neither a JSON list nor a JSON object",
            where=os.fspath(path),
            hint="onnxruntime, PyTorch and TensorRT profiles are read",
        )
    # keys that only one profiler writes come first: `"ph"` is in every Chrome trace, also in those
    # of ONNX Runtime
    if '"traceEvents"' in start or '"deviceProperties"' in start or '"schemaVersion"' in start:
        return ProfilerKind.KINETO
    if (
        '"averageMs"' in start
        or '"timeMs"' in start
        or '"medianMs"' in start
        or '"Layers"' in start
    ):
        return ProfilerKind.TENSORRT
    if '"model_loading' in start or '_kernel_time"' in start or '"session_initialization"' in start:
        return ProfilerKind.ORT
    if '"cpu_op"' in start or '"ph"' in start:
        return ProfilerKind.KINETO
    raise ParseError(
        "a JSON file, but of no profiler known here",
        where=os.fspath(path),
        hint="onnxruntime, PyTorch and TensorRT profiles are read",
    )


def read(path: str | os.PathLike[str], layers: str | os.PathLike[str] | None = None) -> Profile:
    """Return a profile of any kind.

    Args:
        path: path of the file, gzipped or not.
        layers: file of TensorRT's layer information, which names the ONNX nodes of a layer.

    Raises:
        ParseError: no profile, or one without kernels.
    """
    source = recognize(path)
    match source:
        case ProfilerKind.ORT:
            profile = ort_profile.read(path)
        case ProfilerKind.KINETO:
            profile = kineto.read(path)
        case ProfilerKind.TENSORRT:
            profile = tensorrt.read(path, layers)
    if not profile.kernels or profile.kernel_s <= 0:
        raise ParseError("a profile in which nothing ran", where=os.fspath(path))
    return profile
