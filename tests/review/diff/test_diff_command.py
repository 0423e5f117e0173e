"""``perfc diff`` as it is called."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from perfc.cli import run as perfc
from tests.review.diff import models


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, channels in (("old", 16), ("new", 24)):
        (tmp_path / f"{name}.onnx").write_bytes(models.convolutional(channels).SerializeToString())
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = perfc(["diff", *args])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.parametrize("runtime", ["eager", "ort", "tensorrt"])
def test_a_product_written_as_an_equation_is_that_product(
    runtime: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attributes = {"MatMul": "", "Einsum": '<equation = "bij,bjk->bik">'}
    for operator, given in attributes.items():
        (folder / f"{operator}.onnxtxt").write_text(
            '<ir_version: 8, opset_import: ["" : 18]>\n'
            "g (float[8, 128, 64] q, float[8, 64, 128] k) => (float[8, 128, 128] y)\n"
            f"{{ y = {operator} {given} (q, k) }}\n",
            encoding="utf-8",
        )
    names = [f"{operator}.onnxtxt" for operator in attributes]
    code, out, _ = said(capsys, *names, "-t", "a100", "--runtime", runtime, "--exit-code")
    assert (code, "no kernel changed in cost" in out) == (0, True)


def git(folder: Path, *command: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *identity, *command], check=True, cwd=folder, capture_output=True)


def test_two_files_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "old.onnx", "new.onnx")
    assert code == 0
    assert "conv1" in out
    assert said(capsys, "old.onnx", "new.onnx", "--exit-code")[0] == 1
    assert said(capsys, "old.onnx", "old.onnx", "--exit-code")[0] == 0


@pytest.mark.parametrize(
    "command", ["analyze", "lint", "fit", "compare", "check --write-baseline"], ids=str
)
@pytest.mark.parametrize("name", ["old.onnx", "old.pt2", "old.tflite", "config.json"])
def test_other_commands_say_how_to_get_a_file_of_a_revision(
    command: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "-qm", "one", "--allow-empty")
    assert perfc([*command.split(), f"HEAD:{name}", "-t", "a100"]) == 2
    err = capsys.readouterr().err
    assert f"HEAD:{name}: no such file (only perfc diff reads a file of a git revision; " in err
    assert f"git show HEAD:{name} > FILE writes it)" in err


@pytest.mark.parametrize("command", ["analyze", "lint"])
def test_other_colons_name_no_revision(
    command: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert perfc([command, "HEAD:old.onnx", "-t", "a100"]) == 2  # no repository
    assert "HEAD:old.onnx: no such file (check the path)" in capsys.readouterr().err
    assert perfc([command, "https://example.org/m.onnx", "-t", "a100"]) == 2
    assert "no such file (download it first)" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "")  # no git
    assert perfc([command, "HEAD:old.onnx", "-t", "a100"]) == 2
    assert "HEAD:old.onnx: no such file (check the path)" in capsys.readouterr().err


def test_a_file_is_compared_with_its_revisions(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "old.onnx")
    git(folder, "commit", "-qm", "one")
    (folder / "old.onnx").write_bytes((folder / "new.onnx").read_bytes())
    for args in (["HEAD:old.onnx", "new.onnx"], ["old.onnx"], [str(folder / "old.onnx")]):
        code, out, _ = said(capsys, *args, "--output-format", "json")
        assert code == 0
        assert json.loads(out)["blame"][0]["node"] == "conv1"
    for args, words in (
        (["HEAD~9:old.onnx", "new.onnx"], "no revision 'HEAD~9'"),
        (["HEAD:none.onnx", "new.onnx"], "no file 'none.onnx' in HEAD"),
        (["--", "-x:old.onnx", "new.onnx"], "not a revision"),
        (["HEAD:old.onnx"], "nothing to compare with"),
    ):
        code, _, err = said(capsys, *args)
        assert code == 2
        assert words in err
        assert err.count("\n") == 1


def test_a_pointer_of_lfs_is_followed_into_the_local_store(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import hashlib

    git(folder, "init", "-q")
    content = (folder / "old.onnx").read_bytes()
    oid = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"
    (folder / "model.onnx").write_text(pointer)
    git(folder, "add", "model.onnx")
    git(folder, "commit", "-qm", "one")
    code, _, err = said(capsys, "HEAD:model.onnx", "new.onnx")
    assert code == 2
    assert "HEAD:model.onnx: not an ONNX model but a git-LFS pointer" in err
    store = folder / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4]
    store.mkdir(parents=True)
    (store / oid).write_bytes(content)
    assert said(capsys, "HEAD:model.onnx", "new.onnx")[0] == 0


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--to", "target=h100"], ["target"]),
        # PyTorch does not round products to TF32
        (["--to", "runtime=eager"], ["runtime", "tf32"]),
        (["--to", "dtype=fp16"], ["precision"]),
        (["--dim", "n=1", "--to", "n=8"], ["batch n"]),
    ],
)
def test_one_model_is_compared_with_itself_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], names: list[str]
) -> None:
    code, out, _ = said(capsys, "old.onnx", *options, "--output-format", "json")
    tree = json.loads(out)
    assert code == 0
    assert list(tree["settings"]) == names
    assert tree["aligned_products"] == tree["products"] == 4
    assert tree["blame"]


def test_symbols_at_the_same_place_are_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = models.convolutional(16)
    other.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    other.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    (folder / "other.onnx").write_bytes(other.SerializeToString())
    code, out, _ = said(
        capsys, "old.onnx", "other.onnx", "--dim", "batch=8", "--output-format", "json"
    )
    assert code == 0
    assert not json.loads(out)["blame"]
    code, _, err = said(capsys, "old.onnx", "other.onnx", "--dim", "rows=8")
    assert code == 2
    assert "no symbol 'rows' in either model" in err


def test_the_text_form_of_a_module_is_compared_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert perfc(["dev", "ir", "old.onnx", "-o", "old.pir"]) == 0
    code, out, _ = said(capsys, "old.pir", "new.onnx", "--output-format", "json")
    assert code == 0
    assert json.loads(out)["aligned_products"] == 4


def test_output_goes_to_a_file_in_every_format(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ("text", "json", "markdown"):
        code, out, _ = said(
            capsys, "old.onnx", "new.onnx", "--output-format", form, "-o", f"out.{form}"
        )
        assert (code, out) == (0, "")
        assert "conv1" in (folder / f"out.{form}").read_text()
