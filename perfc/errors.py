"""Errors for users: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

LONGEST_PART = 2000
"""Maximum characters of a message, place or hint: names in files may be very long."""


def shortened(text: str) -> str:
    """Return ``text`` without its middle if it is too long."""
    half = LONGEST_PART // 2
    return text if len(text) <= LONGEST_PART else f"{text[:half]} … {text[-half:]}"


class PerfcError(Exception):
    """Error that the user can fix; the command line prints one line and exits with 2.

    Args:
        message: what is wrong, then the values; lower case.
        hint: what to do about it.
        where: file, node or position.
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
    """Return the message of a standard library parser in one short line."""
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
    """The operands of an operator are incompatible."""


class TargetError(PerfcError):
    """An unknown target, or a target file whose numbers lack a source."""


class PassError(PerfcError):
    """A pass failed on a graph that verified."""


class MissingExtraError(PerfcError):
    """A command needs an optional package that is not installed."""
