"""Additional texts of stages 0 and 2: summaries with random numbers, and random settings.

The thesis has none of them. Stage 2 learns random summaries only if a graph becomes a token for
each number. They describe no graph: any kind of layer occurs, and the numbers do not depend on each
other. So the language model can only learn to write what the tokens say.
"""

from __future__ import annotations

import random

from perfc.analyzers.steps.setting import Precision, Setting

from ..networks.node_features import OTHER
from ..operators import VOCABULARY
from .descriptions import GraphSummary, LayerSummary

# kinds of layers in random summaries; each is a single token of the small decoder
NAMES = tuple(name for name in VOCABULARY if name != OTHER)
SHARE_OF_NONE = 0.3
"""Share of zeros among random counts: real graphs lack most kinds of layer."""


def drawn_summary(draw: random.Random, most: int) -> GraphSummary:
    """Return a summary with random kinds of layers and numbers, all magnitudes equally often.

    Args:
        draw: random generator.
        most: maximum kinds of layers.
    """
    # half of the summaries have one kind of layer, a quarter two, a quarter the maximum
    kinds = draw.sample(NAMES, min(draw.choice((1, 1, 2, most)), most))
    # the numbers are maximum digits, in the order of the fields; the batch size is a power of two
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
    """Return a random number of at most ``digits`` digits; its logarithm is uniform."""
    return max(int(10 ** (digits * draw.random())), 1)


def _some(draw: random.Random, digits: int) -> int:
    """Return a random number of at most ``digits`` digits, zero in `SHARE_OF_NONE` of cases."""
    return 0 if draw.random() < SHARE_OF_NONE else _number(draw, digits)


def drawn_setting(draw: random.Random) -> Setting:
    """Return a random setting of a run, mostly eager inference in the usual layout."""
    return Setting(
        draw.choice(list(Precision)),
        draw.random() < 0.3,  # channels last
        draw.random() < 0.3,  # compiled
        (2, 9),
        draw.random() < 0.2,  # a training step
    )
