"""A SARIF 2.1.0 log as GitHub accepts it: a file and a line for every result.

Names of files are from the root of the repository, or from a folder that the log names, see
``perfc.repository``.

Sources: SARIF 2.1.0, sections 3.4.3, 3.4.4, 3.14.14, 3.27 and 3.28; GitHub, SARIF support for code
scanning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from perfc.repository import base, from_base
from perfc.version import __version__

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
BASE = "%SRCROOT%"
"""The base of relative URIs, by the name that code scanning uses."""
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
        "originalUriBaseIds": {BASE: base_location()},
        "columnKind": "unicodeCodePoints",
        "results": [*results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def base_location() -> dict[str, Json]:
    """The base itself: a repository lies elsewhere for every reader, a plain folder is named."""
    folder, is_repository = base()
    if is_repository:
        return {"description": {"text": "root of the repository"}}
    return {"uri": f"{folder.as_uri().rstrip('/')}/"}


def location(path: str) -> dict[str, Json]:
    """The first line of a file, named from the current folder: a model has no lines."""
    found = from_base(path)
    artifact: dict[str, Json] = (
        {"uri": Path(found).as_uri()}
        if Path(found).is_absolute()
        else {"uri": quote(found), "uriBaseId": BASE}
    )
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": 1}}}
