"""Whether a run is like those that weights were trained on, as far as its graph tells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to
from perfc.ir.op import Kind
from perfc.ir.ops import mnemonics, operator
from perfc.ir.record import record
from perfc.passes.memory.liveness import Liveness

from ..graph.rows import GraphRow
from ..graph.weights import read_card
from ..runs.run_table import leading_extent

if TYPE_CHECKING:
    from pathlib import Path

    from ..estimators import Execution
    from ..graph.model_graph import ModelGraph
    from ..graph.weights import GraphCard
    from ..steps.setting import Setting

FAR_BELOW = constants_next_to(__file__)["far_below"].number
"""Factor below the small training runs from which a run is far outside: hosts limit such runs,
and no row shows them."""
PLAIN = frozenset({Kind.ELEMENTWISE, Kind.VIEW, Kind.SHAPE})
WIDE = 2.0
"""Times the bytes of a tensor in half precision that it has in f32, in which graphs are counted."""
MOST_NAMED = 5
"""Operators outside of the vocabulary that are named."""


@record
class Extent:
    """How large a graph is, and what it is made of.

    Args:
        operators: mnemonic of each that a device runs.
        peak_bytes: largest sum of tensors alive at once, stored ones apart, at the run's batch.
    """

    operators: Sequence[str]
    peak_bytes: float

    @classmethod
    def of(cls, graph: ModelGraph, batch: int) -> Extent:
        """As a graph was counted, in f32."""
        return cls(graph.ops.ops, graph.ops.whole_at(batch)["peak_bytes"])


def is_surely_far(execution: Execution, card: Path, setting: Setting) -> bool:
    """Whether no run of that kind was measured, told by a card and the size of the graph alone.

    Args:
        execution: on a machine that no row of the card is of.
        card: of a predictor of graphs.
        setting: how it is run.
    """
    if execution.module is None:
        return False
    env, name = execution.bounds.env, execution.machine.name
    row = GraphRow("", "", setting, name, leading_extent(execution.module, env), math.nan)
    peak_bytes, _ = execution.analyses.get(Liveness(), execution.module).peak(env)
    extent = Extent((), WIDE * peak_bytes)
    return any(True for _ in reasons(read_card(card), row, extent, by_launch=True))


def small_batch(card: GraphCard, row: GraphRow, extent: Extent) -> int:
    """The batch of a graph that makes its run as large as the small ones a card was trained on.

    Large images are run in smaller batches, so that what is compared is not the number of examples
    but the bytes that are alive at once.
    """
    alive_bytes = extent.peak_bytes / row.batch
    small_bytes = card.small_peak_bytes(row.target, row.setting)
    return round(small_bytes / alive_bytes) if alive_bytes > 0 else 0


def is_plain(mnemonic: str) -> bool:
    """Whether operators differ from others of their kind by name alone, as activations do."""
    return mnemonic in mnemonics() and operator(mnemonic).kind in PLAIN


def reasons(card: GraphCard, row: GraphRow, extent: Extent, *, by_launch: bool) -> Iterator[str]:
    """Why a row lies outside of what a card was trained on, its machine apart.

    Args:
        card: of the weights.
        row: of the run.
        extent: of the graph that it runs.
        by_launch: whether operators that differ by name alone are all alike.
    """
    operators = extent.operators
    if row.part not in card.modes:
        yield f"no measured {row.part} run"
    elif card.runs and row.target in card.targets and not card.covers(row.target, row.setting):
        yield f"no measured {row.part} run in {row.setting.precision.value} on {row.target}"
    small = small_batch(card, row, extent)
    if row.batch * FAR_BELOW < small:
        yield f"batch {row.batch:,} is far below the measured batches, {small:,} and more"
    if len(operators) > card.most_operators:
        yield f"{len(operators):,} operators, the largest graph in training {card.most_operators:,}"
    strange = sorted(set(operators) - set(card.operators)) if card.operators else []
    strange = [op for op in strange if not (by_launch and is_plain(op))]
    if strange:
        more = ", …" if len(strange) > MOST_NAMED else ""
        yield f"operators absent from the training graphs: {', '.join(strange[:MOST_NAMED])}{more}"
