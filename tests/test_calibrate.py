"""Calibrate recovers what a device can do, and writes nothing it should not."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from perfc import calibrate as module
from perfc.calibrate import Budget, Calibration, calibrate
from perfc.cli import run
from perfc.commands.calibrate import quantity
from perfc.errors import PerfcError
from perfc.ir.facts import Origin
from perfc.kernels.backend import Load, MeasurementError
from perfc.kernels.ceilings import Ceiling, energies
from perfc.kernels.fake import LEVELS, RATES, TIMES, Fake
from perfc.kernels.probe import Case, Scope
from perfc.kernels.session import Sample, Session
from perfc.kernels.timing import Series
from perfc.machine import Unit, load_machine, validate

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
    monkeypatch.setattr(module, "_QUICK", Budget(2, 4, 0.0, 25.0))
    monkeypatch.setattr(
        module, "_BUDGETS", {"cuda": Budget(2, 4, 0.0, 60.0), "cpu": Budget(2, 0, 0.0, 60.0)}
    )


def measured(path: Path, **options: object) -> Calibration:
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


def test_rounds_that_disagree_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text("an earlier file")
    with pytest.raises(MeasurementError, match=r"not written: .* spreads too widely"):
        measured(path, drift=1.002)
    assert path.read_text() == "an earlier file"
    assert sorted(os.listdir(tmp_path)) == ["toy.samples.jsonl", "toy.toml"]


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
    loads: Mapping[str, Load] = {
        "idle": Load(50.0, 0.0),
        "matrix.f16": Load(250.0, 100e12),
        "stream.copy": Load(150.0, 1e12),
    }
    found = energies(loads)
    assert found["compute.matrix.f16.energy_per_flop_j"] == pytest.approx(2e-12)
    assert found["memory.device.energy_per_byte_j"] == pytest.approx(1e-10)
    assert energies({"matrix.f16": Load(250.0, 1.0)}) == {}


def test_a_ceiling_must_be_reached_twice() -> None:
    assert Ceiling("x", (100.0, 97.0, 40.0), 101.0, 9, 1.0).agrees
    assert Ceiling("x", (100.0, 97.0, 40.0), 101.0, 9, 1.0).value == 98.5
    assert not Ceiling("x", (100.0, 80.0, 79.0), 101.0, 9, 1.0).agrees
    assert not Ceiling("x", (100.0,), 101.0, 9, 1.0).agrees
    assert Ceiling("x", (1e-6, 9e-6, 1.01e-6), 1e-6, 9, 0.0, less_is_better=True).agrees


def test_memory_that_others_use_at_times_is_not_steady() -> None:
    quiet = Ceiling("x", (80.0, 79.0, 78.0, 81.0, 80.0, 79.0), 1.0, 9, 0.1, is_shared=True)
    shared = Ceiling("x", (80.0, 45.0, 46.0, 81.0, 44.0, 47.0), 1.0, 9, 0.1, is_shared=True)
    assert quiet.agrees
    assert not shared.agrees
    assert shared.gap < 0.02
    assert 0.4 < shared.drop < 0.5
    assert not Ceiling("x", (80.0, 79.0), 1.0, 9, 0.1, is_shared=True).is_settled


@pytest.mark.parametrize("unsteady", [False, True])
def test_unsteady_memory_is_written_on_demand_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unsteady: bool
) -> None:
    key = "memory.device.sustained_bandwidth_bytes_per_s"
    usual = module.ceilings

    def disturbed(samples: object, device: object) -> tuple[Ceiling, ...]:
        found = usual(samples, device)  # type: ignore[arg-type]
        return tuple(
            replace(c, rounds=(c.value, c.value, *[c.value / 2] * 4), is_shared=True)
            if c.key == key
            else c
            for c in found
        )

    monkeypatch.setattr(module, "ceilings", disturbed)
    path = tmp_path / "toy.toml"
    if unsteady:
        machine = calibrate("fake", path, backend=Fake(), unsteady=True).machine
        assert "not steady" in machine.facts[key].note
    else:
        with pytest.raises(MeasurementError, match="median of 6 rounds is 50% below"):
            calibrate("fake", path, backend=Fake())
        assert not path.exists()


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
    assert "spec" in out
    assert "16 Tflop/s" in out or "15.9" in out
    assert f"written: {path}" in out
    assert "not measured: launch.wake" in out or "launch.wake" in out
    assert run(["calibrate", "--device", "fake", "--quick", "-o", str(path)]) == 0
    assert "the earlier file" in capsys.readouterr().out


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
def test_this_processor_can_be_calibrated_or_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "host.toml"
    try:
        calibrate("cpu", path, quick=True)
    except MeasurementError as error:
        if path.exists() or "not written" not in str(error):
            raise
        pytest.skip("this machine does other things too")
    machine = load_machine(path)
    f32 = machine.entry(Unit.MATRIX, "f32")
    assert f32.sustained is not None
    assert f32.sustained.value <= f32.peak.value
    assert machine.level("l2") is not None
