"""Damaged caches are made again in silence, whatever is left of their files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.common.cache_folder import cache_folder
from perfc.common.toml_file import remembered
from perfc.frontend.diffusion import export
from perfc.kernels.backends import compiled
from perfc.machine import load_machine
from perfc.measuring.calibrate import host

from ..commands.invocations import BUDGETS, write_model

SHIPPED = Path(perfc.__file__).parent / "targets" / "generic-x86-64.toml"
ROOT = Path(__file__).parents[2]
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "head": lambda data: data[:40],
    "zeros": lambda data: data[:16] + b"\0" * (len(data) - 16),
}


@pytest.fixture(params=DAMAGES)
def damaged(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Return a function that damages a file."""

    def damage(path: Path) -> None:
        path.write_bytes(DAMAGES[request.param](path.read_bytes()))

    return damage


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache" / "perfc"


def test_the_tables_of_targets(damaged: Callable[[Path], None], cache: Path) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    tables = remembered(text)
    (path,) = (cache / "toml").iterdir()
    damaged(path)
    assert remembered(text) == tables == json.loads(path.read_bytes())
    assert tables == tomllib.loads(text)
    changed = text.replace("schema = 1", "schema = 2")
    assert remembered(changed) == tables | {"schema": 2}


def test_the_file_of_this_machine(
    damaged: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(host.OVERRIDE)
    made = list[Path]()

    def probe(path: Path) -> None:
        made.append(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(SHIPPED.read_bytes())

    monkeypatch.setattr(host, "quick_probe", probe)
    for _ in range(2):
        assert load_machine("host").name == "generic-x86-64"
    assert len(made) == 1
    damaged(made[0])
    for _ in range(2):
        assert load_machine("host").name == "generic-x86-64"
    assert len(made) == 2


def test_compiled_kernels(damaged: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "FLAGS", (*compiled.FLAGS, "-O0"))  # a third of the time
    try:
        compiled.load()
    except compiled.NoCompilerError:
        pytest.skip("no compiler")
    (library,) = cache_folder("kernels").iterdir()
    # the process has mapped the file: another one takes its place
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(content)
    damaged(library)
    compiled.load()
    assert library.read_bytes() == content


def test_figures_and_their_secret(
    damaged: Callable[[Path], None], cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(Path("model.onnx"))
    os.utime("model.onnx", (1e9, 1e9))
    Path("perfc.toml").write_text(BUDGETS)
    assert cli.run(["check", "--write-baseline"]) == 0
    for path in (*Path(".perfc_cache").glob("*.json"), cache / "figures" / "secret"):
        damaged(path)
        assert cli.run(["check"]) == 0
        assert not capsys.readouterr().err
    assert cli.run(["check"]) == 0
    assert "1 same; 0 analyzed" in capsys.readouterr().out


def test_figures_that_a_repository_brings_are_not_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(Path("model.onnx"))
    Path("perfc.toml").write_text(BUDGETS)
    assert cli.run(["check", "--write-baseline"]) == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "another"))
    capsys.readouterr()
    assert cli.run(["check"]) == 0
    assert "1 analyzed" in capsys.readouterr().out


def test_graphs_of_pipelines(
    damaged: Callable[[Path], None], tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part: object = object()
    write_model(path := tmp_path / "part.onnx")
    monkeypatch.setattr(export, "inputs_of", lambda *_: ())
    monkeypatch.setattr(export, "digest", lambda *_: "absent")
    monkeypatch.setattr(export, "exported", lambda *_: path.read_bytes())
    made = export.module_of(part, part, 1)  # type: ignore[arg-type]
    (entry,) = (cache / "diffusion").iterdir()
    damaged(entry)
    assert export.module_of(part, part, 1).graph.name == made.graph.name  # type: ignore[arg-type]


def test_byte_code(damaged: Callable[[Path], None], tmp_path: Path) -> None:
    package = tmp_path / "perfc"
    package.mkdir()
    for part in (ROOT / "perfc").iterdir():
        if part.suffix != ".py" and part.name != "__pycache__":
            (package / part.name).symlink_to(part)
        elif part.suffix == ".py":
            (package / part.name).write_text(part.read_text("utf-8"))

    def version(*more: str) -> str:
        environment = {
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [sys.executable, "-m", "perfc", "--version", *more],
            env=environment,
            text=True,
            capture_output=True,
            check=True,
            timeout=60,
        )
        return done.stderr

    version()
    path = next((tmp_path / "cache").rglob("cli.*.pyc"))
    damaged(path)
    assert not version()
    whole = path.read_bytes()
    assert not version()
    damaged(path)
    # Python compiles a file again itself that has no whole header
    has_header = path.stat().st_size > 16
    assert ("compiled again" in version("--debug")) == has_header
    assert path.read_bytes() == whole
