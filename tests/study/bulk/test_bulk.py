"""``perfc bulk``: a row for each model and setting, also after interruptions and failures."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import copyfile

import pytest

from perfc import cli

pytest.importorskip("pyarrow")
EXAMPLES = Path("examples/models").resolve()
RESNET, BERT = EXAMPLES / "resnet50.onnx.gz", EXAMPLES / "bert-base.onnx.gz"


def rows_in(folder: Path) -> list[dict[str, object]]:
    """Return all rows of a folder's shards."""
    from pyarrow import parquet

    files = sorted(folder.glob("shard-*.parquet"))
    return [row for file in files for row in parquet.read_table(file).to_pylist()]


def bulk(*arguments: object) -> str:
    """Run ``perfc bulk`` and return its exit code and output."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(out):
        code = cli.run(["bulk", *map(str, arguments)])
    return f"{code}: {out.getvalue()}"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Return a folder with two models and a text file."""
    folder = tmp_path / "models"
    folder.mkdir()
    copyfile(RESNET, folder / "resnet50.onnx.gz")
    copyfile(BERT, folder / "bert.onnx.gz")
    (folder / "broken.onnx.gz").write_text("no model")
    return folder


def test_rows_are_those_of_compare_and_failures_have_a_row(models: Path, tmp_path: Path) -> None:
    said = bulk(f"{models}/*.gz", "-t", "a100,h100", "--batch", "1,8", "-o", tmp_path / "out")
    assert "1: error: " in said
    assert "3 models in" in said
    assert "1 failed; 12 rows" in said
    rows = rows_in(tmp_path / "out")
    assert Counter((row["model"], row["error"] is None) for row in rows) == {
        ("resnet50.onnx.gz", True): 4,
        ("bert.onnx.gz", True): 4,
        ("broken.onnx.gz", False): 4,
    }
    asked = [str(models / "bert.onnx.gz"), "-t", "h100", "--batch", "8"]
    with redirect_stdout(StringIO()) as out:
        assert cli.run(["compare", *asked, "--output-format", "json"]) == 0
    same = json.loads(out.getvalue())["rows"][0]
    mine = next(
        row
        for row in rows
        if row["setting"] == "h100-sxm5-80gb batch=8" and row["model"] == "bert.onnx.gz"
    )
    assert {key: mine[key] for key in same.keys() & mine.keys()} == {
        key: same[key] for key in same.keys() & mine.keys()
    }
    assert len(same.keys() & mine.keys()) > 25


