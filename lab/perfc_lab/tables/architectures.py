"""Splits of whole models by architecture or family, fixed before anything is trained.

A model's rows, at every input size, batch, machine and setting, are always on one side: a row of
the same network elsewhere would give its time away.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from enum import Enum

from ..splitting import grouped

VALIDATION_SHARE = 0.15
"""Share of the architectures for validation, and the same share for the test."""
SEEDS = (0, 1, 2)
"""Random seeds of the splits that figures are reported for; recipes were chosen with 1337."""
FAMILY_PARTS = 7
"""Parts of families of whole steps, each tested once: a draw has some twenty, each right or wrong
as one, so that a few draws say more of which they are than of the predictor."""
VARIANTS = frozenset({"tf", "legacy", "test", "nf", "cs", "eca", "ese", "dm", "gc", "tiny"})
"""First words of names that say how, not what: a family is then named by the second."""


class DatasetPart(Enum):
    """Part of a data set that an architecture belongs to."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def family(model: str) -> str:
    """Return the letters a model's name begins with, without words of variants.

    >>> family("tf_efficientnetv2_s.in1k"), family("vit_base_patch16_224"), family("resnet50")
    ('efficientnetv', 'vit', 'resnet')
    """
    words = model.partition(".")[0].split("_")
    while len(words) > 1 and words[0] in VARIANTS:
        words = words[1:]
    match = re.match(r"[a-z]+", words[0])
    return match.group() if match else words[0]


def random_architectures(models: Iterable[str], seed: int) -> dict[str, DatasetPart]:
    """Return the architectures at random, 70 : 15 : 15.

    >>> [p.value for p in random_architectures("abcdefghijklmnopqrst", 0).values()].count("train")
    14
    """
    return _cut({m: m for m in models}, seed)


def within_families(models: Iterable[str], seed: int) -> dict[str, DatasetPart]:
    """Return 70 : 30 of the architectures of each family; a seventh of those trained on validates.

    As TraPPM divides its rows (thesis, Section 5.5.4), which has no validation.

    >>> parts = within_families([f"vit_{i}" for i in range(10)], 0)
    >>> [p.value for p in parts.values()].count("test")
    3
    """
    parts: dict[str, DatasetPart] = {}
    draw = random.Random(seed)
    for names in grouped(sorted(models), family).values():
        draw.shuffle(names)
        tested = round(0.3 * len(names))
        # a seventh of the rest: a tenth of all
        validated = tested + round((len(names) - tested) / 7)
        for i, name in enumerate(names):
            held_out_part = DatasetPart.TEST if i < tested else DatasetPart.VALIDATION
            parts[name] = held_out_part if i < validated else DatasetPart.TRAIN
    return parts


def unseen_families(models: Iterable[str], seed: int) -> dict[str, DatasetPart]:
    """Return the families at random until each part has its share of architectures.

    A family that would carry the tested part beyond twice its share is trained on.
    """
    return _cut({m: family(m) for m in models}, seed)


def families_in_turn(models: Iterable[str], turn: int) -> dict[str, DatasetPart]:
    """Return the families in seven parts of about as many architectures, of which one is tested.

    >>> names = ["resnet50", "vit_base", "vit_small", "nfnet_f0", "deit_base", "swin_tiny"]
    >>> tested = [families_in_turn(names, turn) for turn in range(FAMILY_PARTS)]
    >>> [sum(part[name] is DatasetPart.TEST for part in tested) for name in names]
    [1, 1, 1, 1, 1, 1]
    """
    members = grouped(models, family)
    names = sorted(members)
    random.Random(0).shuffle(names)
    filled = [0] * FAMILY_PARTS
    part: dict[str, DatasetPart] = {}
    # the largest family first, each into the part with the fewest architectures so far
    for name in sorted(names, key=lambda n: -len(members[n])):
        least = filled.index(min(filled))
        filled[least] += len(members[name])
        part |= dict.fromkeys(
            members[name], DatasetPart.TEST if least == turn else DatasetPart.TRAIN
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
        # parts that are not full, and that the group does not fill beyond twice their share
        fits = [p for p, n in filled.items() if n < share and (size == 1 or n + size <= 2 * share)]
        chosen = fits[0] if fits else DatasetPart.TRAIN
        if chosen is not DatasetPart.TRAIN:
            filled[chosen] += size
        part |= dict.fromkeys(members[group], chosen)
    return part
