"""``perfc schema``: the JSON Schema of the report.

Group: help.
"""

from __future__ import annotations

from pathlib import Path

import click

from ._examples import examples
from ._output import emit, output_option


@click.command("schema", epilog=examples("schema", "schema compare -o compare.schema.json"))
@output_option("json")
def command(output: Path | None) -> None:
    """Print the schema of `perfc analyze --output-format json` (JSON Schema, draft 2020-12)."""
    import json

    from perfc.report.json_schema import schema

    emit(json.dumps(schema(), indent=2, sort_keys=True) + "\n", output)
