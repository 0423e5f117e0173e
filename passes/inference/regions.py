"""Type inference of If, Loop, Scan and SequenceMap: joins of branches, fixed points of bodies.

``ins`` are typed operands, ``env`` maps outer values to typed ones; results are types, contents
and typed regions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from perfc.errors import ShapeError
from perfc.ir.graph import Graph, Inputs, Node, Value
from perfc.ir.op import Folded, Types, known, normal_axis
from perfc.ir.ops.control.control import If, Loop, Scan, SequenceMap, never_ends
from perfc.ir.symbolic.dim import Dim, Poly, dim_max
from perfc.ir.symbolic.fresh import data_extent, issued
from perfc.ir.tensors.join import all_items, element_type, join, sequence_of
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import UNKNOWN, DType, SequenceType, TensorType, Type

from .counters import (
    FOLLOWED,
    Argument,
    body_arguments,
    changing,
    counts_iterations,
    decided,
    elements,
    last_states,
)

if TYPE_CHECKING:
    from .shapes import Inference

Result: TypeAlias = "tuple[Types, Folded, tuple[Graph, ...]]"

MAX_UNROLLED_NODES = 20_000
"""Loops with a known trip count are followed iteration by iteration up to this many nodes.

Loops in loops multiply it: after 50 times as many nodes, a whole module is followed no further.
"""
MAX_MAPPED_NODES = 2_000
"""Sequences with elements of different types are unrolled up to this many nodes in all.

Longer ones get the type that all elements share, which is less precise.
"""
MAX_ROUNDS = 6
"""Maximum iterations in search of the types of carried values.

