"""Prompts of the jobs that agents are given, and full reports as resources of an agent.

`mcp` serves both: a client shows prompts to its user, and reads a report by its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from perfc.common.fitted import data_next_to
from perfc.errors import PerfcError

from . import _tools

PROMPTS: Mapping[str, Any] = data_next_to(__file__)
REPORT = "perfc://report/{target}/{+model}"
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


def report_line(uri: str, root: Path) -> list[str]:
    """Return the command line of the report at an address.

    Raises:
        PerfcError: another address, or a model that the server may not read.
    """
    parts = urlsplit(uri)
    target, _, model = unquote(parts.path.removeprefix("/")).partition("/")
    if (parts.scheme, parts.netloc) != ("perfc", "report") or not model:
        raise PerfcError(f"no resource {uri[:200]!r}", hint=f"addresses are {REPORT}")
    return _tools.command_line("analyze", {"model": model, "target": target, "full": True}, root)
