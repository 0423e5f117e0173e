"""Prompts of the jobs that agents are given, and full reports as resources of an agent.

`mcp` serves both: a client shows prompts to its user, and reads a report by its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from perfc.common.fitted import data_next_to
from perfc.errors import PerfcError

PROMPTS: Mapping[str, Any] = data_next_to(__file__)
REPORTS = "perfc://report/"
"""Beginning of the address of every report."""
REPORT = f"{REPORTS}{{target}}/{{+model}}"
"""Address of the full report of a model on a machine (RFC 6570)."""


def listed() -> list[Any]:
    """Return the prompts with their arguments, as the protocol describes them."""
    from mcp_types import Prompt, PromptArgument

    return [
        Prompt(
            name=name,
            title=job["title"],
            description=job["description"],
            arguments=[
                PromptArgument(name=argument, description=words, required=True)
                for argument, words in job["arguments"].items()
            ],
        )
        for name, job in PROMPTS.items()
    ]


def text_of(name: str, arguments: Mapping[str, str]) -> str:
    """Return the text of a prompt.

    Raises:
        PerfcError: no such prompt, or an argument that is missing.
    """
    if name not in PROMPTS:
        raise PerfcError(f"no prompt {name[:64]!r}", hint=f"there are {', '.join(PROMPTS)}")
    missing = [a for a in PROMPTS[name]["arguments"] if not arguments.get(a)]
    if missing:
        raise PerfcError(f"{name} needs {', '.join(missing)}")
    return str(PROMPTS[name]["text"].strip().format_map(arguments))


def report_of(uri: str) -> dict[str, object]:
    """Return the arguments of ``analyze`` for the report at an address.

    Raises:
        PerfcError: another address.
    """
    target, _, model = uri.removeprefix(REPORTS).partition("/")
    if not uri.startswith(REPORTS) or not target or not model:
        raise PerfcError(f"no resource {uri[:200]!r}", hint=f"addresses are {REPORT}")
    # a name in an address has %2F for a slash, as the name of a slice of a GPU has
    return {"target": unquote(target), "model": unquote(model), "full": True}
