"""Read profiles of onnxruntime: an event for each execution of a node of the optimized graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from perfc.errors import ParseError

from ...measure.runtimes.events import Event, arrays, inner, text
from ...measure.runtimes.ort_profile import SUFFIX
from ..facts import (
    LONGEST_NAME,
    MOST_ARGUMENTS,
    Argument,
    DeviceTrace,
    OperatorCall,
    TensorArgument,
    TraceSource,
    listed,
    nanoseconds,
    operator_name,
    sizes_of,
)

EVENTS = ("traceEvents",)
"""Key of the list of events, if the profile is not that list itself."""
MOST_EVENTS = 4_000_000
"""Maximum executed nodes, which are sorted in memory."""
Executed = tuple[int, int, str, object, OperatorCall | None]
"""Begin, duration, name, provider and operator of an executed node."""


def reads(head: str) -> bool:
    """Return True for the profile of a session."""
    words = ('"model_loading', f'{SUFFIX}"', '"session_initialization"', '"model_run"')
    return head.lstrip().startswith("[") and any(w in head for w in words)


def read(path: str) -> DeviceTrace:
    """Read the kernels of devices where the profile has them, else the nodes.

    Raises:
        ParseError: not JSON, or too large.
    """
    trace = DeviceTrace(TraceSource.ORT)
    nodes: list[Executed] = []
    calls: dict[str, OperatorCall | None] = {}
    for _, e in arrays(path, EVENTS, trace.cut):
        start, length = nanoseconds(e, "ts"), nanoseconds(e, "dur")
        category, name, args = text(e, "cat"), text(e, "name")[:LONGEST_NAME], inner(e, "args")
        is_node = category == "Node" and name.endswith(SUFFIX)
        if start is None or length is None or length < 0:
            trace.unusable += is_node or category == "Kernel"
        elif is_node:
            call = call_of(args)
            calls[name.removesuffix(SUFFIX)] = call
            provider = operator_name(text(args, "provider")) or "cpu"
            nodes.append((start, length, name.removesuffix(SUFFIX), provider, call))
        elif category == "Kernel":
            parent = text(args, "parent_name").removesuffix(SUFFIX)
            trace.add(name, length, start_ns=start, call=calls.get(parent))
        if len(nodes) > MOST_EVENTS:
            raise ParseError("more than four million nodes in a profile", hint="profile fewer runs")
    if not trace.launches.kernel:
        for start, length, name, place, call in alone(nodes):
            operator = call.operator if call else name
            trace.add(operator, length, place, start_ns=start, call=call)
    return trace


def alone(nodes: list[Executed]) -> Iterator[Executed]:
    """Yield the executions without the time of nodes in their subgraphs, in order of their end."""
    # by end, a node with subgraphs follows the nodes in them: what began after it lies inside
    around: list[tuple[int, int]] = []
    for start, length, name, provider, call in sorted(nodes, key=lambda n: n[0] + n[1]):
        inside = 0
        while around and around[-1][0] >= start:
            inside += around.pop()[1]
        around.append((start, length))
        yield start, max(length - inside, 0), name, provider, call


def call_of(args: Event) -> OperatorCall | None:
    """Return the operator of a node with the types of its operands."""
    name = operator_name(text(args, "op_name"))
    if not name:
        return None
    arguments = [tensor_of(t) for t in listed(args.get("input_type_shape"))[:MOST_ARGUMENTS]]
    results = [tensor_of(t) for t in listed(args.get("output_type_shape"))[:1]]
    if name in ("Conv", "FusedConv"):
        arguments = convolution(arguments, results)
    result = next((t for t in results if isinstance(t, TensorArgument)), None)
    first, second = (*arguments, None, None)[:2]
    is_gemm = name in ("Gemm", "FusedGemm") and len(arguments) == 2
    if is_gemm and not is_factor(first, second, result):
        # prepacked weights are no input any more: the second is the bias
        arguments.insert(1, None)
    return OperatorCall(name, tuple(arguments), result)


def is_factor(first: Argument, second: Argument, result: TensorArgument | None) -> bool:
    """Return True for the right operand of a matrix product, False for its bias."""
    if not isinstance(first, TensorArgument) or not isinstance(second, TensorArgument):
        return True
    n = result.sizes[-1] if result is not None and result.sizes else 0
    return len(second.sizes) == 2 and any(
        (k, n) in (second.sizes, second.sizes[::-1]) for k in first.sizes
    )


def convolution(given: list[Argument], made: list[Argument]) -> list[Argument]:
    """Return the arguments of a convolution; strides, padding and groups follow from its result.

    The stride is the rounded ratio of the extents, and the padding the least with which the last
    window fits. The number of products follows from the result and depends on neither.
    """
    image, weight, bias, *_ = (*given, None, None, None)
    result = made[0] if made else None
    tensors = [t for t in (image, weight, result) if isinstance(t, TensorArgument)]
    rank = len(tensors[0].sizes) if tensors else 0
    if len(tensors) < 3 or rank < 3 or any(len(t.sizes) != rank or 0 in t.sizes for t in tensors):
        return given
    strides, pads = [], []
    for before, size, after in zip(*(t.sizes[2:] for t in tensors), strict=True):
        stride = max(1, round(before / after))
        strides.append(stride)
        # half of what the windows reach beyond the image, rounded up
        pads.append(max(0, -(-((after - 1) * stride + size - before) // 2)))
    ones = (1,) * (rank - 2)
    # weights have the input channels of one group
    groups = max(1, tensors[0].sizes[1] // tensors[1].sizes[1])
    zeros = tuple(0 for _ in ones)
    # the order of aten::convolution: …, dilation, transposed, output_padding, groups
    return [image, weight, bias, tuple(strides), tuple(pads), ones, False, zeros, groups]


def tensor_of(given: object) -> Argument:
    """Return a tensor from ``{"float": [1, 3, 224, 224]}``; None for anything else."""
    if not isinstance(given, dict) or len(given) != 1:
        return None
    ((dtype, extents),) = cast("dict[str, object]", given).items()
    sizes = sizes_of(extents)
    return TensorArgument(operator_name(dtype), sizes) if sizes is not None else None
