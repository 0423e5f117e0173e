"""Calibrate recovers what a device can do, and writes nothing it should not."""

from __future__ import annotations

import json
import os
import re
import statistics
from collections import Counter
from pathlib import Path

import pytest

from perfc.ir.facts import Origin
from perfc.kernels.backends.backend import MeasurementError
from perfc.kernels.backends.fake import LEVELS, Fake, FakeRun
from perfc.kernels.probe import Case
from perfc.machine import Unit, load_machine, validate
from perfc.measuring.calibrate import UncertainError, calibrate

from .fakes import TRUTH, Restless, measured, without_pauses


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    without_pauses(monkeypatch)


@pytest.mark.parametrize("seed", range(4))
def test_all_peaks_of_the_fake_device_are_recovered_within_two_per_cent(
    tmp_path: Path, seed: int
) -> None:
    facts = measured(tmp_path / "toy.toml", seed=seed).machine.facts
    for key, truth in TRUTH.items():
        assert facts[key].value == pytest.approx(truth, rel=0.02), key
        assert facts[key].origin is Origin.MEASURED


def test_a_noisier_device_is_recovered_too(tmp_path: Path) -> None:
    facts = measured(tmp_path / "toy.toml", noise=0.02, interruptions=0.3).machine.facts
    for key, truth in TRUTH.items():
        assert facts[key].value == pytest.approx(truth, rel=0.02), key


def test_steps_of_the_hierarchy_are_found(tmp_path: Path) -> None:
    machine = measured(tmp_path / "toy.toml").machine
    assert [m.name for m in machine.memory] == ["l1", "l2", "device"]
    for level, truth in zip(machine.memory[:2], LEVELS, strict=False):
        assert truth.capacity / 1.5 <= level.capacity_bytes <= truth.capacity * 1.5


def test_the_file_is_a_valid_target_that_says_where_it_is_from(tmp_path: Path) -> None:
    path = tmp_path / "My Card.toml"
    done = measured(path)
    assert validate(path) == []
    machine = load_machine(path)
    assert machine.name == "my-card"
    peak = machine.entry(Unit.MATRIX, "f16")
    assert peak.sustained is not None
    assert peak.peak.value > peak.sustained.value
    assert peak.peak.origin is Origin.ASSUMED
    lab = machine.sources["lab"]
    assert lab.origin is Origin.MEASURED
    assert lab.date
    text = path.read_text()
    assert "n = " in text
    assert "iqr = " in text
    assert 'samples = "My Card.samples.jsonl"' in text
    assert {r.key for r in done.rows} <= machine.facts.keys()


def test_raw_samples_are_kept_beside_the_file(tmp_path: Path) -> None:
    done = measured(tmp_path / "toy.toml")
    head, *lines = [json.loads(line) for line in done.samples.read_text().splitlines()]
    assert head["device"] == "fake device"
    assert all(len(line["seconds"]) >= 3 and line["count"] > 0 for line in lines)
    assert {line["round"] for line in lines} >= {0, 1}
    assert lines[0]["state"]["power_w"] == 100.0


def test_a_kernel_that_answers_wrongly_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"fma\.f32: the kernel's answer is off"):
        measured(tmp_path / "toy.toml", wrong=frozenset({"fma.f32"}))
    assert not (tmp_path / "toy.toml").exists()


def test_rounds_that_disagree_are_written_with_their_spread(tmp_path: Path) -> None:
    done = measured(tmp_path / "toy.toml", drift=1.002)
    key = "compute.vector.f32.sustained_flop_per_s"
    rate = load_machine(done.path).facts[key]
    assert rate.spread is not None
    rounds = values_by_round(done.samples, "fma.f32/all", 2 * 1e6)
    assert rate.spread.rounds == len(rounds) >= 2
    assert rate.value == pytest.approx(statistics.median(rounds), rel=1e-4)
    assert rate.spread.best == pytest.approx(max(rounds), rel=1e-4)
    assert rate.spread.worst == pytest.approx(min(rounds), rel=1e-4)
    assert rate.is_uncertain
    assert key in {r.key for r in done.uncertain}
    assert re.search(r"; \d+ of 26 figures repeat within 10 %", done.machine.sources["lab"].note)


