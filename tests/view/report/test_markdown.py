"""Markdown that shows a text as it is; fields of comma-separated values."""

from __future__ import annotations

import math
from typing import Any

import pytest

from perfc.view.report.formats import comma
from perfc.view.report.formats.markdown import code, escaped


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
