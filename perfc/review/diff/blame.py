"""Attribution of a difference to the changes that explain most of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfc.ir import Node

from .changes import MANY, Change, Edit, Status
from .figures import NANOSECOND, Metric
from .kernels import NOTHING, KernelPair, TotalCost

if TYPE_CHECKING:
    from perfc.api import Report

    from ..code.changed_lines import CodeChange

EXPLAINED = 0.9
"""Share of the change of the blamed metric for which the named causes account."""
WORTH_BLAMING = 1e-3
"""Minimum change of a metric, over its total, to be the blamed metric."""


@dataclass(frozen=True, eq=False, slots=True)
class Culprit:
    """One cause of changed totals.

    Args:
        name: name of the node.
        op_type: operator of the node.
        what: description of the change.
        delta: cost of the changed kernels, new minus old.
        parameters: elements of weights of the new nodes, less those of the old ones.
        count: number of equal causes.
        share: share of the change of the blamed metric, by absolute value.
        source: file and line of the code of the node; the changed one if it is known.
        nodes: old and new nodes of the cause.
    """

    name: str
    op_type: str
    what: str
    delta: TotalCost
    parameters: float = 0.0
    count: int = 1
    share: float = 0.0
    source: str = ""
    nodes: tuple[tuple[Node, ...], tuple[Node, ...]] = ((), ())


@dataclass(frozen=True, eq=False, slots=True)
class Blame:
    """Causes by their share in the change of one metric, largest first.

    Args:
        metric: first of time, traffic, work and parameters that changed.
        culprits: all causes.
        named: number of causes that make up ``EXPLAINED`` of the change.
        change: what changed in the code; None for files.
    """

    metric: Metric
    culprits: tuple[Culprit, ...]
    named: int
    change: CodeChange | None = None


def by_edit(
    edits: Sequence[Edit],
    pairs: Sequence[KernelPair],
    parameters: Mapping[Node, float],
    order: Mapping[Node, int],
) -> Blame:
    """Attribute each changed kernel to the edit of one of its nodes.

    A kernel whose numbers changed but whose nodes did not (another operand is now in cache) counts
    to the last edit before it.
    """
    owner = {
        n: k
        for k, e in enumerate(edits)
        for c in e.changes
        for n in (c.old, c.new)
        if n is not None
    }
    totals = [NOTHING] * len(edits)
    starts = [order.get(e.head.node, 0) for e in edits]
    for pair in pairs:
        if pair.is_same:
            continue
        # a kernel with nodes of several edits counts to the edit of the first such node
        edit = next((owner[n] for n in pair.nodes if n in owner), None)
        if edit is None and edits:
            place = min((order.get(n, 0) for n in pair.nodes), default=0)
            # edits are in execution order; a kernel before all of them counts to the first
            edit = max((k for k, s in enumerate(starts) if s <= place), default=0)
        if edit is not None:
            totals[edit] += pair.delta
    culprits = [
        Culprit(
            e.head.node.name,
            e.head.op_type,
            in_words(e),
            totals[k],
            math.fsum(
                sign * parameters.get(n, 0.0)
                for c in e.changes
                for sign, n in ((1, c.new), (-1, c.old))
                if n is not None
            ),
            source=e.head.node.loc.source,
            nodes=(
                tuple([c.old for c in e.changes if c.old is not None]),
                tuple([c.new for c in e.changes if c.new is not None]),
            ),
        )
        for k, e in enumerate(edits)
    ]
    return ranked(merged(culprits), whole_of(pairs))


def at_changed_lines(blame: Blame, change: CodeChange) -> Blame:
    """Name each cause by the changed line that is nearest to the code of its nodes."""
    # nodes are a pair, old and new; `nearest` takes the lines of the new ones first
    culprits = [
        replace(c, source=change.nearest(frames_of(c.nodes[1]), frames_of(c.nodes[0])) or c.source)
        for c in blame.culprits
    ]
    return replace(blame, culprits=tuple(culprits), change=change)


def frames_of(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return the lines of code of nodes, each once."""
    return tuple(dict.fromkeys(frame for n in nodes for frame in n.loc.frames))


def frames_in(reports: Iterable[Report]) -> tuple[str, ...]:
    """Return the lines of code of all nodes of analyzed models, each once."""
    return frames_of(n for report in reports for n in report.cost.nodes)


