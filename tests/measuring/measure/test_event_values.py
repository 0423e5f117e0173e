"""Profiles in pieces: values of events, limits of files, and what is broken."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from perfc.errors import ParseError
from perfc.measuring.measure.runtimes import events as reading
from perfc.measuring.measure.runtimes.events import events, head, inner, number, text, whole


def written(tmp_path: Path, content: str | bytes, *, packed: bool = False) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path = tmp_path / "p.json"
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_the_array_of_a_key_is_read_wherever_it_stands(tmp_path: Path, packed: bool) -> None:
    tree = {"other": [1], "say": '"list": [', "list": [{"a": 1}, 7, {"b": [2]}], "last": {}}
    path = written(tmp_path, json.dumps(tree), packed=packed)
    assert list(events(path, "list")) == [{"a": 1}, {"b": [2]}], "other values are passed over"
    assert list(events(path, "other")) == []
    assert head(path, 7) == '{"other'
    with pytest.raises(ParseError, match="no list of events in it"):
        list(events(path, "none"))
    with pytest.raises(ParseError, match="no list of events in it"):
        list(events(path))


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 64])
def test_pieces_may_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(reading, "CHUNK", chunk)
    tree = [{"name": "é€😀" * 3, "n": -12.5e3}, {"name": "", "n": 0}, {"x": {"y": [[]]}}]
    path = written(tmp_path, "  \n" + json.dumps(tree, ensure_ascii=False))
    assert list(events(path)) == tree
    keyed = written(tmp_path, json.dumps({"k": "z", "é": 1, "list": tree}, ensure_ascii=False))
    assert list(events(keyed, "list")) == tree


def test_a_file_that_ends_in_the_middle_gives_what_it_has(tmp_path: Path) -> None:
    assert list(events(written(tmp_path, '[{"a": 1}, {"b": '))) == [{"a": 1}]
    assert list(events(written(tmp_path, '[{"a": 1},'))) == [{"a": 1}]
    assert list(events(written(tmp_path, '[{"a": 1}, {"b": "€'.encode()[:-1]))) == [{"a": 1}]
    assert list(events(written(tmp_path, "[]"))) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"a": 1}, oops' + " " * 80 + "]", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("", "no list of events"),
        ("  ", "no list of events"),
        ("{}", "no list of events"),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ParseError, match=message) as caught:
        list(events(path))
    assert caught.value.where == str(path)


def test_files_and_counts_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "[{},{},{}]")
    monkeypatch.setattr(reading, "MOST_ITEMS", 3)
    assert len(list(events(path))) == 3
    monkeypatch.setattr(reading, "MOST_ITEMS", 2)
    with pytest.raises(ParseError, match="more than 20 million events"):
        list(events(path))
    monkeypatch.setattr(reading, "LARGEST_FILE", 10)
    assert len(whole(path)) == 3  # type: ignore[arg-type]
    monkeypatch.setattr(reading, "MOST_ITEMS", 3)
    assert len(list(events(path))) == 3, "ten characters are not more than ten"
    monkeypatch.setattr(reading, "LARGEST_FILE", 9)
    with pytest.raises(ParseError, match="larger than 4 GiB"):
        list(events(path))
    assert whole(path, 10) == [{}, {}, {}]
    with pytest.raises(ParseError, match="larger than 0 MiB"):
        whole(path, 9)
    with pytest.raises(ParseError, match="not JSON"):
        whole(written(tmp_path, "{"))


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="No such file"):
        list(events(tmp_path / "none"))
    path = written(tmp_path, "[{}]", packed=True)
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(ParseError, match="cannot be unpacked"):
        whole(path)


def test_values_of_an_event_have_the_type_that_is_asked_for() -> None:
    event = {
        "n": 3,
        "f": 2.5,
        "t": True,
        "s": "x",
        "nan": math.nan,
        "big": 1e30,
        "huge": 10**40,
        "edge": 9e29,
        "o": {"k": 1},
        "l": [1],
    }
    result = {key: number(event, key) for key in (*event, "none")}
    assert {k: v for k, v in result.items() if v is not None} == {"n": 3.0, "f": 2.5, "edge": 9e29}
    assert isinstance(result["n"], float)
    assert [text(event, k) for k in ("s", "n", "none")] == ["x", "", ""]
    assert [inner(event, k) for k in ("o", "l", "none")] == [{"k": 1}, {}, {}]
