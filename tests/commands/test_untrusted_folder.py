"""Code in the current folder runs only where a model names it, and never under ``--no-code``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfc import cli
from perfc.frontend.pytorch.worker import made
from perfc.frontend.reading.process import child_environment

from .invocations import write_model

ROOT = Path(__file__).parents[2]
EVIL = (
    "importlib",
    "json",
    "torch",
    "sitecustomize",
    "usercustomize",
    "multiprocessing",
    "signal",
    "numpy",
    "onnx",
    "onnxruntime",
    "tempfile",
    "subprocess",
    "pickle",
    "timm",
    "jax",
    "openvino",
    "tvm",
    "tensorflow",
    "typing",
    "re",
)
"""Modules that a repository may have in its folder."""
NO_CODE = "PERFC_NO_CODE"
WORKERS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "perfc").rglob("*.py")
    if '\nif __name__ == "__main__":\n' in path.read_text("utf-8")
    and path.name not in ("__main__.py", "cli.py")
)
ENTRY = "import sys; sys.path.remove(''); from perfc.__main__ import main; main()"
"""The program ``perfc``, whose folder is searched for modules instead of the current one."""
MODULE = """import pathlib
pathlib.Path({mark!r}).touch()
import torch

class Net(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that modules of the current folder write when they run."""
    mark = tmp_path / "ran"
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in EVIL:
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r})")
    (folder / "evil.py").write_text(MODULE.format(mark=str(mark)))
    write_model(folder / "model.onnx")
    # no test waits for the real one
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "torch.py").write_text("raise ImportError(name='torch')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(tmp_path / "installed"))))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.chdir(folder)
    return mark


def ran(mark: Path) -> str:
    return mark.read_text("utf-8") if mark.exists() else ""


def test_every_worker_is_swept() -> None:
    assert {"perfc.frontend.pytorch.worker", "perfc.frontend.stablehlo.worker"} <= {*WORKERS}
    assert len(WORKERS) >= 7


@pytest.mark.parametrize("worker", WORKERS)
def test_no_worker_imports_from_the_current_folder(worker: str, mark: Path) -> None:
    words = [sys.executable, "-m", worker, "nowhere", "ONNX", "reply", "reply"]
    subprocess.run(
        words, env=child_environment(), input=b"{}", capture_output=True, check=False, timeout=60
    )
    assert not ran(mark)


@pytest.mark.parametrize("given", ["", ".", os.pathsep, f"{os.pathsep}lib", "HERE"])
def test_no_path_of_the_environment_is_the_current_folder(
    given: str, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", given.replace("HERE", os.getcwd()))
    paths = child_environment()["PYTHONPATH"].split(os.pathsep)
    assert paths[0] == str(ROOT)
    assert "" not in paths
    assert os.getcwd() not in paths
    assert ("lib" in given) == (str(Path("lib").resolve()) in paths)


@pytest.mark.parametrize(
    "line",
    [
        "analyze timm:resnet18",
        "bulk model.onnx -t a100 --no-predict --workers 1 -o out",
    ],
)
def test_no_command_imports_from_the_current_folder(line: str, mark: Path) -> None:
    words = [sys.executable, "-c", ENTRY, *line.split()]
    done = subprocess.run(words, capture_output=True, check=False, timeout=120)
    assert b"Traceback" not in done.stderr, done.stderr
    assert not ran(mark)


@pytest.mark.parametrize(
    "line",
    [
        "check",
        "check --write-baseline",
        "analyze evil:Net",
        "analyze evil.py:Net",
        "compare evil:Net",
        "analyze evil:f --jax --input 1x4",
        "diff evil:Net evil.py:Net",
        "lint evil:Net",
        "init evil:Net --force",
        "explain evil:Net x",
    ],
)
@pytest.mark.parametrize("is_option", [True, False])
def test_no_code_refuses_every_module(
    line: str,
    is_option: bool,
    mark: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(NO_CODE, "0" if is_option else "1")
    text = '# budgets\n\n[[models]]\nname = "small"\nsource = "evil:Net"\ninput = "1x4"\n'
    Path("perfc.toml").write_text(text)
    assert cli.run([*line.split(), *(["--no-code"] if is_option else [])]) == 2
    error = capsys.readouterr().err
    assert re.search(r"^error: .*would run its module.*--no-code", error, re.MULTILINE), error
    if line in ("check", "check --write-baseline"):
        assert "perfc.toml:5: " in error
        assert "remove this line" in error
    assert not ran(mark)
    assert os.environ[NO_CODE] == ("0" if is_option else "1")


def test_no_code_refuses_no_file(mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NO_CODE, raising=False)
    assert cli.run(["check", "--no-code"]) == 0
    assert NO_CODE not in os.environ


@pytest.mark.parametrize(
    ("where", "kwargs"),
    [
        ("timm", {"checkpoint_path": "evil.pth"}),
        ("timm", {"pretrained": True}),
        ("timm", {"pretrained_cfg": {"file": "evil.pth"}}),
        ("transformers", {"weights": "x"}),
        ("torchvision", {"weights_backbone": "DEFAULT"}),
        ("timm", {"cache_dir": "x"}),
    ],
)
def test_catalogs_load_no_weights(where: str, kwargs: dict[str, object]) -> None:
    with pytest.raises(Exception, match=f"{next(iter(kwargs))} would load a file"):
        made(where, "resnet18", kwargs)


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        (".github/actions/check/action.yml", "head.repo.full_name != github.repository"),
        ("examples/pytorch/.github/workflows/*.yml", "head.repo.full_name != github.repository"),
        ("docs/check.md", '"$CI_MERGE_REQUEST_SOURCE_PROJECT_ID" = "$CI_PROJECT_ID"'),
    ],
)
def test_forks_are_checked_without_code(file: str, owner: str) -> None:
    (path,) = ROOT.glob(file)
    lines = path.read_text("utf-8").splitlines()
    setting = next(i for i, line in enumerate(lines) if NO_CODE in line and owner in line)
    check = next(i for i, line in enumerate(lines) if "perfc check" in line and i > setting)
    assert check - setting < 12
