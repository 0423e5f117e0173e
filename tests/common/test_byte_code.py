"""Byte code in the user's cache, where Python writes none next to the sources."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from perfc import __main__ as entry

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder of an installation whose sources have no byte code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(entry, "__file__", str(tmp_path / "sources" / "__main__.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "sources").mkdir()
    return tmp_path / "cache" / "perfc" / "byte_code"


def test_byte_code_goes_to_a_folder_that_nobody_else_reads_or_writes(cache: Path) -> None:
    entry.with_byte_code()
    assert sys.pycache_prefix == str(cache)
    assert not sys.dont_write_bytecode
    assert cache.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_write_is_not_used(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    entry.with_byte_code()
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (None, True)


def test_a_link_to_a_folder_is_not_used(cache: Path, tmp_path: Path) -> None:
    cache.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    entry.with_byte_code()
    assert sys.pycache_prefix is None


def test_a_cache_that_cannot_be_written_is_left_out(cache: Path) -> None:
    cache.parent.parent.mkdir(parents=True)
    cache.parent.write_text("a file")
    entry.with_byte_code()
    assert sys.pycache_prefix is None


def test_a_user_without_a_home_has_no_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    entry.with_byte_code()
    assert sys.pycache_prefix is None
    assert not cache.exists()


def test_byte_code_beside_the_sources_is_enough(cache: Path) -> None:
    compiled = Path(cache_from_source(str(Path(entry.__file__).parent / "cli.py")))
    compiled.parent.mkdir()
    compiled.touch()
    entry.with_byte_code()
    assert sys.pycache_prefix is None
    assert not cache.exists()


def test_where_python_writes_itself_nothing_changes(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    entry.with_byte_code()
    assert sys.pycache_prefix is None
    monkeypatch.setattr(sys, "pycache_prefix", "/given")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    entry.with_byte_code()
    assert sys.pycache_prefix == "/given"


def test_a_second_run_compiles_nothing(tmp_path: Path) -> None:
    """Run as in a container that sets the variable, with sources without byte code."""
    package = tmp_path / "perfc"
    package.mkdir()
    for part in (ROOT / "perfc").iterdir():
        if part.name not in ("__main__.py", "__pycache__"):
            (package / part.name).symlink_to(part)
    (package / "__main__.py").write_text((ROOT / "perfc" / "__main__.py").read_text("utf-8"))
    (package / "cli.py").unlink()
    (package / "cli.py").write_text((ROOT / "perfc" / "cli.py").read_text("utf-8"))
    env = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    written = []
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-m", "perfc", "--version"],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            check=True,
            timeout=60,
        )
        files = (tmp_path / "cache").rglob("*.pyc")
        written.append({path: path.stat().st_mtime_ns for path in files})
    assert any(path.name.startswith("cli.") for path in written[0])
    assert written[0] == written[1]
    assert not [*package.rglob("__pycache__")]
