"""``perfc dev fusion``: fused kernels of a compiler next to those of perfc, group by group."""

from __future__ import annotations

from pathlib import Path

import click

from ..shared.document import show_view
from ..shared.help import grouped_command
from ..shared.options import dim_option, parse_dims
from ..shared.output import format_options
from ..shared.report import color_option, parse_top
from ..shared.table import table_options

DOCUMENTS = {"fusion": "perfc.study.fusion_oracle.output:FusionView"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("fusion")
@click.argument("model", type=click.Path())
@table_options("fusion")
@dim_option
@format_options("text", "json", "csv", "markdown")
@color_option
def command(
    model: str,
    oracle: str,
    engine: str,
    dims: tuple[str, ...],
    form: str,
    output: Path | None,
    top: str,
) -> None:
    """Print what a compiler fuses in MODEL next to perfc's fusion table, with their agreement.

    `ort` optimizes an ONNX file for the CPU in a separate process. `tensorrt` reads the layers of
    an engine.
    """
    from perfc.study.fusion_oracle import OracleRequest, compared
    from perfc.study.fusion_oracle.oracles import oracle_of
    from perfc.study.fusion_oracle.output import FusionView, document, to_csv, to_json

    limit = parse_top(top)
    request = OracleRequest(model, parse_dims(dims), engine)
    compiler = oracle_of(oracle)
    view = FusionView.of(model, oracle, compared(compiler.answer(request), compiler.TABLE))
    show_view(form, output, view, to_json, to_csv, document, limit)
