"""Files in SARIF and annotations are named as code scanning reads them: from the repository."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from perfc.cli import run

SCHEMA = Path(__file__).parents[2] / "fixtures" / "sarif" / "sarif-2.1.0.schema.json"
NAMES = ("ml/plain.onnx", "ml/a:b.onnx", "ml/deep models/v1#2/net 100%é.onnx")


def model() -> bytes:
    """Two transposes that undo each other, before a product."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(n, 1, [512, 512]) for n in "xy")
    w = numpy_helper.from_array(np.zeros((512, 512), np.float32), "w")
    made = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [w]),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    return onnx.ModelProto.SerializeToString(made)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repo"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(model())
    monkeypatch.chdir(folder)
    return folder


def logged(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    """The only run of the log that a command prints, which keeps to the schema."""
    capsys.readouterr()
    run([*command, "--output-format", "sarif"])
    log = json.loads(capsys.readouterr().out)
    jsonschema.validate(log, json.loads(SCHEMA.read_text(encoding="utf-8")))
    result: dict[str, Any] = log["runs"][0]
    return result


def uris(found: dict[str, Any]) -> Iterator[str]:
    """Where the results lie, relative to the base that each names."""
    for result in found["results"]:
        artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
        if not urlparse(artifact["uri"]).scheme:
            assert artifact["uriBaseId"] in found["originalUriBaseIds"]
        yield artifact["uri"]


def test_names_are_from_the_root_of_the_repository(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True, cwd=root)
    monkeypatch.chdir(root / "ml")
    result = logged(capsys, "lint", "plain.onnx", "deep models", "a:b.onnx", "--min-gain", "0")
    assert set(uris(result)) == {
        "ml/plain.onnx",
        "ml/a%3Ab.onnx",
        "ml/deep%20models/v1%232/net%20100%25%C3%A9.onnx",
    }
    assert {unquote(u) for u in uris(result)} == set(NAMES)
    assert "uri" not in result["originalUriBaseIds"]["%SRCROOT%"], "it lies elsewhere for others"
    absolute = logged(capsys, "lint", str(root / "ml" / "plain.onnx"), "--min-gain", "0")
    assert set(uris(absolute)) == {"ml/plain.onnx"}
    for form, name in (("github", "file=ml/plain.onnx,"), ("gitlab", '"path": "ml/plain.onnx"')):
        run(["lint", "plain.onnx", "--min-gain", "0", "--output-format", form])
        assert name in capsys.readouterr().out
    monkeypatch.chdir(root)
    assert set(uris(logged(capsys, "lint", "ml", "--min-gain", "0"))) == set(uris(result))


def test_outside_of_a_repository_the_base_is_the_folder(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "ml")
    result = logged(capsys, "lint", "plain.onnx", "a:b.onnx", "--min-gain", "0")
    assert set(uris(result)) == {"plain.onnx", "a%3Ab.onnx"}
    assert result["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{Path.cwd().as_uri()}/"
    monkeypatch.chdir(root / "ml" / "deep models")
    result = logged(capsys, "lint", "../plain.onnx", "--min-gain", "0")
    assert set(uris(result)) == {(root.resolve() / "ml" / "plain.onnx").as_uri()}


def test_limits_exceeded_are_named_so_too_whichever_folder_checks(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True, cwd=root)
    budget = '[[budget]]\nmodel = "*.onnx"\nflop = "1 M"\n'
    (root / "ml" / "perfc.toml").write_text(budget)
    prints = []
    for folder, name in (
        ("", "ml/plain.onnx"),
        ("ml", "plain.onnx"),
        ("ml/deep models", "../plain.onnx"),
    ):
        monkeypatch.chdir(root / folder)
        result = logged(capsys, "check", name)
        assert set(uris(result)) == {"ml/plain.onnx"}
        prints.append([r["partialFingerprints"] for r in result["results"]])
    assert prints[0] == prints[1] == prints[2]


def test_each_model_is_linted_as_the_file_upwards_of_it_says(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True, cwd=root)
    other = root / "other"
    other.mkdir()
    (other / "m.onnx").write_bytes(model())
    (root / "ml" / "perfc.toml").write_text(
        '[lint]\nselect = ["ALL"]\nmin-gain = 0\n[lint.per-file-ignores]\n"*.onnx" = ["PF1"]\n'
    )
    (other / "perfc.toml").write_text(
        '[lint]\nmin-gain = 0\n[lint.per-file-ignores]\n"m.onnx" = ["PF404"]\n'
    )
    capsys.readouterr()
    assert run(["lint", "ml/plain.onnx", "other/m.onnx", "--output-format", "json"]) == 1
    tree = json.loads(capsys.readouterr().out)
    codes = {f["path"]: {x["code"][:3] for x in f["findings"]} for f in tree["files"]}
    assert "PF1" not in codes["ml/plain.onnx"]
    assert "PF1" in codes["other/m.onnx"]
    result = logged(capsys, "lint", "ml/plain.onnx", "other/m.onnx")
    unused = {u for u in uris(result) if u.endswith("perfc.toml")}
    assert unused == {"other/perfc.toml"}, "each file has its own unused suppressions"
