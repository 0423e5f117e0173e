"""Calibrate recovers what a device can do, and writes nothing it should not."""

from __future__ import annotations

import json
import math
import os
import re
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from perfc.cli import run
from perfc.commands.measurement.calibrate import quantity
from perfc.errors import PerfcError
from perfc.ir.facts import Origin
from perfc.kernels.backends.backend import Device, MeasurementError, PowerDraw
from perfc.kernels.backends.fake import LEVELS, RATES, TIMES, Fake, FakeRun
from perfc.kernels.ceilings import energies
from perfc.kernels.probe import Case, Scope
from perfc.kernels.session import Sample, Session
from perfc.kernels.timing import Series
from perfc.machine import Unit, load_machine, validate
from perfc.machine.machine import Rate, Spread
from perfc.measuring.calibrate import CalibratedTarget, MeasurementBudget, UncertainError, calibrate
from perfc.measuring.calibrate import run as module
from perfc.measuring.calibrate.outcome import CeilingRow

QUICK = module._QUICK

TRUTH = {
    **{
        f"compute.{'matrix' if k.startswith('matrix') else 'vector'}.{k.partition('.')[2]}"
        ".sustained_flop_per_s": v
        for k, v in RATES.items()
        if k.startswith(("matrix.", "fma.", "dot."))
    },
    "compute.special.f32.sustained_op_per_s": RATES["special.exp2"],
    "device.clock_sustained_hz": RATES["clock"],
    "device.launch_overhead_s": TIMES["launch.eager"],
    "device.launch_graph_s": TIMES["launch.graph"],
    "device.host_launch_s": TIMES["launch.framework"],
    "link.host.sustained_bandwidth_bytes_per_s": RATES["link.h2d-pinned"],
    "link.host.pageable_bandwidth_bytes_per_s": RATES["link.h2d-pageable"],
    **{f"memory.{c.name}.sustained_bandwidth_bytes_per_s": c.bandwidth for c in LEVELS},
    **{f"memory.{c.name}.latency_s": c.latency_s for c in LEVELS},
    "device.idle_power_w": 100.0,
    "compute.matrix.f16.energy_per_flop_j": 1e-12,
    "memory.device.energy_per_byte_j": 1e-11,
}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    unhurried = {
        "cuda": MeasurementBudget(2, 4, 0.0, math.inf),
        "cpu": MeasurementBudget(2, 0, 0.0, 60.0),
    }
    monkeypatch.setattr(module, "_QUICK", unhurried)
    monkeypatch.setattr(module, "_BUDGETS", unhurried)


def measured(path: Path, **options: object) -> CalibratedTarget:
    backend = Fake(**options)  # type: ignore[arg-type]
    return calibrate("fake", path, backend=backend)


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


class Restless(Fake):
    """Others slow every case down by up to 60 %, each as it comes."""

    def _pace(self) -> float:
        return float(self.rng.uniform(1.0, 1.6))


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


class Slow(Fake):
    """Every sample takes ``sample_s`` of wall time, whatever it reports: others have the cores."""

    sample_s, now = 0.0, 1000.0

    def prepare(self, case: Case) -> FakeRun:
        run = super().prepare(case)
        sample = run.sample

        def slowly(repeats: int) -> float:
            self.now += self.sample_s
            return sample(repeats)

        run.sample = slowly  # type: ignore[method-assign]
        return run


@pytest.mark.parametrize("sample_s", [0.002, 0.05, 0.3, 0.5])
def test_a_quick_run_ends_in_time_and_gives_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample_s: float
) -> None:
    monkeypatch.setattr(module, "_QUICK", QUICK)
    slow = Slow()
    slow.sample_s = sample_s
    done = calibrate(
        "fake", tmp_path / "toy.toml", backend=slow, quick=True, clock=lambda: slow.now
    )
    assert done.elapsed_s == pytest.approx(slow.now - 1000.0)
    assert done.elapsed_s <= 20
    assert validate(done.path) == []
    assert done.machine.level("device") is not None
    late = [note for note in done.notes if note.endswith("time ran out")]
    assert bool(late) == (sample_s > 0.01)
    if late:
        assert done.uncertain
        lab = done.machine.sources["lab"].note
        good, all_ = map(int, re.findall(r"(\d+) of (\d+) figures repeat", lab)[0])
        assert (good, all_) == (len(done.rows) - len(done.uncertain), len(done.rows))


