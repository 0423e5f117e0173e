"""A SARIF 2.1.0 log as GitHub accepts it: a file and a line for every result.

Source: SARIF 2.1.0, sections 3.27 and 3.28; GitHub, SARIF support for code scanning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from perfc.version import __version__

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def log(rules: Sequence[Json], results: Iterable[Json], errors: Iterable[str]) -> dict[str, Json]:
    """The log of one run.

    Args:
        rules: those that results are of.
        results: in their order.
        errors: files that could not be analysed, one line each.
    """
    driver: dict[str, Json] = {"name": "perfc", "version": __version__, "rules": [*rules]}
    notes: list[Json] = [{"level": "error", "message": {"text": e}} for e in errors]
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": [*results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def location(path: str) -> dict[str, Json]:
    """The first line of a file: a model has no lines."""
    place: dict[str, Json] = {"artifactLocation": {"uri": uri(path)}, "region": {"startLine": 1}}
    return {"physicalLocation": place}


def uri(path: str) -> str:
    """A path as a URI: relative as it is, from anywhere else with its scheme."""
    found = Path(path)
    return found.as_uri() if found.is_absolute() else quote(path.replace("\\", "/"))