def source_of(nodes: Iterable[Node]) -> str:
    """Return the line of code of the first node that has one."""
    return next((n.loc.source for n in nodes if n.loc.source), "")


def by_kernel(pairs: Sequence[KernelPair]) -> Blame:
    """Attribute changes to kernels, with equal ones merged, if no node was edited."""
    culprits = [
        Culprit(p.name, p.label, "", p.delta, source=source_of(p.nodes), nodes=((), tuple(p.nodes)))
        for p in pairs
        if not p.is_same
    ]
    return ranked(merged(culprits), whole_of(pairs))


def merged(culprits: Sequence[Culprit]) -> list[Culprit]:
    """Merge equal causes, as layers of a network repeat."""
    groups: dict[tuple[object, ...], list[Culprit]] = {}
    for c in culprits:
        # time and traffic of equal layers differ a little by what a cache holds before them: two
        # digits are compared
        d = c.delta
        key = (c.op_type, c.what, f"{d.time_s:.2g}", d.flop, f"{d.nbytes:.2g}", c.parameters)
        groups.setdefault(key, []).append(c)
    return [
        replace(
            g[0],
            delta=sum((c.delta for c in g), NOTHING),
            parameters=sum(c.parameters for c in g),
            count=len(g),
            nodes=(
                tuple([n for c in g for n in c.nodes[0]]),
                tuple([n for c in g for n in c.nodes[1]]),
            ),
        )
        for g in groups.values()
    ]


def whole_of(pairs: Sequence[KernelPair]) -> TotalCost:
    """Return the total of the side with the larger time."""
    before = sum((p.before for p in pairs), NOTHING)
    after = sum((p.after for p in pairs), NOTHING)
    return max(before, after, key=lambda load: load.time_s)


def ranked(culprits: Sequence[Culprit], whole: TotalCost) -> Blame:
    """Rank causes by their share in the first metric that changed noticeably."""
    times_s = [abs(c.delta.time_s) for c in culprits]
    parts: dict[Metric, tuple[list[float], float]] = {
        Metric.TIME: ([t if t >= NANOSECOND else 0.0 for t in times_s], whole.time_s),
        Metric.TRAFFIC: ([abs(c.delta.nbytes) for c in culprits], whole.nbytes),
        Metric.FLOP: ([abs(c.delta.flop) for c in culprits], whole.flop),
        # against one element: every change of parameters is noticeable
        Metric.PARAMETERS: ([abs(c.parameters) for c in culprits], 1.0),
    }
    changed = {
        m: math.fsum(sizes) / total for m, (sizes, total) in parts.items() if total and any(sizes)
    }
    noticed = [m for m, part in changed.items() if part >= WORTH_BLAMING]
    metric = noticed[0] if noticed else max(changed, key=lambda m: changed[m], default=Metric.TIME)
    sizes = parts[metric][0]
    total = math.fsum(sizes)
    order = sorted(
        range(len(culprits)),
        key=lambda k: (-sizes[k], -abs(culprits[k].delta.nbytes), -abs(culprits[k].delta.flop)),
    )
    largest = [replace(culprits[k], share=sizes[k] / total if total else 0.0) for k in order]
    named, explained = 0, 0.0
    # a sum of all shares may miss 1 in its last digit
    while named < len(largest) and explained < EXPLAINED - 1e-9:
        explained += largest[named].share
        named += 1
    return Blame(metric, tuple(largest), named)


def in_words(edit: Edit) -> str:
    """Describe the change of an edit's head, and the number of its consequences."""
    head: Change = edit.head
    match head.status:
        case Status.CHANGED:
            text = head.details[0] if head.details else "changed"
        case Status.ADDED | Status.REMOVED as status:
            text = status.value
        case status:
            # the only detail of a moved or duplicated node is where it comes from
            text = f"{status.value} {head.details[0]}"
    others = [c for c in edit.changes if c is not head and not c.is_carried]
    if len(others) > MANY:
        counts = [f"{sum(c.status is s for c in others)} {s.value}" for s in Status]
        nonzero = [c for c in counts if not c.startswith("0 ")]
        return f"{text}, with more nodes: {', '.join(nonzero)}"
    added = sorted({c.op_type for c in others if c.status is Status.ADDED})
    if added and head.status is Status.CHANGED:
        text += f", with {', '.join(added[:2])} added"
    return text