def test_what_time_left_out_is_measured_on_resume(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    slow = Slow()
    slow.sample_s = 0.05
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_QUICK", QUICK)
        first = calibrate("fake", path, backend=slow, quick=True, clock=lambda: slow.now)
    again = calibrate("fake", path, backend=Fake(), quick=True, resume=True)
    assert len(first.rows) < len(again.rows) == len(TRUTH) - 3
    assert not [note for note in again.notes if note.endswith("time ran out")]


def test_load_is_said_before_anything_is_measured_and_recorded(tmp_path: Path) -> None:
    heard = list[str]()
    done = calibrate(
        "fake",
        tmp_path / "toy.toml",
        backend=Fake(busy=0.4),
        say=heard.append,
        tell=lambda now: heard.append(now.what),
    )
    assert heard[0].startswith("other programs use 40 % of the device's time: figures that spread")
    assert len([line for line in heard if "other programs" in line]) == 1
    told = "other programs used 40 % of the device's time just before"
    assert done.machine.sources["lab"].note.endswith(told)
    assert told in done.notes


def test_a_quiet_device_is_not_talked_about(tmp_path: Path) -> None:
    heard = list[str]()
    for busy in (0.01, None):
        calibrate("fake", tmp_path / "toy.toml", backend=Fake(busy=busy), say=heard.append)
    assert heard == []
    assert "use by others is not readable" in (tmp_path / "toy.toml").read_text()


@pytest.mark.parametrize(
    ("share", "words"), [(0.1, "40 % of a core"), (0.25, "1.0 of 4 cores"), (0.6, "2.4 of 4 cores")]
)
def test_load_of_a_processor_is_told_in_cores(
    monkeypatch: pytest.MonkeyPatch, share: float, words: str
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    heard = list[str]()
    module._watch(share, replace(Fake().device, kind="cpu"), False, heard.append)
    assert heard[0].startswith(f"other programs use {words}: ")


def test_strict_does_not_begin_beside_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "open_backend", lambda *_, **__: Fake(busy=0.8))
    path = tmp_path / "toy.toml"
    assert run(["calibrate", "--device", "fake", "--strict", "-o", str(path)]) == 3
    out, err = capsys.readouterr()
    told = "not begun: other programs use 80 % of the device's time"
    assert (out, err) == ("", f"error: {told} (end them, or leave --strict out)\n")
    assert os.listdir(tmp_path) == []
    assert run(["calibrate", "--device", "fake", "-o", str(path)]) == 0
    assert capsys.readouterr().err.startswith("warning: other programs use 80 % of the device")


class Interrupted(Fake):
    """Ctrl-C in the fiftieth case."""

    prepared = 0

    def prepare(self, case: Case) -> FakeRun:
        self.prepared += 1
        if self.prepared == 50:
            raise KeyboardInterrupt
        return super().prepare(case)


def test_ctrl_c_leaves_the_earlier_file_and_samples_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "toy.toml"
    path.write_text("an earlier file")
    command = ["calibrate", "--device", "fake", "-o", str(path)]
    monkeypatch.setattr(module, "open_backend", lambda *_, **__: Interrupted())
    assert run(command) == 130
    assert capsys.readouterr().err.endswith("stopped, no target written; --resume goes on\n")
    assert path.read_text() == "an earlier file"
    assert sorted(os.listdir(tmp_path)) == ["toy.samples.jsonl", "toy.toml"]
    rest = Counting()
    monkeypatch.setattr(module, "open_backend", lambda *_, **__: rest)
    full = Counting()
    calibrate(output=tmp_path / "full.toml", backend=full)
    assert run([*command, "--resume"]) == 0
    assert rest.prepared == full.prepared - 49
    assert validate(path) == []


def test_ctrl_c_while_the_file_is_checked_leaves_none_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: Path) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr("perfc.measuring.calibrate.file.validate", stop)
    with pytest.raises(KeyboardInterrupt):
        calibrate("fake", tmp_path / "toy.toml", backend=Fake())
    assert os.listdir(tmp_path) == ["toy.samples.jsonl"]


