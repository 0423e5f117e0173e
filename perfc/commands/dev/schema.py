"""``perfc dev schema``: print the JSON schemas of command output."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from perfc.errors import ParseError

from ..shared import listing
from ..shared.help import grouped_command
from ..shared.names import Names
from ..shared.output import emit, output_option


def documents() -> dict[str, str]:
    """Return the JSON documents of all commands with the types of their views."""
    folders = (listing.modules_of(folder) for folder in (*listing.SECTIONS, listing.DEV))
    paths = {name: path for modules in folders for name, path in modules.items()}
    # every command is imported, as each declares its documents in its file
    types: dict[str, str] = {}
    for name in sorted(paths):
        types |= getattr(import_module(paths[name]), "DOCUMENTS", {})
    return types


@grouped_command("schema")
@click.argument("name", type=Names(documents), default="report", metavar="[NAME]")
@output_option("json")
def command(name: str, output: Path | None) -> None:
    """Print the JSON Schema (draft 2020-12) of document NAME.

    NAME is `report`, which `perfc analyze` writes, by default, or a command: `compare`,
    `op`, `sweep`, `explain`, `diff`, `check`, `baseline`, `lint`, `roofline`, `measure`,
    `ncu`, `predict`, `plan`, `llm`, `llm-search`; `rule` is of `perfc lint --explain`, `scale` of
    `perfc plan --curve`, `collective` of `perfc op`, `target`, `targets` and `target-list` of
    `perfc targets`. Documents name their schema: perfc-compare/1.
    """
    import json

    emit(json.dumps(schema_named(name), indent=2, sort_keys=True) + "\n", output)


def schema_named(name: str) -> dict[str, object]:
    """Return the schema of a document.

    Raises:
        ParseError: an unknown document.
    """
    from perfc.view.report.formats.json_schema import schema, schema_of
    from perfc.view.report.views import Views
    from perfc.view.result import Result

    known = documents()
    if name not in known:
        raise ParseError(f"no document {name[:32]!r}", hint=f"there are {', '.join(known)}")
    path, _, type_name = known[name].partition(":")
    module = import_module(path)
    cls = getattr(module, type_name)
    # a report has the conventions of its numbers in addition to the views
    if cls is Views:
        return schema()
    if issubclass(cls, Result):
        return schema_of(cls, cls.laid_out().schema)
    return schema_of(cls, getattr(cls, "document", None) or module.SCHEMA)
