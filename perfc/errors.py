"""Every error a user can meet: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

LONGEST_PART = 2000
"""Characters of a message, a place or a hint that are shown: files may have names of a megabyte."""


def shortened(text: str) -> str:
    """``text`` without its middle where it is too long to read."""
    half = LONGEST_PART // 2
    return text if len(text) <= LONGEST_PART else f"{text[:half]} … {text[-half:]}"


class PerfcError(Exception):
    """Something the user can act on; the command line prints it as one line and exits with 2.

    Args:
        message: what is wrong first, then the values; lower case.
        hint: what to do about it.
        where: file, node or position the message speaks of.
    """

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        message, where, hint = (shortened(t) for t in (self.message, self.where, self.hint))
        head = f"{where}: {message}" if where else message
        return f"{head} ({hint})" if hint else head


def reason_of(error: Exception) -> str:
    """What a parser of the standard library says of a text, in one short line."""
    said = str(error) or type(error).__name__
    if "integer string conversion" in said:
        return "a whole number of more than 4,300 digits"
    return said.splitlines()[0][:200]


class ModelError(PerfcError):
    """The model file cannot be read, or is not a model."""


class ParseError(PerfcError):
    """Text in the IR, a pipeline, a dimension binding or a target does not parse."""


class VerifyError(PerfcError):
    """An invariant of the IR is broken."""


class ShapeError(VerifyError):
    """An operator's operands cannot go together."""


class TargetError(PerfcError):
    """No such target, or a target file whose numbers do not say where they are from."""


class PassError(PerfcError):
    """A pass failed on a graph that verified."""


class MissingExtraError(PerfcError):
    """A command needs an optional package that is not installed."""
