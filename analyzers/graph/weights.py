"""Files of a trained predictor: arrays and a readable card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.ir import record
from perfc.machine import load_machine

from ..artefacts.arrays import packed
from ..artefacts.artefact import WeightsError, arrays_of, bounded_content
from .predictor import GraphPredictor, predictor
from .rows import Quantity
from .store import write_file

if TYPE_CHECKING:
    from ..features.classes import Array
    from ..steps.setting import Setting

FORMAT = 4
"""Version of the files; a predictor of another one is refused."""
MAX_CARD_BYTES = 1 << 18
"""Maximum bytes of a card, which may come from elsewhere."""
MAX_ARRAYS_BYTES = 64 << 20
"""Maximum bytes of the arrays of a predictor."""


@record
class GraphCard:
    """Metadata of a predictor: training data, tests and inputs.

    Args:
        predictor: name, with its variant.
        title: with the paper.
        quantity: predicted quantity, ``time_s``.
        dataset: name of the rows.
        data: digest of the data set.
        split: how rows were held out: ``family, seed 1337``.
        targets: machines.
        modes: ways of running.
        rows: trained on.
        architectures: trained on.
        most_operators: operators of the largest training graph; a larger one extrapolates.
        runs: machine, precision, way of running and framework that rows are of.
        small_peaks: of each of ``runs``, bytes alive at once in a small one: nineteen of twenty of
            its rows have more. Nothing where the card is older.
        operators: mnemonics of the graphs trained on.
        factor: middle, low and high of the interval over the estimate.
        metrics: metrics of tested rows.
        meta: what the predictor says of itself; digests of its schemas among it.
        arrays_sha256: digest of the arrays.
        factors: ends of the interval over the estimate, on machines with enough held-out rows.
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
        """Return True if a training run is of a CPU."""
        return any(load_machine(target).kind == "cpu" for target in self.targets)

    def covers(self, target: str, setting: Setting) -> bool:
        """Return True if rows cover that machine and setting; see `versions`."""
        return bool(self.versions(target, setting))

    def versions(self, target: str, setting: Setting) -> list[tuple[int, int]]:
        """Return the framework versions of the rows of a machine in an execution mode.

        Autocast launches the kernels of its type, and casts besides, which are listed separately:
        rows under autocast stand for a type without rows.
        """
        return [version_of(self.runs[i][3]) for i in self._like(target, setting)]

    def small_peak_bytes(self, target: str, setting: Setting) -> float:
        """Return bytes alive at once in small runs of a mode, precision and machine; 0 if unknown.

        Where the machine has no such rows, of the machines that have.
        """
        if len(self.small_peaks) < len(self.runs):
            return 0.0
        places = self._like(target, setting) or [
            i for other in self.targets for i in self._like(other, setting)
        ]
        return min((self.small_peaks[i] for i in places), default=0.0)

    def _like(self, target: str, setting: Setting) -> list[int]:
        """Return the indices of the runs of a machine in a setting."""
        precision = setting.precision.value
        for measured in (precision, f"amp {precision}"):
            wanted = (target, measured, setting.mode.value)
            indices = [i for i, run in enumerate(self.runs) if run[:3] == wanted]
            if indices:
                return indices
        return []


def version_of(framework: str) -> tuple[int, int]:
    """Return the major and minor of ``torch 2.9``.

    Raises:
        ValueError: it has none.
    """
    major, _, minor = framework.rpartition(" ")[2].partition(".")
    return int(major), int(minor)


def narrowed(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays with matrices in half precision; vectors stay as they are."""
    return {n: a.astype(np.float16) if a.ndim > 1 else a for n, a in arrays.items()}


def save(
    trained: GraphPredictor, card: GraphCard, folder: Path, *, is_narrow: bool = False
) -> Path:
    """Write card and arrays, each in one step; the card comes last.

    Args:
        trained: the predictor.
        card: its card.
        folder: output folder.
        is_narrow: whether matrices are stored in half precision.

    Raises:
        WeightsError: the predictor keeps nothing.
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
    """Return the card in a file; cached, as one analysis reads it several times."""
    try:
        parsed = json.loads(content)
        for name in ("targets", "modes", "factor", "operators"):
            parsed[name] = tuple(parsed.get(name, ()))
        parsed["small_peaks"] = tuple(map(float, parsed.get("small_peaks", ())))
        parsed["runs"] = tuple(
            (str(a), str(b), str(c), str(d)) for a, b, c, d in parsed.get("runs", ())
        )
        card = GraphCard(**parsed)
        for *_, framework in card.runs:
            version_of(framework)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        reason = str(error).removeprefix("GraphCard.__init__() ")
        raise WeightsError(f"no card of a graph predictor: {reason}", where=str(path)) from None
    if card.format != FORMAT:
        raise WeightsError(f"a card of format {card.format}, not {FORMAT}", where=str(path))
    return card


def load(path: Path, *, trains: bool = True) -> tuple[GraphPredictor, GraphCard]:
    """Return the predictor of a card; without ``trains`` it may only estimate.

    Raises:
        WeightsError: damaged, of another schema, or not belonging together.
    """
    card = read_card(path)
    arrays = arrays_of(path.with_suffix(".npz"), card.arrays_sha256, MAX_ARRAYS_BYTES)
    try:
        made = predictor(card.predictor, Quantity(card.quantity), trains=trains)
        made.restore(arrays, card.meta)
        middle, low, high = map(float, card.factor)
        made.factors = {t: (float(start), float(end)) for t, (start, end) in card.factors.items()}
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise WeightsError(f"weights of another schema: {error}", where=str(path)) from None
    made.factor = (middle, low, high)
    return made, card