After half of them, extents that still change become free; after all, the types are unknown.
"""


def infer_control(
    inference: Inference, node: Node, ins: Inputs, env: Mapping[Value, Value]
) -> Result:
    """Return types, contents and typed regions of a node with subgraphs."""
    match node.op:
        case If():
            return _branches(inference, node, ins, env)
        case Loop():
            return _loop(inference, node, ins, env)
        case Scan():
            return _scan(inference, node, node.op, ins, env)
        case SequenceMap():
            return _sequence_map(inference, node, ins, env)
        case _:
            regions = tuple(inference.graph(r, env) for r in node.regions)
            return tuple(UNKNOWN for _ in node.outputs), (), regions


def _branches(inference: Inference, node: Node, ins: Inputs, env: Mapping[Value, Value]) -> Result:
    """Return the result of an If: the side that runs, or the join of both if that is unknown."""
    condition = known(ins, 0)
    decision = condition.item if condition is not None else None
    regions: list[Graph] = []
    sound: list[Graph] = []
    refused: ShapeError | None = None
    for i, branch in enumerate(node.regions):
        if decision is not None and i != (0 if decision else 1):
            # the operands of a branch that never runs may contradict each other
            regions.append(branch)
            continue
        try:
            regions.append(inference.graph(branch, env))
            sound.append(regions[-1])
        except ShapeError as error:
            regions.append(branch)
            refused = error
    if not sound and refused is not None:
        raise refused
    types: list[Type] = []
    folded: list[Known | None] = []
    for values in zip(*(r.outputs for r in sound), strict=False):
        types.append(_joined([v.type for v in values]))
        same = all(v.known == values[0].known for v in values)
        folded.append(values[0].known if same else None)
    return tuple(types), tuple(folded), tuple(regions)


def _initial(ins: Inputs, start: int) -> list[Argument]:
    """Return types and contents of the operands from ``start`` on."""
    return [(UNKNOWN, None) if v is None else (v.type, v.known) for v in ins[start:]]


def _loop(inference: Inference, node: Node, ins: Inputs, env: Mapping[Value, Value]) -> Result:
    """Return the result of a Loop.

    Its iterations are followed if their end is known; else types are a fixed point of the body.
    """
    body = node.regions[0]
    carried = _initial(ins, 2)
    n_carried = len(carried)
    if len(body.outputs) < 1 + n_carried:
        outputs = max(len(body.outputs) - 1, 0)
        raise ShapeError(f"the body gives {outputs} of {n_carried} carried values")
    limit, start = known(ins, 0), known(ins, 1)
    trip = limit.item if limit is not None else None
    has_condition = len(ins) > 1 and ins[1] is not None
    going: object = start.item if start is not None else (None if has_condition else True)
    unrolled = _unrolled(inference, node, env, carried, trip, going)
    if unrolled is not None:
        return unrolled
    region = _fixed_point(inference, body, env, carried)
    finals = [
        join(region.inputs[2 + i].type, v.type) if 2 + i < len(region.inputs) else v.type
        for i, v in enumerate(region.outputs[1 : 1 + n_carried])
    ]
    # the condition holds at the start and in each iteration, so the trip count is exact
    stays = never_ends(region) and (not has_condition or bool(start and start.item))
    count: Dim = (
        trip
        if stays and isinstance(trip, int | Poly) and not isinstance(trip, bool)
        else data_extent(trip if isinstance(trip, int | Poly) else None)
    )
    count = dim_max(count, 0) if isinstance(count, int) else count
    scans = [_stacked(v.type, count, 0) for v in region.outputs[1 + n_carried :]]
    return (*finals, *scans), (), (region,)


def _fixed_point(
    inference: Inference, body: Graph, env: Mapping[Value, Value], carried: list[Argument]
) -> Graph:
    """Return the body typed with arguments that hold for every iteration."""
    types = [t for t, _ in carried]
    for round_ in range(MAX_ROUNDS):
        arguments = body_arguments([(t, None) for t in types], None)
        region = inference.graph(body, env, arguments)
        results = [v.type for v in region.outputs[1 : 1 + len(types)]]
        widened = [join(a, b) for a, b in zip(types, results, strict=False)]
        # an extent that still grows would never settle
        if round_ >= MAX_ROUNDS // 2:
            widened = [_without_extents(a, b) for a, b in zip(types, widened, strict=True)]
        if _settled(types, widened):
            return region
        types = widened
    return inference.graph(body, env, body_arguments([(UNKNOWN, None)] * len(types), None))


def _settled(before: Sequence[Type], after: Sequence[Type]) -> bool:
    """Return True if another iteration changes no type."""
    return all(a == b or _same_but_data(a, b) for a, b in zip(before, after, strict=True))


def _same_but_data(a: Type, b: Type) -> bool:
    """Return True for types that are equal except for names of unknown extents."""
    match a, b:
        case TensorType(dtype, old), TensorType(other, new) if old is not None and new is not None:
            if dtype != other or len(old) != len(new):
                return False
            pairs = zip(old, new, strict=True)
            return all(x == y or (_is_open(x) and _is_open(y)) for x, y in pairs)
        case SequenceType(old_elem, old_length, old_items), SequenceType(elem, length, items):
            is_same = old_elem == elem or _same_but_data(old_elem, elem)
            return is_same and old_length == length and old_items == items
        case _:
            return a == b


def _is_open(d: Dim) -> bool:
    """Return True for a lone symbol from 0 up, such as stands for an extent that data decides."""
    if not isinstance(d, Poly) or [len(factors) for factors, _ in d.terms] != [1]:
        return False
    atom = d.terms[0][0][0]
    return atom.lo == 0 and atom.hi is None and not atom.args


def _without_extents(before: Type, after: Type) -> Type:
    """Return the type with extents that change between iterations made free."""
    match before, after:
        case TensorType(_, old), TensorType(dtype, new) if old is not None and new is not None:
            if len(old) != len(new):
                return TensorType(dtype, None)
            dims = tuple(a if a == b else data_extent() for a, b in zip(old, new, strict=True))
            return TensorType(dtype, dims)
        case SequenceType(old_elem, old_length, _), SequenceType(elem, length, items):
            length = length if length == old_length else None
            return SequenceType(_without_extents(old_elem, elem), length, items)
        case _:
            return after


def _stacked(type_: Type, count: Dim, axis: int) -> Type:
    """Return the type of ``count`` results stacked along a new axis."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        dtype = type_.dtype if isinstance(type_, TensorType) else DType.UNKNOWN
        return TensorType(dtype, None)
    at = normal_axis(axis, len(type_.shape) + 1, "scan axis")
    return TensorType(type_.dtype, (*type_.shape[:at], count, *type_.shape[at:]))


