"""``perfc lint``: what slows a model down, and what mending it would gain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.plain_text import say

from ._options import dim_option, names_in, parse_dims
from ._output import emit, format_options, output_format
from ._report import parse_values

if TYPE_CHECKING:
    from perfc.lint.engine import Outcome

FORMATS = ("text", "json", "csv", "markdown", "sarif", "github", "gitlab", "junit")
UNREADABLE = 2


@click.command("lint")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("-t", "--target", default="", help="Name or file; a100 where nothing says.")
@click.option(
    "--runtime", default="", help="eager, cudagraph, ort, tensorrt, inductor; ort by default."
)
@click.option("--dtype", default="", help="What if: f16, bf16, tf32, i8, fp8; amp-f16, amp-bf16.")
@click.option("--no-tf32", is_flag=True, help="f32 products do not use TF32.")
@click.option("--value", "values", multiple=True, metavar="NAME=N,...", help="Content of an input.")
@dim_option
@click.option("--select", default="", metavar="CODES", help="Rules that run: PF1,PF404 or ALL.")
@click.option("--ignore", default="", metavar="CODES", help="Rules that do not.")
@click.option("--extend-select", default="", metavar="CODES", help="Rules that run besides.")
@click.option("--min-gain", default="", metavar="SHARE", help="Least gain shown; 0.1% by default.")
@click.option("--statistics", is_flag=True, help="Count findings by rule instead.")
@click.option("--fix", is_flag=True, help="Write a mended model, proved equal by onnxruntime.")
@click.option("--in-place", is_flag=True, help="With --fix: over the input.")
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="perfc.toml.")
@click.option("--isolated", is_flag=True, help="Read no configuration.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@format_options(*FORMATS, also=("onnx",), words="With --fix the output is a model.")
def command(
    files: tuple[str, ...],
    target: str,
    runtime: str,
    dtype: str,
    no_tf32: bool,
    values: tuple[str, ...],
    dims: tuple[str, ...],
    select: str,
    ignore: str,
    extend_select: str,
    min_gain: str,
    statistics: bool,
    fix: bool,
    in_place: bool,
    config: Path | None,
    isolated: bool,
    exit_zero: bool,
    form: str,
    output: Path | None,
) -> int:
    """Lint FILES, models or folders of them.

    Each finding says what mending it gains on the target. `perfc rule PF101` explains a rule.
    """
    from perfc.lint.engine import Linter, selected
    from perfc.lint.output import Format, rendered
    from perfc.lint.output import statistics as counted
    from perfc.lint.settings import find_file, parse_share, read_settings
    from perfc.lint.work import Work, models_in

    if output is not None:
        output_format(None, output, ("onnx",) if fix else FORMATS)
    if form not in ("text", "onnx") and (fix or statistics):
        raise click.UsageError(f"{'--fix' if fix else '--statistics'} prints text, not {form}")
    path = None if isolated else config or find_file(Path())
    settings = read_settings(path)
    chosen = selected(settings, names_in(select), names_in(ignore), names_in(extend_select))
    least = parse_share(min_gain) if min_gain else None
    linter = Linter(settings, chosen, least)
    work = Work(
        linter,
        target or settings.target or "a100",
        runtime or settings.runtime or "ort",
        dtype,
        not no_tf32,
        parse_dims(dims),
        parse_values(values),
    )
    paths = models_in(files)
    if fix or in_place:
        from perfc.lint.fix import mend

        if not fix:
            raise click.UsageError("--in-place needs --fix")
        return mend(work, paths, output, in_place=in_place)
    outcome = work.lint_all(paths)
    text = counted(outcome) if statistics else rendered(outcome, Format(form))
    emit(text, output, has_commands=form == "github")
    return verdict(outcome, exit_zero=exit_zero)


def verdict(outcome: Outcome, *, exit_zero: bool) -> int:
    """Say what could not be read; the exit code."""
    for line in outcome.errors:
        say(f"error: {line}", is_error=True)
    if outcome.errors:
        return UNREADABLE
    return 1 if outcome.count and not exit_zero else 0
