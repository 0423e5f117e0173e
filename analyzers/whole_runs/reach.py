"""Find the reasons why whole-run weights extrapolate for a run, by its graph and setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to
from perfc.ir import Kind, record
from perfc.ir.ops import mnemonics, operator

from ..graph.rows import GraphRow

if TYPE_CHECKING:
    from ..graph.model_graph import ModelGraph
    from ..graph.weights import GraphCard

FAR_BELOW = constants_next_to(__file__)["far_below"].number
"""Factor below the small training runs at which a run is far outside: hosts limit such short runs,
and no training row is similar (``constants.toml`` in this folder)."""
PLAIN = frozenset({Kind.ELEMENTWISE, Kind.VIEW, Kind.SHAPE})
"""Kinds of operators that predictors by launches do not distinguish by name."""
MOST_NAMED = 5
"""Maximum number of unknown operators that a message names, so that it stays one line."""


@record
class Extent:
    """Size and operators of a graph.

    Args:
        operators: mnemonic of each operator that a device runs.
        peak_bytes: peak memory of activations, without weights, at the run's batch.
    """

    operators: Sequence[str]
    peak_bytes: float

    @classmethod
    def of(cls, graph: ModelGraph, batch: int) -> Extent:
        """Return the extent of an encoded graph; its bytes are those of f32, whatever the run."""
        return cls(graph.ops.ops, graph.ops.whole_at(batch)["peak_bytes"])


def small_batch(card: GraphCard, row: GraphRow, extent: Extent) -> int:
    """Return the batch at which a graph's run is as large as a card's small training runs.

    Runs are compared by peak bytes, not by samples, as large images are run in smaller batches. 0
    if the graph has no activations.
    """
    # activations grow in proportion to the batch
    bytes_per_sample = extent.peak_bytes / row.batch
    small_bytes = card.small_peak_bytes(row.target, row.setting)
    return round(small_bytes / bytes_per_sample) if bytes_per_sample > 0 else 0


def is_plain(mnemonic: str) -> bool:
    """Return True if an operator differs from others of its kind by name only (activations)."""
    return mnemonic in mnemonics() and operator(mnemonic).kind in PLAIN


def reasons(card: GraphCard, row: GraphRow, extent: Extent, *, by_launch: bool) -> Iterator[str]:
    """Yield the reasons why a card extrapolates for a row, other than its machine.

    Args:
        card: card of the weights.
        row: row of the run.
        extent: extent of the graph that it runs.
        by_launch: True if operators that differ by name only are equivalent for the predictor.
    """
    operators = extent.operators
    if row.part not in card.modes:  # `part` is the execution mode
        yield f"no measured {row.part} run"
    # a machine that the card lacks is no reason here: the caller names it
    elif card.runs and row.target in card.targets and not card.covers(row.target, row.setting):
        yield f"no measured {row.part} run in {row.setting.precision.value} on {row.target}"
    small = small_batch(card, row, extent)
    if row.batch * FAR_BELOW < small:
        yield f"batch {row.batch:,} is far below the measured batches, {small:,} and more"
    if len(operators) > card.most_operators:
        yield f"{len(operators):,} operators, the largest graph in training {card.most_operators:,}"
    # a card without a list of operators cannot be compared
    absent = sorted(set(operators) - set(card.operators)) if card.operators else []
    absent = [op for op in absent if not (by_launch and is_plain(op))]
    if absent:
        more = ", …" if len(absent) > MOST_NAMED else ""
        yield f"operators absent from the training graphs: {', '.join(absent[:MOST_NAMED])}{more}"
