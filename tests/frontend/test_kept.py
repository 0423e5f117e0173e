"""A worker that stays between commands forks for each request and ends when it is idle."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfc.errors import ModelError
from perfc.frontend.reading.process import KEEP_S, answer_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
WORKER = """
import json, os, sys
READY = []

def prepare():
    READY.append(os.getpid())

def main():
    if "fail" in sys.argv:
        raise ValueError("no such model")
    given = {"kept": READY, "me": os.getpid(), "text": sys.stdin.read(), "home": os.getcwd()}
    given["mark"] = os.environ.get("MARK")
    with open(sys.argv[-1], "w") as file:
        json.dump(given, file)

if __name__ == "__main__":
    main()
"""


def eventually(done: Callable[[], bool]) -> bool:
    for _ in range(3000):
        if done():
            return True
        time.sleep(0.02)
    return False


def test_second_request_runs_in_a_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "waiting_worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(KEEP_S, "2")
    late = ("late", "")

    def answer(n: int, *more: str) -> dict[str, Any]:
        return answer_of(
            "waiting_worker",
            more,
            where="x",
            late=late,
            longest_s=20,
            request=f"request {n}",
            folder=str(tmp_path),
            is_kept=True,
        )

    assert answer(1)["kept"] == []
    sockets = tmp_path / "cache/perfc/kept"
    assert eventually(lambda: any(sockets.iterdir()))
    monkeypatch.setenv("MARK", "later")
    first, second = answer(2), answer(3)
    assert first["kept"] == second["kept"] != []
    assert first["me"] != second["me"]
    assert (second["text"], second["home"], second["mark"]) == (
        "request 3",
        str(tmp_path),
        "later",
    )
    with pytest.raises(ModelError, match="no such model"):
        answer(4, "fail")
    kept = first["kept"][0]
    assert eventually(lambda: os.waitpid(kept, os.WNOHANG)[0] == kept)
