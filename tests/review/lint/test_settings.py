"""What a configuration says, which files its patterns speak of, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from perfc.cli import run
from tests.review.lint.models import blemished


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models").mkdir()
    onnx.save(blemished(), tmp_path / "models/a.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def linted(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """The JSON of a file."""
    words = ["lint", "models/a.onnx", "--output-format", "json", "--exit-zero", *options]
    assert run(words) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    return file


def codes(file: Any) -> set[str]:
    return {f["code"] for f in file["findings"]}


WHOLE = """\
[lint]
select = ["PF1"]
ignore = ["PF101", "layout-round-trip"]
extend-select = ["PF404"]
target = "t4"
runtime = "eager"
min-gain = "0.5 %"
"""


@pytest.mark.parametrize("name", ["perfc.toml", "pyproject.toml"])
def test_everything_that_a_file_says_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = WHOLE if name == "perfc.toml" else WHOLE.replace("lint", "tool.perfc.lint", 1)
    (folder / name).write_text(text)
    file = linted(capsys)
    assert "t4" in file["target"]
    found = codes(file)
    assert found <= {"PF404", *(f"PF1{n:02}" for n in range(100))} - {"PF101", "PF103"}
    assert {"PF102", "PF404"} <= found
    shares = [f["gain"]["share"] for f in file["findings"] if f["saves"] == "time"]
    assert min(shares) >= 0.005
    assert "PF101" in codes(linted(capsys, "--isolated", "--min-gain", "0"))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--select", "PF101"], {"PF101"}),
        (["--select", "PF101", "--ignore", "PF1"], {"PF101"}),
        (["--select", "pf404,PF1", "--ignore", "PF10"], {"PF404"}),
        (["--select", "Redundant-Transpose", "--extend-select", "PF404"], {"PF101", "PF404"}),
    ],
)
def test_longer_prefixes_win(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], found: set[str]
) -> None:
    assert codes(linted(capsys, "--isolated", "--min-gain", "0", *options)) == found


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("models/*.onnx", True),
        ("models/*.onnx::back", True),
        ("models/*.onnx::other", False),
        ("a.onnx", True),
        ("*/models/a.onnx", True),
        ("other/*.onnx", False),
    ],
)
def test_patterns_of_files_start_at_the_folder_of_the_settings(
    folder: Path, capsys: pytest.CaptureFixture[str], pattern: str, matches: bool
) -> None:
    table = f'[lint]\nselect = ["PF101"]\nmin-gain = 0\n[lint.per-file-ignores]\n"{pattern}" = '
    (folder / "perfc.toml").write_text(f'{table}["PF101"]\n')
    assert ("back" not in {f["nodes"][0] for f in linted(capsys)["findings"]}) is matches


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("selekt = []", "2: lint.selekt: no such key (there are select, ignore, "),
        ("select = 1", "2: lint.select: not a list of codes (as in "),
        ("select = [1]", "2: lint.select: not a list of codes (as in "),
        ('ignore = ["PF9999"]', "2: lint.ignore: no rule 'PF9999' (`perfc lint --explain all`"),
        ('ignore = [" "]', "2: lint.ignore: no rule ' '"),
        ("target = 1", "2: lint.target: not a string"),
        ("min-gain = 1.1", '2: lint.min-gain: not a share (as in "0.1 %" or 0.001)'),
        ("min-gain = -0.1", '2: lint.min-gain: not a share (as in "0.1 %" or 0.001)'),
        ("min-gain = true", '2: lint.min-gain: not a share (as in "0.1 %" or 0.001)'),
        ('min-gain = "much"', "2: lint.min-gain: 'much' is no share (as in 0.1% or 0.001)"),
        ('min-gain = "101%"', "2: lint.min-gain: '101%' is no share"),
        ('min-gain = "nan"', "2: lint.min-gain: 'nan' is no share"),
        ("per-file-ignores = 1", "2: lint.per-file-ignores: not a table ("),
        ('per-file-ignores = {"a.onnx" = 1}', " lint.a.onnx: not a list of codes"),
        ("#" * (1 << 20), "more than 1,024 KiB"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    (folder / "perfc.toml").write_text(f"[lint]\n{line}\n")
    assert run(["lint", "models/a.onnx"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert (error.count("\n"), "perfc.toml" in error) == (1, True)
