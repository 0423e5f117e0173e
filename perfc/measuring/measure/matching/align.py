"""Alignment of a model's kernels with the operators of a trace or profile.

Both are sequences in execution order. Costly operators are matched first with kernels of the same
class and extents, as a longest common subsequence. The operators between two matches follow, by
rules that ask for less and less in common. An operator that no rule matches belongs to the nearest
kernel with a tensor of the size of its largest one.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from operator import eq
from typing import TYPE_CHECKING, Any

from perfc.common.fitted import data_next_to
from perfc.errors import ParseError
from perfc.ir import Kind, TensorType, evaluate, record, walk
from perfc.ir.ops import ConvGrad

from ...trace.classes import TracedClass, class_of
from ..trace import How, SourceNodes

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.fusion.kernel import Kernel

    from ..profile import Profile

LEAST_MATCHED = 0.6
"""Minimum fraction of costly operators that must match; with fewer, the trace is of another model.

Fusions of the runtime and operators that the analysis removes leave some without a partner.
"""
LONGEST = 6000
"""Maximum operators of each side: time and memory of the alignment are quadratic in them. At the
maximum its table has 36 million entries of a byte."""
OPERANDS = 2
"""Number of largest tensors that identify an operator: a product or convolution reads two."""
_DATA = data_next_to(__file__)
_NAMES = _DATA["names"]
"""Operators of the model by their names in PyTorch, where these differ."""
_OTHERS = _DATA["classes"]
"""Names of classes of traced kernels by names of kinds of analyzed kernels, where these differ."""
NEAREST = 32
"""Launches by which an operator may run earlier or later than its kernel; shapes repeat in every
block of a model, so a wider search would reach kernels of other blocks."""
COSTLY = frozenset({TracedClass.MATMUL, TracedClass.CONV, TracedClass.ATTENTION})
"""Classes of the most costly operators, by which a trace is aligned first."""
_CLASSES = {
    kind: TracedClass[name]
    for kind in Kind
    if (name := _OTHERS.get(kind.name, kind.name)) in TracedClass.__members__
}
"""Classes of traced kernels by kind of analyzed kernel, so that both lists can be compared."""


@record
class ComparedStep:
    """A kernel of the model or an operator that ran.

    Args:
        class_name: class of its work.
        name: name of the operator, as ``add``.
        counts: numbers of elements of its tensors; of an operator the largest first, without
            those of a single element, and empty if its shapes were not recorded.
    """

    class_name: TracedClass
    name: str
    counts: tuple[int, ...] = ()

    @classmethod
    def of(cls, operator: str, counts: tuple[int, ...], kernel: str = "") -> ComparedStep:
        """Return an operator that ran, by its name and that of its kernel."""
        name = operator.removeprefix("aten::").rstrip("_")
        return cls(class_of(kernel, operator), _NAMES.get(name, name), counts)


@record
class AlignedPlace:
    """Kernel that an operator belongs to.

    Args:
        kernel: index of the kernel in the analysis.
        is_matched: True if a rule matched both; False for the nearest kernel with a tensor of the
            size of the operator's largest one.
    """

    kernel: int
    is_matched: bool


def has_shape(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True if the kernel has tensors of the extents of the operator's largest operands."""
    return bool(theirs.counts) and set(theirs.counts[:OPERANDS]) <= set(ours.counts)


