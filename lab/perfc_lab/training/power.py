"""Fit the power model to kernels with measured power, and test it on boards left out.

    python -m perfc_lab.training.power DATA

Writes ``analyzers/runs/power.toml``. Rows: at most ``SAMPLE`` of every block with power, so that no
table outweighs another; kernels from ``LONG_S`` on have the same total weight as shorter ones.
Splits, fixed in advance: each board left out in turn; each class of kernels left out in turn.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features import physics
from perfc.analyzers.features.classes import classes
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import complete
from perfc.analyzers.runs.energy import FILE, LONG_S, duration, matrix_key

from ..tables import sources
from .libraries import optimizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

# terms with a rate in the power model: units of the chip, and the duration of the kernel
UNITS = ("matrix16", "matrix8", "matrix4", "device", "l2", "special", "duration")
SHORT_S = 10e-6
"""Kernels below it hardly raise the power, so that its 1 % quantile is that of an idle board."""
SAMPLE = 3000
"""Maximum rows of a block."""
MOST_RATE = 20.0
"""Upper limit of the rates: at 20 a unit at 5 % already takes most of the power, 1 − 1/e."""


@dataclass(frozen=True, eq=False)
class Watched:
    """Kernels whose power was measured, one element of each array per kernel.

    Args:
        busy: utilisation of each unit, ``[kernels, units]``.
        share: power over the board's limit.
        time_s: time of one call.
        board: name of the machine.
        class_name: class of the kernel.
    """

    busy: Array
    share: Array
    time_s: Array
    board: NDArray[np.str_]
    class_name: NDArray[np.str_]


def watched(folder: Path) -> Watched:
    """Return a sample of all rows with power."""
    parts = list(_blocks(folder))
    return Watched(
        np.concatenate([p.busy for p in parts]),
        np.concatenate([p.share for p in parts]),
        np.concatenate([p.time_s for p in parts]),
        np.concatenate([p.board for p in parts]),
        np.concatenate([p.class_name for p in parts]),
    )


def _blocks(folder: Path) -> Iterator[Watched]:
    """Yield a sample of each block of rows that has power."""
    from perfc.machine import load_machine

    rng = np.random.default_rng(0)
    for source in sources().values():
        # only these tables have power
        if not source.name.startswith("aic_"):
            continue
        for block in source.rows(folder):
            if block.power_w is None or block.class_name not in classes():
                continue
            measured = np.flatnonzero(np.isfinite(block.power_w) & (block.power_w > 0))
            if not len(measured):
                continue
            sample = block.take(rng.choice(measured, min(SAMPLE, len(measured)), replace=False))
            kind, sheet = classes()[sample.class_name], Sheet(load_machine(sample.target))
            amounts = kind.amounts(complete(kind, sample.columns), sample.dtype)
            ceilings = physics.ceilings_s(amounts, sample.dtype, sheet)
            ceilings[matrix_key(sample.dtype)] = ceilings.pop("matrix")
            # multiplied by the time that the next step divides by
            ceilings["duration"] = duration(sample.time_s) * sample.time_s
            zero = np.zeros(len(sample))
            # utilisation: the least time that a unit needs over the time of the kernel
            busy = np.stack([ceilings.get(u, zero) / sample.time_s for u in UNITS], axis=1)
            assert sample.power_w is not None
            yield Watched(
                np.minimum(busy, 1.0),
                sample.power_w / sheet.power_w,
                sample.time_s,
                np.full(len(sample), sample.target),
                np.full(len(sample), sample.class_name),
            )


def shares(coefficients: Array, busy: Array) -> Array:
    """Return `perfc.analyzers.runs.energy.share_of_cap` of many kernels."""
    result: Array = 1 - (1 - coefficients[0]) * np.exp(-busy @ coefficients[1:])
    return result


def fit(rows: Watched, which: NDArray[np.bool_]) -> Array:
    """Return the base and rates: least squares of log ratios, with less weight on outliers.

    Raises:
        MissingExtraError: SciPy is not installed.
    """
    busy, share = rows.busy[which], rows.share[which]
    is_long = rows.time_s[which] >= LONG_S
    weight = np.where(is_long, 1 / max(is_long.mean(), 1e-9), 1 / max(1 - is_long.mean(), 1e-9))
    # the search starts from a base of 0.3 of the limit and a rate of 1 for every unit
    start = np.concatenate([[0.3], np.ones(len(UNITS))])
    solution = optimizer().least_squares(
        lambda c: np.sqrt(weight) * np.log(shares(c, busy) / share),
        start,
        bounds=(0, [0.99] + [MOST_RATE] * len(UNITS)),
        loss="soft_l1",
        f_scale=0.1,
    )
    result: Array = solution.x
    return result


def ratios(rows: Watched, groups: NDArray[np.str_]) -> dict[tuple[str, bool], Array]:
    """Return measured over predicted power of each group, by a fit to all other groups.

    Keys are the group and whether its kernels are long. A single group, and a length without
    kernels, have no entry.
    """
    result: dict[tuple[str, bool], Array] = {}
    is_long = rows.time_s >= LONG_S
    for group in np.unique(groups):
        is_group = groups == group
        if is_group.all():
            continue
        coefficients = fit(rows, ~is_group)
        for long in (True, False):
            is_tested = is_group & (is_long == long)
            if is_tested.any():
                result[str(group), long] = rows.share[is_tested] / shares(
                    coefficients, rows.busy[is_tested]
                )
    return result


def ends(split: Mapping[tuple[str, bool], Array], *, long: bool) -> tuple[float, float]:
    """Return the ends of the interval with 90 % of the ratios, groups weighted equally."""
    parts = [ratio for (_, is_long), ratio in split.items() if is_long == long]
    low, high = (float(np.mean([np.quantile(p, q) for p in parts])) for q in (0.05, 0.95))
    return low, high


def main(arguments: Sequence[str]) -> None:
    """Fit the model to all rows, print errors of left-out groups, and write the file."""
    rows = watched(Path(arguments[0]))
    coefficients = fit(rows, np.ones(len(rows.share), np.bool_))
    rates = dict(zip(UNITS, coefficients[1:], strict=True))
    boards = ratios(rows, rows.board)
    for title, split in (("board", boards), ("class", ratios(rows, rows.class_name))):
        for (name, long), ratio in split.items():
            error = np.abs(1 / ratio - 1)
            which = "long" if long else "short"
            print(
                f"{title} left out {name:20} {which:5} {len(ratio):6} kernels: "
                f"MAPE {error.mean():.1%}, median {np.median(error):.1%}"
            )
    low, high = ends(boards, long=True)
    short_low, short_high = ends(boards, long=False)
    short = rows.time_s < SHORT_S
    idle = np.mean(
        [np.quantile(rows.share[short & (rows.board == b)], 0.01) for b in np.unique(rows.board)]
    )
    # a unit that no kernel uses has no measured rate
    used = {u: r for u, r in rates.items() if rows.busy[:, UNITS.index(u)].max() > 0}
    lines = [
        'title = "power over board limit, fitted to products and attention in recorded graphs"',
        f"kernels = {len(rows.share)}",
        f"boards = {json.dumps([str(b) for b in np.unique(rows.board)])}",
        f"base = {coefficients[0]:.4f}",
        f"idle = {idle:.4f}",
        f"low_ratio = {low:.4f}",
        f"high_ratio = {high:.4f}",
        # the interval of short kernels is never narrower than that of long ones
        f"short_low_ratio = {min(short_low, low):.4f}",
        f"short_high_ratio = {max(short_high, high):.4f}",
        "",
        "[rates]",
        *(f"{unit} = {rate:.4f}" for unit, rate in used.items()),
    ]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(sys.argv[1:])
