"""Where the characters of plain text stand: lines, columns, scales, names that have no room."""

from __future__ import annotations

import pytest

from perfc.view.report.formats.document import (
    Amount,
    Column,
    Fact,
    Table,
)
from perfc.view.report.formats.text import (
    columns_of,
    elided,
    fact_lines,
    fitted,
    padded,
    scales_of,
)
from perfc.view.report.units import Unit


@pytest.mark.parametrize(
    ("text", "width", "kept", "short"),
    [
        ("abcdef", 6, None, "abcdef"),
        ("abcdefg", 6, None, "abc…fg"),
        ("abcdefg", 6, 1, "a…defg"),
        ("abcdefg", 6, 9, "abcde…"),
        ("abcdefg", 1, None, "…"),
        ("abcdefg", 6, 0, "…cdefg"),
        ("日本語日本語", 7, None, "日…本語"),
        ("abc", 0, None, "…"),
    ],
)
def test_long_text_loses_its_middle(text: str, width: int, kept: int | None, short: str) -> None:
    assert elided(text, width, kept) == short


def test_columns_of_a_terminal_are_counted() -> None:
    assert [columns_of(t) for t in ("abc", "日本", "e\u0301", "µs", "")] == [3, 4, 1, 2, 0]
    assert padded("日", 4, align_right=True) == "  日"
    assert padded("ab", 4, align_right=False) == "ab  "


def test_facts_stand_in_columns_and_words_go_on_below() -> None:
    rows = [
        Fact("one", Amount(5.0, Unit.COUNT), "w" * 30 + " x"),
        Fact("three", None, "y", "2 * n"),
    ]
    lines = ["".join(s.text for s in line) for line in fact_lines(rows, 46)]
    assert lines == [
        "  one    5  " + "w" * 30 + " x",
        "  three     y; = 2 * n",
    ]
    lines = ["".join(s.text for s in line) for line in fact_lines(rows[:1], 30)]
    assert lines == ["  one  5  " + "w" * 30, " " * 10 + "x"]
    long = [Fact("a", None, "b", "n" * 61), Fact("c", None, "d", "n" * 60)]
    lines = ["".join(s.text for s in line) for line in fact_lines(long, 200)]
    assert lines == ["  a  b", "  c  d; = " + "n" * 60]


def test_names_share_the_room_that_is_left_the_shortest_first() -> None:
    texts = [["n", "short", "x" * 40], ["12345", "name", "y"]]
    columns = (
        Column("n", "n", Unit.COUNT),
        Column("a", "a", is_name=True),
        Column("b", "b", is_name=True),
    )
    assert fitted(columns, texts, 100) == [5, 5, 40]
    assert fitted(columns, texts, 40) == [5, 5, 26]
    assert fitted(columns, texts, 10) == [5, 5, 10]


def test_numbers_of_one_unit_have_one_scale() -> None:
    def symbols(*tops: float) -> set[str]:
        columns = tuple(Column(str(i), "t", Unit.BYTE) for i in range(len(tops)))
        return {s.symbol for s in scales_of(Table(columns, (tops,)))}

    assert symbols(5e3, 5e9) != symbols(5e9)
    assert symbols(5e9 / 29, 5e9) == symbols(5e9)
    assert symbols(5e9 / 31, 5e9) == symbols(5e9 / 31)
    assert symbols(0.0, 5e9) == symbols(5e9)
