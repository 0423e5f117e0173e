"""Sums over a graph's operators, as numbers that a projection can carry.

A mean over nodes (Eq. 7.5) does not know how many there are. The numbers of a summary do: they are
next to it, each as its logarithm and as the digits that a summary writes.
"""

from __future__ import annotations

from math import log2

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.schema import Schema
from perfc.ir.record import record

from ..networks.node_features import indicators
from ..operators import VOCABULARY
from .descriptions import LAYER_FIELDS, TOTALS, GraphSummary, summary
from .numbers import COUNT_DIGITS, significant

KINDS = 8
"""Kinds of layers, those of most FLOP; a summary names as many."""
MAGNITUDES = 19
"""Magnitudes of numbers: as many digits as one of 64 bits has."""
DIGITS = COUNT_DIGITS * 10 + MAGNITUDES
"""Indicators of a number: which digit stands first, second, third, and how many there are."""
OF_TOTALS, OF_KIND = len(TOTALS), len(LAYER_FIELDS)
"""Numbers of the whole graph, and of each kind of layer."""


def _columns() -> tuple[str, ...]:
    """Return the names of the columns of `SUMS`."""
    # in the order of `vector`: logarithms, digits of the same numbers, kinds of layers
    names = [f"total {name}" for name in TOTALS]
    names += [f"kind {k} {name}" for k in range(KINDS) for name in LAYER_FIELDS]
    digits = [f"{i}{d}" for i in ("first ", "second ", "third ") for d in range(10)]
    digits += [f"of {n + 1} digits" for n in range(MAGNITUDES)]
    shown = indicators(f"{name}: {digit}" for name in names for digit in digits)
    kinds = indicators(f"kind {k}: {op}" for k in range(KINDS) for op in VOCABULARY)
    return (*(f"log {name}" for name in names), *shown, *kinds)


SUMS = Schema("GNN-LLM sums", _columns())


@record
class SumsLayout:
    """Positions where the parts of a vector of `SUMS` begin: logarithms, then digits, then kinds.

    Args:
        numbers: numbers in a vector; each has one logarithm and `DIGITS` indicators.
    """

    numbers: int = OF_TOTALS + KINDS * OF_KIND

    @property
    def digits(self) -> int:
        """Return the first indicator of a digit."""
        return self.numbers

    @property
    def kinds(self) -> int:
        """Return the first indicator of a kind."""
        return self.numbers * (1 + DIGITS)


LAYOUT = SumsLayout()


def graph_vector(graph: ModelGraph, batch: float) -> list[float]:
    """Return ``[len(SUMS)]`` of a graph at a batch."""
    return vector(summary(graph, round(batch), kinds=KINDS))


def vector(counted: GraphSummary) -> list[float]:
    """Return ``[len(SUMS)]`` of a summary; zeros where there is no further kind of layer."""
    numbers = [int(getattr(counted, name)) for name in TOTALS]
    for layer in counted.layers[:KINDS]:
        numbers += [int(getattr(layer, name)) for name in LAYER_FIELDS]
    missing = LAYOUT.numbers - len(numbers)
    logs = [log2(1 + n) for n in numbers] + [0.0] * missing
    for number in numbers:
        logs += digits(number)
    logs += [0.0] * (missing * DIGITS)
    # an operator outside of the vocabulary has zeros
    position = {name: i for i, name in enumerate(VOCABULARY)}
    kinds = [0.0] * (KINDS * len(VOCABULARY))
    for k, layer in enumerate(counted.layers[:KINDS]):
        if layer.kind in position:
            kinds[k * len(VOCABULARY) + position[layer.kind]] = 1.0
    return logs + kinds


def digits(number: int) -> list[float]:
    """Return the indicators of the significant digits of a number, and of how many digits it has.

    >>> [i for i, x in enumerate(digits(53)) if x]
    [5, 13, 20, 31]
    """
    text = str(significant(number))
    result = [0.0] * DIGITS
    for i, digit in enumerate(text.ljust(COUNT_DIGITS, "0")[:COUNT_DIGITS]):
        result[10 * i + int(digit)] = 1.0
    result[10 * COUNT_DIGITS + min(len(text), MAGNITUDES) - 1] = 1.0
    return result
