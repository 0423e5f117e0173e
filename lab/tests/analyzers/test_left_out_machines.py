"""How far machines that are left out, to calibrate others, are from those that are left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from perfc.analyzers.features.distance import distance, place
from perfc.analyzers.runs.run_table import Network
from perfc.analyzers.runs.runtime_runs import ROUNDED
from perfc_lab.training.runs import chips_left_out
from perfc_lab.training.runs.run_stack import LEAST_LEFT_OUT

DTYPE = "f16"
NAMES = ("a10", "a100-sxm4-40gb", "a40", "h100-sxm5-80gb", "l4")
"""Two of them are nearer to each other than 1."""


class Stack:
    """As many rows as were taken."""

    def __init__(self, rows: NDArray[np.intp]) -> None:
        self.rows = rows

    def take(self, chosen: NDArray[np.bool_]) -> Stack:
        return Stack(self.rows[chosen])

    @property
    def launches(self) -> SimpleNamespace:
        return SimpleNamespace(rows=self.rows, time_s=np.exp(self.rows / 500))

    @property
    def kernels_s(self) -> NDArray[np.float64]:
        return np.ones(len(self.rows))

    def wrong(self, other: Stack) -> NDArray[np.float64]:
        assert not {*self.rows} & {*other.rows}
        return other.rows / 1000


def apart(name: str, others: set[str]) -> float:
    """Of a machine, by hand: to the nearest, and at least 1."""
    return max(1.0, min(distance(place(name, DTYPE), place(o, DTYPE)) for o in others))


@pytest.mark.parametrize("extra", [0, LEAST_LEFT_OUT - 1], ids=["chips", "few"])
def test_runs_of_a_chip_are_as_far_as_the_nearest_other(
    extra: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines = [n for n in NAMES for _ in range(LEAST_LEFT_OUT)]
    machines += ["v100-sxm2-16gb"] * extra
    table = SimpleNamespace(network=Network.PRODUCTS)
    runs: list[Any] = [
        SimpleNamespace(
            row=SimpleNamespace(deployment=SimpleNamespace(target=n)), table=table,
            stored=ROUNDED if i % 3 else "f16",
        )
        for i, n in enumerate(machines)
    ]  # fmt: skip
    monkeypatch.setattr(chips_left_out, "SPREAD_OF", DTYPE)

    def sums_of(part: Any, launches: Any) -> Any:
        assert not {*part.rows} & {*launches.rows}
        return np.exp(launches.rows / 1000)

    monkeypatch.setattr(chips_left_out, "sums_of", sums_of)
    category = np.arange(len(runs)) % 2
    said: list[str] = []
    stack: Any = Stack(np.arange(len(runs)))
    found = chips_left_out.machines_left_out(
        stack, runs, category, lambda part: cast("Any", part), said.append
    )
    assert len(found) == len(said) == len(NAMES)
    for i, (name, one) in enumerate(zip(NAMES, found, strict=True)):
        rows = slice(i * LEAST_LEFT_OUT, (i + 1) * LEAST_LEFT_OUT)
        wrong = np.arange(len(runs))[rows] / 1000
        older = chips_left_out.training_chips(name, {*machines})
        assert one.distance == pytest.approx(apart(name, older))
        assert one.wrong == pytest.approx(np.stack([wrong, 2 * wrong], axis=1))
        assert one.category.tolist() == category[rows].tolist()
        assert one.rounded.tolist() == [bool(k % 3) for k in range(rows.start, rows.stop)]
        held = chips_left_out.left_out(one, np.array([0.25, 0.5]))
        assert held.residual.tolist() == pytest.approx((1.5 * wrong).tolist())
        assert held.spread.tolist() == [0.25 + 0.25 * c for c in one.category]
        assert said[i].startswith(f"without {name} and newer: ")
    assert {one.distance > 1 for one in found} == {True, False}
    assert min(distance(place(NAMES[0], DTYPE), place(n, DTYPE)) for n in NAMES[1:]) < 1


def test_a_chip_is_held_out_with_all_newer_ones() -> None:
    names = {*NAMES, "v100-sxm2-16gb", "t4"}
    assert chips_left_out.training_chips("a100-sxm4-40gb", names) == {"v100-sxm2-16gb", "t4"}
    assert "l4" not in chips_left_out.training_chips("a10", names)
    assert chips_left_out.training_chips("l4", names) == names - {"l4", "h100-sxm5-80gb"}
    # one chip alone is too few to fit factors on
    assert chips_left_out.training_chips("t4", names) == names - {"t4"}