def test_a_finished_run_is_continued_with_what_is_new(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bulk(models / "resnet50.onnx.gz", "-t", "a100", "-o", out)
    assert "0 models" in bulk(models / "resnet50.onnx.gz", "-t", "a100", "-o", out)
    assert "2 rows" in bulk(models / "resnet50.onnx.gz", "-t", "a100,h100", "-o", out)
    before = {(row["setting"], row["model"]): row["time_s"] for row in rows_in(out)}
    copyfile(BERT, models / "resnet50.onnx.gz")
    assert "1 model in" in bulk(models / "resnet50.onnx.gz", "-t", "a100,h100", "-o", out)
    after = {(row["setting"], row["model"]): row["time_s"] for row in rows_in(out)}
    assert before.keys() == after.keys()
    assert all(before[key] != after[key] for key in before)


def test_rows_of_other_options_are_not_mixed(models: Path, tmp_path: Path) -> None:
    bulk(models / "broken.onnx.gz", "-t", "a100", "-o", tmp_path / "out")
    said = bulk(models / "broken.onnx.gz", "-t", "a100", "--no-predict", "-o", tmp_path / "out")
    assert "rows of another predictions" in said


def test_shards_divide_the_models(models: Path, tmp_path: Path) -> None:
    for part in "1/3", "2/3", "3/3":
        bulk(f"{models}/*.gz", "--no-predict", "-t", "t4", "--shard", part, "-o", tmp_path / "out")
    names = [row["path"] for row in rows_in(tmp_path / "out")]
    assert sorted(names) == sorted(str(path) for path in models.iterdir())


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/-2", ""])
def test_no_shard(text: str, tmp_path: Path) -> None:
    said = bulk(RESNET, "-t", "a100", "--shard", text, "-o", tmp_path / "out")
    assert said.startswith("2: ")
    assert "is no shard" in said


def test_a_model_beyond_a_limit_has_a_row(models: Path, tmp_path: Path) -> None:
    late = bulk(models / "bert.onnx.gz", "-t", "a100", "--timeout", "1ms", "-o", tmp_path / "a")
    assert "1 failed" in late
    assert rows_in(tmp_path / "a")[0]["error"] == "took longer than 0.001 s"
    small = ["-t", "a100", "--worker-memory", "90MiB", "--strict", "-o", tmp_path / "b"]
    assert bulk(models / "bert.onnx.gz", *small).startswith("3: ")
    assert re.search("more memory|was ended|internal", str(rows_in(tmp_path / "b")[0]["error"]))


def killed_after(arguments: list[str], seconds: float) -> None:
    """Start ``perfc bulk`` and kill it with all its workers."""
    call = [sys.executable, "-m", "perfc", "bulk", *arguments]
    process = subprocess.Popen(call, start_new_session=True, stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("seconds", [0.7, 2.0])
def test_no_row_is_lost_or_doubled_by_a_kill(tmp_path: Path, seconds: float) -> None:
    for index in range(30):
        (tmp_path / f"{index}.onnx").write_text(f"no model {index}")
    out = tmp_path / "out"
    arguments = [f"{tmp_path}/*.onnx", "-t", "a100", "-o", str(out)]
    killed_after(arguments, seconds)
    assert "30 rows" in bulk(*arguments)
    assert Counter(str(r["path"]) for r in rows_in(out)) == Counter(
        map(str, tmp_path.glob("*.onnx"))
    )


def test_runs_into_one_folder_wait_for_each_other(models: Path, tmp_path: Path) -> None:
    from perfc.study.bulk.jobs import Shard
    from perfc.study.bulk.table import locked

    out = tmp_path / "out"
    words = [sys.executable, "-m", "perfc", "bulk", "--no-predict", "-t", "a100", "-o", str(out)]
    runs = [subprocess.Popen([*words, str(path)]) for path in sorted(models.glob("*.gz"))]
    assert [run.wait(120) for run in runs] == [0, 2, 0]
    assert len(rows_in(out)) == 3
    with locked(out, Shard.parse("1/1")):
        late = subprocess.Popen([*words, str(models / "bert.onnx.gz")], stderr=subprocess.PIPE)
        assert late.stderr is not None
        note = late.stderr.readline().decode()
        assert note.startswith(f"note: {out} is written by process {os.getpid()} on ")
        assert re.search(r" since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: waiting", note)
        assert late.poll() is None
    assert late.wait(60) == 0


def test_a_lock_that_a_killed_run_left_is_taken_over(models: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    lock = tmp_path / "out" / ".shard-1-of-1.lock"
    lock.write_text("process 1 on elsewhere since 2020-01-01 00:00:00")
    assert bulk(models / "broken.onnx.gz", "-t", "a100", "-o", tmp_path / "out").startswith("2: ")
    assert f"process {os.getpid()} on " in lock.read_text()
    lock.unlink()
    (tmp_path / "precious").write_text("content")
    lock.symlink_to(tmp_path / "precious")
    said = bulk(models / "broken.onnx.gz", "-t", "a100", "-o", tmp_path / "out")
    assert "symbolic links" in said
    assert (tmp_path / "precious").read_text() == "content"


def test_contents_of_inputs_and_options_are_checked(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = bulk(models / "bert.onnx.gz", "-t", "a100", "--value", "nothing=1", "-o", out)
    assert "1 failed" in said
    assert "nothing" in str(rows_in(out)[0]["error"])
    said = bulk(models / "bert.onnx.gz", "--timeout", "soon", "-o", out)
    assert said.startswith("2: error: --timeout: 'soon' is no duration")


def test_a_folder_is_its_models_and_each_failure_has_its_line(models: Path, tmp_path: Path) -> None:
    (models / "notes.txt").write_text("no model")
    (models / "inner").mkdir()
    (models / "broken.onnx.gz").rename(models / "inner" / "broken.onnx.gz")
    arguments = (models, models / "gone.onnx", "-t", "a100,t4", "--no-predict", "-o")
    for count in "4 models", "0 models":  # later runs have the failures of earlier ones
        *lines, last = bulk(*arguments, tmp_path / "out").splitlines()
        assert last.startswith(count)
        assert "2 failed; 8 rows" in last
        assert lines[0].startswith("1: error: ")
        assert sorted(re.findall(r"(?<=/)[a-z]+\.onnx.*: ", "\n".join(lines))) == [
            "broken.onnx.gz: ",
            "gone.onnx: ",
        ]
    assert bulk(models / "inner", *arguments[1:], tmp_path / "failed").startswith("2: ")
    assert bulk(models / "bert.onnx.gz", *arguments[2:], tmp_path / "out").startswith("0: 0 models")
    (tmp_path / "empty").mkdir()
    said = bulk(tmp_path / "empty", *arguments[2:], tmp_path / "out")
    assert "no models in this folder" in said


def test_patterns_name_files_once(models: Path, tmp_path: Path) -> None:
    words = ("-t", "t4", "--no-predict", "-o", tmp_path / "out")
    assert "3 models in" in bulk(f"{models}/*.gz", models / "bert.onnx.gz", *words)
    assert "no such files" in bulk(f"{models}/*.pt2", *words)
