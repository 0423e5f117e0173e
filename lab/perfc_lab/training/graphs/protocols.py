"""Protocols that hold out rows of whole models, fixed before training.

All rows of an architecture are on one side, so that no tested graph was trained on. Protocols of
machines hold out the rows of one machine: see `GraphProtocol`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from perfc.analyzers.graph.rows import Measurements, drawn

from ...tables.architectures import (
    SEEDS,
    DatasetPart,
    family,
    random_architectures,
    unseen_families,
    within_families,
)

SAMPLES = 32
"""Rows of a new machine that a transfer may see, each of another architecture."""


class GraphProtocol(Enum):
    """Property that is new in the tested rows."""

    RANDOM = "random"
    """Architectures, drawn at random: 70 % train, 15 % validate, 15 % are tested."""
    FAMILY = "family"
    """Architectures of families that nothing was trained on."""
    WITHIN_FAMILIES = "within-families"
    """Architectures, of which 30 % of each family are tested, as TraPPM divides them."""
    DEVICE = "device"
    """The machine; its architectures were seen on other machines."""
    TRANSFER = "transfer"
    """Like ``DEVICE``, but 32 rows of the machine are seen, of untested architectures."""
    TRANSFER_AT_BATCH = "transfer-at-batch"
    """Like ``TRANSFER``, but each batch of a machine is a separate fold, as in HELP: the machine's
    rows at other batches are not seen."""
    NEW_FAMILY = "new-family"
    """Vision transformers: half of them are tested, and 32 rows of the other half are seen; no
    other transformers are trained on (Panner Selvam, thesis, Table 7.1)."""
    DEVICE_AND_ARCHITECTURE = "device-and-architecture"
    """Both the machine and the architecture."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


NEW = "vit"
"""Family of `GraphProtocol.NEW_FAMILY`."""
KIN = frozenset(
    {
        NEW,
        "beit",
        "beitv",
        "cait",
        "coat",
        "convit",
        "crossvit",
        "davit",
        "deit",
        "eva",
        "flexivit",
        "gcvit",
        "hiera",
        "hieradet",
        "levit",
        "mvitv",
        "naflexvit",
        "nest",
        "pit",
        "pvt",
        "sam",
        "samvit",
        "swin",
        "swinv",
        "tnt",
        "twins",
        "vitamin",
        "volo",
        "xcit",
    }
)
"""Families of vision transformers, left out of the training with `NEW`.

Hybrids with convolutions are trained on.
"""

# functions of the protocols that divide architectures, and no machines
SPLITS: Mapping[GraphProtocol, Callable[[Iterable[str], int], Mapping[str, DatasetPart]]] = {
    GraphProtocol.RANDOM: random_architectures,
    GraphProtocol.FAMILY: unseen_families,
    GraphProtocol.WITHIN_FAMILIES: within_families,
}


@dataclass(frozen=True, eq=False)
class Fold:
    """One training and its test.

    Args:
        protocol: property that is new in the tested rows.
        name: name such as ``seed 1`` or ``seed 1 without rtx4090``.
        seed: seed of the split, and of the training.
        train: rows to learn from.
        validation: rows of other architectures, for early stopping and calibration.
        test: rows that are predicted.
        few: rows of the new machine or family to adapt to; empty if the protocol shows none.
    """

    protocol: GraphProtocol
    name: str
    seed: int
    train: Measurements
    validation: Measurements
    test: Measurements
    few: Measurements


def folds(
    data: Measurements,
    protocol: GraphProtocol,
    seeds: Sequence[int] = SEEDS,
    samples: int = SAMPLES,
) -> Iterator[Fold]:
    """Yield the folds of a protocol: one for each seed, or for each seed and machine.

    Args:
        data: measured rows.
        protocol: property that is new in the tested rows.
        seeds: seeds of the splits.
        samples: number of rows of a new machine or family that are seen.
    """
    for seed in seeds:
        if protocol in SPLITS:
            part = SPLITS[protocol](data.architectures, seed)
            yield Fold(protocol, f"seed {seed}", seed, *divided(data, part), data.of(()))
            continue
        part = random_architectures(data.architectures, seed)
        if protocol is GraphProtocol.NEW_FAMILY:
            yield _new_family(data, part, seed, samples)
            continue
        # a single machine leaves no rows to train on
        for target in data.targets if len(data.targets) > 1 else ():
            fold = _without(data, protocol, target, part, seed, samples)
            if protocol is GraphProtocol.TRANSFER_AT_BATCH:
                yield from _at_each_batch(fold, samples)
            else:
                yield fold


