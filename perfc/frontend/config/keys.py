"""Read the keys of a configuration with a type and a range; a wrong one is an error of one line.

Readers of families take all values through `Keys`, which remembers what was read: unread keys are
reported, as they may change the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perfc.errors import ModelError

LARGEST = 1 << 40
"""Maximum whole number in a configuration; no extent of a model is larger."""
MOST_LAYERS = 2_000
"""Maximum layers and items of a list; each layer is lowered, so that a billion would never end."""


def _is_count(value: object) -> bool:
    """Return True for a whole number, also as 2048.0, or for "auto"."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value == "auto" or (is_number and 0 <= value <= LARGEST and value == value // 1)  # type: ignore[operator]


def _is_positive(value: object) -> bool:
    """Return True for a number above 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value <= LARGEST  # type: ignore[operator]


def _is_name(value: object) -> bool:
    """Return True for a text that is not empty."""
    return isinstance(value, str) and value != ""


def _is_flag(value: object) -> bool:
    """Return True for true or false, also as 0 or 1."""
    return isinstance(value, bool) or value in (0, 1)


# numbers of bins, times and relative positions are no counts
KINDS: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    (
        r"(num|n|max)_(?!bins|time|relative_positions)\w+"
        r"|\w+_(size|layers|heads|experts|rank|groups?|inner)",
        _is_count,
        f"a whole number from 0 to {LARGEST}",
    ),
    (r"\w+_(eps|epsilon|theta|emb_base)", _is_positive, "a number above 0"),
    (r"(use|tie|is)_\w+", _is_flag, "true or false"),
    (r"(?!is_|use_)\w+_(act|activation)|activation_function", _is_name, "a function's name"),
)
"""Kinds of values by the names of keys, in every family: pattern, test, text."""


class Keys:
    """One object of a configuration; remembers which of its keys were read.

    Args:
        values: the object.
        where: the file, for messages.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values, self.where = values, where
        self.read: set[str] = set()

    def get(self, name: str) -> Any:
        """Return the value of a key; None if it is absent."""
        self.read.add(name)
        return self.values.get(name)

    def whole(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """Return a whole number under the first of these names that is present.

        Raises:
            ModelError: none is there and there is no default, or it is not such a number.
        """
        for name in names:
            value = self.get(name)
            if value is None:
                continue
            # a bool is an int in Python; JSON may write the whole number 2048 as 2048.0
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
                raise self.wrong(name, value, "a whole number")
            if not least <= value <= LARGEST:
                raise self.wrong(name, value, f"{least} to {LARGEST}")
            return int(value)
        if default is None:
            raise ModelError(
                f"no {' or '.join(map(repr, names))} in the configuration",
                where=self.where,
                hint="is this the config.json of a model?",
            )
        return default

    def layers(self, *names: str, default: int | None = None) -> int:
        """Return a number of layers."""
        count = self.whole(*names, default=default, least=0)
        if count > MOST_LAYERS:
            raise self.wrong(names[0], count, f"at most {MOST_LAYERS}")
        return count

    def number(self, name: str, default: float) -> float:
        """Return a real number."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, value, "a number")
        if not -LARGEST <= value <= LARGEST:
            raise self.wrong(name, value, f"{-LARGEST} to {LARGEST}")
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """Return the flag under the first of these names that is present."""
        for name in names:
            value = self.get(name)
            if value is None:
                continue
            if not isinstance(value, bool):
                raise self.wrong(name, value, "true or false")
            return value
        return default

    def text(self, name: str, default: str = "") -> str:
        """Return a string."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, value, "a string")
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of strings, None where it is not there."""
        value = self.sequence(name)
        if value is None:
            return None
        if not all(isinstance(item, str) for item in value):
            raise self.wrong(name, value, "a list of strings")
        return tuple(value)

    def wholes(self, name: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers, None where it is not there."""
        value = self.sequence(name)
        if value is None:
            return None
        if not all(isinstance(i, int) and not isinstance(i, bool) for i in value):
            raise self.wrong(name, value, "a list of whole numbers")
        return tuple(value)

    def sequence(self, name: str) -> Sequence[Any] | None:
        """Return a list of at most as many items as a model may have layers."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.wrong(name, value, "a list")
        if len(value) > MOST_LAYERS:
            raise self.wrong(name, f"{len(value)} items", f"at most {MOST_LAYERS}")
        return value

    def inner(self, name: str) -> Keys | None:
        """Return an object inside, None where it is not there."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, value, "an object")
        return Keys(value, self.where)

    def divided(self, total: int, parts: int, what: str) -> int:
        """Return ``total / parts``.

        Raises:
            ModelError: it is not whole.
        """
        if total % parts:
            raise ModelError(f"{total} does not divide into {parts} {what}", where=self.where)
        return total // parts

    def check_kinds(self) -> None:
        """Refuse a value of another kind than the name of its key says, whether it was read or not.

        Raises:
            ModelError: naming the first.
        """
        for name, value in self.values.items():
            if isinstance(value, list | dict) or value is None:
                continue
            for pattern, test, words in KINDS:
                if re.fullmatch(pattern, name) and not test(value):
                    raise self.wrong(name, value, words)

    def wrong(self, name: str, value: object, wanted: str) -> ModelError:
        """Return the error for a key whose value is not of the wanted kind."""
        shown = repr(value) if isinstance(value, int | float | str | bool) else type(value).__name__
        # a long value would fill the line of the error
        shown = shown if len(shown) <= 40 else f"{shown[:40]}…"
        return ModelError(f"{name!r} is {shown}, not {wanted}", where=self.where)

    def unsupported(self, what: str, hint: str = "") -> ModelError:
        """Return the error for something that this reader does not model."""
        return ModelError(what, where=self.where, hint=hint)
