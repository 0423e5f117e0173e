"""``host``: this machine, measured once and kept for its user; no test waits for a probe."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.errors import TargetError
from perfc.machine import load_machine
from perfc.measuring.calibrate import host

RESNET = str(Path(__file__).parents[2] / "examples/models/resnet50.onnx.gz")
SHIPPED = Path(perfc.__file__).parent / "targets"


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Paths that the probe was asked to write, in a cache of its own."""
    asked: list[Path] = []

    def probe(path: Path) -> None:
        asked.append(path)
        path.parent.mkdir(parents=True)
        text = (SHIPPED / "generic-x86-64.toml").read_text(encoding="utf-8")
        text = text.replace('name = "generic-x86-64"', 'name = "host"', 1)
        path.write_text(text, encoding="utf-8")

    monkeypatch.delenv(host.OVERRIDE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(host, "quick_probe", probe)
    return asked


def test_the_first_use_measures_and_the_next_one_reads(
    probed: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["analyze", RESNET, "-t", "host"]) == 0
    assert " (this machine, calibrated)" in capsys.readouterr().out.splitlines()[0]
    assert cli.run(["compare", RESNET, "-t", "host,a100"]) == 0
    assert perfc.analyze(RESNET, "host").machine.name == "host"
    assert probed == [tmp_path / "cache/perfc/hosts" / host.key() / "host.toml"]


def test_another_processor_is_measured_by_itself(
    probed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_machine("host")
    one_core = host.host.describe(host.host.processors(1))
    for other in (one_core, type(one_core)(**{**vars_of(one_core), "name": "another"})):
        monkeypatch.setattr(host.host, "describe", lambda cpus, known=other: known)
        load_machine("host")
    assert len({p.parent.name for p in probed}) == len(probed) >= 2


def vars_of(device: object) -> dict[str, object]:
    return {name: getattr(device, name) for name in type(device).__dataclass_fields__}  # type: ignore[attr-defined]


def test_a_file_can_be_named_instead(probed: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host.OVERRIDE, str(SHIPPED / "t4.toml"))
    assert load_machine("host").name == "t4"
    assert not probed
    monkeypatch.setenv(host.OVERRIDE, "no/such.toml")
    with pytest.raises(TargetError, match="no such target file"):
        load_machine("host")


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(host.OVERRIDE)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cli.run(["analyze", RESNET, "-t", "host"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert "measuring this machine once, 15 s at most" in err[0]
    assert err[-1].startswith("error: ")
    assert len(err) == 2


def test_measure_compares_with_this_machine(
    probed: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    model = tmp_path / "m.onnx"
    onnx = pytest.importorskip("onnx")
    model.write_bytes(
        onnx.parser.parse_model(
            '<ir_version: 9, opset_import: ["" : 18]>\n'
            "g (float[8,64] a, float[64,64] b) => (float[8,64] y) { y = MatMul (a, b) }"
        ).SerializeToString()
    )
    assert cli.run(["measure", str(model), "--min-time", "0.01", "--repeat", "2"]) == 0
    out = capsys.readouterr().out
    assert "target host" in out
    assert "predicted" in out
    assert len(probed) == 1


def test_a_prediction_says_what_restricts_this_machine_now(
    probed: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host.host, "quota", lambda: 0.5)
    monkeypatch.setattr(host.host, "load", lambda: "other programs use 90 % of a core")
    load_machine("host")
    load_machine("host")
    err = capsys.readouterr().err
    assert err.count("note: 1 thread: ") == 1
    assert "grants 0.5 of " in err
    assert "note: other programs use 90 % of a core: runs take longer meanwhile" in err
    assert len(probed) == 1