def values_by_round(samples: Path, case: str, work: float) -> list[float]:
    """The rates of a case from the raw samples: median of the best third of each round."""
    lines = [json.loads(line) for line in samples.read_text().splitlines()[1:]]
    result = []
    for line in lines:
        if line["case"] == case:
            best = sorted(line["seconds"])[: max(len(line["seconds"]) // 3, 1)]
            result.append(work / statistics.median(best))
    return result


@pytest.mark.parametrize("seed", range(4))
def test_a_restless_device_is_written_and_floors_stay_above_what_was_seen(
    tmp_path: Path, seed: int
) -> None:
    done = calibrate("fake", tmp_path / "toy.toml", backend=Restless(seed=seed))
    machine = done.machine
    assert len(done.uncertain) >= 5
    truth = {k: v for k, v in TRUTH.items() if "sustained" in k and k.startswith("compute")}
    for (unit, dtype), peak in machine.compute.items():
        assert peak.sustained is not None
        assert peak.sustained.spread is not None
        assert peak.peak.value >= peak.sustained.spread.best
        key = f"compute.{unit.value}.{dtype}.sustained_{'op' if unit is Unit.SPECIAL else 'flop'}"
        assert peak.peak.value >= truth[f"{key}_per_s"] / 1.3
    for level in machine.memory:
        assert level.sustained is not None
        assert level.sustained.spread is not None
        assert level.bandwidth.value >= level.sustained.spread.best


class Spoiled(Fake):
    """Others leave nothing of the special-function unit for so many runs of each probe."""

    spoiled_runs = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.runs = Counter[str]()

    def prepare(self, case: Case) -> FakeRun:
        run = super().prepare(case)
        self.runs[case.probe] += 1
        if case.probe.startswith("special.") and self.runs[case.probe] <= self.spoiled_runs:
            run.once_s *= 1e6
        return run


class Starved(Spoiled):
    """They leave it nothing ever."""

    spoiled_runs = 1_000


@pytest.mark.parametrize(("kind", "is_written"), [(Spoiled, True), (Starved, False)])
def test_a_reading_spoiled_by_load_is_measured_again_and_the_file_written(
    tmp_path: Path, kind: type[Spoiled], is_written: bool
) -> None:
    done = calibrate("fake", tmp_path / "toy.toml", backend=kind(seed=1))
    key = "compute.special.f32.sustained_op_per_s"
    assert (key in done.machine.facts) == is_written
    told = f"not measured: {key}: other programs disturbed every reading"
    assert (told in done.notes) != is_written
    if is_written:
        rate = done.machine.facts[key]
        assert rate.value > 1e8
        assert rate.is_uncertain


class Crowded(Spoiled):
    """Others leave little of the cores to products of f32, for as many runs."""

    def prepare(self, case: Case) -> FakeRun:
        run = super(Spoiled, self).prepare(case)
        self.runs[case.probe] += 1
        if case.probe == "matrix.f32" and self.runs[case.probe] <= self.spoiled_runs:
            run.once_s *= 80
        return run


class CrowdedOut(Crowded):
    spoiled_runs = 1_000


@pytest.mark.parametrize(("kind", "is_written"), [(Crowded, True), (CrowdedOut, False)])
def test_a_rate_far_below_that_of_a_wider_type_is_measured_again_or_left_out(
    tmp_path: Path, kind: type[Crowded], is_written: bool
) -> None:
    done = calibrate("fake", tmp_path / "toy.toml", backend=kind(seed=1))
    key = "compute.matrix.f32.sustained_flop_per_s"
    assert (key in done.machine.facts) == is_written
    told = f"not measured: {key}: other programs disturbed every reading"
    assert (told in done.notes) != is_written
    if is_written:
        assert done.machine.facts[key].value > TRUTH[key] / 1.1


class Waiting(Starved):
    """Its launches wait for a time slice of another thread."""

    def prepare(self, case: Case) -> FakeRun:
        run = super().prepare(case)
        if case.probe == "launch.eager" and self.runs[case.probe] <= self.spoiled_runs:
            run.once_s = 0.61e-3
        return run


class WaitingOnce(Waiting):
    spoiled_runs = 3


@pytest.mark.parametrize(("kind", "is_default"), [(WaitingOnce, False), (Waiting, True)])
def test_a_launch_that_makes_no_sense_is_measured_again_or_its_default_is_said(
    tmp_path: Path, kind: type[Waiting], is_default: bool
) -> None:
    done = calibrate("fake", tmp_path / "toy.toml", backend=kind(seed=1))
    rate = done.machine.facts["device.launch_overhead_s"]
    assert (rate.source == "default") == is_default
    assert rate.value < 50e-6
    if is_default:
        assert rate.value == 5e-6
        assert rate.origin.name == "ASSUMED"
        said = [n for n in done.notes if "launch_overhead_s" in n]
        assert len(said) == 1
        assert "0.00061 s read, 5e-06 s assumed" in said[0]
        assert "0.00061 s read" in done.path.read_text()


def test_strict_leaves_what_spreads_unwritten(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text("an earlier file")
    told = (
        r"not written: .* spreads from \S+ to \S+ in 6 rounds; \d+ more \(run again with --resume"
    )
    with pytest.raises(UncertainError, match=told):
        calibrate("fake", path, backend=Fake(drift=1.002), strict=True)
    assert path.read_text() == "an earlier file"
    assert sorted(os.listdir(tmp_path)) == ["toy.samples.jsonl", "toy.toml"]
    assert calibrate("fake", path, backend=Fake(), strict=True).uncertain == ()


class Broken(Fake):
    """One probe whose repeats take ``factor`` times what they should."""

    factor = 1e-4

    def prepare(self, case: Case) -> FakeRun:
        run = super().prepare(case)
        if case.probe == "fma.f32":
            run.once_s *= self.factor
        return run


def test_a_rate_above_what_is_possible_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    told = r"compute\.vector\.f32\.\S+: 2e\+16 where no such device does 3\.93e\+14 .* broken"
    with pytest.raises(MeasurementError, match=told):
        calibrate("fake", path, backend=Broken())
    assert not path.exists()


@pytest.mark.parametrize(("factor", "told"), [(0.0, "stands still"), (-1.0, "backwards")])
def test_a_probe_that_takes_no_time_is_refused(tmp_path: Path, factor: float, told: str) -> None:
    broken = Broken()
    broken.factor = factor
    with pytest.raises(MeasurementError, match=rf"^fma\.f32/all: .*{told}"):
        calibrate("fake", tmp_path / "toy.toml", backend=broken)
    assert not (tmp_path / "toy.toml").exists()
