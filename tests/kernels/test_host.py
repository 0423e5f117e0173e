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


FIRST = {"quota": 5, "period": 2}
GRANTS = "the control group grants"


@pytest.mark.parametrize(
    ("files", "granted"),
    [
        ({"fs/cpu.max": "150000 100000"}, 1.5),
        ({"fs/cpu.max": "max 100000"}, float("inf")),
        ({"fs/user/cpu.max": "50000 100000", "fs/user/job/cpu.max": "400000 100000"}, 0.5),
        ({f"fs/cpu/docker/x/cpu.cfs_{k}_us": f"{v}00000" for k, v in FIRST.items()}, 2.5),
        ({"fs/cpu/cpu.cfs_quota_us": "-1", "fs/cpu/cpu.cfs_period_us": "100000"}, float("inf")),
        ({"fs/cpu.max": "200000 0"}, float("inf")),
        ({}, float("inf")),
    ],
)
def test_processors_are_what_the_narrowest_group_grants(
    tmp_path: Path, files: dict[str, str], granted: float
) -> None:
    second = not any("cfs" in name for name in files)
    (tmp_path / "cgroup").write_text("0::/user/job\n" if second else "3:cpu,cpuacct:/docker/x\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert host.quota(tmp_path / "fs", tmp_path / "cgroup") == granted


@pytest.mark.parametrize(
    ("granted", "allowed", "siblings", "threads", "words"),
    [
        (float("inf"), 8, 1, 8, ""),
        (1.5, 8, 1, 1, "1 thread: the control group grants 1.5 of 8 processors"),
        (0.25, 8, 2, 1, f"1 thread: {GRANTS} 0.25 of 8 processors, a long run takes 4 × as long"),
        (float("inf"), 2, 1, 2, "2 threads: 2 of 8 processors may be used"),
        (float("inf"), 8, 2, 4, "4 threads: two or more of 8 processors share a core"),
        (6.0, 4, 1, 4, f"4 threads: 4 of 8 processors may be used, {GRANTS} 6 of 8 processors"),
    ],
)
def test_threads_follow_from_quota_affinity_and_cores_and_the_reason_is_said(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    granted: float,
    allowed: int,
    siblings: int,
    threads: int,
    words: str,
) -> None:
    for cpu in range(8):
        first = cpu // siblings * siblings
        topology = tmp_path / f"cpu{cpu}/topology"
        written(topology, thread_siblings_list=f"{first}-{first + siblings - 1}")
    monkeypatch.setattr(host, "_SYSTEM", tmp_path)
    monkeypatch.setattr(host, "quota", lambda: granted)
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda _: set(range(allowed)), raising=False)
    monkeypatch.setattr(host.os, "cpu_count", lambda: 8)
    cpus = host.processors()
    assert len(cpus) == threads
    assert host.restrictions(cpus) == words


def test_load_of_a_minute_is_said_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.os, "cpu_count", lambda: 2)
    said = {}
    for text in ("0.20 9 9 1/2 3", "1.60 0 0 1/2 3", "7.50 0 0 1/2 3", ""):
        monkeypatch.setattr(host, "_text", lambda _, text=text: text)
        said[text] = host.load()
    assert list(said.values()) == [
        "",
        "other programs use 1.6 of 2 cores",
        "other programs use 2.0 of 2 cores",
        "",
    ]
