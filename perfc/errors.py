"""Errors for users: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

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

    @property
    def reason(self) -> str:
        """Return the words by which a result says why this error leaves a part of it out."""
        return self.message

    def __str__(self) -> str:
        message, where, hint = (shortened(t) for t in (self.message, self.where, self.hint))
        head = f"{where}: {message}" if where else message
        return f"{head} ({hint})" if hint else head


def reason_of(error: Exception) -> str:
    """Return the message of a parser of the standard library, in one line of 200 characters."""
    said = str(error) or type(error).__name__
    # Python converts no longer text to an integer, and its message names a setting of Python
    if "integer string conversion" in said:
        return "a whole number of more than 4,300 digits"
    return said.splitlines()[0][:200]


def message_line(error: Exception) -> str:
    """Return the message of an error of another library in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def suggestion(
    name: str,
    known: Iterable[str],
    otherwise: str | None = None,
    *,
    count: int = 1,
    cutoff: float = 0.6,
) -> str:
    """Return a hint for an unknown name: the nearest known names, or else all of them.

    Args:
        name: the unknown name.
        known: names that there are.
        otherwise: hint if none is near.
        count: number of names at most.
        cutoff: least similarity, 0 to 1; by default that of `difflib`.

    >>> suggestion("analyse", ["analyze", "compare"]), suggestion("x", ["analyze", "compare"])
    ('did you mean analyze?', 'there are analyze, compare')
    """
    from difflib import get_close_matches

    names = [*known]
    if close := get_close_matches(name, names, count, cutoff):
        return f"did you mean {' or '.join(close)}?"
    return f"there are {', '.join(names)}" if otherwise is None else otherwise


class ModelError(PerfcError):
    """The model file cannot be read, or is not a model."""


class AbsentError(ModelError):
    """The place of a model, such as a revision of git, has nothing of its name."""


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

    @property
    def reason(self) -> str:
        """Return the command that installs the package."""
        return self.hint or self.message
