"""TensorRT's profile of layers (``trtexec --exportProfile``) and its layer information."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import cast

from perfc.errors import ParseError

from ..profile import Profile, ProfilerKind, RuntimeKernel
from .events import Event, number, text, whole

MOST_LAYERS = 200_000
"""Maximum layers that are read; an engine has a few thousand."""
_ONNX = re.compile(r"\[ONNX Layer: ([^\]]+)\]")
"""Nodes of a layer in TensorRT's metadata."""
_FOREIGN = re.compile(r"ForeignNode\[(.+?)\.\.\.(.+?)\]")
"""Layers that Myelin compiled have their first and last node: ``ForeignNode[a...b]``."""
_WRAPPED = re.compile(r"^(?:PWN\(|\()+")
"""Fused pointwise layers are named ``PWN(a, b)``."""
_REFORMAT = re.compile(r"^Reformatting CopyNode\b")
"""Layers that TensorRT inserts to change a layout."""
RANGE = "..."
"""Text between the first and the last node of a range of nodes in members: ``a...b``."""


def read(path: str | os.PathLike[str], layers: str | os.PathLike[str] | None = None) -> Profile:
    """Read the profile, with the ONNX nodes of its layers.

    Args:
        path: path of the profile, or of the layer information where ``layers`` is the profile.
        layers: the other of the two files; without it, names of layers must do.

    Raises:
        ParseError: no times in it.
    """
    content, other = whole(path), whole(layers) if layers is not None else None
    if is_layers(content):
        content, other = other, content
    if not isinstance(content, list):
        raise ParseError(
            "layer information without times",
            where=os.fspath(path),
            hint="give the file of trtexec --exportProfile too",
        )
    named = members_by_layer(other)
    kernels: list[RuntimeKernel] = []
    runs, times = layer_times(cast("list[object]", content), ("medianMs", "averageMs"))
    for name, time_ms in times:
        members = named.get(name) or members_of(name)
        time_s = max(time_ms, 0.0) * 1e-3
        # equal names are close to each other: only the last four are compared, so that the time
        # stays linear in the layers
        unique = name if all(k.name != name for k in kernels[-4:]) else f"{name}#{len(kernels)}"
        kernels.append(RuntimeKernel(unique, "", time_s, members=members))
    return Profile(ProfilerKind.TENSORRT, tuple(kernels), runs, device="cuda")


def layer_times(
    content: Sequence[object], keys: Sequence[str]
) -> tuple[int, list[tuple[str, float]]]:
    """Return the number of runs of a profile, and name and milliseconds of each layer.

    Args:
        content: items of the profile.
        keys: keys of times; the first that a layer has counts.
    """
    runs, times = 1, list[tuple[str, float]]()
    for item in content[:MOST_LAYERS]:
        if not isinstance(item, dict):
            continue
        layer = cast("Event", item)
        # the first item is no layer: {"count": runs}
        count = number(layer, "count")
        if count is not None and "name" not in layer:
            runs = max(int(count), 1)
            continue
        time_ms = next((t for k in keys if (t := number(layer, k)) is not None), None)
        if time_ms is not None:
            times.append((text(layer, "name"), time_ms))
    return runs, times


def is_layers(content: object) -> bool:
    """Return True if a file is layer information."""
    return isinstance(content, dict) and "Layers" in content


def members_by_layer(content: object) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the ONNX nodes of each layer, from its metadata."""
    if not isinstance(content, dict):
        return {}
    result: dict[str, tuple[str, ...]] = {}
    layers = cast("dict[str, object]", content).get("Layers")
    for item in cast("list[object]", layers)[:MOST_LAYERS] if isinstance(layers, list) else ():
        if isinstance(item, dict):
            layer = cast("Event", item)
            members = tuple(m.strip() for m in _ONNX.findall(text(layer, "Metadata")))
            result[text(layer, "Name")] = members or members_of(text(layer, "Name"))
    return result


def members_of(name: str) -> tuple[str, ...]:
    """Return the ONNX nodes in a layer's name; ``a...b`` is a range."""
    if _REFORMAT.match(name):
        return ()
    words: list[str] = []
    for begin, end in _FOREIGN.findall(name):
        words.append(f"{begin.strip()}{RANGE}{end.strip()}")
    rest = _FOREIGN.sub("", name)
    # fused layers join names by " + " or "||", those of pointwise ones by ", "
    for part in re.split(r" \+ |, |\|\|", rest):
        word = _WRAPPED.sub("", part.strip(" {}"))
        # brackets that the wrapping leaves behind; names may have pairs themselves
        while word.endswith(")") and word.count(")") > word.count("("):
            word = word[:-1]
        if word:
            words.append(word)
    return tuple(words)
