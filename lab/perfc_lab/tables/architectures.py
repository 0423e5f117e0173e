"""Split whole models into training, validation and test, by architecture or by family.

A split follows from the names and a seed, so that it is fixed before anything is trained.

All rows of a model, at every input size, batch, machine and setting, are in one part: a training
row of a network would give its time in a tested row away.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from enum import Enum

from ..splitting import grouped

VALIDATION_SHARE = 0.15
"""Share of the architectures for validation, and again for the test."""
SEEDS = (0, 1, 2)
"""Random seeds of the splits that figures are reported for; recipes were chosen on another,
1337."""
FAMILY_PARTS = 7
"""Number of parts that families are divided into, each part tested once. A random draw would test
some twenty families, each right or wrong as a whole: its figure would depend on which ones it
has."""
VARIANTS = frozenset({"tf", "legacy", "test", "nf", "cs", "eca", "ese", "dm", "gc", "tiny"})
"""First words of names that say how a model was trained or changed; the family is the next word."""


class DatasetPart(Enum):
    """Part of a data set that an architecture belongs to."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def family(model: str) -> str:
    """Return the family of a model: the letters its name begins with, after words of variants.

    >>> family("tf_efficientnetv2_s.in1k"), family("vit_base_patch16_224"), family("resnet50")
    ('efficientnetv', 'vit', 'resnet')
    """
    words = model.partition(".")[0].split("_")
    while len(words) > 1 and words[0] in VARIANTS:
        words = words[1:]
    match = re.match(r"[a-z]+", words[0])
    return match.group() if match else words[0]


def random_architectures(models: Iterable[str], seed: int) -> dict[str, DatasetPart]:
    """Return the part of each architecture, drawn at random: 70 % train, 15 % each of the others.

    >>> [p.value for p in random_architectures("abcdefghijklmnopqrst", 0).values()].count("train")
    14
    """
    return _cut({m: m for m in models}, seed)


def within_families(models: Iterable[str], seed: int) -> dict[str, DatasetPart]:
    """Return the part of each architecture: of each family, 30 % test and 10 % validation.

    TraPPM divides its rows 70 : 30 (thesis, Section 5.5.4) and has no validation rows; here these
    are a seventh of the 70 %.

    >>> parts = within_families([f"vit_{i}" for i in range(10)], 0)
    >>> [p.value for p in parts.values()].count("test")
    3
    """
    parts: dict[str, DatasetPart] = {}
    draw = random.Random(seed)
    for names in grouped(sorted(models), family).values():
        draw.shuffle(names)
        tested = round(0.3 * len(names))
        # a seventh of the rest, 70 %: a tenth of all
        validated = tested + round((len(names) - tested) / 7)
        for i, name in enumerate(names):
            held_out_part = DatasetPart.TEST if i < tested else DatasetPart.VALIDATION
            parts[name] = held_out_part if i < validated else DatasetPart.TRAIN
    return parts


def unseen_families(models: Iterable[str], seed: int) -> dict[str, DatasetPart]:
    """Return the part of each architecture; whole families are drawn at random.

    A family that would fill a part beyond twice its share goes elsewhere, in the end to training.
    """
    return _cut({m: family(m) for m in models}, seed)


def families_in_turn(models: Iterable[str], turn: int) -> dict[str, DatasetPart]:
    """Return the part of each architecture: part ``turn`` of seven parts of the families is tested.

    The parts have about as many architectures each.

    >>> names = ["resnet50", "vit_base", "vit_small", "nfnet_f0", "deit_base", "swin_tiny"]
    >>> tested = [families_in_turn(names, turn) for turn in range(FAMILY_PARTS)]
    >>> [sum(part[name] is DatasetPart.TEST for part in tested) for name in names]
    [1, 1, 1, 1, 1, 1]
    """
    members = grouped(models, family)
    names = sorted(members)
    # a fixed order at random among families of one size
    random.Random(0).shuffle(names)
    filled = [0] * FAMILY_PARTS
    part: dict[str, DatasetPart] = {}
    # the largest family first, each into the part with the fewest architectures so far
    for name in sorted(names, key=lambda n: -len(members[n])):
        emptiest = filled.index(min(filled))
        filled[emptiest] += len(members[name])
        part |= dict.fromkeys(
            members[name], DatasetPart.TEST if emptiest == turn else DatasetPart.TRAIN
        )
    return part


def _cut(group_of: Mapping[str, str], seed: int) -> dict[str, DatasetPart]:
    """Return the part of each model; groups stay whole and come in random order.

    They fill the test, then the validation, up to `VALIDATION_SHARE` of the models; the rest is
    trained on.
    """
    members = grouped(sorted(group_of), group_of.__getitem__)
    groups = sorted(members)
    random.Random(seed).shuffle(groups)
    part: dict[str, DatasetPart] = {}
    share = round(VALIDATION_SHARE * len(group_of))
    filled = {DatasetPart.TEST: 0, DatasetPart.VALIDATION: 0}
    for group in groups:
        size = len(members[group])
        # parts below their share that the group does not fill beyond twice that; test comes first
        fits = [p for p, n in filled.items() if n < share and (size == 1 or n + size <= 2 * share)]
        chosen = fits[0] if fits else DatasetPart.TRAIN
        if chosen is not DatasetPart.TRAIN:
            filled[chosen] += size
        part |= dict.fromkeys(members[group], chosen)
    return part
