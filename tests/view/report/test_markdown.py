"""Markdown that shows a text as it is; fields of comma-separated values; columns of the screen."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.view.report.formats import comma
from perfc.view.report.formats.document import Bars, Document, Note, Section
from perfc.view.report.formats.markdown import code, escaped, part_lines, render
from perfc.view.report.formats.screen_tables import (
    cut,
    fitting,
    gain_title,
    operator,
    remedy_cells,
    useful,
)
from perfc.view.report.units import Unit


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a", "`a`"),
        ("a|b", "`ab`"),
        ("a`b", "`` a`b ``"),
        ("a``b`c", "``` a``b`c ```"),
        ("`", "`` ` ``"),
        ("a\x1b", "`a\ufffd`"),
    ],
)
def test_a_span_of_code_has_more_backticks_than_its_text(text: str, span: str) -> None:
    assert code(text) == span


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a*b_c", "a\\*b\\_c"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("@you", "@&#8203;you"),
        ("#12", "\\#12"),
        ("http://x", "http:&#8203;//x"),
        ("www.x.y", "www.&#8203;x.y"),
        ("a.b", "a.b"),
        ("[x](y)", "\\[x\\](y)"),
        ("$1~2", "\\$1\\~2"),
        ("a @ b", "a @ b"),
    ],
)
def test_signs_are_shown_and_link_to_nothing(text: str, shown: str) -> None:
    assert escaped(text).replace("\\#&#8203;", "\\#") == shown


def test_parts_of_a_section_stand_apart() -> None:
    parts = (Note("plain *", False), Note("loud", True), Bars((1.0, 2.0), Unit.BYTE, "bars"))
    text = render(Document("a|b", (Section("s", "S", parts), Section("t", "T", ()))))
    assert text.startswith("# a\\|b\n\n## S\n\nplain \\*\n\n**loud**\n\nbars\n\n`")
    assert text.endswith("`\n\n## T\n")
    assert list(part_lines(parts[1])) == ["**loud**"]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (True, "true"),
        (False, "false"),
        (2.5, 2.5),
        (math.nan, None),
        (math.inf, None),
        (3, 3),
        (None, None),
        ("=1", "'=1"),
        ("-a", "'-a"),
        ("@a", "'@a"),
        ("+a", "'+a"),
        ("a=1", "a=1"),
        (("a", "b"), "a; b"),
        (("=a",), "'=a"),
        ("", ""),
    ],
)
def test_fields_are_plain_and_no_formulas(value: Any, field: object) -> None:
    assert comma.plain(value) == field


def test_records_stand_under_one_header() -> None:
    assert comma.records(["=a", "b"], [[1, None], [True, "x,y"]]) == '\'=a,b\n1,\ntrue,"x,y"\n'


def remedy(name: str, option: str = "", saving_s: float = 0.5, items: int = 1) -> Any:
    return SimpleNamespace(name=name, option=option, saving_s=saving_s, items=items, time_s=2e-3)


def test_a_label_loses_its_last_operators_where_there_is_no_room() -> None:
    assert cut("Conv + Relu", 11) == "Conv + Relu"
    assert cut("Conv + Relu", 10) == "Conv …"
    assert cut("Conv + Relu + Add", 13) == "Conv + Relu …"
    assert len(cut("Convolution", 6)) <= 6


def test_changes_worth_making_are_three_and_save_a_hundredth() -> None:
    savings = [0.5, 0.02, 0.01, 0.0099, 0.3]
    remedies = [remedy(str(s), saving_s=s) for s in savings]
    views: Any = SimpleNamespace(verdict=SimpleNamespace(time_s=1.0), remedies=remedies)
    assert [r.name for r in useful(views)] == ["0.5", "0.02", "0.01"]
    assert remedy_cells(remedy("x", saving_s=0.256), views.verdict) == ("2.00 ms", "-26 %")


def test_a_change_is_said_as_far_as_there_is_room() -> None:
    one = remedy("half precision", "--dtype f16")
    assert fitting(one, 28) == "half precision (--dtype f16)"
    assert fitting(one, 27) == "half precision"
    assert fitting(one, 13) == "--dtype f16"
    assert fitting(remedy("graph"), 20) == "graph (assumed gaps)"
    verdict: Any = SimpleNamespace(throughput=SimpleNamespace(item=SimpleNamespace(value="images")))
    assert gain_title([one, remedy("x", items=2)], verdict) == "per image"
    assert gain_title([one], verdict) == "per run"


def test_the_operator_is_the_word_that_the_node_ends_in() -> None:
    group: Any = SimpleNamespace(
        first=SimpleNamespace(title="Conv 3x3 + Relu", anchor="/l1/Conv_2")
    )
    assert operator(group) == "Conv"
    group.first.anchor = "/l1/conv"
    assert operator(group) == ""
