"""Vectors of the numbers in a graph's summary, which a projection turns into tokens.

The mean over nodes (Eq. 7.5) says nothing of their number. So the network also reads the numbers of
the summary, each as its logarithm and as the digits that the summary writes.
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
"""Maximum kinds of layers in a vector and in a summary: those with the most FLOP."""
MAGNITUDES = 19
"""Maximum digits of a number, those of an integer of 64 bits."""
DIGITS = COUNT_DIGITS * 10 + MAGNITUDES
"""Indicators of a number: ten each for its first, second and third digit, then one per number of
digits."""
OF_TOTALS, OF_KIND = len(TOTALS), len(LAYER_FIELDS)
"""Counts of the numbers of the whole graph, and of each kind of layer."""


def _columns() -> tuple[str, ...]:
    """Return the names of the columns of `SUMS`."""
    # in the order of `vector`: logarithms, indicators of the digits, indicators of the kinds of
    # layers
    names = [f"total {name}" for name in TOTALS]
    names += [f"kind {k} {name}" for k in range(KINDS) for name in LAYER_FIELDS]
    digits = [f"{i}{d}" for i in ("first ", "second ", "third ") for d in range(10)]
    digits += [f"of {n + 1} digits" for n in range(MAGNITUDES)]
    shown = indicators(f"{name}: {digit}" for name in names for digit in digits)
    kinds = indicators(f"kind {k}: {op}" for k in range(KINDS) for op in VOCABULARY)
    return (*(f"log {name}" for name in names), *shown, *kinds)


SUMS = Schema("GNN-LLM sums", _columns())
"""Columns of the vector of a graph's summary."""


@record
class SumsLayout:
    """Positions of the parts of a vector of `SUMS`: logarithms, then digits, then kinds of layers.

    Args:
        numbers: number of numbers in a vector; each has one logarithm and `DIGITS` indicators.
    """

    numbers: int = OF_TOTALS + KINDS * OF_KIND

    @property
    def digits(self) -> int:
        """Return the position of the first indicator of a digit."""
        return self.numbers

    @property
    def kinds(self) -> int:
        """Return the position of the first indicator of a kind."""
        return self.numbers * (1 + DIGITS)


LAYOUT = SumsLayout()


def graph_vector(graph: ModelGraph, batch: float) -> list[float]:
    """Return the vector of a graph at a batch size, ``[len(SUMS)]``."""
    return vector(summary(graph, round(batch), kinds=KINDS))


def vector(counted: GraphSummary) -> list[float]:
    """Return the vector of a summary, ``[len(SUMS)]``, with zeros in place of missing kinds."""
    numbers = [int(getattr(counted, name)) for name in TOTALS]
    for layer in counted.layers[:KINDS]:
        numbers += [int(getattr(layer, name)) for name in LAYER_FIELDS]
    missing = LAYOUT.numbers - len(numbers)
    result = [log2(1 + n) for n in numbers] + [0.0] * missing
    for number in numbers:
        result += digits(number)
    result += [0.0] * (missing * DIGITS)
    # a kind outside of the vocabulary has zeros
    position = {name: i for i, name in enumerate(VOCABULARY)}
    kinds = [0.0] * (KINDS * len(VOCABULARY))
    for k, layer in enumerate(counted.layers[:KINDS]):
        if layer.kind in position:
            kinds[k * len(VOCABULARY) + position[layer.kind]] = 1.0
    return result + kinds


def digits(number: int) -> list[float]:
    """Return the `DIGITS` indicators of a number: its significant digits and its number of digits.

    >>> [i for i, x in enumerate(digits(53)) if x]
    [5, 13, 20, 31]
    """
    text = str(significant(number))
    result = [0.0] * DIGITS
    for i, digit in enumerate(text.ljust(COUNT_DIGITS, "0")[:COUNT_DIGITS]):
        result[10 * i + int(digit)] = 1.0
    result[10 * COUNT_DIGITS + min(len(text), MAGNITUDES) - 1] = 1.0
    return result
