"""Split the text form of modules into tokens with positions, and parse symbolic extents."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import NoReturn

from perfc.errors import ParseError

from .. import Extents
from ..symbolic.dim import Dim, Poly, dim_max, dim_min

MAX_DEPTH = 100
"""Maximum nesting of brackets, below the recursion limit of Python."""

MAX_TERMS = 4096
"""Maximum terms of an expression, far more than any model has. Without it a short text could take
all memory: each factor of ``(a + b)*(c + d)*...`` doubles the number of terms."""
MAX_BITS = 1024
"""Maximum bits of a coefficient: squares of squares double them at each level of nesting."""

# a string as JSON has it, on one line
_STRING = r'"(?:[^"\\\n]|\\.)*"'
# Blanks and ``#`` comments, then one token. Possessive quantifiers (``++``, ``*+``) do not
# backtrack; groups have none, as in Python 3.11.0 to 3.11.4 they backtrack incorrectly.
TOKEN = re.compile(
    r"(?:[ \t\r\n]++|\#[^\n]*+)*(?:"
    r"(?P<number>[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    rf"|(?P<ref>[%@](?:[A-Za-z0-9_.$]++|{_STRING}))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*+(?:[.$][A-Za-z0-9_]++)*|`[^`\n]*+`)"
    rf"|(?P<string>{_STRING})"
    r"|(?P<punct>//|\.\.|[-+*(){}\[\]=:,;<>!?])"
    r"|(?P<end>\Z))"
)


class Lexer:
    """One token of look-ahead over ``text``: its ``kind``, ``token`` and offset ``start``."""

    __slots__ = ("_end", "depth", "kind", "path", "start", "symbols", "text", "token")

    def __init__(self, text: str, path: str, symbols: Extents) -> None:
        self.text = text
        self.path = path
        self.symbols = symbols
        self.depth = 0
        self._end = 0
        self.kind: str | None = ""
        self.token = ""
        self.start = 0
        self.advance()

    def advance(self) -> str:
        """Move to the next token; return the one before."""
        before = self.token
        match = TOKEN.match(self.text, self._end)
        if match is None:
            rest = self.text[self._end :].lstrip()
            self.start = len(self.text) - len(rest)
            raise self.error(f"stray {rest[:1]!r}")
        # never None, since every alternative is a named group
        self.kind = match.lastgroup
        self.token = match[self.kind or 0]
        self._end = match.end()
        self.start = self._end - len(self.token)
        return before

    def peek(self) -> str:
        """Return the token after the current one, "" if none can be read."""
        match = TOKEN.match(self.text, self._end)
        return match[match.lastgroup or 0] if match else ""

    def error(self, message: str, start: int | None = None, hint: str = "") -> ParseError:
        """Return an error at position ``start``, by default that of the current token."""
        offset = self.start if start is None else start
        return ParseError(message, where=f"{self.path}:{position(self.text, offset)}", hint=hint)

    def unexpected(self, wanted: str) -> NoReturn:
        """Raise an error about the current token."""
        actual = "the end" if self.kind == "end" else repr(self.token)
        raise self.error(f"expected {wanted}, found {actual}")

    def at(self, token: str) -> bool:
        """Return True if the current token is this punctuation or word."""
        return self.token == token and self.kind in ("punct", "name")

    def eat(self, token: str) -> bool:
        """Move past ``token`` if it is the current one; return True if it was."""
        if self.at(token):
            self.advance()
            return True
        return False

    def expect(self, token: str) -> None:
        """Move past ``token``, which must be the current one."""
        if not self.eat(token):
            self.unexpected(f"'{token}'")

    def take(self, kind: str, wanted: str) -> str:
        """Move past a token of ``kind``; return its text."""
        if self.kind != kind:
            self.unexpected(wanted)
        return self.advance()

    def string(self) -> str:
        """Read a quoted string; return it unescaped."""
        start = self.start
        return self.unescaped(self.take("string", "a string"), start)

    def unescaped(self, quoted: str, start: int) -> str:
        """Return the content of a quoted string."""
        try:
            return str(json.loads(quoted, strict=False))
        except ValueError:
            raise self.error("bad escape in a string", start) from None

    def ref(self, sigil: str, wanted: str) -> str:
        """Read the name after ``%`` or ``@``."""
        if self.kind != "ref" or self.token[0] != sigil:
            self.unexpected(wanted)
        start = self.start
        name = self.advance()[1:]
        return self.unescaped(name, start) if name[0] == '"' else name

    def integer(self) -> int:
        """Read an integer, possibly negative."""
        sign = -1 if self.eat("-") else 1
        # 40 digits hold any number of 128 bits; texts are untrusted, and `int` raises ValueError
        # beyond 4,300 digits
        if self.kind != "number" or not self.token.isdigit() or len(self.token) > 40:
            self.unexpected("an integer")
        return sign * int(self.advance())

    def enter(self) -> None:
        """Enter one level of nesting; pair with ``self.depth -= 1``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH}")

    def dim(self) -> Dim:
        """Read an extent: ``3*N + ((S + 1)//2) - min(N, 4)``."""
        start = self.start
        total = self._term()
        while self.kind == "punct" and self.token in "+-":
            total = total + self._term() if self.advance() == "+" else total - self._term()
            if isinstance(total, Poly) and len(total.terms) > MAX_TERMS:
                raise self.error("expression is too large", start)
        return total

    def _term(self) -> Dim:
        """Read factors joined by ``*`` and ``//``, from left to right."""
        start = self.start
        value = self._factor()
        while self.kind == "punct" and self.token in ("*", "//"):
            if self.advance() == "*":
                value = self._product(value, self._factor(), start)
            else:
                try:
                    value = value // self._factor()
                except ZeroDivisionError:
                    raise self.error("division by zero", start) from None
        return value

    def _product(self, a: Dim, b: Dim, start: int) -> Dim:
        """Return ``a * b``, an error at ``start`` if it is too large."""
        # the product may have this many terms, so the check comes before the product
        size = (len(a.terms) if isinstance(a, Poly) else 1) * (
            len(b.terms) if isinstance(b, Poly) else 1
        )
        product = a * b if size <= MAX_TERMS else 0
        # a number is one term, of which the monomial is empty; 64 factors limit the degree, which
        # nested products double as well
        parts = product.terms if isinstance(product, Poly) else (((), product),)
        if size > MAX_TERMS or any(c.bit_length() > MAX_BITS or len(m) > 64 for m, c in parts):
            raise self.error("expression is too large", start)
        return product

    def _factor(self) -> Dim:
        """Read a number, a symbol, ``-x``, ``(x)``, ``min(x, y)`` or ``max(x, y)``."""
        start = self.start
        if self.kind == "number":
            return self.integer()
        if self.eat("-"):
            self.enter()
            negated = -self._factor()
            self.depth -= 1
            return negated
        if self.eat("("):
            self.enter()
            inner = self.dim()
            self.expect(")")
            self.depth -= 1
            return inner
        name = self.take("name", "an extent")
        if name in ("min", "max") and self.eat("("):
            self.enter()
            parts = [self.dim()]
            while self.eat(","):
                parts.append(self.dim())
            self.expect(")")
            self.depth -= 1
            return dim_min(*parts) if name == "min" else dim_max(*parts)
        try:
            return self.symbols[name]
        except KeyError:
            raise self.error(f"symbol {name} is not declared", start) from None


