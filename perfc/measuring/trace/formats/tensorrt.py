"""Read layers and times that ``trtexec`` of TensorRT exports, with layers of its inspector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from perfc.common.fitted import data_next_to
from perfc.errors import ParseError

from ...measure.runtimes.events import Event, number, text, whole
from ...measure.runtimes.tensorrt import MOST_LAYERS, is_layers, layer_times
from ..facts import (
    LONGEST_NAME,
    MOST_ARGUMENTS,
    UNKNOWN_NS,
    Argument,
    DeviceTrace,
    OperatorCall,
    TensorArgument,
    TraceSource,
    listed,
    operator_name,
    sizes_of,
)

PHASES = (("H2dMs", "Memcpy HtoD"), ("ComputeMs", "inference"), ("D2hMs", "Memcpy DtoH"))
"""Parts of an inference: end of the keys and name of the part."""
MOST_NS = 10**18
"""Times from 32 years on are damage; sums of smaller ones fit into 64 bits."""
TYPES: Mapping[str, str] = data_next_to(__file__)
"""Element types by a word of the inspector's format, as ``Row major linear FP16 format``."""


def reads(head: str) -> bool:
    """Return True for a file of ``--exportProfile``, ``--exportTimes`` or ``--exportLayerInfo``."""
    words = ('"averageMs"', '"medianMs"', '"timeMs"', '"startComputeMs"', '"Layers"')
    return head.lstrip()[:1] in ("[", "{") and any(w in head for w in words)


def read(path: str, layers: str = "") -> DeviceTrace:
    """Read the layers, or the time line of inferences.

    Args:
        path: file with times.
        layers: file of the engine inspector, which has operators and shapes.

    Raises:
        ParseError: a file of layers without times, or not JSON.
    """
    trace = DeviceTrace(TraceSource.TENSORRT)
    content = whole(path)
    if is_layers(content):
        hint = "give the file of trtexec --exportProfile, and this one as --layers"
        raise ParseError("layer information without times", where=path, hint=hint)
    calls = calls_of(whole(layers)) if layers else {}
    # items of --exportTimes are inferences with a time line; those of --exportProfile are layers
    for item in listed(content)[:MOST_LAYERS]:
        if isinstance(item, dict):
            inference(trace, cast("Event", item))
    if trace.launches.kernel:
        return trace
    trace.runs, times = layer_times(listed(content), ("averageMs", "medianMs"))
    for name, time_ms in times:
        call, is_valid = calls.get(name[:LONGEST_NAME]), 0 <= time_ms * 1e6 < MOST_NS
        trace.add(name or "layer", round(time_ms * 1e6) if is_valid else None, call=call)
    return trace


def inference(trace: DeviceTrace, e: Event) -> None:
    """Add the parts of an inference from a file of ``--exportTimes``; a layer has none."""
    for key, name in PHASES:
        start, end = number(e, f"start{key}"), number(e, f"end{key}")
        if start is None or end is None or not 0 <= start <= end or end * 1e6 >= MOST_NS:
            trace.unusable += f"start{key}" in e
            continue
        # only the computation has a time at which the host enqueued it
        host = number(e, "startEnqMs") if name == "inference" else None
        host_ns = UNKNOWN_NS if host is None or not 0 <= host < MOST_NS else round(host * 1e6)
        trace.add(name, round((end - start) * 1e6), start_ns=round(start * 1e6), host_ns=host_ns)


def calls_of(content: object) -> Mapping[str, OperatorCall]:
    """Return the operator of each layer with its tensors."""
    result: dict[str, OperatorCall] = {}
    if not isinstance(content, dict):
        return result
    for item in listed(cast("Event", content).get("Layers"))[:MOST_LAYERS]:
        if not isinstance(item, dict):
            continue
        layer = cast("Event", item)
        operator = operator_name(text(layer, "LayerType"))
        if operator:
            arguments = tuple(map(tensor_of, listed(layer.get("Inputs"))[:MOST_ARGUMENTS]))
            result[text(layer, "Name")[:LONGEST_NAME]] = OperatorCall(operator, arguments)
    return result


def tensor_of(given: object) -> Argument:
    """Return an operand of a layer."""
    if not isinstance(given, dict):
        return None
    operand = cast("Event", given)
    sizes = sizes_of(operand.get("Dimensions"))
    words = text(operand, "Format/Datatype") + text(operand, "Format")
    dtype = next((name for word, name in TYPES.items() if word in words), "")
    return None if sizes is None else TensorArgument(dtype, sizes)