class Counting(Fake):
    prepared = 0

    def prepare(self, case: Case):  # type: ignore[no-untyped-def]
        self.prepared += 1
        return super().prepare(case)


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    full = Counting()
    calibrate(output=path, backend=full)
    samples = path.with_suffix(".samples.jsonl")
    lines = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join(lines[:101]) + lines[101][:30])
    rest = Counting()
    done = calibrate(output=path, backend=rest, resume=True)
    loads = full.prepared - len(lines) + 1
    assert rest.prepared == full.prepared - 100
    assert loads < 20
    assert done.replaced
    again = Counting()
    calibrate(output=path, backend=again, resume=True)
    assert again.prepared == loads


def test_samples_of_another_device_are_not_resumed(tmp_path: Path) -> None:
    samples = tmp_path / "toy.samples.jsonl"
    samples.write_text('{"device": "another"}\n')
    with pytest.raises(MeasurementError, match="samples of another device"):
        calibrate("fake", tmp_path / "toy.toml", resume=True)


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[" * 100_000,
        "{}",
        '{"case": "clock/one", "round": 0, "count": 0, "repeats": 1, "seconds": [1]}',
        '{"case": "clock/one", "round": 0, "count": 1, "repeats": 1, "seconds": [-1]}',
        '{"case": "clock/one", "round": 0, "count": 1, "repeats": 1, "seconds": "x"}',
        '{"case": ["x"], "round": 0, "count": 1, "repeats": 1, "seconds": [1]}',
    ],
    ids=range(7),
)
def test_odd_lines_of_samples_count_as_missing(tmp_path: Path, line: str) -> None:
    path = tmp_path / "toy.jsonl"
    first = Session(Fake(), path=path)
    path.write_text(json.dumps(first.header) + "\n" + line + "\n")
    assert Session(Fake(), path=path, resume=True).samples == {}


def test_what_changed_against_the_earlier_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    first = measured(path)
    assert not first.replaced
    assert first.changes == ()
    text = path.read_text().replace("idle_power_w = { value = 100,", "idle_power_w = { value = 90,")
    path.write_text(text)
    second = measured(path)
    assert second.replaced
    (change,) = [c for c in second.changes if c.key == "device.idle_power_w"]
    assert (change.before, change.after) == (90.0, 100.0)


def test_a_data_sheet_is_kept_and_overridden_where_measured(tmp_path: Path) -> None:
    @dataclass
    class Sheeted(Fake):
        @property
        def device(self):  # type: ignore[no-untyped-def]
            from dataclasses import replace

            return replace(super().device, name="NVIDIA A100-SXM4-80GB")

    machine = calibrate(output=tmp_path / "mine.toml", backend=Sheeted()).machine
    f16 = machine.compute[Unit.MATRIX, "f16"]
    assert f16.nominal.value == 312e12
    assert f16.nominal.origin is Origin.VENDOR
    assert f16.sustained is not None
    assert f16.sustained.source == "lab"
    assert f16.sustained.value == pytest.approx(16e12, rel=0.02)
    assert machine.arch == "sm_80"
    assert machine.sm_count == 108


def test_more_than_the_data_sheet_says_is_refused(tmp_path: Path) -> None:
    @dataclass
    class Fast(Fake):
        @property
        def device(self):  # type: ignore[no-untyped-def]
            from dataclasses import replace

            return replace(super().device, name="Tesla T4")

    with pytest.raises(MeasurementError, match=r"is above the peak .*one of the two is wrong"):
        calibrate(output=tmp_path / "mine.toml", backend=Fast())
    assert os.listdir(tmp_path) == ["mine.samples.jsonl"]


