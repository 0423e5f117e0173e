"""Steps of a trace: marked ones, repeated ones, and launches from before the trace began."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.errors import ParseError
from perfc.measuring.trace.classes import TracedClass, class_of
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.notes import notes_of
from perfc.measuring.trace.steps import selected
from tests.measuring.trace.samples import SECRET, chrome, kernel, operator, runtime, text_of

ROOT = Path(__file__).parents[3]
TRACES = ROOT / "datasets" / "h200" / "traces"
REAL = ROOT.parent / "shared" / "formats" / "traces"
NAMES = ("embed", "norm", "gemm", "rope", "flash", "gemm", "norm", "gate", "gemm")


def launched(number: int, begin: float, length: float = 5, name: str = "k") -> list[dict[str, Any]]:
    """Return a kernel with its launch, 50 µs earlier."""
    call = operator("aten::mm", begin - 51, 4, [8, 8], [8, 8])
    launch = runtime("cudaLaunchKernel", begin - 50, 2, number)
    return [call, launch, kernel(name, begin, length, number)]


def mark(name: str, begin: float, length: float) -> dict[str, Any]:
    """Return a range that the program or the profiler marked on the host."""
    return {
        "ph": "X",
        "cat": "user_annotation",
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": begin,
        "dur": length,
    }


def steps(label: str, lengths: tuple[float, ...] = (5, 9, 6)) -> Iterator[dict[str, Any]]:
    """Yield steps of two kernels of a length each, with a kernel between them."""
    for at, length in enumerate(lengths):
        yield mark(label.format(at + 7), 1000.0 * at, 500)
        for place in range(2):
            yield from launched(10 * at + place, 1000.0 * at + 100 + 50 * place, length)
        yield from launched(10 * at + 5, 1000.0 * at + 700, 0.5, "between")


def written(tmp_path: Path, *events: dict[str, Any]) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(text_of(chrome(*events)))
    return path


@pytest.mark.parametrize(
    ("label", "numbers"), [("ProfilerStep#{}", [7, 8, 9]), (SECRET + " {}", [1, 2, 3])]
)
def test_marked_steps_are_separate_and_the_median_is_taken(
    tmp_path: Path, label: str, numbers: list[int]
) -> None:
    trace = read_trace(written(tmp_path, *steps(label)))
    made = selected(trace)
    assert [s.number for s in made.steps] == numbers
    assert [s.kernel_ns for s in made.steps] == [10_000, 18_000, 12_000]
    assert (made.step, [*made.launches.duration_ns]) == (numbers[2], [6000, 6000])
    assert [*selected(trace, numbers[1]).launches.duration_ns] == [9000, 9000]
    assert len(selected(trace, is_all=True).launches) == len(trace.launches) == 9
    text = "3 steps of 10.0 µs to 18.0 µs, median 12.0 µs; 3 launches (1.50 µs) outside of steps"
    assert text in notes_of(made)[-1]
    with pytest.raises(ParseError, match=f"no step 70: they are {numbers[0]}, "):
        selected(trace, 70)
    assert SECRET not in repr(trace)


def test_marks_that_are_no_steps_choose_nothing(tmp_path: Path) -> None:
    """One mark, nested ones, and marks that most kernels lie outside of."""
    events = [*launched(1, 100), *launched(2, 200), *launched(3, 300)]
    for marks in (
        [mark("execute 1", 0, 400)],
        [mark("layer 1", 0, 400), mark("layer 2", 10, 100)],
        [mark("layer 1", 0, 400), mark("layer 2", 140, 400)],
        [mark("forward 1", 40, 15), mark("forward 2", 140, 15)],
    ):
        made = selected(read_trace(written(tmp_path, *events, *marks)))
        assert (made.step, len(made.launches)) == (None, 3)


def test_a_sequence_that_fills_the_trace_is_a_step(tmp_path: Path) -> None:
    moment = 100.0
    events = launched(900, 90, 1, "Memset (Device)")
    for at in range(3):
        for name in NAMES:
            moment += 10
            events += launched(len(events), moment, 3 + at, name)
        events += launched(len(events), moment + 6, 1, "Memcpy DtoH") if at == 1 else []
    made = selected(read_trace(written(tmp_path, *events)))
    assert [s.launches for s in made.steps] == [10, 10, 9]
    assert (made.step, len(made.launches)) == (2, 10)
    last = launched(len(events), moment + 20, 3, "gemm")
    assert not selected(read_trace(written(tmp_path, *events, *last))).steps


@pytest.mark.parametrize("names", [("gemm",), ("gemm", "norm")])
def test_few_kernels_are_no_step_however_often_they_run(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    events = [
        e for at in range(20) for e in launched(at, 100.0 + 10 * at, 5, names[at % len(names)])
    ]
    assert not selected(read_trace(written(tmp_path, *events))).steps


def test_launches_from_before_the_trace_are_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    early = [kernel("gemm", 1000.0 + 100 * at, 90, 900 + at) for at in range(6)]
    named = operator("aten::mm", 900, 5, [8, 8], number=7), kernel("named", 1550, 0, 998, 7)
    late = kernel("late", 1700, 10, 999)
    path = written(tmp_path, *early, *named, *launched(1, 1600, 90, "gemm"), late)
    for options, kernel_s in (([], 100e-6), (["--all"], 640e-6)):
        assert cli.run(["trace", str(path), "--output-format", "json", *options]) == 0
        made = json.loads(capsys.readouterr().out)
        assert made["kernel_s"] == pytest.approx(kernel_s)
        assert (made["earlier_launches"], made["earlier_s"]) == (6, pytest.approx(540e-6))
        assert "6 of 9 launches (540 µs of 640 µs) came before the trace began" in made["notes"][0]
        assert "100 µs without" in made["notes"][0]
    assert cli.run(["trace", str(path), "--step", "3"]) == 2
    assert "no steps in it" in capsys.readouterr().err


def test_two_traces_with_steps_are_compared_by_one_step_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.json"
    old.write_text(text_of(chrome(*steps("ProfilerStep#{}", (5, 5)))))
    new = written(tmp_path, *steps("ProfilerStep#{}"))
    assert cli.run(["diff", str(old), str(new), "--output-format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["times_ns"] == [10_000, 12_000]
    alone = tmp_path / "alone.json"
    alone.write_text(text_of(chrome(*launched(1, 100))))
    assert cli.run(["diff", str(alone), str(new), "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["times_ns"][1] == 41_500


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.json.gz")), ids=lambda path: path.name)
def test_three_runs_of_a_model_are_three_steps_with_operators_and_classes(path: Path) -> None:
    whole = read_trace(path)
    step = selected(whole)
    assert [s.number for s in step.steps] == [1, 2, 3]
    assert len({s.launches for s in step.steps}) == 1
    assert sum(s.kernel_ns for s in step.steps) == sum(whole.launches.duration_ns)
    calls, names = step.calls, step.kernels
    assert all(call >= 0 for call in step.launches.call)
    for name, call in zip(step.launches.kernel, step.launches.call, strict=True):
        which = class_of(names[name], calls[call].operator)
        assert which is not TracedClass.OTHER
        assert (which is TracedClass.CONV) == ("conv" in calls[call].operator)


@pytest.mark.skipif(not REAL.is_dir(), reason="the traces are not part of the repository")
@pytest.mark.parametrize(
    ("name", "earlier", "kernel_s"),
    [
        ("h100_Qwen_Qwen1.5-0.5B-Chat__1016005", 509, 31.905e-3),
        ("mi300_Qwen_Qwen1.5-0.5B-Chat__1016005", 463, 29.744e-3),
    ],
)
def test_one_forward_of_a_real_trace(name: str, earlier: int, kernel_s: float) -> None:
    made = selected(read_trace(REAL / f"{name}.json.gz"))
    assert (made.step, made.earlier[0]) == (6, earlier)
    assert sum(made.launches.duration_ns) * 1e-9 == pytest.approx(kernel_s, rel=1e-4)


@pytest.mark.skipif(not REAL.is_dir(), reason="the traces are not part of the repository")
def test_the_graphs_of_a_real_trace_are_joined_with_their_capture() -> None:
    capture = str(REAL / "vllm_piecewise_capture.json.gz")
    made = read_trace(REAL / "vllm_piecewise.json.gz", capture=capture)
    assert (made.replays, made.joined) == (361, 361)
    assert -1 not in made.launches.call
