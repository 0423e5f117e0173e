"""Find perfc's command or option by its name in other tools, for hints in usage messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from perfc.common.fitted import data_next_to

_NAMES = data_next_to(__file__)
OPTIONS: Mapping[str, list[str]] = _NAMES["options"]
"""Options of other tools, by the perfc option; a command suggests the first that it has."""
ANSWERS: Mapping[str, list[str]] = _NAMES["answers"]
"""Options of other tools that no perfc option corresponds to, or a word of theirs without dashes,
by what to do instead."""
COMMANDS: Mapping[str, list[str]] = _NAMES["commands"]
"""Commands of other tools, by the perfc command."""
_COMMAND_OF = {other: name for name, others in COMMANDS.items() for other in others}


def options_for(other: str, value: str = "") -> list[str]:
    """Return the perfc options for an option of another tool, the likeliest first.

    Args:
        other: the option as typed.
        value: the word behind it; a name is no count of devices.

    >>> options_for("--gpus", "4")[0], options_for("--gpus", "a100")[0], options_for("--no-such")
    ('--gpus N', '-t NAME', [])
    """
    key, _, given = other.partition("=")
    matching = [
        spelled for spelled, others in OPTIONS.items() if _spelled(key) in map(_spelled, others)
    ]
    value = given or value
    is_name = value[:1].isalpha()
    # where some are counts and others names, the value decides
    names = [spelled for spelled in matching if spelled.endswith("NAME")]
    counts = [spelled for spelled in matching if re.search("[ :]N$", spelled)]
    if names and counts and value and not value.startswith("-"):
        return [s for s in matching if s not in (counts if is_name else names)]
    return matching


def answer_for(other: str, *, by_word: bool = False) -> str:
    """Return what to do instead of an option of another tool that perfc does not have, else "".

    Args:
        other: the option as typed.
        by_word: whether one word of the option decides, for all options about the same thing.

    >>> answer_for("--no-tokenizer-cache"), answer_for("--no-tokenizer-cache", by_word=True)[:22]
    ('', 'text has no part in th')
    """
    name = other.partition("=")[0]
    parted = re.sub("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
    keys = {*re.split("[-_]+", parted)} - {""} if by_word else {_spelled(name)}
    for text, others in ANSWERS.items():
        if keys & {o if by_word else _spelled(o) for o in others if by_word or o[0] == "-"}:
            return text
    return ""


def same_in(known: Iterable[str], other: str) -> str:
    """Return the option that differs from another one in dashes and capitals alone, else ""."""
    return next((flag for flag in known if _spelled(flag) == _spelled(other)), "")


def is_near(option: str, other: str) -> bool:
    """Return True if an option is likely a typing error of another one."""
    from difflib import SequenceMatcher

    # above three quarters: bacth is near batch, print-time is not near runtime
    return SequenceMatcher(None, _spelled(option)[2:], _spelled(other)[2:]).ratio() > 0.78


def _spelled(option: str) -> str:
    """Return an option in lower case without inner dashes: ``--batchsize``; a letter as typed."""
    bare = option.lstrip("-")
    return option if len(bare) == 1 else "--" + re.sub("[-_]", "", bare).lower()


def command_for(other: str) -> str:
    """Return the perfc command for another tool's command, "" if there is none."""
    return _COMMAND_OF.get(other.lower(), "")
