"""Runs that are alike take alike; likelihoods have the gradients that differences have."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.artefacts.arrays import packed, unpacked
from perfc.analyzers.features.process import LOCAL, NOBODY, NOISE, Process, similarities
from perfc.analyzers.features.process import RowPositions as Runs
from perfc.analyzers.runs.run_process import FORM, OF_PARTS, TERMS, Aspect, positions
from perfc.analyzers.runs.run_table import COLUMNS, ORDER, PARTS, RunTable
from perfc_lab.training.process_fit import (
    MOST_BEYOND,
    UNLIKELY,
    Likelihood,
    ProcessRecipe,
    drawn,
    fitted_process,
)


def measured(count: int = 120, seed: int = 0) -> tuple[Runs, np.ndarray]:
    """Runs under two runtimes; the second takes longer, and so do runs of larger sums."""
    rng = np.random.default_rng(seed)
    runtime = np.arange(count) % 2
    places = rng.normal(0, 1, (count, len(COLUMNS)))
    shares = FORM.near[Aspect.SHARES].columns
    places[:, shares] = np.abs(places[:, shares]) * 0.1
    same = np.zeros(count)
    places[:, -len(PARTS) :] = np.abs(places[:, -len(PARTS) :]) * 0.1 + 0.3
    graph = np.arange(count) // 4
    kinds = np.stack([runtime, same, same, np.arange(count) % 3, same, graph], axis=1)
    beyond = 0.3 * runtime + 0.1 * np.tanh(places[:, 0])
    return Runs(kinds.astype(np.float32), places.astype(np.float32)), beyond


def test_gradients_are_those_of_differences() -> None:
    runs, beyond = measured(60)
    likely = Likelihood(FORM, runs, beyond)
    at = likely.start() + np.random.default_rng(1).normal(0, 0.2, len(likely.start()))
    _, gradient = likely.minus_log(at)
    step = 1e-4
    for i in range(len(at)):
        change = step * (np.arange(len(at)) == i)
        up, down = (likely.minus_log(at + sign * change)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=1e-3)


def test_a_covariance_that_rounding_spoils_is_unlikely_not_an_error() -> None:
    runs, beyond = measured(60)
    likely = Likelihood(FORM, runs, beyond)
    far = likely.start()
    # all machines are similar, by the third last reach
    far[[0, -3]] = 30.0
    value, gradient = likely.minus_log(far)
    assert value == UNLIKELY > likely.minus_log(likely.start())[0]
    assert not gradient.any()


def test_what_a_runtime_adds_is_known_of_runs_that_nobody_measured() -> None:
    runs, beyond = measured(160)
    known, queried = np.arange(120), np.arange(120, 160)
    process = fitted_process(
        FORM, runs.take(known), beyond[known], ProcessRecipe(rows=80, steps=40)
    )
    kinds = runs.kinds.copy()
    kinds[:, -1] = NOBODY
    expected = process.beyond(Runs(kinds, runs.places).take(queried))
    usual = np.abs(beyond[queried] - beyond[known].mean()).mean()
    assert np.abs(expected - beyond[queried]).mean() < 0.2 * usual


def test_likeness_goes_from_none_to_all() -> None:
    runs, _ = measured(8)
    similarity = similarities(FORM, runs, runs)
    for aspect in {*Aspect} - {*OF_PARTS}:
        assert np.diag(similarity[aspect]) == pytest.approx(np.ones(8), abs=1e-3), aspect
        assert (similarity[aspect] >= 0).all()
        assert (similarity[aspect] <= 1 + 1e-9).all()
    far = Runs(runs.kinds + 1, runs.places + 1e3)
    far.places[:, -len(PARTS) :] = 0.0
    assert max(one.max() for one in similarities(FORM, runs, far).values()) <= 1.0
    assert all(one[0, 0] < 1e-6 for one in similarities(FORM, runs, far).values())
    # one version of two runtimes is no common version
    assert similarity[Aspect.VERSION][0, 1] == 0.0


def test_the_graph_that_is_queried_of_is_none_of_those_known() -> None:
    runs, _ = measured(4)
    queried = Runs(runs.kinds.copy(), runs.places)
    queried.kinds[:, -1] = NOBODY
    assert similarities(FORM, runs, runs)[Aspect.GRAPH][0, 0] == 1.0
    assert not similarities(FORM, queried, runs)[Aspect.GRAPH].any()
    assert not similarities(FORM, queried, queried)[Aspect.GRAPH].any()


def test_what_is_stored_tells_the_same() -> None:
    runs, beyond = measured()
    process = fitted_process(FORM, runs, beyond, ProcessRecipe(rows=50, steps=3))
    again = Process.read(FORM, unpacked(packed(process.arrays())))
    assert again.beyond(runs) == pytest.approx(process.beyond(runs), abs=1e-3)


def test_the_deviation_is_that_of_all_rows_where_few_are_known() -> None:
    runs, beyond = measured(LOCAL)
    queried = Runs(np.column_stack([runs.kinds[:, :-1], np.full(LOCAL, NOBODY)]), runs.places + 0.2)
    process = fitted_process(FORM, runs, beyond, ProcessRecipe(rows=40, steps=20))
    known, placed = process.known, process.placed(queried)
    covariance = process.covariance(known, known) + process.noise**2 * np.eye(LOCAL)
    ours = process.covariance(placed, known)
    # as a row is alike with itself in every aspect but its model, which nobody knows: all of it
    variance = process.prior(queried) - (ours * np.linalg.solve(covariance, ours.T).T).sum(axis=1)
    assert process.deviation(queried, ours) == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_a_run_far_from_all_others_is_known_least() -> None:
    runs, beyond = measured(3 * LOCAL)
    process = fitted_process(FORM, runs, beyond, ProcessRecipe(rows=60, steps=20))
    far = Runs(runs.kinds[:1] + 9, runs.places[:1] + 1e3)
    far.places[:, -len(PARTS) :] = 1.0
    alone = float(np.sqrt(process.prior(far)[0]))
    nearly_all, most = (
        float(process.deviation(one, process.with_known(one)).max()) for one in (far, runs)
    )
    assert most < nearly_all
    assert nearly_all <= alone
    assert nearly_all > 0.99 * alone


def test_noise_is_kept_with_the_other_arrays() -> None:
    runs, beyond = measured(40)
    process = fitted_process(FORM, runs, beyond, ProcessRecipe(rows=20, steps=1))
    arrays = unpacked(packed(process.arrays()))
    assert Process.read(FORM, arrays).noise == pytest.approx(process.noise, rel=1e-6)
    unkept = {name: array for name, array in arrays.items() if name != NOISE}
    assert np.isnan(Process.read(FORM, unkept).noise)


@pytest.mark.parametrize("name", ["weights", "places", "amplitudes"])
def test_arrays_of_another_shape_are_refused(name: str) -> None:
    runs, beyond = measured(40)
    arrays = fitted_process(FORM, runs, beyond, ProcessRecipe(rows=20, steps=1)).arrays()
    with pytest.raises(ValueError, match="another shape"):
        Process.read(FORM, arrays | {name: arrays[name][1:]})
    with pytest.raises(KeyError):
        Process.read(FORM, {n: a for n, a in arrays.items() if n != name})


def test_a_run_that_is_far_off_counts_as_the_most() -> None:
    runs, beyond = measured(40)
    beyond[0] = 50.0
    process = fitted_process(FORM, runs, beyond, ProcessRecipe(rows=20, steps=1))
    assert process.beyond(runs).max() <= MOST_BEYOND + 0.1


def test_few_runs_of_a_graph_are_drawn() -> None:
    runs, _ = measured(100)
    kinds = runs.kinds.copy()
    kinds[:50, -1] = 0
    some = drawn(Runs(kinds, runs.places), ProcessRecipe(rows=90))
    assert (kinds[some, -1] == 0).sum() == ProcessRecipe().of_model
    assert len(np.unique(some)) == len(some)


def test_no_term_stands_twice_and_each_but_kernels_of_a_device_is_of_a_machine() -> None:
    for terms in OF_PARTS.values():
        assert len(set(map(frozenset, terms))) == len(terms)
    for aspects in TERMS:
        assert Aspect.MACHINE in aspects or {Aspect.DEVICE, Aspect.KERNELS} <= {*aspects}
        assert any({0, 4} & {*FORM.kinds.get(one, ())} for one in aspects)
    # hosts and fixed times do not change with the batch
    for aspects in (*OF_PARTS[Aspect.HOST], *OF_PARTS[Aspect.FIXED]):
        assert not {Aspect.WORK, Aspect.SHARES} & {*aspects}


def test_positions_are_numbers_of_what_was_measured() -> None:
    places = np.arange(len(COLUMNS), dtype=np.float64)
    ways_s = np.array([[0.0, 1e-3]])
    run = RunTable("b", "", ORDER[2], 8.05, 7.0, 77, places, ways_s, 0.0, 1e-3, 1e-4)
    row = positions([run], ("a", "b"), {77: 5})
    assert row.kinds[0].tolist() == [1.0, 2.0, np.float32(8.05), 7.0, 1.0, 5.0]
    assert row.places[0] == pytest.approx(places)
    assert positions([run], ("a",)).kinds[0].tolist()[::5] == [NOBODY, NOBODY]
