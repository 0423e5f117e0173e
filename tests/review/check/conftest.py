from __future__ import annotations

from pathlib import Path

import pytest

from .projects import BUDGETS, put


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "perfc.toml").write_text(BUDGETS)
    (tmp_path / "models").mkdir()
    put(tmp_path, "a", 16)
    put(tmp_path, "b", 32)
    monkeypatch.chdir(tmp_path)
    return tmp_path