def _unrolled(
    inference: Inference,
    node: Node,
    env: Mapping[Value, Value],
    carried: list[Argument],
    trip: object,  # limit of the iterations: a number, a formula or None
    going: object,  # condition before the first iteration; None if unknown
) -> Result | None:
    """Return results of a loop followed to its end; None without known trip count or condition."""
    body = node.regions[0]
    limit = MAX_UNROLLED_NODES // max(len(body.nodes), 1)
    most = trip if isinstance(trip, int) else math.inf
    if (limit < most < math.inf and never_ends(body)) or isinstance(trip, Poly):
        return None  # too long to follow without an early end, or of symbolic length
    scans: list[list[Type]] = [[] for _ in body.outputs[1 + len(carried) :]]
    region: Graph | None = None
    states, initial, conditions = [carried], carried, decided(body)
    varying = set[Value]()  # conditions of Ifs that differ by iteration
    done = followed = 0
    while going in (True, 1) and done < most:
        followed += 1
        if followed > limit or inference.steps > 50 * MAX_UNROLLED_NODES:
            return None
        arguments = body_arguments(carried, Known.scalar(done))
        symbols = issued()  # new ones would make iterations differ
        try:
            region = inference.graph(body, env, arguments)
        except ShapeError:
            if most == math.inf:
                return None  # without a limit the loop may end earlier
            raise
        if not region.outputs:
            return None
        condition = region.outputs[0].known
        going = condition.item if condition is not None else None
        results = region.outputs[1:]
        before, carried = carried, [(v.type, v.known) for v in results[: len(carried)]]
        # three states show whether counters change by equal steps
        states, varying = [*states[-2:], carried], changing(body, region, conditions)
        for seen, v in zip(scans, results[len(carried) :], strict=False):
            seen.append(v.type)
        done += 1
        if before == carried and going and issued() == symbols and not counts_iterations(body):
            # all further iterations are as this one: without a limit the loop never ends
            if not isinstance(trip, int):
                return None
            done = max(done, trip - 1)
        elif going and not conditions and done in FOLLOWED and issued() == symbols:
            carried, done = last_states(inference, body, env, states, done, trip)
    if going is None and not 0 < most <= done:
        return None  # the condition, unknown, may end it at any iteration
    if region is None:  # no iteration runs
        region = _fixed_point(inference, body, env, carried)
        scans = [[v.type] for v in region.outputs[1 + len(carried) :]]
    elif varying or elements(initial) < elements(before):
        # one body stands for all: with the smallest states it has no more work than any iteration
        inference.varying |= varying
        least = min(initial, before, key=elements)
        region = inference.graph(body, env, body_arguments(least, Known.scalar(done - 1)))
    return _results(carried, scans, done, region)


def _results(
    carried: Sequence[Argument], scans: Sequence[Sequence[Type]], count: int, region: Graph
) -> Result:
    """Return last states and stacked results of a loop, with its typed body."""
    stacked = (_stacked(_joined(seen), count, 0) for seen in scans)
    return (*(t for t, _ in carried), *stacked), tuple(k for _, k in carried), (region,)


def _joined(types: Sequence[Type]) -> Type:
    """Return the type that holds for all of some types."""
    result = types[0]
    for t in types[1:]:
        result = join(result, t)
    return result


