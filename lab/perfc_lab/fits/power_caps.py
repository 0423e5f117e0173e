"""Fit time, power and energy of trainings under a power limit to the same trainings without one.

    python -m perfc_lab.fits.power_caps DATA

DATA has ``zeus_train_power.parquet``: epochs of six networks on P100, V100 and RTX 6000 under
limits. Prints the error of the law of `analyzers/runs/power_cap.py` refitted with each machine,
and each network, left out, and the knots fitted to all rows, which are those of ``power_cap.toml``.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from perfc.analyzers.runs.power_cap import EDGES, CapLaw

KEY = ["device", "dataset", "network", "batch", "optimizer"]
"""Columns of one training, which was run under several limits."""


def rows(data: Path) -> pd.DataFrame:
    """Return a row per training and limit: ratios to the same training under the highest limit.

    Ratios are of ``power``, ``time`` and ``energy``; ``demand`` is the limit over the power that
    the training draws under the highest limit.
    """
    table = pd.read_parquet(data / "zeus_train_power.parquet")
    numbers = ["time_per_epoch_s", "average_power_w", "energy_per_epoch_j"]
    table = table.groupby([*KEY, "power_limit_w"], observed=True)[numbers].mean().reset_index()
    # the highest limit stands for no limit: it is the default of the board
    top = table.loc[table.groupby(KEY, observed=True).power_limit_w.idxmax()]
    table = table.merge(top, on=KEY, suffixes=("", "_free"))
    table = table[table.power_limit_w < table.power_limit_w_free]
    return table.assign(
        demand=table.power_limit_w / table.average_power_w_free,
        power=table.average_power_w / table.average_power_w_free,
        time=table.time_per_epoch_s / table.time_per_epoch_s_free,
        energy=table.energy_per_epoch_j / table.energy_per_epoch_j_free,
    )


def fitted(table: pd.DataFrame) -> CapLaw:
    """Return the law whose knots are the medians of the rows between two edges of ``demand``."""
    parts = [table[(table.demand > a) & (table.demand <= b)] for a, b in pairwise(EDGES)]
    parts = [p for p in parts if len(p) > 3]  # a median of fewer says little
    return CapLaw(
        tuple(float(p.demand.median()) for p in parts),
        tuple(float(p.power.median()) for p in parts),
        tuple(float(p.time.median()) for p in parts),
    )


def errors(law: CapLaw, table: pd.DataFrame) -> dict[str, float]:
    """Return the mean absolute relative errors of time, power and energy, by name."""
    power = np.array([law.power(d) for d in table.demand])
    time = np.array([law.time(d) for d in table.demand])
    pairs = {
        "time": (time, table.time),
        "power": (power, table.power),
        "energy": (time * power, table.energy),
    }
    return {name: float(np.abs(ours / theirs - 1).mean()) for name, (ours, theirs) in pairs.items()}


def main() -> None:
    """Print errors and knots."""
    table = rows(Path(sys.argv[1]))
    for what in ("device", "network"):
        weighted: list[tuple[int, dict[str, float]]] = []
        for name in table[what].unique():
            tested = table[table[what] == name]
            result = errors(fitted(table[table[what] != name]), tested)
            weighted.append((len(tested), result))
            print(f"{what} left out {name:20} {len(tested):4} rows", _shown(result))
        total = sum(n for n, _ in weighted)
        mean = {k: sum(n * e[k] for n, e in weighted) / total for k in weighted[0][1]}
        print(f"{what} left out, all {total:26} rows", _shown(mean))
    law = fitted(table)
    for name in ("demands", "powers", "times"):
        print(f"{name} = {[round(v, 4) for v in getattr(law, name)]}")


def _shown(errors_by_name: dict[str, float]) -> str:
    """Return errors as percentages with their names."""
    return ", ".join(f"{k} {100 * v:.1f} %" for k, v in errors_by_name.items())


if __name__ == "__main__":
    main()
