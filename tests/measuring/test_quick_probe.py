"""The machine that perfc runs on is measured once, into a folder that is made, in one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfc.errors import TargetError
from perfc.measuring.calibrate import host, run


def test_a_probe_writes_its_file_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Any, ...]] = []

    def calibrate(device: str, output: Path, *, quick: bool, say: Any) -> None:
        asked.append((device, output.name, quick, list(path.parent.glob("*.toml"))))
        say("memory bandwidth spreads")
        output.write_text("made")

    path = tmp_path / "a" / "b" / "host.toml"
    monkeypatch.setattr(run, "calibrate", calibrate)
    for _ in range(2):
        host.quick_probe(path)
    assert path.read_text() == "made"
    assert asked == [("cpu", "host.toml", True, []), ("cpu", "host.toml", True, [path])]
    assert [p.name for p in path.parent.iterdir()] == ["host.toml"], "nothing is left beside it"
    told = capsys.readouterr().err
    assert f"{host.SECONDS} s at most; kept in {path}" in told
    assert "warning: memory bandwidth spreads; `perfc calibrate` measures it thoroughly" in told


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError) as caught:
        host.quick_probe(tmp_path / "file" / "host.toml")
    assert caught.value.where == str(tmp_path / "file")
