"""A repository's configuration starts no program when a revision is read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from perfc.review.code.worktree import checked_out, commit_of


def test_hooks_and_monitors_of_a_repository_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "ran"
    subprocess.run(["git", "init", "--quiet", "."], check=True)
    Path("model.py").write_text("x = 1")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", *who, "commit", "--quiet", "-m", "first"], check=True)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    Path(".git/hooks").mkdir(exist_ok=True)
    Path(".git/hooks/post-checkout").symlink_to(program)
    subprocess.run(["git", "config", "core.fsmonitor", str(program)], check=True)
    with checked_out(tmp_path, commit_of(tmp_path, "HEAD")) as there:
        assert (there / "model.py").read_text() == "x = 1"
    assert not mark.exists()
