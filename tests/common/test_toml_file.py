"""TOML files: their bounds, the lines of messages, and what is escaped in what is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from perfc.common.toml_file import (
    LARGEST_BYTES,
    MOST_PARTS,
    line_at,
    line_of,
    parse,
    read_text,
    table_lines,
    written,
)
from perfc.errors import ParseError

FILE = Path("a.toml")
TEXT = """\
name = "x"
[top]
key = 1

[[rate]]
unit = "a"
[[rate]]
unit = "b"
value = {low = 1, high = 2}
"quoted key" = 3
[top.inner]
key = 4
"""


def test_a_file_may_have_as_many_bytes_as_are_read_and_none_more(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"#" * 10)
    assert read_text(path, 10) == "#" * 10
    path.write_bytes(b"#" * (LARGEST_BYTES + 1))
    with pytest.raises(ParseError, match="more than 1,024 KiB"):
        read_text(path)
    path.write_bytes(b"#" * LARGEST_BYTES)
    assert len(read_text(path)) == LARGEST_BYTES == 1_048_576


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff", "not UTF-8 text"), (None, "No such file or directory")]
)
def test_what_cannot_be_read_is_said_with_its_place(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParseError) as caught:
        read_text(path)
    assert str(caught.value) == f"{path}: {said}"


def test_keys_have_a_bounded_number_of_parts() -> None:
    assert parse(f"{'.'.join('a' * MOST_PARTS)} = 1", FILE)
    with pytest.raises(ParseError) as caught:
        parse(f"x = 1\n\n{'.'.join('a' * (MOST_PARTS + 1))} = 1", FILE)
    assert str(caught.value) == "a.toml:3: a key of more than 64 parts"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb = ?", "a.toml:2: not valid TOML: invalid value"),
        ("a = 1\na = 2\n", "a.toml:2: not valid TOML: cannot overwrite a value"),
        ("a = " + "[" * 5000, "a.toml: not valid TOML: "),
    ],
)
def test_what_is_no_toml_names_its_line_once(text: str, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, FILE)
    assert str(caught.value).startswith(said)
    assert "(at" not in str(caught.value)


@pytest.mark.parametrize(
    "tree",
    [{}, {"a": "x"}, {"a": "tab\tand é", "b": "\u202e\x1b\n"}, {"é": 1, "c": {"d": "\U0001f600"}}],
)
def test_what_is_written_is_read_back_and_hides_nothing(tree: dict[str, object]) -> None:
    text = written(tree, "a comment")
    assert text.startswith("# a comment\n")
    assert tomllib.loads(text) == tree
    assert all(c.isprintable() for c in text.replace("\n", ""))
    assert written(tree) == text.removeprefix("# a comment\n")


def test_lines_of_tables_and_keys_are_those_of_the_file() -> None:
    assert table_lines(TEXT, "rate") == [5, 7]
    assert table_lines(TEXT, "top") == []
    assert line_of(TEXT, "name") == 1
    assert line_of(TEXT, "top.key") == 3
    assert line_of(TEXT, "top.inner.key") == 12
    assert line_of(TEXT, "unit", "rate", 0) == 6
    assert line_of(TEXT, "unit", "rate", 1) == 8
    assert line_of(TEXT, "high", "rate", 1) == 9
    assert line_of(TEXT, "quoted key", "rate", 1) == 10


def test_a_key_that_is_not_there_has_the_line_of_its_table() -> None:
    assert line_of(TEXT, "value", "rate", 0) == 5
    assert line_of(TEXT, "value", "rate", 2) == 9, "no third table: the first in the file"
    assert line_of(TEXT, None, "rate", 1) == 7
    assert line_of(TEXT, "absent") == 1
    assert line_of(TEXT, None) == 1


def test_the_line_of_a_place_counts_breaks_before_it() -> None:
    assert [line_at("a\nb\nc", i) for i in range(5)] == [1, 1, 2, 2, 3]
