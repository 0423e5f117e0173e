"""Drawn networks, measured and scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import host_truth


def test_few_of_a_family_are_drawn_and_none_that_was_fitted(tmp_path: Path) -> None:
    names = [f"timm__resnet{n}" for n in range(6)] + ["hf__bert", "timm__vit_a", "hf__opt-1"]
    for name in names:
        (tmp_path / f"{name}.onnx.gz").touch()
    first = [p.name.removesuffix(".onnx.gz") for p in host_truth.drawn(tmp_path, 0, {"hf__bert"})]
    assert sum("resnet" in n for n in first) == 2
    assert len(list(host_truth.drawn(tmp_path, 0, (), family=9))) == len(names)
    assert set(first) >= {"timm__vit_a", "hf__opt-1"}
    assert "hf__bert" not in first
    assert [p.name for p in host_truth.drawn(tmp_path, 1, ())] != first


def test_a_network_is_measured_once_and_scored(
    tmp_path: Path,
    residual: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    models, rows = tmp_path / "models", tmp_path / "rows"
    models.mkdir()
    (models / "timm__small.onnx").write_bytes(Path(residual).read_bytes())
    where = ["--models", str(models), "--rows", str(rows), "--threads", "1"]
    for do in ("measure", "measure", "score"):
        monkeypatch.setattr("sys.argv", ["host_truth", do, *where, "-t", "generic-x86-64"])
        assert host_truth.main() == 0
    printed = capsys.readouterr().out
    assert printed.count("interquartile range") == 1
    assert "1 networks; error median" in printed
    assert "conv" in printed
