"""What a configuration says, which files its patterns speak of, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.common.toml_file import LARGEST_BYTES
from perfc.errors import ParseError
from perfc.review.lint.settings import (
    FileIgnore,
    Settings,
    SettingsError,
    codes_of,
    parse_share,
    read_settings,
)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("models/*.onnx", "models/a.onnx", True),
        ("models/*.onnx::/layer1/*", "models/a.onnx", True),
        ("a.onnx", "models/a.onnx", True),
        ("*/models/a.onnx", "models/a.onnx", True),
        ("models/*.onnx", "other/a.onnx", False),
        ("other/*.onnx", "models/a.onnx", False),
    ],
)
def test_patterns_of_files_start_at_the_folder_of_the_settings(
    pattern: str, path: str, matches: bool, tmp_path: Path
) -> None:
    assert FileIgnore(pattern, ()).matches_file(tmp_path / path, tmp_path) is matches


@pytest.mark.parametrize(
    ("place", "matches"), [("/layer1/conv", True), ("/layer2/conv", False), ("", False)]
)
def test_a_pattern_with_a_place_speaks_of_that_alone(place: str, matches: bool) -> None:
    assert FileIgnore("*.onnx::/layer1/*", ()).matches_place(place) is matches
    assert FileIgnore("*.onnx", ()).matches_place(place)


WHOLE = """\
[lint]
select = ["PF1"]
ignore = ["PF101", "cast-chain"]
extend-select = ["PF404"]
target = "a100"
runtime = "ort"
min-gain = "0.5 %"

[lint.per-file-ignores]
"models/*.onnx" = ["PF4"]
"""


def test_everything_that_a_file_says_is_read(tmp_path: Path) -> None:
    path = tmp_path / "perfc.toml"
    path.write_text(WHOLE, encoding="utf-8")
    result = read_settings(path)
    assert result == Settings(
        path,
        ("PF1",),
        ("PF101", "cast-chain"),
        ("PF404",),
        (FileIgnore("models/*.onnx", ("PF4",), 10),),
        "a100",
        "ort",
        0.005,
    )
    assert result.root == tmp_path.resolve()
    path.write_text("[lint]\n", encoding="utf-8")
    assert read_settings(path) == Settings(path)
    assert (Settings().select, Settings().min_gain) == (("ALL",), 0.01)
    project = tmp_path / "pyproject.toml"
    project.write_text(WHOLE.replace("lint", "tool.perfc.lint"), encoding="utf-8")
    assert read_settings(project).target == "a100"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("selekt = []", "2: lint.selekt: no such key (there are select, ignore, "),
        ("select = 1", "2: lint.select: not a list of codes (as in "),
        ("select = [1]", "2: lint.select: not a list of codes (as in "),
        (
            'ignore = ["PF9999"]',
            "2: lint.ignore: no rule 'PF9999' (`perfc lint --explain all` lists",
        ),
        ('ignore = [" "]', "2: lint.ignore: no rule ' '"),
        ("target = 1", "2: lint.target: not a string"),
        ("min-gain = 1.1", '2: lint.min-gain: not a share (as in "0.1 %" or 0.001)'),
        ("min-gain = -0.1", '2: lint.min-gain: not a share (as in "0.1 %" or 0.001)'),
        ("min-gain = true", '2: lint.min-gain: not a share (as in "0.1 %" or 0.001)'),
        ("min-gain = []", '2: lint.min-gain: not a share (as in "0.1 %" or 0.001)'),
        ('min-gain = "much"', "2: lint.min-gain: 'much' is no share (as in 0.1% or 0.001)"),
        ("per-file-ignores = 1", "2: lint.per-file-ignores: not a table ("),
        ('per-file-ignores = {"a.onnx" = 1}', " lint.a.onnx: not a list of codes"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "perfc.toml"
    path.write_text(f"[lint]\n{line}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


@pytest.mark.parametrize(
    ("text", "share"), [("0.1%", 0.001), ("0.5 %", 0.005), ("0", 0.0), ("1", 1.0), ("100%", 1.0)]
)
def test_shares_are_parts_or_percentages(text: str, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "x", "-1%", "101%", "1.01", "nan"])
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(SettingsError, match="is no share"):
        parse_share(text)


def test_files_of_settings_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "perfc.toml"
    path.write_text("#" * LARGEST_BYTES, encoding="utf-8")
    assert read_settings(path) == Settings(path)
    path.write_text("#" * (LARGEST_BYTES + 1), encoding="utf-8")
    with pytest.raises(ParseError, match="more than 1,024 KiB"):
        read_settings(path)
    path.write_text("lint = 1", encoding="utf-8")
    with pytest.raises(SettingsError, match="lint is not a table"):
        read_settings(path)


def test_codes_are_prefixes_names_or_all() -> None:
    every = codes_of(["all"], "")
    assert codes_of(["PF1", "pf1"], "") == {c for c in every if c.startswith("PF1")}
    assert codes_of(["Cast-Chain"], "") == {"PF404"}
    assert codes_of([], "") == frozenset()
