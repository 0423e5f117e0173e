"""Sweeps agree with the analysis point by point, and say where regimes change."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfc
from perfc import cli
from tests.commands.invocations import write_model

MODELS = Path(__file__).parents[2] / "examples" / "models"
BERT = str(MODELS / "bert-base.onnx.gz")
Swept = Callable[..., Any]


@pytest.fixture
def swept(capsys: pytest.CaptureFixture[str]) -> Swept:
    """Output of ``perfc sweep``: JSON, or the text of another format."""

    def sweep(*words: str, form: str = "json") -> Any:
        assert cli.run(["sweep", *words, "--output-format", form]) == 0
        out = capsys.readouterr().out
        return json.loads(out) if form == "json" else out

    return sweep


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=3", [3]),
        ("n=1:4", [1, 2, 3, 4]),
        ("n=1:10:4", [1, 5, 9]),
        ("n=1:20:*3", [1, 3, 9]),
        ("n=8,2,4", [2, 4, 8]),
        ("n=1:4:*2,100", [1, 2, 4, 100]),
    ],
)
def test_ranges_are_read(text: str, values: list[int], tmp_path: Path, swept: Swept) -> None:
    write_model(tmp_path / "m.onnx")
    tree = swept(str(tmp_path / "m.onnx"), "--dim", text, "--no-predict")
    assert [p["dims"]["n"] for p in tree["points"]] == values
    for p in tree["points"]:
        assert p["time_s"] == p["sustained_s"]
        assert p["low_s"] is None


@pytest.mark.parametrize(
    "text",
    [
        "batch",
        "1:2",
        "batch=",
        "batch=4:1",
        "batch=1:2:3:4",
        "batch=0:8:*2",
        "batch=1:8:*1",
        "batch=1:8:0",
        "batch=a:b",
        "batch=1:999999",
        "batch=1:100,seq=1:101",
        "batch=1,batch=2",
        "batch=-1:3",
    ],
)
def test_a_range_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sweep", BERT, "--dim", text]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("name", "target", "runtime", "dtype"),
    [
        ("resnet50", "a100", "ort", ""),
        ("resnet50", "generic-x86-64", "ort-cpu", ""),
        ("gpt2", "h200", "eager", "f16"),
    ],
)
def test_a_point_is_what_analyze_says(
    name: str, target: str, runtime: str, dtype: str, swept: Swept
) -> None:
    path = MODELS / f"{name}.onnx.gz"
    sizes = {"seq": 64} if name == "gpt2" else {}
    how = [*(f"--dim={k}={v}" for k, v in sizes.items()), "--runtime", runtime]
    how += ["--dtype", dtype] if dtype else []
    tree = swept(str(path), "-t", target, "--dim", "batch=1,7,64", *how)
    for p in tree["points"]:
        dims = {**sizes, **p["dims"]}
        alone = perfc.analyze(path, target, dims=dims, runtime=runtime, dtype=dtype)
        total, table = alone.prediction.total, alone.roofline
        assert (p["time_s"], p["floor_s"]) == (total.time_s, table.floor_s)
        assert (p["low_s"], p["high_s"]) == (total.low_s, total.high_s)
        assert p["sustained_s"] == pytest.approx(table.time_s, rel=1e-12)
        assert p["launch_s"] == pytest.approx(table.launch_gap_s, rel=1e-12)
    for key in ("floor_s", "memory_bytes"):
        assert [p[key] for p in tree["points"]] == sorted(p[key] for p in tree["points"])


def spans_of(tree: Any) -> list[tuple[str, int, int]]:
    return [(s["regime"], s["first"], s["last"]) for s in tree["crossovers"][0]["spans"]]


def test_a_crossover_between_coarse_points_is_the_one_of_all_points(swept: Swept) -> None:
    coarse, fine = (
        spans_of(swept(BERT, "-t", "a100", "--dim", text, "--no-predict", "--top", "0"))
        for text in ("batch=1:32:*2", "batch=1:32")
    )
    assert coarse[0] == fine[0]
    assert coarse[0][0] == "launch"
    assert {first for _, first, _ in coarse} <= {first for _, first, _ in fine}
    assert all(last + 1 == after for (_, _, last), (_, after, _) in pairwise(fine))


def test_capacity_is_the_edge_of_the_peak(swept: Swept) -> None:
    words = (BERT, "-t", "t4", "--no-predict", "--dim", "seq=128")
    (capacity,) = swept(*words, "--dim", "batch=1,2")["capacities"]
    largest = capacity["largest"]
    points = swept(*words, "--dim", f"batch={largest},{largest + 1}")["points"]
    assert [p["fits"] for p in points] == [True, False]


def test_the_other_symbols_are_fixed_in_turn(swept: Swept) -> None:
    tree = swept(BERT, "--dim", "batch=1,2,seq=64,128", "--no-predict")
    assert [p["dims"] for p in tree["points"]] == [
        {"batch": b, "seq": s} for s in (64, 128) for b in (1, 2)
    ]
    fixed = [c["fixed"] for c in tree["crossovers"] if c["what"] == "model"]
    assert fixed == [{"seq": 64}, {"seq": 128}]


def test_text_csv_and_json_hold_the_same_points(swept: Swept) -> None:
    words = (BERT, "--dim", "batch=1:40", "-t", "t4", "--no-predict", "--top", "0")
    tree = swept(*words)
    rows = list(csv.DictReader(io.StringIO(swept(*words, form="csv"))))
    assert len(rows) == len(tree["points"]) == 40
    assert [float(r["time_s"]) for r in rows] == [p["time_s"] for p in tree["points"]]
    assert tree["assumed"] == {"seq": 128}
    text = " ".join(swept(*words, form="text").split())
    assert "compute-bound from batch" in text
    assert "of 40 points" in text
    assert "time is at sustained rates" in text


def test_the_largest_sizes_within_a_time_are_said(swept: Swept) -> None:
    words = (BERT, "-t", "a100", "--dim", "batch=1:8,seq=64", "--top", "0")
    points = swept(*words)["points"]
    limit_s = next(p["time_s"] for p in points if p["dims"]["batch"] == 5)
    sure = [p["dims"]["batch"] for p in points if p["high_s"] <= limit_s]
    text = " ".join(swept(*words, "--slo", f"{limit_s * 1e6 + 1e-3:.3f}us", form="text").split())
    most = f"batch {max(sure)}, seq 64" if sure else "none"
    assert f": batch 5, seq 64; with its whole interval {most}" in text
    text = " ".join(swept(*words, "--slo", "1us", form="text").split())
    assert "within 1.00 µs: none; with its whole interval none" in text


@settings(max_examples=40)
@given(st.text("lcm", min_size=1, max_size=60), st.integers(1, 9))
def test_spans_of_some_values_are_those_of_all_that_they_could_see(kinds: str, step: int) -> None:
    """Bisection keeps the ends of all spans in which one of the values lies."""
    from perfc.study.sweep.search import merged_spans

    values = [*range(0, len(kinds), step), len(kinds) - 1]
    spans = merged_spans(sorted({*values}), lambda value: kinds[value])
    assert spans[0].first == 0
    assert spans[-1].last == len(kinds) - 1
    for one, after in pairwise(spans):
        assert one.last + 1 == after.first
        assert kinds[one.last] == one.regime != after.regime == kinds[after.first]
    for value in values:
        (holder,) = (s for s in spans if s.first <= value <= s.last)
        assert holder.regime == kinds[value]


@pytest.mark.parametrize(
    "sizes",
    [
        {"batch": "1:8:*2", "seq": 64},
        {"batch": [8, 1, 4, 2], "seq": "64"},
        {"dims": {"batch": (1, 2, 4, 8), "seq": range(64, 65)}},
    ],
)
def test_python_answers_as_the_command(sizes: dict[str, Any], swept: Swept) -> None:
    words = (BERT, "--batch", "1:8:*2", "--seq", "64", "-t", "t4,a100", "--dtype", "f16")
    found = perfc.sweep(BERT, ["t4", "a100"], **sizes, dtype="f16")
    assert found.to_dict() == swept(*words)
    table = csv.reader(io.StringIO(swept(*words, form="csv")))
    pandas = pytest.importorskip("pandas")
    assert isinstance(found.to_pandas(), pandas.DataFrame)
    assert [*found.to_pandas().columns] == next(table)
    assert len(found.to_pandas()) == len([*table])


@pytest.mark.parametrize(
    ("target", "sizes", "words"),
    [
        ("t4", {}, "no sizes"),
        ("t4", {"batch": []}, "NAME=FIRST"),
        ("t4", {"batch": "8:1"}, "no values"),
        ([], {"batch": 1}, "no target"),
        ("t4", {"batch": 1, "no_such": 2}, "no_such"),
    ],
)
def test_python_refuses_a_sweep_of_nothing(target: Any, sizes: Any, words: str) -> None:
    with pytest.raises(perfc.PerfcError, match=words):
        perfc.sweep(BERT, target, **sizes)