def _scan(
    inference: Inference, node: Node, op: Scan, ins: Inputs, env: Mapping[Value, Value]
) -> Result:
    """Return the result of a Scan: states by one typed body, outputs stacked by step."""
    body = node.regions[0]
    # Scan-8 has an operand of lengths before the states, and a batch axis in front of all others
    offset = 1 if op.has_batch else 0
    n_scans = op.num_scan_inputs
    n_states = len(ins) - offset - n_scans  # states come first
    if n_scans < 1 or n_states < 0:
        raise ShapeError(f"{n_scans} scan inputs among {len(ins)} operands")
    states = [(t, None) for t, _ in _initial(ins, offset)[:n_states]]  # contents change by step
    length: Dim | None = None
    slices: list[Argument] = []
    batch: tuple[Dim, ...] = ()
    for i in range(n_scans):
        value = ins[offset + n_states + i]
        type_ = value.type if value is not None else UNKNOWN
        axis = op.scan_input_axes[i] if i < len(op.scan_input_axes) else 0
        element, extent = _element(type_, axis, offset)
        if offset and isinstance(type_, TensorType) and type_.shape:
            batch = type_.shape[:1]
        # all scanned operands have equal steps: a number says more than a symbol
        length = extent if length is None or isinstance(extent, int) else length
        slices.append((element, None))
    if offset:
        states = [(_unbatched(t), None) for t, _ in states]
    region = inference.graph(body, env, [*states, *slices])
    finals = [join(s, v.type) for (s, _), v in zip(states, region.outputs, strict=False)]
    if offset:
        finals = [_batched(t, batch) for t in finals]
    steps = length if length is not None else data_extent()
    stacked: list[Type] = []
    for i, v in enumerate(region.outputs[n_states:]):
        axis = op.scan_output_axes[i] if i < len(op.scan_output_axes) else 0
        stacked_output = _stacked(v.type, steps, axis)
        stacked.append(_batched(stacked_output, batch) if offset else stacked_output)
    return (*finals, *stacked), (), (region,)


def _element(type_: Type, axis: int, skip: int) -> tuple[Type, Dim | None]:
    """Return the type of one step of a scanned operand after ``skip`` axes, and its steps."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        dtype = type_.dtype if isinstance(type_, TensorType) else DType.UNKNOWN
        return TensorType(dtype, None), None
    shape = type_.shape[skip:]
    at = normal_axis(axis, len(shape), "scan axis")
    return TensorType(type_.dtype, (*shape[:at], *shape[at + 1 :])), shape[at]


def _unbatched(type_: Type) -> Type:
    """Return a type without its first axis, the batch."""
    if isinstance(type_, TensorType) and type_.shape:
        return TensorType(type_.dtype, type_.shape[1:])
    return type_


def _batched(type_: Type, batch: tuple[Dim, ...]) -> Type:
    """Return a type with the batch as its first axis."""
    if isinstance(type_, TensorType) and type_.shape is not None and batch:
        return TensorType(type_.dtype, (*batch, *type_.shape))
    return type_


def _sequence_map(
    inference: Inference, node: Node, ins: Inputs, env: Mapping[Value, Value]
) -> Result:
    """Return the result of a SequenceMap, inferred for each element where their types differ."""
    arguments: list[Argument] = []
    length: Dim | None = None
    for v in ins:
        match v.type if v is not None else UNKNOWN:
            case SequenceType(elem, count):
                arguments.append((elem, None))
                length = count if length is None else length
            case other:
                arguments.append((other, v.known if v is not None else None))
    body = node.regions[0]
    region = inference.graph(body, env, arguments)
    sequences = [all_items(v.type) for v in ins if v and isinstance(v.type, SequenceType)]
    n = len(sequences[0] or ()) if sequences else 0
    uniform = all(items and len(set(items)) == 1 for items in sequences)
    too_many = n * len(body.nodes) > MAX_MAPPED_NODES or inference.steps > 50 * MAX_UNROLLED_NODES
    # one inference stands for all elements: of one type, too many, or not known one by one
    if uniform or too_many or any(items is None or len(items) != n for items in sequences):
        return (
            tuple(SequenceType(element_type(v.type), length) for v in region.outputs),
            (),
            (region,),
        )
    results: list[list[Type]] = [[] for _ in region.outputs]
    for i in range(n):
        lists = iter(sequences)
        element_arguments = [
            ((next(lists) or ())[i], None) if v and isinstance(v.type, SequenceType) else argument
            for v, argument in zip(ins, arguments, strict=True)
        ]
        typed = inference.graph(body, env, element_arguments)
        for types, v in zip(results, typed.outputs, strict=True):
            types.append(v.type)
    return tuple(map(sequence_of, results)), (), (region,)