def is_equal(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True for equal classes and extents; unrecorded extents are equal to any."""
    is_class = ours.class_name is theirs.class_name
    return is_class and (not theirs.counts or has_shape(ours, theirs))


def is_named(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True for equal names and extents."""
    return ours.name == theirs.name and has_shape(ours, theirs)


def is_similar(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True for equal classes if the kernel has a tensor as large as the largest operand."""
    is_class = ours.class_name is theirs.class_name
    return is_class and bool(theirs.counts) and theirs.counts[0] in ours.counts


def class_of_kind(kind: Kind) -> TracedClass:
    """Return the class of an analyzed kernel."""
    return _CLASSES.get(kind, TracedClass.OTHER)


def steps_of(report: Report) -> list[tuple[int, ComparedStep]]:
    """Return the launches of a model in order: index of the kernel, and its step.

    Launches that a library inserts inside of an operator belong to that operator and are left out.
    """
    env, known = report.env, dict[TensorType, int]()

    def count(type_: object) -> int:
        if not isinstance(type_, TensorType):
            return 0
        # types are few, their values many, and evaluation is slow
        if type_ not in known:
            size = type_.numel
            known[type_] = 0 if size is None else int(evaluate(size, env))
        return known[type_]

    steps: list[tuple[int, int, ComparedStep]] = []  # repeats, index of the kernel, its step
    inside = inner_launches(report.kernels.kernels)
    for index, k in enumerate(report.kernels.kernels):
        if index in inside:
            continue
        inner = (v for n in k.nodes for v in (*n.inputs, *n.results) if v is not None)
        counts = {count(v.type) for v in (*k.reads, *k.writes, *inner)}
        # more repeats than LONGEST could not be aligned, and would only fill the memory
        repeats = min(max(int(evaluate(k.repeat, env)), 1), LONGEST)
        name = k.anchor.op.mnemonic
        steps.append((repeats, index, ComparedStep(class_of_kind(k.kind), name, tuple(counts))))
    # consecutive kernels with equal repeats are the body of one loop, which repeats as a whole
    bodies = (
        (repeats, [(index, step) for _, index, step in group])
        for repeats, group in groupby(steps, key=lambda s: s[0])
    )
    return [launch for repeats, body in bodies for launch in body * repeats]


def inner_launches(kernels: Sequence[Kernel]) -> dict[int, int]:
    """Return the kernels that run inside of another kernel's operator, each with that other kernel.

    Libraries insert helpers, and one operator computes both gradients of a convolution. Helpers
    that the framework dispatches are operators of a trace themselves. Kernels are indices.
    """
    owners: dict[str, int] = {}
    inside: set[int] = set()
    for index, k in enumerate(kernels):
        if k.helper is not None and not k.helper.is_dispatched:
            inside.add(index)
        elif k.helper is None:
            first = owners.get(k.anchor.name)
            # the second kernel of a convolution's gradients has the same anchor as the first
            if first is not None and isinstance(k.anchor.op, ConvGrad):
                inside.add(index)
            else:
                owners[k.anchor.name] = index
    return {index: owners.get(kernels[index].anchor.name, index) for index in sorted(inside)}


def placed(
    ours: Sequence[tuple[int, ComparedStep]], theirs: Sequence[ComparedStep], where: str = ""
) -> list[AlignedPlace | None]:
    """Return the kernel that each operator belongs to; None where no kernel has its size.

    Args:
        ours: launches of the model, of `steps_of`.
        theirs: operators in the order of their execution.
        where: path of the trace, for messages.

    Raises:
        ParseError: the costly operators are not those of the model.
    """
    steps = [step for _, step in ours]
    pairs = anchors(steps, theirs, where)
    # the strictest rule first: the next looks only between two pairs, so no pairs cross
    for rule in (is_named, is_equal, has_shape):
        ends = ((-1, -1), *pairs, (len(steps), len(theirs)))
        for (a, b), (a_end, b_end) in pairwise(ends):
            between = common(steps[a + 1 : a_end], theirs[b + 1 : b_end], rule)
            pairs += [(a + 1 + i, b + 1 + j) for i, j in between]
        pairs.sort()
    sized: dict[int, list[int]] = {}
    for i, step in enumerate(steps):
        for size in step.counts:
            sized.setdefault(size, []).append(i)
    # pairs so far are in the order of both lists; now those that ran in another order
    matched = reordered(steps, theirs, {j: i for i, j in pairs}, sized)
    places: list[AlignedPlace | None] = []
    last = 0  # launch of the last matched operator: an unmatched one ran near it
    for j, step in enumerate(theirs):
        last = matched.get(j, last)
        near = sized.get(step.counts[0], ()) if step.counts else ()
        # the launches of that size just before and just after
        right = bisect_left(near, last)
        nearby = near[max(right - 1, 0) : right + 1]
        nearest = min(nearby, key=lambda i, last=last: abs(i - last), default=None)
        launch = matched.get(j, nearest)
        is_matched = j in matched
        places.append(None if launch is None else AlignedPlace(ours[launch][0], is_matched))
    return places


def reordered(
    ours: Sequence[ComparedStep],
    theirs: Sequence[ComparedStep],
    matched: Mapping[int, int],
    sized: Mapping[int, Sequence[int]],
) -> dict[int, int]:
    """Return the launch of each matched operator, with operators that run out of the model's order.

    Args:
        ours: launches of the model.
        theirs: operators.
        matched: launch by operator; both increase.
        sized: launches of the model by the numbers of elements of their tensors, in order.
    """
    result, used = dict(matched), set(matched.values())
    for rule in (is_named, is_equal, is_similar):
        last = 0
        for j, step in enumerate(theirs):
            last = matched.get(j, last)
            if j in result or not step.counts:
                continue
            near = sized.get(step.counts[0], ())
            low, high = bisect_left(near, last - NEAREST), bisect_left(near, last + NEAREST)
            free = (i for i in near[low:high] if i not in used and rule(ours[i], step))
            i = min(free, key=lambda i: abs(i - last), default=None)
            if i is not None:
                result[j] = i
                used.add(i)
    return result


def anchors(
    ours: Sequence[ComparedStep], theirs: Sequence[ComparedStep], where: str = ""
) -> list[tuple[int, int]]:
    """Return pairs of positions: a launch of the model, and the costly operator equal to it.

    Raises:
        ParseError: too few are equal.
    """
    # if either side has no costly operator, all operators count as costly
    costly = COSTLY
    if not any(s.class_name in costly for s in ours) or not {s.class_name for s in theirs} & costly:
        costly = frozenset(TracedClass)
    a, b = ([i for i, s in enumerate(steps) if s.class_name in costly] for steps in (ours, theirs))
    some, others = [ours[i] for i in a], [theirs[j] for j in b]
    pairs = common(some, others, is_equal)
    largest = max(len(a), len(b))
    if largest and len(pairs) >= LEAST_MATCHED * largest:
        return [(a[i], b[j]) for i, j in pairs]
    text = f"of {len(b)} costly operators {len(pairs)} are found in the model, which has {len(a)}"
    same = common([s.class_name for s in some], [s.class_name for s in others])
    hint = ""
    # twice as many operators as the model has, which occur in it: the trace has several runs
    if len(b) >= 2 * len(a) and len(pairs) >= LEAST_MATCHED * max(len(a), 1):
        hint = "several runs? record one, or select a step: --step"
    # equal classes in the same order, so only the extents differ
    elif len(same) >= LEAST_MATCHED * max(largest, 1):
        hint = "other extents? --batch, --seq, --dim give those of the trace"
    raise ParseError(f"a trace of another model: {text}", where=where, hint=hint)


def aligned(
    profile: Profile, report: Report, where: str | os.PathLike[str] = ""
) -> dict[str, SourceNodes]:
    """Return the nodes behind each operator of a profile that belongs to a kernel, by its name.

    Raises:
        ParseError: the costly operators are not those of the model.
    """
    producers = {v.name: n for n in walk(report.source.graph) for v in n.results}
    theirs = [ComparedStep.of(f"aten::{k.op}", k.counts) for k in profile.kernels]
    origins: dict[str, SourceNodes] = {}
    places = placed(steps_of(report), theirs, os.fspath(where))
    for kernel, place in zip(profile.kernels, places, strict=True):
        if place is not None:
            nodes = report.kernels.kernels[place.kernel].nodes
            # passes rewrite the nodes of kernels, but results keep their names
            named = (producers[v.name] for n in nodes for v in n.results if v.name in producers)
            how = How.NAMED if place.is_matched else How.INSERTED
            origins[kernel.name] = SourceNodes(frozenset(named), how)
    return origins


def common(
    a: Sequence[object], b: Sequence[object], same: Callable[[Any, Any], bool] = eq
) -> list[tuple[int, int]]:
    """Return positions of a longest common subsequence. Source: Wagner & Fischer 1974.

    Args:
        a: one sequence, of hashable items.
        b: the other one.
        same: True for an item of ``a`` and one of ``b`` that match.

    Raises:
        ParseError: too long to compare.
    """
    if max(len(a), len(b)) > LONGEST:
        raise ParseError(f"{max(len(a), len(b)):,} operators to align, at most {LONGEST:,}")
    # each pair of different items is compared once: both lists repeat a few items
    matches = {x: {y: same(x, y) for y in set(b)} for x in set(a)}
    # filled from the end, so that the walk afterwards goes forward. Each byte is the best step:
    # 1 pairs the two items, 2 skips the item of a, 3 skips the item of b
    rows = [bytearray(len(b) + 1) for _ in range(len(a) + 1)]
    last = [0] * (len(b) + 1)  # last[j]: length of the best match of a[i + 1:] and b[j:]
    for i in range(len(a) - 1, -1, -1):
        current = [0] * (len(b) + 1)
        step, equal = rows[i], matches[a[i]]
        for j in range(len(b) - 1, -1, -1):
            if equal[b[j]]:
                current[j], step[j] = last[j + 1] + 1, 1
            elif last[j] >= current[j + 1]:
                current[j], step[j] = last[j], 2
            else:
                current[j], step[j] = current[j + 1], 3
        last = current
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        match rows[i][j]:
            case 1:
                pairs.append((i, j))
                i, j = i + 1, j + 1
            case 2:
                i += 1
            case _:
                j += 1
    return pairs
