"""SARIF 2.1.0 logs that GitHub accepts: a file and a line for every result.

Paths are relative to the root of the repository, or to a folder named in the log, see
``perfc.common.repository``.

Sources: SARIF 2.1.0, sections 3.4.3, 3.4.4, 3.14.14, 3.27 and 3.28; GitHub, SARIF support for code
scanning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from perfc.common.repository import base, from_base
from perfc.common.version import __version__

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
BASE = "%SRCROOT%"
"""Identifier of the base of relative URIs in code scanning."""
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def log(rules: Sequence[Json], results: Iterable[Json], errors: Iterable[str]) -> dict[str, Json]:
    """Return the log of one run.

    Args:
        rules: rules of the results.
        results: results in order.
        errors: files that could not be analyzed, one line each.
    """
    driver: dict[str, Json] = {"name": "perfc", "version": __version__, "rules": [*rules]}
    notes: list[Json] = [{"level": "error", "message": {"text": e}} for e in errors]
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "originalUriBaseIds": {BASE: base_location()},
        "columnKind": "unicodeCodePoints",
        "results": [*results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def base_location() -> dict[str, Json]:
    """Return the base: unnamed for a repository, which every reader has elsewhere, else a URI."""
    folder, is_repository = base()
    if is_repository:
        return {"description": {"text": "root of the repository"}}
    return {"uri": f"{folder.as_uri().rstrip('/')}/"}


def location(path: str, line: int = 1) -> dict[str, Json]:
    """Return the location of a line of a file; a model has only the first."""
    relative = from_base(path)
    artifact: dict[str, Json] = (
        {"uri": Path(relative).as_uri()}
        if Path(relative).is_absolute()
        else {"uri": quote(relative), "uriBaseId": BASE}
    )
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}}}
