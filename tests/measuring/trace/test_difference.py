"""Differences of traces: each against the first, exact in every grouping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc import cli
from perfc.measuring.trace.difference import Match, difference
from perfc.measuring.trace.facts import DeviceTrace, OperatorCall, TensorArgument, TraceSource
from perfc.measuring.trace.summary import TraceSummary, summarized
from tests.measuring.trace import samples

Launch = tuple[str, str, int, int]
"""Kernel, operator, extent and time."""
LAUNCHES = st.lists(
    st.tuples(
        st.sampled_from(["gemm", "relu_kernel", "copy_kernel"]),
        st.sampled_from(["aten::mm", "aten::relu", ""]),
        st.integers(1, 2),
        st.integers(0, 10**15 + 7),
    ),
    min_size=1,
)


def summary(launches: list[Launch]) -> TraceSummary:
    trace = DeviceTrace(TraceSource.KINETO)
    for kernel, operator, extent, time_ns in launches:
        call = OperatorCall(operator, (TensorArgument("float", (extent,)),)) if operator else None
        trace.add(kernel, time_ns, call=call)
    return summarized(trace, is_bounded=False)


@given(st.lists(LAUNCHES, min_size=2, max_size=4))
def test_every_grouping_adds_up_to_the_totals_in_nanoseconds(traces: list[list[Launch]]) -> None:
    made = difference([""] * len(traces), [summary(t) for t in traces])
    for at, launches in enumerate(traces):
        total = sum(time_ns for *_, time_ns in launches)
        assert made.times_ns[at] == total
        for groups in (made.classes, made.operators, made.kernels):
            assert sum(g.times_ns[at] for g in groups) == total
            assert sum(g.launches[at] for g in groups) == len(launches)
        parts = made.changed_ns[at] + made.appeared_ns[at] + made.disappeared_ns[at]
        assert parts == total - made.times_ns[0]
        assert made.appeared_ns[at] >= 0 >= made.disappeared_ns[at]
    assert difference(["", ""], [summary(traces[0]), summary(traces[0][::-1])]).is_empty


def test_kernels_are_matched_with_those_of_the_first_trace() -> None:
    first = [("a", "aten::mm", 1, 10), ("b", "", 1, 20), ("c", "aten::relu", 1, 30)]
    other = [("d", "aten::mm", 1, 7), ("b", "aten::relu", 2, 21), ("c", "aten::relu", 1, 30)]
    third = [("a", "aten::mm", 1, 11), ("e", "", 1, 5)]
    made = difference(["", "", ""], [summary(t) for t in (first, other, third)])
    rows = {k.times_ns: (k.match, k.launches) for k in made.kernels}
    assert rows == {
        (10, 7, 11): (Match.OPERATOR, (1, 1, 1)),
        (20, 21, 0): (Match.NAME, (1, 1, 0)),
        (30, 30, 0): (Match.EXACT, (1, 1, 0)),
        (0, 0, 5): (Match.NEW, (0, 0, 1)),
    }
    shapes = difference(
        ["", ""], [summary([("a", "aten::mm", 1, 10)]), summary([("d", "aten::mm", 2, 10)])]
    )
    assert {k.match for k in shapes.kernels} == {Match.NEW, Match.GONE}
    alone = difference(["", ""], [summary(first), summary(first[:1])])
    assert {k.match for k in alone.kernels} == {Match.EXACT, Match.GONE}


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.run(["diff", *words, "--output-format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_traces_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / f"{name}.json") for name in "abc"]
    for path, steps in zip(paths, (samples.STEPS, samples.faster(), samples.STEPS), strict=True):
        Path(path).write_text(samples.text_of(samples.kineto(steps)), encoding="utf-8")
    made = compared(capsys, *paths)
    assert made["paths"] == paths
    assert made["times_ns"] == [621_750, 556_750, 621_750]
    assert made["disappeared_ns"] == [0, -3_000, 0]
    matches = {k["kernel"][:6]: k["match"] for k in made["kernels"]}
    assert matches == {
        "sm90_x": "operator, shapes, name",
        "void a": "operator, shapes",
        "Memcpy": "operator, shapes, name",
        "ncclDe": "operator, shapes, name",
    }
    assert cli.run(["diff", *paths, "--output-format", "csv"]) == 0
    header, row, *_ = capsys.readouterr().out.splitlines()
    assert header.endswith("A_s,B_s,C_s,change_B_s,change_C_s")
    assert len(row.split('",')[-1].split(",")) >= 5
    assert cli.run(["diff", *paths, "--exit-code"]) == 1
    assert "change B" in capsys.readouterr().out


def test_steps_of_one_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = []
    for step, time in ((4, 10), (5, 12), (6, 17)):
        at = step * 1000
        mark = {**samples.operator(f"ProfilerStep#{step}", at, 900), "cat": "user_annotation"}
        launch = samples.runtime("cudaLaunchKernel", at + 5, 2, step)
        events += [mark, launch, samples.kernel("gemm", at + 50, time, step)]
    path = tmp_path / "trace.json"
    path.write_text(samples.text_of(samples.chrome(*events)), encoding="utf-8")
    words = str(path), str(path)
    assert compared(capsys, *words, "--step", "4", "--step", "6")["times_ns"] == [10_000, 17_000]
    assert compared(capsys, *words, "--step", "5")["times_ns"] == [12_000, 12_000]
    assert cli.run(["diff", *words, *words, "--step", "4", "--step", "6"]) == 2
    assert "--step: one, or one for each of 4 traces" in capsys.readouterr().err
    model = tmp_path / "config.json"
    model.write_text('{"model_type": "llama"}')
    assert cli.run(["diff", str(model), str(model), str(model)]) == 2
    assert "more than two are for traces" in capsys.readouterr().err


def test_modules_add_up_to_the_totals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, times in zip(paths, ((10, 20, 30), (10, 25, 28)), strict=True):
        events = []
        for at, (time, ends) in enumerate(zip(times, (300, 150, 0), strict=True)):
            module = samples.operator(f"nn.Module: Layer_{at}", at * 100, ends)
            events += [{**module, "cat": "python_function"}] if ends else []
            launch = samples.runtime("cudaLaunchKernel", at * 100 + 5, 2, at)
            events += [launch, samples.kernel("gemm", at * 100 + 50, time, at)]
        path.write_text(samples.text_of(samples.chrome(*events)), encoding="utf-8")
    made = compared(capsys, *map(str, paths), "--by", "module")
    rows = {g["name"]: g["times_ns"] for g in made["stacks"]}
    assert rows == {"Layer_0": [10_000, 10_000], "Layer_0/Layer_1": [50_000, 53_000]}
    assert made["times_ns"] == [60_000, 63_000]
    assert cli.run(["diff", *map(str, paths), "--by", "line"]) == 2
    assert "no lines of the host in them" in capsys.readouterr().err
    model = tmp_path / "config.json"
    model.write_text('{"model_type": "llama"}')
    assert cli.run(["diff", str(model), str(model), "--by", "module"]) == 2
    assert "--by is for traces" in capsys.readouterr().err
