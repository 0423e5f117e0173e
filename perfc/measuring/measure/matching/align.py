"""Alignment of a model's kernels with the operators of a trace or profile.

Both are sequences in execution order. Costly operators with the extents of a kernel are matched
first, as a longest common subsequence; then the others between them, with less and less in common.
What remains belongs to the nearest kernel with a tensor of its size.
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
from perfc.ir.ops.convolution.conv_grad import ConvGrad

from ...trace.classes import TracedClass, class_of
from ..trace import How, SourceNodes

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.fusion.kernel import Kernel

    from ..profile import Profile

LEAST_MATCHED = 0.6
"""Minimum fraction of costly kernels that must match; with fewer it is another model."""
LONGEST = 6000
"""Maximum operators of each side: time and memory of the alignment are quadratic in them."""
OPERANDS = 2
"""Largest tensors that identify an operator: those of a product or convolution."""
_NAMES, _OTHERS = data_next_to(__file__).values()
"""Operators of the model by names of PyTorch, and classes by kinds, that differ."""
NEAREST = 32
"""Launches by which an operator may come earlier or later than its kernel."""
COSTLY = frozenset({TracedClass.MATMUL, TracedClass.CONV, TracedClass.ATTENTION})
"""Classes of the most costly operators, by which a trace is aligned first."""
_CLASSES = {
    kind: TracedClass[name]
    for kind in Kind
    if (name := _OTHERS.get(kind.name, kind.name)) in TracedClass.__members__
}
"""Classes of traced kernels for kinds of analyzed ones, so that both lists have one alphabet."""


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
    """Kernel that an operator belongs to, by its index; matched, or the nearest of its size."""

    kernel: int
    is_matched: bool


def has_shape(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True if the kernel has tensors of the extents of the operator's largest operands."""
    return bool(theirs.counts) and set(theirs.counts[:OPERANDS]) <= set(ours.counts)


def is_equal(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True for equal classes and extents; unknown extents are equal to any."""
    is_class = ours.class_name is theirs.class_name
    return is_class and (not theirs.counts or has_shape(ours, theirs))


def is_named(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True for equal names and extents."""
    return ours.name == theirs.name and has_shape(ours, theirs)


def is_similar(ours: ComparedStep, theirs: ComparedStep) -> bool:
    """Return True for equal classes with the extents of the largest operand."""
    is_class = ours.class_name is theirs.class_name
    return is_class and bool(theirs.counts) and theirs.counts[0] in ours.counts


def class_of_kind(kind: Kind) -> TracedClass:
    """Return the class of an analyzed kernel."""
    return _CLASSES.get(kind, TracedClass.OTHER)


def steps_of(report: Report) -> list[tuple[int, ComparedStep]]:
    """Return the launches of a model in order: index of the kernel, class and extents.

    Those that a library inserts inside of an operator belong to it and are left out.
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

    made: list[tuple[int, int, ComparedStep]] = []  # repeats, index of the kernel, its step
    inside = inner_launches(report.kernels.kernels)
    for at, k in enumerate(report.kernels.kernels):
        if at in inside:
            continue
        inner = (v for n in k.nodes for v in (*n.inputs, *n.results) if v is not None)
        counts = {count(v.type) for v in (*k.reads, *k.writes, *inner)}
        times = min(max(int(evaluate(k.repeat, env)), 1), LONGEST)
        name = k.anchor.op.mnemonic
        made.append((times, at, ComparedStep(class_of_kind(k.kind), name, tuple(counts))))
    blocks = (
        (times, [(at, s) for _, at, s in group])
        for times, group in groupby(made, key=lambda m: m[0])
    )
    # the body of a loop runs as a whole, again and again
    return [step for times, block in blocks for step in block * times]


def inner_launches(kernels: Sequence[Kernel]) -> dict[int, int]:
    """Return the kernel of the operator inside of which a launch is made, where it is another one.

    Libraries insert helpers, and one operator computes both gradients of a convolution.
    """
    owners: dict[str, int] = {}
    inside: set[int] = set()
    for at, k in enumerate(kernels):
        if k.helper is not None and not k.helper.is_dispatched:
            inside.add(at)
        elif k.helper is None:
            first = owners.get(k.anchor.name)
            if first is not None and isinstance(k.anchor.op, ConvGrad):
                inside.add(at)
            else:
                owners[k.anchor.name] = at
    return {at: owners.get(kernels[at].anchor.name, at) for at in sorted(inside)}


def placed(
    ours: Sequence[tuple[int, ComparedStep]], theirs: Sequence[ComparedStep], where: str = ""
) -> list[AlignedPlace | None]:
    """Return the kernel that each operator belongs to; None without one.

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
        at = matched.get(j, nearest)
        places.append(None if at is None else AlignedPlace(ours[at][0], is_matched=j in matched))
    return places


def reordered(
    ours: Sequence[ComparedStep],
    theirs: Sequence[ComparedStep],
    matched: Mapping[int, int],
    sized: Mapping[int, Sequence[int]],
) -> dict[int, int]:
    """Return the kernel of each operator with those that run in another order than the model's.

    Args:
        ours: launches of the model.
        theirs: operators.
        matched: kernel by operator, in the same order.
        sized: launches of the model by the numbers of elements of their tensors.
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
    """Return the positions of costly operators and the kernels equal to them.

    Raises:
        ParseError: too few are equal.
    """
    # a model or trace without costly operators is aligned by all of them
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
    """Return the nodes behind the operators of a profile, those that belong to a kernel.

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
    kinds = {x: {y: same(x, y) for y in set(b)} for x in set(a)}
    # from the end, so that the walk afterwards goes forward: 1 is a pair, 2 skips a, 3 skips b
    rows = [bytearray(len(b) + 1) for _ in range(len(a) + 1)]
    last = [0] * (len(b) + 1)  # last[j]: length of the best match of a[i + 1:] and b[j:]
    for i in range(len(a) - 1, -1, -1):
        current = [0] * (len(b) + 1)
        step, equal = rows[i], kinds[a[i]]
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