def test_energy_is_what_is_drawn_above_idle() -> None:
    loads: Mapping[str, PowerDraw] = {
        "idle": PowerDraw(50.0, 0.0),
        "matrix.f16": PowerDraw(250.0, 100e12),
        "stream.copy": PowerDraw(150.0, 1e12),
    }
    result = energies(loads)
    assert result["compute.matrix.f16.energy_per_flop_j"] == pytest.approx(2e-12)
    assert result["memory.device.energy_per_byte_j"] == pytest.approx(1e-10)
    assert energies({"matrix.f16": PowerDraw(250.0, 1.0)}) == {}


def test_a_flat_sweep_is_written_too(tmp_path: Path) -> None:
    class Flat(Fake):
        def _byte_s(self, size: float) -> float:
            return 1e-12

        @property
        def device(self) -> Device:
            return replace(super().device, caches={})

    machine = calibrate("fake", tmp_path / "toy.toml", backend=Flat()).machine
    level, device = machine.level("l2"), machine.level("device")
    assert level is not None
    assert device is not None
    assert level.capacity_bytes >= 6 << 30
    assert device.bandwidth.value >= 1e12


def test_a_slow_product_beside_others_does_not_rule_out_a_larger_one() -> None:
    session = Session(Fake())
    small, large = (Case("matrix.f32", n, Scope.ALL) for n in (1024, 8192))
    for others, refused in ((0.0, True), (0.7, False)):
        series = Series(1, (0.01,) * 3)
        session.samples[small, 0] = Sample(small, 0, 1024.0**3, series, {"others": others})
        session.refused.clear()
        session.round(1, [large])
        assert (str(large) in session.refused) == refused


def test_power_is_read_under_products_that_were_measured() -> None:
    class Tired(Fake):
        def prepare(self, case: Case) -> FakeRun:
            assert (case.probe, case.size) != ("matrix.f64", 16384)
            return super().prepare(case)

    session = Session(Tired())
    wanted = [c for c in session.cases if c.probe == "matrix.f64" and c.size < 16384]
    session.round(0, wanted)
    session.power(0.1)
    assert set(session.loads) == {"idle", "matrix.f64"}


def test_long_runs_beside_other_programs_count_as_disturbed() -> None:
    case = Case("matrix.f32", 2048, Scope.ALL)
    slow, fast = Series(1, (0.08,) * 9), Series(1, (1e-5,) * 9)
    assert Sample(case, 0, 1.0, slow, {"others": 0.4}).is_disturbed
    assert not Sample(case, 0, 1.0, slow, {"others": 0.02}).is_disturbed
    assert not Sample(case, 0, 1.0, fast, {"others": 0.4}).is_disturbed


@pytest.mark.parametrize("name", ["toy", "toy.json", ".toml"])
def test_the_file_must_be_a_toml_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(PerfcError, match=r"must end in \.toml"):
        calibrate("fake", tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PerfcError, match="cannot be made"):
        calibrate("fake", tmp_path / "file" / "toy.toml")


def test_by_default_the_file_goes_to_the_users_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = calibrate("fake", quick=True)
    assert done.path == tmp_path / "perfc" / "targets" / "fake-device.toml"
    assert load_machine("fake-device").name == "fake-device"


