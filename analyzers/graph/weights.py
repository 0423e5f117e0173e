"""Read and write a trained whole-model predictor: its arrays (npz) and its card (JSON)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from perfc.ir import record
from perfc.machine import load_machine

from ..artefacts.arrays import packed
from ..artefacts.artefact import WeightsError, arrays_of, bounded_content
from ..features.classes import Array
from ..steps.setting import Setting
from .predictor import GraphPredictor, predictor
from .rows import Quantity
from .store import write_file

FORMAT = 4
"""Version of the files; a predictor of another version is refused."""
MAX_CARD_BYTES = 1 << 18
"""Maximum bytes of a card, so that files of unknown origin take bounded memory."""
MAX_ARRAYS_BYTES = 64 << 20
"""Maximum bytes of the file of arrays of a predictor, as `MAX_CARD_BYTES`."""


@record
class GraphCard:
    """Metadata of a predictor: training data, tests and inputs.

    Args:
        predictor: name of the predictor with its variant.
        title: name for people, with the paper.
        quantity: predicted quantity, such as ``time_s``.
        dataset: name of the data set.
        data: digest of the data set.
        split: how rows were held out, such as ``family, seed 1337``.
        targets: machines of the training rows.
        modes: execution modes of the training rows.
        rows: number of training rows.
        architectures: number of training architectures.
        most_operators: operators of the largest training graph; a larger one extrapolates.
        runs: machine, precision, execution mode and framework of each kind of training rows.
        small_peaks: for each of ``runs``, the live bytes of a small run: the 5 % quantile over its
            rows. Empty in older cards.
        operators: mnemonics of all operators of the training graphs.
        factor: correction of estimates, and low and high end of the interval over the estimate.
        metrics: metrics of held-out rows.
        meta: entries of the predictor itself, among them digests of its schemas.
        arrays_sha256: digest of the arrays.
        factors: ends of the interval over the estimate, by machine with enough held-out rows.
    """

    predictor: str
    title: str
    quantity: str
    dataset: str
    data: str
    split: str
    targets: tuple[str, ...]
    modes: tuple[str, ...]
    rows: int
    architectures: int
    most_operators: int
    factor: tuple[float, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[tuple[str, str, str, str], ...] = ()
    operators: tuple[str, ...] = ()
    small_peaks: tuple[float, ...] = ()
    arrays_sha256: str = ""
    format: int = FORMAT
    factors: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def has_processors(self) -> bool:
        """Return True if any training row is of a CPU."""
        return any(load_machine(target).kind == "cpu" for target in self.targets)

    def covers(self, target: str, setting: Setting) -> bool:
        """Return True if rows cover that machine and setting; see `versions`."""
        return bool(self.versions(target, setting))

    def versions(self, target: str, setting: Setting) -> list[tuple[int, int]]:
        """Return the framework versions of the rows of a machine in an execution mode.

        Rows under autocast stand for a type without rows: autocast launches the kernels of that
        type, and casts, which are separate launches.
        """
        return [version_of(self.runs[i][3]) for i in self._like(target, setting)]

    def small_peak_bytes(self, target: str, setting: Setting) -> float:
        """Return live bytes of small runs in a setting of a machine; 0 if unknown.

        A machine without such rows takes the least of the others.
        """
        if len(self.small_peaks) < len(self.runs):  # an older card
            return 0.0
        # the least, so that fewer runs count as smaller than measured ones
        indices = self._like(target, setting) or [
            i for other in self.targets for i in self._like(other, setting)
        ]
        return min((self.small_peaks[i] for i in indices), default=0.0)

    def _like(self, target: str, setting: Setting) -> list[int]:
        """Return the indices of the runs of a machine in a setting."""
        # rows in the precision itself come first, then those under autocast to it
        precision = setting.precision.value
        for measured in (precision, f"amp {precision}"):
            wanted = (target, measured, setting.mode.value)  # the framework may be any
            indices = [i for i, run in enumerate(self.runs) if run[:3] == wanted]
            if indices:
                return indices
        return []


def version_of(framework: str) -> tuple[int, int]:
    """Return major and minor version of a text such as ``torch 2.9``.

    Raises:
        ValueError: it has no version.
    """
    major, _, minor = framework.rpartition(" ")[2].partition(".")
    return int(major), int(minor)


def narrowed(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays with matrices in half precision; vectors, which are small, stay as they are."""
    return {n: a.astype(np.float16) if a.ndim > 1 else a for n, a in arrays.items()}


