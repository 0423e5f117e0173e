"""Whole models of one's own, by the commands alone: kept with machine, runtime and precision."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.machine.folders import SHIPPED

pytest.importorskip("pandas")

MODELS = Path(__file__).parents[2] / "examples" / "models"
COLUMNS = "schema,model,runtime,version,threads,dims,time_s,target,peak_rss_bytes,base_rss_bytes"
RUNS = """\
model,time_s,batch,runtime,precision,version
resnet50,0.012,2,eager,f16,2.9
resnet50,0.020,8,eager,f16,2.9
resnet50,0.014,8,inductor,f16,2.9
resnet50,0.080,32,eager,amp-f16,2.9
resnet50,0.070,32,tensorrt,f16,10.0
resnet50,0.140,32,ort,,1.20
"""
"""Three times as long as predicted, about."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and a machine that nobody else has."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    shutil.copy(MODELS / "resnet50.onnx.gz", tmp_path / "models")
    lines = (SHIPPED / "l4.toml").read_text(encoding="utf-8").splitlines()
    own = {"name": 'name = "new-card"', "aliases": "aliases = []"}
    text = "\n".join(own.get(line.partition(" ")[0], line) for line in lines)
    (tmp_path / "new.toml").write_text(text, encoding="utf-8")
    return tmp_path


def built(place: Path) -> dict[tuple[str, str, str], Any]:
    """Rows of the data set by machine, fusion table and precision."""
    rows = (place / "graphs" / "mine" / "processed" / "rows.jsonl").read_text().splitlines()
    result = {}
    for _, _, how, target, *numbers in map(json.loads, rows):
        table = how[5] or ("inductor" if how[2] else "eager")
        result[target, table, how[0]] = numbers
    return result


def test_a_build_keeps_every_machine_runtime_and_precision(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\n".join(f"{line},new-card" for line in RUNS.splitlines())
    text = text.replace("version,new-card", "version,target") + "\nresnet50,0.004,2,eager,,,a100\n"
    (place / "my-models.csv").write_text(text)
    assert cli.run(["data", "build", "mine", "--data", "."]) == 0
    assert "7 rows of 1 graphs on a100-sxm4-80gb, new.toml" in capsys.readouterr().out
    assert set(built(place)) == {
        ("new.toml", "eager", "f16"),
        ("new.toml", "inductor", "f16"),
        ("new.toml", "eager", "amp f16"),
        ("new.toml", "tensorrt", "f16"),
        ("new.toml", "ort", "f32"),
        ("a100-sxm4-80gb", "eager", "f32"),
    }


def test_a_build_that_must_drop_rows_says_which_and_exits_with_1(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "my-models.csv.gz").write_bytes(
        gzip.compress(
            f"""\
{COLUMNS},precision
1,resnet50,torch,torch 2.9.0,1,batch=2,0.004,a100,300,100,
1,resnet50,torch,torch 2.9.0,1,batch=2,0.005,gone-card,300,100,
1,resnet50,torch,torch 2.9.0,1,batch=4,0.008,gone-card,300,100,
1,gone,torch,torch 2.9.0,1,batch=2,0.005,a100,300,100,
1,resnet50,torch,torch 2.9.0,1,batch=2,0.005,a100,300,100,i3
1,resnet50,abacus,abacus 1.0,1,batch=2,0.005,t4,300,100,
""".encode()
        )
    )
    assert cli.run(["data", "build", "mine", "--data", "."]) == 1
    told = capsys.readouterr()
    assert "mine: 1 rows of 1 graphs on a100-sxm4-80gb" in told.out
    lines = told.err.splitlines()
    assert len(lines) == 4
    assert "mine: left out 2 on gone-card: no such target 'gone-card'" in told.err
    assert "mine: left out 1 on a100-sxm4-80gb: no graph of gone" in lines
    assert any("left out 1 on a100" in line and "i3" in line for line in lines)
    assert any("left out 1 on t4" in line and "abacus" in line for line in lines)
    assert set(built(place)) == {("a100-sxm4-80gb", "eager", "f32")}


def test_a_machine_is_adapted_by_a_table_of_runs(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "runs.csv").write_text(RUNS)
    assert cli.run(["adapt", "-t", "new.toml", "--from", "runs.csv", "-o", "w"]) == 0
    said = capsys.readouterr().out
    assert "4 runs measured:" in said
    card = place / "w" / "physics_residual-timm-time_s.json"
    assert f"written: {card.relative_to(place)}" in said
    runs = {tuple(r[1:]) for r in json.loads(card.read_text())["runs"] if r[0] == "new.toml"}
    assert ("f16", "compiled", "torch 2.9") in runs
    assert ("f16", "eager", "tensorrt 10.0") in runs
    assert ("f32", "eager", "ort 1.20") in runs
    args = [
        "models/resnet50.onnx.gz",
        "-t",
        "new.toml",
        "--batch",
        "8",
        "--runtime",
        "eager",
        "--dtype",
        "f16",
    ]
    times = []
    for more in ([], ["--weights", str(card)]):
        assert cli.run(["analyze", "-q", *args, *more, "--output-format", "json"]) == 0
        times.append(json.loads(capsys.readouterr().out)["value"])
    assert abs(times[1] / 0.020 - 1) < 0.2 < abs(times[0] / 0.020 - 1)


def test_a_run_says_how_its_feature_maps_lie(place: Path) -> None:
    (place / "my-models.csv").write_text(
        "model,time_s,batch,precision,layout\n"
        "resnet50,0.012,2,f16,\n"
        "resnet50,0.010,4,f16,channels-last\n"
    )
    assert cli.run(["data", "build", "mine", "--data", "."]) == 1
    (place / "my-models.csv").write_text(
        "model,time_s,batch,precision,layout,target\n"
        "resnet50,0.012,2,f16,,a100\n"
        "resnet50,0.010,4,f16,channels-last,a100\n"
    )
    assert cli.run(["data", "build", "mine", "--data", "."]) == 0
    rows = (place / "graphs" / "mine" / "processed" / "rows.jsonl").read_text().splitlines()
    assert [how[1] for _, _, how, *_ in map(json.loads, rows)] == [False, True]


@pytest.mark.parametrize(
    ("content", "args", "message"),
    [
        ("model,time_s,layout\nresnet50,0.004,sideways\n", (), "no 'sideways'"),
        ("model,time_s,target\nresnet50,0.004,a100\n", (), "no run on new-card"),
        ("model,time_s\ngone,0.004\n", (), "no graph of gone"),
        ("model,time_s\nresnet50,nan\n", (), "that takes nan s"),
        ("model,time_s\nresnet50,-1\n", (), "that takes -1.0 s"),
        ("model,batch\nresnet50,1\n", (), "no column 'time_s'"),
        ("model,time_s,batch\nresnet50,0.004,x\n", (), "no table of runs"),
        ("model,time_s\nresnet50,0.004\n", ("-o", "x.toml"), "--output is their folder"),
    ],
)
def test_a_table_that_adapts_nothing_is_one_line_and_writes_nothing(
    content: str,
    args: tuple[str, ...],
    message: str,
    place: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (place / "runs.csv").write_text(content)
    assert cli.run(["adapt", "-t", "new.toml", "--from", "runs.csv", *args]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "bug" not in error
    assert not (place / "weights").exists()
