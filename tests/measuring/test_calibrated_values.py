"""Calibrated values beside the earlier file and the data sheet, and how they are shown."""

from __future__ import annotations

import os
import re
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
from perfc.kernels.backends.fake import Fake, FakeRun
from perfc.kernels.ceilings import energies
from perfc.kernels.probe import Case, Scope
from perfc.kernels.session import Sample, Session
from perfc.kernels.timing import Series
from perfc.machine import Unit, load_machine
from perfc.machine.machine import Rate, Spread
from perfc.measuring.calibrate import CalibratedTarget, calibrate
from perfc.measuring.calibrate import run as module
from perfc.measuring.calibrate.outcome import CeilingRow

from .fakes import QUICK, Restless, measured, without_pauses


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    without_pauses(monkeypatch)


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


def test_a_figure_above_the_data_sheet_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    @dataclass
    class Cached(Fake):
        @property
        def device(self):  # type: ignore[no-untyped-def]
            return replace(super().device, name="NVIDIA A100-SXM4-80GB")

        def _byte_s(self, size: float) -> float:
            return super()._byte_s(size) / (20 if size <= self.device.caches["l2"] else 1)

    done = calibrate(output=tmp_path / "mine.toml", backend=Cached())
    l2, device = (done.machine.level(name) for name in ("l2", "device"))
    assert l2 is not None and device is not None  # noqa: PT018
    assert l2.sustained is not None
    assert l2.sustained.source == "thesis"  # of the data sheet
    assert device.sustained is not None
    assert device.sustained.value == pytest.approx(1e12, rel=0.02)
    assert any(
        re.fullmatch(
            r"not measured: memory\.l2\.sustained_bandwidth_bytes_per_s: [56][\d.]+e\+13 is above "
            r"the peak 7\.\d+e\+12; one of the two is wrong",
            note,
        )
        for note in done.notes
    ), done.notes


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
    assert int(share.removesuffix("%")) == pytest.approx(80, abs=1)
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
    assert re.fullmatch(r"0 of at most 16 s: stream\.read@\d+/all, 1 of 81", lines[0])
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
def test_this_processor_is_calibrated_however_busy_it_is(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_QUICK", QUICK)
        calibrate("cpu", tmp_path / "host.toml", quick=True)
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