def test_the_command_prints_spec_beside_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "toy.toml"
    assert run(["calibrate", "--device", "fake", "--quick", "-o", str(path)]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    head = re.split(r"\s{2,}", lines[2].strip())
    assert head == ["spec", "measured", "of spec", "rounds", "worst", "best", "spread"]
    (f16,) = [line for line in lines if line.startswith("compute.matrix.f16.sustained")]
    _, spec, value, share, *_ = re.split(r"\s{2,}", f16)
    assert re.fullmatch(r"(19|20)\.\d+ Tflop/s assumed|20 Tflop/s assumed", spec)
    assert float(value.removesuffix(" Tflop/s")) == pytest.approx(16, rel=0.02)
    assert share == "80%"
    assert f"written: {path}" in lines
    missing = next(line for line in lines if line.endswith(": the fake device has none"))
    assert missing.removeprefix("not measured: ").partition(": ")[0].split(", ") == [
        *("dot.bf16", "special.exp", "special.erf", "special.sqrt", "special.reciprocal"),
        "launch.wake",
    ]
    assert next(line for line in lines if line.startswith("all 26 figures repeat; "))
    assert run(["calibrate", "--device", "fake", "--quick", "-o", str(path)]) == 0
    assert "the earlier file" in capsys.readouterr().out


def test_progress_on_standard_error_says_what_is_measured_and_how_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_QUICK", QUICK)
    monkeypatch.setattr("perfc.commands.measurement.calibrate.LINE_S", 0.0)
    assert run(["calibrate", "--device", "fake", "--quick", "-o", str(tmp_path / "x.toml")]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"0 of at most 16 s: stream\.read@\d+/all, 1 of 80", lines[0])
    assert len(lines) >= 80
    assert {line.partition(" s: ")[2].partition(",")[0] for line in lines} >= {"fma.f32/all"}


def test_the_command_marks_what_is_uncertain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "open_backend", lambda *_, **__: Restless())
    path = tmp_path / "toy.toml"
    assert run(["calibrate", "--device", "fake", "-o", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    marked = {line.split()[0] for line in lines if line.endswith("  uncertain")}
    facts = load_machine(path).facts.values()
    assert marked == {rate.key for rate in facts if rate.is_uncertain} != set()
    assert any(line.startswith(f"{len(marked)} of 26 figures are uncertain: ") for line in lines)


def test_the_command_says_in_one_line_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["calibrate", "--device", "abacus", "-o", str(tmp_path / "x.toml")]) == 2
    err = capsys.readouterr().err
    assert err == "error: no device 'abacus' (cpu, cuda:0 or fake)\n"


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("compute.matrix.f16.peak_flop_per_s", 312e12, "312 Tflop/s"),
        ("compute.special.f32.peak_op_per_s", 5e11, "500 Gop/s"),
        ("memory.l2.capacity_bytes", 40 << 20, "40 MiB"),
        ("memory.l1.latency_s", 9.5e-10, "950 ps"),
        ("device.clock_max_hz", 1.41e9, "1.41 GHz"),
        ("memory.device.energy_per_byte_j", 1e-11, "10 pJ"),
        ("device.sm_count", 108, "108"),
    ],
)
def test_numbers_have_units(key: str, value: float, text: str) -> None:
    assert quantity(key, value) == text


@pytest.mark.long
def test_this_processor_is_calibrated_in_time_however_busy_it_is(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_QUICK", QUICK)
        done = calibrate("cpu", tmp_path / "host.toml", quick=True)
    assert done.elapsed_s <= 20
    machine = load_machine(tmp_path / "host.toml")
    f32 = machine.entry(Unit.MATRIX, "f32")
    assert f32.sustained is not None
    assert f32.sustained.spread is not None
    assert f32.sustained.value <= f32.sustained.spread.best <= f32.peak.value
    assert machine.level("l2") is not None
    note = machine.sources["lab"].note
    assert re.search(r"\d+ of \d+ figures repeat within 10 %; other programs used", note)


def test_ceilings_that_did_not_repeat_are_named_by_doubt() -> None:
    def row(key: str, spread: Spread | None) -> CeilingRow:
        return CeilingRow(key, None, Rate(100.0, Origin.MEASURED, "lab", key=key, spread=spread))

    rows = (
        row("twelve percent", Spread(9, 112.0, 90.0)),
        row("steady", Spread(9, 109.0, 90.0)),
        row("no rounds", None),
        row("once", Spread(1, 100.0, 100.0)),
        row("twice", Spread(2, 150.0, 99.0)),
        row("disturbed", Spread(0, 130.0, 50.0)),
        row("twenty percent", Spread(9, 120.0, 99.0)),
    )
    nothing: Any = None
    done = CalibratedTarget(nothing, nothing, nothing, rows, (), False, (), 0.0)
    assert [r.key for r in done.uncertain] == [
        "disturbed",
        "once",
        "twice",
        "twenty percent",
        "twelve percent",
    ]
