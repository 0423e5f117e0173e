"""``perfc eval fusion``: fused kernels of a compiler next to those of perfc, group by group."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.commands.shared.document import present
from perfc.commands.shared.listing import examples
from perfc.commands.shared.options import dim_option, parse_dims
from perfc.commands.shared.output import result_options
from perfc.commands.shared.report import color_option, parse_top
from perfc_lab.commands._table import lab_options


@click.command(
    "fusion",
    epilog=examples(
        "eval fusion model.onnx --oracle ort",
        "eval fusion model.onnx --oracle tensorrt --engine layers.json",
    ),
)
@click.argument("model", type=click.Path())
@lab_options("eval-fusion")
@dim_option
@result_options
@color_option
def fusion_command(
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
    from perfc_lab.fusion import OracleRequest, compared
    from perfc_lab.fusion.oracles import oracle_of
    from perfc_lab.fusion.output import FusionView

    limit = parse_top(top)
    request = OracleRequest(model, parse_dims(dims), engine)
    compiler = oracle_of(oracle)
    view = FusionView.of(model, oracle, compared(compiler.answer(request), compiler.TABLE))
    present(view, form, output, limit)