def position(text: str, offset: int) -> str:
    """Return the ``line:column`` of a position in a text, both from 1."""
    line = text.count("\n", 0, offset) + 1
    # chr(10), since an f-string has no backslash in Python 3.11
    return f"{line}:{offset - text.rfind(chr(10), 0, offset)}"


def line_starts(text: str) -> list[int]:
    """Return offsets of the beginnings of lines, for many look-ups in one text."""
    return [0, *(m.end() for m in re.finditer("\n", text))]


def position_in(starts: list[int], offset: int) -> str:
    """Return ``line:column`` from the table of ``line_starts``."""
    line = bisect_right(starts, offset)
    return f"{line}:{offset - starts[line - 1] + 1}"


def parse_dim(text: str, symbols: Extents, path: str = "extent") -> Dim:
    """Return the extent written in ``text`` over ``symbols``, keyed by printed name.

    Raises:
        ParseError: the text is not an extent, or contains another symbol.

    >>> from perfc.ir.symbolic.dim import symbol
    >>> str(parse_dim("(N + 7)//8 + N", {"N": symbol("N")}))
    '((N + 7)//8) + N'
    """
    lexer = Lexer(text, path, symbols)
    dim = lexer.dim()
    if lexer.kind != "end":
        lexer.unexpected("an operator")
    return dim
