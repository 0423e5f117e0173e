"""Where the characters of plain text stand: lines, columns, scales, names that have no room."""

from __future__ import annotations

import pytest

from perfc.view.report.formats.document import (
    Amount,
    Bars,
    Column,
    Document,
    Fact,
    Name,
    Note,
    Section,
    Table,
)
from perfc.view.report.formats.text import (
    LEVELS,
    StyledText,
    columns_of,
    elided,
    encodable,
    fact_lines,
    fitted,
    padded,
    part_lines,
    render,
    row_lines,
    scales_of,
    shortened,
    spark,
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


def test_bars_are_of_the_largest() -> None:
    assert spark([0.0, 1.0, 7.0], 3) == LEVELS[0] + LEVELS[1] + LEVELS[7]
    assert spark([3.5, 7.0], 2) == LEVELS[4] + LEVELS[7]
    assert spark([0.0, 0.0], 5) == LEVELS[0] * 2
    assert spark([1.0] * 10, 4) == LEVELS[7] * 4


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


def test_notes_and_bars_are_no_wider_than_a_sentence() -> None:
    line = next(iter(part_lines(Bars((1.0,) * 200, Unit.BYTE, "caption"), 300)))
    assert [s.text for s in line] == ["  ", "caption"]
    drawn = list(part_lines(Bars((1.0,) * 200, Unit.BYTE, "c"), 300))[-1]
    assert len(drawn[1].text) == 96
    narrow = list(part_lines(Bars((1.0,) * 200, Unit.BYTE, "c"), 50))[-1]
    assert len(narrow[1].text) == 46
    words = list(part_lines(Note("word " * 60), 300))
    assert max(len(line[1].text) for line in words) <= 96


def test_a_document_has_its_title_and_headings() -> None:
    made = Document("a title of words", (Section("s", "S", (Note("note"),)), Section("t", "T", ())))
    assert render(made, 80) == "perfc: a title of words\n\nS\n  note\n\nT\n"
    assert render(made, 18) == "perfc: a title of\n       words\n\nS\n  note\n\nT\n"


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


def test_a_name_that_does_not_fit_has_its_short_form() -> None:
    assert shortened(Name("long/name", "name"), "long/name", 9) == "long/name"
    assert shortened(Name("long/name", "name"), "long/name", 8) == "name"
    assert shortened("long/name", "long/name", 4) == "long/name"


def test_sentences_in_a_row_go_on_below_and_names_do_not() -> None:
    columns = (Column("a", "a", is_name=True), Column("b", "b", is_name=True, wraps=True))
    assert list(row_lines(columns, ["abcdefgh", "one two three"], [6, 7])) == [
        ["abc…gh", "one two"],
        ["", "three"],
    ]
    assert list(row_lines((), [], [])) == []


def test_text_is_put_in_characters_that_there_are() -> None:
    assert encodable("≥ 1 µs × 2 …▁█—", "utf-8") == "≥ 1 µs × 2 …▁█—"
    assert encodable("≥ 1 µs × 2 …▁█—日", "ascii") == ">= 1 us x 2 ..._#-?"
    assert encodable("é", "latin-1") == "é"
    assert encodable("é", "no such") == "?"
    assert StyledText("x").style.value == "plain"
