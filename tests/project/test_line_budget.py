"""Tokens of code are counted without layout, comments and docstrings."""

from __future__ import annotations

import re

import pytest

STRING = r"""(?i:[rbuf]{0,2})(?:(?s:"{3}(?:\\.|.)*?"{3}|'{3}(?:\\.|.)*?'{3})"""
STRING += r"""|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
TOKEN = re.compile(
    rf"(?m)(?P<alone>(?<!\\\n)^[ \t]*(?>{STRING})(?=[ \t]*(?:#|$)))|#.*|{STRING}"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|\.?\d(?:[eE][+-]?\d|[\w.])*|\w+"
    r"|\.\.\.|->|:=|!=|(?:\*\*|//|<<|>>|[-+*/%@&|^<>=])=?|[~.,:;]"
)
"""Tokens of Python; ``alone`` is a string on whole lines: outside brackets a docstring."""


def tokens(text: str) -> int:
    """Return the number of tokens of Python code: layout, comments and docstrings do not count."""
    count = depth = 0
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        depth += (kind == "open") - (kind == "close")
        count += match[0][0] != "#" and (kind != "alone" or depth > 0)
    return count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"""A module."""\n\nx = 1  # one\n', 3),
        ('def f(a: int) -> int:\n    """Return it."""\n    return a ** 2\n', 14),
        ('x = (\n    "one"\n    "two"\n)\n', 6),
        ('T: int = 1\n"""A constant."""\n', 5),
        ("y = f'{x!r} # no comment' + rb'\\'' + 1e-3j\n", 7),
        ("if (n := x[...]) != .5 and a is not b: x //= 2; y @= z.w\n", 26),
    ],
)
def test_tokens_are_those_of_code(text: str, count: int) -> None:
    assert tokens(text) == count
    assert tokens(re.sub(r"\n", "\n\n", text)) == count
