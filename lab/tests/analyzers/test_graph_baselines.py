"""Baselines without networks: roofline, forests of kernels, slices of a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.predictor import TrainingBudget
from perfc.analyzers.graph.rows import Quantity
from perfc.errors import PerfcError
from perfc.machine.mig import mig_profile, profiles
from perfc_lab.papers.kernel_forest import KernelForest, LaunchTable
from perfc_lab.training.graphs.protocols import Fold, GraphProtocol, folds
from perfc_lab.whole_runs.roofline import SCALED, RooflineSum

from .graph_rows import measurements


def fold() -> Fold:
    return next(folds(measurements(), GraphProtocol.RANDOM, (0,)))


def silent(line: str) -> None:
    del line


def test_the_roofline_is_the_longer_of_arithmetic_and_traffic_of_each_launch() -> None:
    data = measurements()
    row = data.rows[0]
    machine, launches = sheet(row.target), data.launches(row)
    rate = machine.matrix_flop_per_s("f32")
    total = 0.0
    for i in range(len(launches)):
        nbytes = launches.amounts["read_bytes"][i] + launches.amounts["write_bytes"][i]
        longest = max(2 * launches.amounts["mac"][i] / rate, nbytes / machine.device_bytes_per_s)
        total += longest * launches.times[i]
    assert RooflineSum().predict(data.of([row]))[0] == pytest.approx(total)


def test_the_scaled_roofline_is_right_in_the_middle() -> None:
    data = fold()
    made = RooflineSum(SCALED)
    made.fit(data.train, data.validation, TrainingBudget(), silent)
    ratio = data.train.values(Quantity.TIME) / made.predict(data.train)
    assert np.median(ratio) == pytest.approx(1.0)
    again = RooflineSum(SCALED)
    again.restore(made.arrays(), made.meta())
    np.testing.assert_array_equal(again.predict(data.test), made.predict(data.test))


def test_a_roofline_gives_no_energy() -> None:
    data = fold()
    with pytest.raises(PerfcError, match="energy"):
        RooflineSum(quantity=Quantity.ENERGY).fit(
            data.train, data.validation, TrainingBudget(), silent
        )


def test_kernels_share_the_time_of_their_row() -> None:
    data = measurements()
    table = LaunchTable(data, data.rows[3])
    shared = KernelForest().share(table)
    assert (shared * table.times).sum() == pytest.approx(data.rows[3].time_s)


def test_forests_of_kernels_learn_and_come_back() -> None:
    pytest.importorskip("xgboost")
    data = fold()
    made = KernelForest()
    made.fit(data.train, data.validation, TrainingBudget(), silent)
    found = made.predict(data.test)
    assert np.abs(found / data.test.values(Quantity.TIME) - 1).mean() < 0.2
    again = KernelForest()
    again.restore(made.arrays(), made.meta())
    np.testing.assert_allclose(again.predict(data.test), found, rtol=1e-6)


@pytest.mark.parametrize(
    ("memory_bytes", "name"),
    [(1.0, "1g.5gb"), (4.99e9, "1g.5gb"), (5e9, "2g.10gb"), (19e9, "3g.20gb"), (39e9, "7g.40gb")],
)
def test_a_model_gets_the_smallest_slice_that_holds_it(memory_bytes: float, name: str) -> None:
    found = mig_profile(memory_bytes)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("memory_bytes", [40e9, 0.0, -1.0, float("nan")])
def test_no_slice_for_what_fits_none_or_is_unknown(memory_bytes: float) -> None:
    assert mig_profile(memory_bytes) is None
    sizes = [p.capacity_bytes for p in profiles("a100-sxm4-40gb")]
    assert sizes == sorted(sizes)
