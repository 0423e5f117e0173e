"""Time-memory curve of optimal checkpointing: saved bytes against recomputation time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.ir import Node, Phase, Value, record
from perfc.passes.training.implementation import RecomputePolicy

from ..formats.document import Bars, Cell, Column, Part, in_seconds, tabulate
from ..units import Unit, size_text

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.training.checkpointing import CurvePosition

SHOWN = 12
"""Maximum number of points of a curve, including its ends."""
FORWARD = (Phase.FORWARD, Phase.LOSS)


@record
class CurvePoint:
    """A point of the time–memory curve of a training step.

    Args:
        kept_bytes: results of blocks that are saved for the backward pass.
        keep: the same as a share of all results, as for ``--keep``.
        again_s: recomputation time of the others at peak device bandwidth; null if the target does
            not declare one.
        again_bytes: recomputation cost in bytes of traffic.
    """

    kept_bytes: int
    keep: float
    again_s: float | None
    again_bytes: int


def curve_of(report: Report) -> tuple[CurvePoint, ...]:
    """Return the curve that ``--checkpointing optimal`` searches; empty for other runs."""
    recipe = report.deployment.recipe
    if recipe is None or recipe.checkpointing != RecomputePolicy.OPTIMAL.value:
        return ()
    from perfc.passes.training.checkpointing import Checkpoints

    curve = Checkpoints.of(*parts(report), report.env).curve()
    level = report.machine.level("device")
    bytes_per_s = level.bandwidth.value if level is not None else 0.0
    largest_bytes = max(curve[-1].kept_bytes, 1)  # the curve ends where all results are saved
    return tuple(
        CurvePoint(
            p.kept_bytes,
            p.kept_bytes / largest_bytes,
            p.cost_bytes / bytes_per_s if bytes_per_s else None,
            p.cost_bytes,
        )
        for p in thinned(curve)
    )


def parts(report: Report) -> tuple[list[Node], list[Node], list[Value]]:
    """Return forward nodes, backward nodes and trained weights without checkpointing."""
    recipe = report.deployment.recipe
    assert recipe is not None
    graph = report.keeping_all().graph
    forward = [n for n in graph.nodes if n.loc.phase in FORWARD]
    backward = [n for n in graph.nodes if n.loc.phase is Phase.BACKWARD]
    return forward, backward, [w for w in graph.weights if recipe.is_trained(w)]


def thinned(curve: Sequence[CurvePosition]) -> list[CurvePosition]:
    """Select at most ``SHOWN`` evenly spaced points, including the ends."""
    if len(curve) <= SHOWN:
        return list(curve)
    return [curve[round(i * (len(curve) - 1) / (SHOWN - 1))] for i in range(SHOWN)]


def curve_parts(curve: Sequence[CurvePoint]) -> Iterator[Part]:
    """Yield the parts of the curve in a document."""
    if not curve:
        return
    first, last = curve[0], curve[-1]
    caption = (
        f"recomputation time, from {size_text(first.kept_bytes)} kept (left)"
        f" to {size_text(last.kept_bytes)} (right)"
    )
    labels = tuple(f"{size_text(p.kept_bytes)} kept" for p in curve)
    if all(p.again_s is not None for p in curve):
        yield Bars(tuple(p.again_s or 0.0 for p in curve), Unit.SECOND, caption, labels)
    else:
        yield Bars(tuple(float(p.again_bytes) for p in curve), Unit.BYTE, caption, labels)
    columns = (
        Column("keep", "kept %", Unit.SHARE),
        Column("kept_bytes", "kept"),
        Column("again_s", "recomputation", cell=again),
    )
    yield tabulate(columns, curve)


def again(p: CurvePoint) -> Cell:
    """Return the recomputation time of a point."""
    return None if p.again_s is None else in_seconds(p.again_s)
