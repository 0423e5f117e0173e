"""Checks against budgets and baselines."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from .projects import BUDGETS, models, put, said


def test_a_baseline_is_sorted_and_reads_back(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "check", "--write-baseline")[0] == 0
    first = (project / "perfc.lock").read_text()
    code, out, _ = said(capsys, "check", "--write-baseline")
    assert (code, "unchanged" in out) == (0, True)
    assert re.findall(r'path = "(.*)"', first) == ["models/a.onnx", "models/b.onnx"]
    code, out, _ = said(capsys, "check")
    assert code == 0
    assert "2 same; 0 analyzed, 2 from the cache" in out
    code, out, _ = said(capsys, "check", "--show-baseline")
    assert (code, "models/a.onnx" in out) == (0, True)


def test_a_model_whose_shapes_lie_in_another_file_is_analyzed_every_time(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def put_beside(n: int) -> None:
        shape = numpy_helper.from_array(np.array([n, -1], np.int64), "s")
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64])
        nodes = [
            helper.make_node("Reshape", ["x", "s"], ["r"]),
            helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
            helper.make_node("MatMul", ["r", "t"], ["y"]),
        ]
        graph = helper.make_graph(nodes, "g", [x], [onnx.ValueInfoProto(name="y")], [shape])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (project / "models" / "c.bin").unlink(missing_ok=True)
        path = project / "models" / "c.onnx"
        onnx.save(made, path, save_as_external_data=True, size_threshold=0, location="c.bin")

    text = BUDGETS.replace("models/*.onnx", "models/c.onnx").replace("dims = { n = 4 }\n", "")
    (project / "perfc.toml").write_text(text)
    put_beside(2)
    said(capsys, "check", "--write-baseline")
    written = (project / "models" / "c.onnx").read_bytes()
    code, out, _ = said(capsys, "check")
    assert (code, "1 analyzed, 0 from the cache" in out) == (0, True)
    put_beside(16)
    assert (project / "models" / "c.onnx").read_bytes() == written
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)


def test_a_model_over_budget_fails_and_only_it_is_analyzed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    put(project, "a", 64)
    code, out, _ = said(capsys, "check")
    assert code == 1
    assert "FAIL" in out
    assert "1 analyzed, 1 from the cache" in out
    assert said(capsys, "check", "--exit-zero")[0] == 0
    code, out, _ = said(capsys, "check", "models/b.onnx")
    assert code == 0


def test_a_small_growth_is_noted_and_shrinking_is_not(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    put(project, "a", 17)
    code, out, _ = said(capsys, "check")
    assert code == 0
    assert "warn" in out
    put(project, "a", 8)
    code, out, _ = said(capsys, "check")
    assert code == 0
    assert "warn" not in out
    assert "models/a.onnx" in out, "what changed is shown all the same"


def test_new_removed_and_skipped_models_are_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    dense = models.model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [models.stored("w", (8, 8))],
        ["n", 8],
        ["n", 8],
    )
    (project / "models" / "c.onnx").write_bytes(dense.SerializeToString())
    (project / "models" / "b.onnx").unlink()
    (project / "other.onnx").write_bytes((project / "models" / "a.onnx").read_bytes())
    code, out, _ = said(capsys, "check", "--output-format", "json")
    tree = json.loads(out)
    standings = {r["model"]: r["standing"] for r in tree["results"]}
    assert standings == {
        "models/a.onnx": "same",
        "models/b.onnx": "removed",
        "models/c.onnx": "new",
    }
    assert tree["results"][1]["notes"] == ["the file is gone"]
    new = next(r for r in tree["results"] if r["standing"] == "new")
    assert all(f["baseline"] is None for f in new["figures"]), "new is not a change from 0"
    code, out, _ = said(capsys, "check", "other.onnx")
    assert (code, "skipped" in out) == (0, True)


def test_what_cannot_be_read_is_one_line_and_the_baseline_stays(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    before = (project / "perfc.lock").read_bytes()
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n"
    (project / "models" / "a.onnx").write_bytes(pointer)
    code, out, err = said(capsys, "check")
    assert code == 2
    assert "models/a.onnx: not an ONNX model but a git-LFS pointer" in err
    assert err.count("\n") == 1
    assert "1 same" in out, "the others are checked"
    code, _, err = said(capsys, "check", "--write-baseline")
    assert code == 2
    assert "git lfs pull" in err
    assert (project / "perfc.lock").read_bytes() == before
    assert said(capsys, "check", "models/none.onnx")[0] == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("schema = 2", "schema = 99", "perfc.lock:2: schema 99 is newer"),
        ("schema = 2", "schema = 'x'", "no schema number"),
        ("flop = ", "flop = 'x' #", "not a number"),
        ('path = "models/a.onnx"', "", "'path' is missing"),
        ("schema = 2", "schema = = 2", "not valid TOML"),
    ],
)
def test_a_damaged_baseline_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    said(capsys, "check", "--write-baseline")
    path = project / "perfc.lock"
    path.write_text(path.read_text().replace(old, new, 1))
    damaged = path.read_bytes()
    for more in ([], ["--write-baseline", "models/a.onnx"], ["--show-baseline"]):
        code, _, err = said(capsys, "check", *more)
        assert code == 2
        assert words in err
        assert err.count("\n") == 1
    assert path.read_bytes() == damaged


def test_update_leaves_other_entries_as_they_are(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    before = (project / "perfc.lock").read_text().split("[[model]]")
    put(project, "a", 64)
    put(project, "b", 64)
    assert said(capsys, "check", "--write-baseline", "models/a.onnx")[0] == 0
    after = (project / "perfc.lock").read_text().split("[[model]]")
    assert before[2] == after[2]
    assert before[1] != after[1]


def test_the_baseline_of_a_revision_is_compared_with(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *command], check=True, cwd=project)
    put(project, "a", 64)
    said(capsys, "check", "--write-baseline")
    assert said(capsys, "check")[0] == 0, "the new baseline allows it"
    code, out, _ = said(capsys, "check", "--against", "HEAD", "--why")
    assert code == 1
    assert "conv1" in out, "the operator that explains it is named"
    code, _, err = said(capsys, "check", "--against", "nowhere")
    assert (code, "nowhere" in err) == (2, True)
