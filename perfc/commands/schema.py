"""``perfc schema``: the JSON Schema of the report."""

from __future__ import annotations

from pathlib import Path

import click

from ._output import emit, output_option


@click.command("schema")
@output_option("json")
def command(output: Path | None) -> None:
    """Print the schema of `perfc analyze --output-format json` (JSON Schema, draft 2020-12)."""
    import json

    from perfc.report.json_schema import schema

    emit(json.dumps(schema(), indent=2, sort_keys=True) + "\n", output)
