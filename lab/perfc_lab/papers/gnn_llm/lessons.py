"""Extra training pairs of stages 0 and 2: drawn summaries and ways of running.

The thesis has no such pairs. Ours are trained on with its summaries, and only where a graph is read
with a token for each number. A drawn summary is of no graph: it says every kind of layer, and
numbers that do not follow from each other, so that what is learned is to say what the tokens hold.
"""

from __future__ import annotations

import random

from perfc.analyzers.steps.setting import Precision, Setting

from ..networks.node_features import OTHER
from ..operators import VOCABULARY
from .descriptions import GraphSummary, LayerSummary

# kinds of layer that are drawn, and that become single tokens
NAMES = tuple(name for name in VOCABULARY if name != OTHER)
SHARE_OF_NONE = 0.3
"""Share of zeros among drawn counts: real graphs lack most kinds of layer."""


def drawn_summary(draw: random.Random, most: int) -> GraphSummary:
    """Return the numbers and kinds of layer that are drawn, all magnitudes equally often.

    Args:
        draw: draw of the numbers.
        most: kinds of layer.
    """
    # half of the summaries have one kind of layer, a quarter two, the rest as many as may be
    kinds = draw.sample(NAMES, min(draw.choice((1, 1, 2, most)), most))
    # digits at most: of a layer's count, FLOPs, MACs and parameters; then of the graph's nodes,
    # edges, FLOPs, parameters and MACs
    layers = tuple(
        LayerSummary(kind, _number(draw, 3), _some(draw, 13), _some(draw, 13), _some(draw, 9))
        for kind in kinds
    )
    return GraphSummary(
        _number(draw, 4),
        _number(draw, 4),
        2 ** draw.randint(0, 10),
        _number(draw, 15),
        _number(draw, 10),
        _number(draw, 15),
        layers,
    )


def _number(draw: random.Random, digits: int) -> int:
    """Return a random number of at most ``digits`` digits."""
    return max(int(10 ** (digits * draw.random())), 1)


def _some(draw: random.Random, digits: int) -> int:
    """Return a random number of at most ``digits`` digits, zero in `SHARE_OF_NONE` of cases."""
    return 0 if draw.random() < SHARE_OF_NONE else _number(draw, digits)


def drawn_setting(draw: random.Random) -> Setting:
    """Return a random way of running, mostly the plain one."""
    return Setting(
        draw.choice(list(Precision)),
        draw.random() < 0.3,  # channels last
        draw.random() < 0.3,  # compiled
        (2, 9),
        draw.random() < 0.2,  # a training step
    )
