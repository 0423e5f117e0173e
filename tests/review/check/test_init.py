"""A project without budgets, and what `perfc init` writes for it."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from .projects import put, said

HOOK = ".pre-commit-config.yaml"
MODELS = Path(__file__).parents[3] / "examples" / "models"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models, and nothing else."""
    (tmp_path / "models").mkdir()
    put(tmp_path, "a", 16)
    put(tmp_path, "b", 32)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    here = str(Path(__file__).parents[3])
    return subprocess.run(
        ["git", *identity, *arguments],
        cwd=root,
        env=os.environ | {"PATH": place, "PYTHONPATH": here},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_without_budgets_built_in_ones_hold_and_are_said(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = said(capsys, "check")
    words = " ".join(out.split())
    assert (code, "built-in ones for flop, parameters, weights, traffic" in words) == (0, True)
    assert "perfc init" in words
    assert "2 new" in out
    code, out, _ = said(capsys, "check", "--write-baseline", "models/a.onnx")
    assert (code, "1 entry" in out, "built-in" in out) == (0, True, True)
    put(bare, "a", 64)
    code, out, _ = said(capsys, "check", "models/a.onnx")
    words = " ".join(out.split())
    assert (code, "FAIL models/a.onnx" in words) == (1, True)
    assert "flop " in words
    assert "work " not in words
    assert "intended? perfc check --write-baseline models/a.onnx" in words
    assert said(capsys, "check", "--write-baseline", "models/a.onnx")[0] == 0
    assert said(capsys, "check", "models/a.onnx")[0] == 0
    assert not (bare / "perfc.toml").exists()


def test_update_needs_no_baseline_before_it(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", "--write-baseline", "models/b.onnx")
    assert (code, "1 entry, 1 new" in out) == (0, True)
    assert "models/b.onnx" in said(capsys, "check", "--show-baseline")[1]
    code, _, err = said(capsys, "check", "--write-baseline", "models/none.onnx")
    assert (code, "models/none.onnx" in err, "as it was" in err) == (2, True, True)


def test_models_elsewhere_have_their_baseline_there(
    bare: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "elsewhere").mkdir()
    monkeypatch.chdir(bare / "elsewhere")
    assert said(capsys, "check", "--write-baseline", "../models/a.onnx")[0] == 0
    assert (bare / "models" / "perfc.lock").is_file()
    assert "1 same" in said(capsys, "check", str(bare / "models" / "a.onnx"))[1]


def test_a_file_that_says_only_how_models_run_keeps_the_built_in_budgets(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (bare / "perfc.toml").write_text('[deployment]\ntarget = "h100"\ndims = { n = 2 }\n')
    _, out, _ = said(capsys, "check")
    assert "h100, n=2" in " ".join(out.split())
    assert said(capsys, "check", "-t", "h1000")[0] == 2


def written(root: Path) -> list[dict[str, Any]]:
    return tomllib.loads((root / "perfc.toml").read_text())["budget"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("names", "globs"),
    [
        (["r.onnx.gz"], ["*.onnx.gz", "models/*.onnx"]),
        ([f"{k}/m.onnx" for k in range(9)], ["**/*.onnx"]),
        (["a[1]/m.onnx"], ["a[[]1]/*.onnx", "models/*.onnx"]),
        # hidden and installed folders are not looked into
        ([".cache/c.onnx", "node_modules/c.onnx", "env/c.onnx"], ["models/*.onnx"]),
    ],
)
def test_globs_are_of_the_models_that_are_found(
    bare: Path, capsys: pytest.CaptureFixture[str], names: list[str], globs: list[str]
) -> None:
    for name in names:
        (bare / name).parent.mkdir(exist_ok=True)
        source = MODELS / "resnet50.onnx.gz" if name.endswith("gz") else bare / "models/a.onnx"
        shutil.copy(source, bare / name)
        if name.startswith("env"):
            (bare / "env/pyvenv.cfg").write_text("")
    assert said(capsys, "init")[0] == 0
    assert written(bare)[0]["model"] == globs


@pytest.mark.parametrize("suffix", [".onnx", ".onnx.gz", ".pt2", ".txt"])
def test_every_door_has_the_same_models(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """These are read by their content, which is ONNX text, whatever the name."""
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    model = Path(f"models/m{suffix}")
    text = '<ir_version: 8, opset_import: ["": 18]> g (float[4] x) => (float[4] y) {y = Relu(x)}'
    model.write_text(text)
    if suffix.endswith(".gz"):
        model.write_bytes(gzip.compress(onnx.parser.parse_model(text).SerializeToString()))
    asked = ["-t", "t4"]
    for name in str(model), "models":
        code = 2 if (name, suffix) == ("models", ".txt") else 0
        for words in ["init", "--force"], ["lint"], ["bulk", "-o", "out"]:
            assert said(capsys, words[0], name, *words[1:], *asked)[0] == code, words
    assert said(capsys, "check", str(model))[0] == 0


def test_the_file_written_is_what_is_built_in(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "init", "-t", "h100", "--dim", "n=4", "--dtype", "f16")[0] == 0
    (budget,) = written(bare)
    assert (budget["target"], budget["dtype"], budget["dims"]) == ("h100", "f16", {"n": 4})
    limits = {key: limit for key, limit in budget.items() if isinstance(limit, dict)}
    _, out, _ = said(capsys, "check")
    assert "2 same" in out
    (bare / "perfc.toml").unlink()
    built_in = "flop", "parameters", "weights", "traffic", "peak_memory", "time"
    assert limits.keys() - {"dims"} == {*built_in}
    assert f"for {', '.join(built_in[:4])}" in " ".join(said(capsys, "check")[1].split())
    assert {tuple(limits[key]) for key in built_in} == {("warn", "fail")}


def test_nothing_is_written_over(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bare / "perfc.toml").write_text("# mine\n")
    code, _, err = said(capsys, "init")
    assert (code, err.count("\n"), "--force" in err) == (2, 1, True)
    assert (bare / "perfc.toml").read_text() == "# mine\n"
    assert not (bare / "perfc.lock").exists()
    assert said(capsys, "init", "--force")[0] == 0
    assert "[[budget]]" in (bare / "perfc.toml").read_text()
    (bare / "perfc.toml").unlink()
    assert said(capsys, "init")[0] == 2, "the baseline is somebody's too"
    (bare / "perfc.lock").unlink()
    (bare / "pyproject.toml").write_text("[tool.perfc.lint]\nselect = ['ALL']\n")
    code, _, err = said(capsys, "init")
    assert (code, "pyproject.toml" in err) == (2, True)


def test_a_model_that_cannot_be_read_leaves_everything_unwritten(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(bare, "init", "-q", ".")
    (bare / "models" / "broken.onnx").write_bytes(b"not a model")
    code, _, err = said(capsys, "init")
    assert (code, "broken.onnx" in err, "nothing is written" in err) == (2, True, True)
    assert {p.name for p in bare.iterdir()} <= {".git", "models", ".perfc_cache"}
    for wrong in (["/etc/hostname"], ["models/none.onnx"], ["--value", "x=1"]):
        code, _, err = said(capsys, "init", *wrong)
        assert code == 2
        assert not (bare / "perfc.toml").exists()


def test_files_that_cannot_all_be_written_are_none(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(bare, "init", "-q", ".")
    (bare / HOOK).mkdir()
    code, _, err = said(capsys, "init")
    assert (code, HOOK in err) == (2, True)
    assert not (bare / "perfc.toml").exists()
    assert not (bare / "perfc.lock").exists()


def test_a_folder_without_models_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = said(capsys, "init")
    assert (code, err.count("\n"), "no models" in err) == (2, 1, True)
    (tmp_path / "model.py").write_text("import torch\n")
    for command in (("check",), ("check", "--write-baseline")):
        code, _, err = said(capsys, *command)
        assert code == 2, "nothing was checked, which is no pass"
        assert err.startswith("error: .: no model in this folder or below (models end in .onnx, ")
        assert "for a PyTorch module: perfc init package.module:Name" in err
    assert not (tmp_path / "perfc.lock").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "repos:\n  - repo: local\n"),
        ("repos:\n- repo: x\n  rev: 1\n", "repos:\n- repo: local\n  hooks:\n"),
        ("# ours\nci: {}\nrepos:  # all\n    - repo: x\n", "repos:  # all\n    - repo: local\n"),
        ("repos:", "repos:\n  - repo: local\n"),
        # another style is left alone
        ("repos: [{repo: local}]\n", "repos: [{repo: local}]\n"),
        ("default_stages: [commit]\n", "default_stages: [commit]\n"),
    ],
)
def test_an_entry_stands_beside_others(
    bare: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    git(bare, "init", "-q", ".")
    (bare / HOOK).write_text(old)
    assert said(capsys, "init")[0] == 0
    made = (bare / HOOK).read_text()
    assert new in made
    assert all(line in made.splitlines() for line in old.splitlines())
    assert said(capsys, "init", "--force")[0] == 0
    assert (bare / HOOK).read_text() == made, "once"


def test_from_nothing_to_a_check_that_fails_and_is_accepted(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(bare, "init", "-q", ".")
    code, out, _ = said(capsys, "init")
    assert code == 0
    for name in ("perfc.toml", "perfc.lock", HOOK):
        assert f"wrote {name}" in out
    install_hook(bare)
    git(bare, "add", "-A")
    done = git(bare, "commit", "-m", "one")
    assert done.returncode == 0, done.stdout
    put(bare, "a", 64)
    git(bare, "add", "-A")
    done = git(bare, "commit", "-m", "two")
    words = " ".join(done.stdout.split())
    assert done.returncode != 0, done.stdout
    assert "FAIL models/a.onnx" in words
    assert "conv1" in words, "the operator is named"
    assert "intended? perfc check --write-baseline models/a.onnx" in words
    assert said(capsys, "check", "--write-baseline", "models/a.onnx")[0] == 0
    git(bare, "add", "-A")
    done = git(bare, "commit", "-m", "two")
    assert done.returncode == 0, done.stdout


def install_hook(root: Path) -> None:
    """What pre-commit does with the entry, by pre-commit itself where it is there."""
    if shutil.which("pre-commit"):
        subprocess.run(["pre-commit", "install"], cwd=root, check=True, stdout=subprocess.DEVNULL)
        return
    text = (root / HOOK).read_text()
    result = {key: re.search(rf"^ *{key}: (.*)$", text, re.MULTILINE) for key in ("entry", "files")}
    assert all(result.values())
    entry, files = ((m[1] if m else "") for m in result.values())
    assert re.search(files, "models/a.onnx")
    command = entry.replace("perfc", f"{sys.executable} -m perfc", 1)
    staged = f"git diff --cached --name-only --diff-filter=ACM | grep -E '{files}'"
    script = root / ".git" / "hooks" / "pre-commit"
    script.write_text(f"#!/bin/sh\nfor f in $({staged}); do {command} $f || exit 1; done\n")
    script.chmod(0o755)


def test_the_models_of_a_project_are_only_those_of_its_folder(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (bare / "deep" / "er").mkdir(parents=True)
    model = onnx.load(bare / "models" / "a.onnx", load_external_data=False)
    (bare / "deep" / "er" / "c.onnx").write_bytes(model.SerializeToString())
    assert said(capsys, "init", "models")[0] == 0
    assert [b["model"] for b in written(bare)] == [["models/*.onnx"]]


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["--config", "perfc.toml"], "--config"),
        (["--value", "x=1"], "--value"),
        (["--config", "perfc.toml", "--value", "x=1"], "--config"),
    ],
)
def test_what_a_new_file_cannot_say_is_refused(
    arguments: list[str], flag: str, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from perfc import cli

    (bare / "perfc.toml").write_text("", encoding="utf-8")
    assert cli.run(["init", *arguments]) == 2
    said = capsys.readouterr().err
    assert f"perfc init writes a new perfc.toml and accepts no {flag}" in said


@pytest.mark.parametrize("name", ["nothing.onnx", "none/a.tflite", "HEAD:models/a.onnx"])
def test_a_file_that_does_not_exist_is_named_and_nothing_is_written(
    name: str, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The glob of its place would cover other files."""
    put(bare, "c", 16)
    (bare / "models" / "c.onnx").rename(bare / "c.onnx")
    code, _, err = said(capsys, "init", "--no-hook", "models/a.onnx", name)
    assert (code, err.startswith(f"error: {name}: no such file (")) == (2, True)
    assert not list(bare.glob("perfc.*"))


def store(folder: Path, nodes: list[onnx.NodeProto], kind: int) -> None:
    """Write a model of two products with weights of an element type."""
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [256, 256]) for n in "xz"]
    raw = bytes(256 * 256 * (1 if kind == TensorProto.INT8 else 4))
    weights = [helper.make_tensor(n, kind, [256, 256], raw, raw=True) for n in "vw"]
    weights.append(helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]))
    weights.append(helper.make_tensor("o", TensorProto.INT8, [], [0]))
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph), folder / "models" / "q.onnx")


def narrow(*, are_maps_narrow: bool) -> list[onnx.NodeProto]:
    """Return two products whose weights, or maps too, are stored in 8 bits."""

    def product(at: str, weight: str, to: str) -> list[onnx.NodeProto]:
        maps = f"{at}q", f"{at}r"
        steps = [("QuantizeLinear", at, maps[0]), ("DequantizeLinear", *maps)]
        steps = [*(steps if are_maps_narrow else ()), ("DequantizeLinear", weight, f"{weight}r")]
        nodes = [helper.make_node(op, [i, "s", "o"], [o]) for op, i, o in steps]
        read = maps[1] if are_maps_narrow else at
        return [*nodes, helper.make_node("MatMul", [read, f"{weight}r"], [to])]

    return [*product("x", "v", "y"), *product("y", "w", "z")]


def wide() -> list[onnx.NodeProto]:
    """Return the same products of 32-bit tensors."""
    return [helper.make_node("MatMul", [*pair], [to]) for *pair, to in ("xvy", "ywz")]


@pytest.mark.parametrize("are_maps_narrow", [False, True])
def test_tensors_that_widen_fail_by_default(
    bare: Path, capsys: pytest.CaptureFixture[str], are_maps_narrow: bool
) -> None:
    """Work may not grow where 8-bit tensors are replaced by 32-bit ones."""
    store(bare, narrow(are_maps_narrow=are_maps_narrow), TensorProto.INT8)
    assert said(capsys, "init", "--no-hook", "models/q.onnx")[0] == 0
    store(bare, wide(), TensorProto.FLOAT)
    code, out, _ = said(capsys, "check")
    assert code == 1
    words = " ".join(out.split())
    assert re.search(r"FAIL models/q.onnx \S+ ort weights 128 KiB -> 512 KiB", words)
    assert re.search(r"FAIL models/q.onnx \S+ ort traffic", words)


def test_tensors_that_narrow_pass_by_default(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dequantized tensors exist inside the product's kernel alone, and take no memory."""
    store(bare, wide(), TensorProto.FLOAT)
    assert said(capsys, "init", "--no-hook", "models/q.onnx")[0] == 0
    store(bare, narrow(are_maps_narrow=True), TensorProto.INT8)
    code, out, _ = said(capsys, "check")
    assert code == 0
    # the input and the result, with an 8-bit map in place of a 32-bit one between them
    assert "peak_memory 768 KiB 576 KiB" in " ".join(out.split())
