"""Memory limits of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.kernels.backends import host


def written(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="ascii")


def test_the_groups_around_count_and_cache_that_is_idle_is_free(tmp_path: Path) -> None:
    root, groups = tmp_path / "fs", tmp_path / "cgroup"
    written(tmp_path, cgroup="0::/user/job\n")
    written(root / "user/job", memory__max="max\n", memory__current="70\n", memory__stat="")
    written(root / "user", memory__max="100", memory__current="80", memory__stat="inactive_file 30")
    assert list(host.memory_limits(root, groups)) == [(100, 50)]


def test_groups_of_the_first_version(tmp_path: Path) -> None:
    root, groups = tmp_path / "fs", tmp_path / "cgroup"
    written(tmp_path, cgroup="4:memory:/docker/x\n2:cpu:/\n0::/\n")
    names = {"memory__limit_in_bytes": "100", "memory__usage_in_bytes": "120"}
    written(root / "memory", **names)
    assert list(host.memory_limits(root, groups)) == [(100, 0)]


def test_memory_is_what_the_narrowest_group_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "memory_limits", lambda: iter([(1 << 20, 1 << 19), (1 << 21, 5)]))
    assert host.memory() == (1 << 20, 5)
    monkeypatch.setattr(host, "memory_limits", lambda: iter(()))
    assert host.memory()[1] > 1 << 20