def save(
    trained: GraphPredictor, card: GraphCard, folder: Path, *, is_narrow: bool = False
) -> Path:
    """Write card and arrays, each in one step, and return the path of the card.

    The card is last, so that one with the digest of missing arrays never exists.

    Args:
        trained: trained predictor.
        card: its card, without the digest of the arrays.
        folder: output folder.
        is_narrow: True to store matrices in half precision.

    Raises:
        WeightsError: the predictor stores no arrays.
    """
    learned = narrowed(trained.arrays()) if is_narrow else trained.arrays()
    arrays = {n: np.ascontiguousarray(a) for n, a in learned.items()}
    if not arrays:
        raise WeightsError(f"{card.predictor} keeps no weights")
    content = packed(arrays)
    stem = f"{card.predictor.replace(':', '-')}-{card.dataset}-{card.quantity}"
    digest = hashlib.sha256(content).hexdigest()
    write_file(folder / f"{stem}.npz", content)
    text = json.dumps({**asdict(card), "arrays_sha256": digest}, indent=2) + "\n"
    write_file(folder / f"{stem}.json", text.encode())
    return folder / f"{stem}.json"


def read_card(path: Path) -> GraphCard:
    """Return the card of a file.

    Raises:
        WeightsError: it cannot be read, or is no card.
    """
    return _parsed(bounded_content(path, MAX_CARD_BYTES), path)


@lru_cache(maxsize=16)
def _parsed(content: bytes, path: Path) -> GraphCard:
    """Return the card of a file's content; cached, as one analysis reads it several times."""
    try:
        parsed = json.loads(content)
        # JSON has lists where the card has tuples; fields that older cards lack are empty
        for name in ("targets", "modes", "factor", "operators"):
            parsed[name] = tuple(parsed.get(name, ()))
        parsed["small_peaks"] = tuple(map(float, parsed.get("small_peaks", ())))
        parsed["runs"] = tuple(
            (str(a), str(b), str(c), str(d)) for a, b, c, d in parsed.get("runs", ())
        )
        card = GraphCard(**parsed)
        for *_, framework in card.runs:
            version_of(framework)  # raises for a text without a version
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        reason = str(error).removeprefix("GraphCard.__init__() ")
        raise WeightsError(f"no card of a graph predictor: {reason}", where=str(path)) from None
    if card.format != FORMAT:
        raise WeightsError(f"a card of format {card.format}, not {FORMAT}", where=str(path))
    return card


def load(path: Path, *, trains: bool = True) -> tuple[GraphPredictor, GraphCard]:
    """Return the predictor of a card, and the card; without ``trains`` it may only estimate.

    Raises:
        WeightsError: files that are damaged, of another schema, or of two different trainings.
    """
    card = read_card(path)
    # refuses arrays with another digest, which are of another training
    arrays = arrays_of(path.with_suffix(".npz"), card.arrays_sha256, MAX_ARRAYS_BYTES)
    try:
        restored = predictor(card.predictor, Quantity(card.quantity), trains=trains)
        restored.restore(arrays, card.meta)
        middle, low, high = map(float, card.factor)
        restored.factors = {
            t: (float(start), float(end)) for t, (start, end) in card.factors.items()
        }
    # `restore` reads arrays and meta data of files that may be damaged
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise WeightsError(f"weights of another schema: {error}", where=str(path)) from None
    restored.factor = (middle, low, high)
    return restored, card
