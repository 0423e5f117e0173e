"""Runs of calibrate that are short, disturbed, interrupted or resumed."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from perfc.cli import run
from perfc.kernels.backends.backend import MeasurementError
from perfc.kernels.backends.fake import Fake, FakeRun
from perfc.kernels.probe import Case
from perfc.kernels.session import Session
from perfc.machine import validate
from perfc.measuring.calibrate import calibrate
from perfc.measuring.calibrate import run as module

from .fakes import QUICK, TRUTH, without_pauses


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    without_pauses(monkeypatch)


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
