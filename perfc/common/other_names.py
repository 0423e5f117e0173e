"""Find perfc's command or option by its name in other tools, for hints in usage messages."""

from __future__ import annotations

from collections.abc import Mapping

from perfc.common.fitted import data_next_to

_NAMES = data_next_to(__file__)
OPTIONS: Mapping[str, list[str]] = _NAMES["options"]
"""Options of other tools, by the perfc option."""
COMMANDS: Mapping[str, list[str]] = _NAMES["commands"]
"""Commands of other tools, by the perfc command."""
SUFFIXES = (".onnx", ".onnx.gz", ".onnxtxt", ".pir", ".pb", ".pt2")
"""Suffixes of model files."""
# the same tables by the names of other tools, for look-up
_OPTION_OF = {other: spelled for spelled, others in OPTIONS.items() for other in others}
_COMMAND_OF = {other: name for name, others in COMMANDS.items() for other in others}


def option_for(other: str, known: frozenset[str]) -> str:
    """Return the perfc option for an option of another tool, "" if there is none.

    Args:
        other: the option as typed.
        known: options of the command; others are not suggested.

    >>> option_for("--gpu", frozenset({"-t"})), option_for("--gpu", frozenset())
    ('-t NAME', '')
    """
    spelled = _OPTION_OF.get(other.partition("=")[0].replace("_", "-").lower(), "")
    # behind the name of the option stands its value: ``--batch N``
    return spelled if spelled.partition(" ")[0] in known else ""


def command_for(other: str) -> str:
    """Return the perfc command for another tool's command, "" if there is none."""
    return _COMMAND_OF.get(other.lower(), "")


def is_model(word: str) -> bool:
    """Return True if a word of the command line has the suffix of a model, or names a module."""
    return ":" in word or word.lower().endswith(SUFFIXES)