def divided(
    data: Measurements, part: Mapping[str, DatasetPart]
) -> tuple[Measurements, Measurements, Measurements]:
    """Return the rows for training, validation and test."""
    train, validation, test = (
        data.where(lambda r, p=p: part[r.architecture] is p)  # type: ignore[misc]
        for p in (DatasetPart.TRAIN, DatasetPart.VALIDATION, DatasetPart.TEST)
    )
    return train, validation, test


def _without(
    data: Measurements,
    protocol: GraphProtocol,
    target: str,
    part: Mapping[str, DatasetPart],
    seed: int,
    samples: int,
) -> Fold:
    """Return the fold in which one machine is new; the protocol decides what else is seen."""
    others = data.where(lambda r: r.target != target)
    of_target = data.where(lambda r: r.target == target)
    validation = others.where(lambda r: part[r.architecture] is DatasetPart.VALIDATION)
    # rows of other machines are trained on, also of tested architectures, unless these must be new
    strict = protocol is GraphProtocol.DEVICE_AND_ARCHITECTURE
    held_parts = {DatasetPart.VALIDATION, DatasetPart.TEST} if strict else {DatasetPart.VALIDATION}
    train = others.where(lambda r: part[r.architecture] not in held_parts)
    few = data.of(())
    match protocol:
        case GraphProtocol.DEVICE_AND_ARCHITECTURE:
            of_target = of_target.where(lambda r: part[r.architecture] is DatasetPart.TEST)
        case GraphProtocol.TRANSFER:
            few, of_target = _shown(of_target, seed, samples)
        case _:
            pass  # for TRANSFER_AT_BATCH, `_at_each_batch` divides the machine's rows
    name = f"seed {seed} without {target}"
    return Fold(protocol, name, seed, train, validation, of_target, few)


def _new_family(
    data: Measurements, part: Mapping[str, DatasetPart], seed: int, samples: int
) -> Fold:
    """Return the fold in which vision transformers are new, and half of them are tested."""
    others = data.where(lambda r: family(r.architecture) not in KIN)
    validation = others.where(lambda r: part[r.architecture] is DatasetPart.VALIDATION)
    # other families are not tested, so their architectures of the test part are trained on too
    train = others.where(lambda r: part[r.architecture] is not DatasetPart.VALIDATION)
    new = data.where(lambda r: family(r.architecture) == NEW)
    generator = random.Random(seed)
    shown = set(generator.sample(new.architectures, len(new.architectures) // 2))
    seen = new.where(lambda r: r.architecture in shown).rows
    few = new.of(generator.sample(seen, min(samples, len(seen))))
    test = new.where(lambda r: r.architecture not in shown)
    name = f"seed {seed} without transformers"
    return Fold(GraphProtocol.NEW_FAMILY, name, seed, train, validation, test, few)


def _at_each_batch(fold: Fold, samples: int) -> Iterator[Fold]:
    """Yield the fold once for each batch, with few and tested rows at that batch alone."""
    for batch in sorted({r.batch for r in fold.test.rows}):
        of_batch = fold.test.where(lambda r, b=batch: r.batch == b)  # type: ignore[misc]
        few, test = _shown(of_batch, fold.seed, samples)
        yield replace(fold, name=f"{fold.name} at {batch}", few=few, test=test)


def _shown(mine: Measurements, seed: int, samples: int) -> tuple[Measurements, Measurements]:
    """Return a few rows of a machine, and its rows of all other architectures."""
    few = mine.of(drawn(mine.rows, seed, samples))
    shown = {r.architecture for r in few.rows}
    return few, mine.where(lambda r: r.architecture not in shown)


def thinned(fold: Fold, share: float) -> Fold:
    """Return a fold with a share of its training architectures, and the same tested rows.

    Smaller sets are parts of larger ones, so that a curve over shares adds data at each step.
    """
    if share >= 1:
        return fold
    names = fold.train.architectures
    random.Random(fold.seed).shuffle(names)
    chosen = set(names[: max(round(share * len(names)), 1)])
    return replace(fold, train=fold.train.where(lambda r: r.architecture in chosen))
