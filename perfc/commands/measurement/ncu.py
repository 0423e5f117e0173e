"""``perfc ncu``: draw a hierarchical roofline from Nsight Compute counters."""

from __future__ import annotations

import re
from pathlib import Path

import click

from perfc.errors import ParseError

from ..shared import names as _names
from ..shared.document import show_view
from ..shared.examples import examples
from ..shared.names import Names
from ..shared.output import emit, format_options, output_format
from ..shared.report import color_option, parse_top

FINDINGS = 1


DOCUMENT = ("ncu", "perfc.measuring.ncu.json_form:NcuView")
"""JSON document of the command, and the type that defines its schema."""


@click.command(
    "ncu",
    context_settings={"ignore_unknown_options": True},
    epilog=examples("ncu report.csv -t a100", "ncu --command train.py"),
)
@click.argument("words", nargs=-1, metavar="REPORT.csv | SCRIPT...", type=click.UNPROCESSED)
@click.option(
    "--command", "prints", is_flag=True, help="Print the ncu command line that profiles SCRIPT."
)
@click.option(
    "-t",
    "--target",
    type=Names(_names.targets),
    default="",
    help="Compare with this target's ceilings.",
)
@click.option(
    "--arch", default="", help="GPU architecture, e.g. sm_80, if the report does not contain it."
)
@click.option("--process", default="", metavar="PID", help="Read the kernels of one process only.")
@click.option(
    "--marked",
    is_flag=True,
    help="With --command: profile only between cudaProfilerStart and cudaProfilerStop.",
)
@format_options("text", "json", "csv")
@color_option
@click.option("--top", default="20", show_default=True, help="Maximum kernels to print, or 'all'.")
def command(
    words: tuple[str, ...],
    prints: bool,
    target: str,
    arch: str,
    process: str,
    marked: bool,
    form: str,
    output: Path | None,
    top: str,
) -> int:
    """Print time, FLOPs, bytes and ceiling utilization of each kernel in REPORT.csv.

    The report is what `perfc ncu --command SCRIPT` makes ncu print, or any CSV of ncu with those
    counters. Exits with 1 if a kernel exceeds a ceiling of the target.
    """
    from perfc.machine import load_machine

    limit = parse_top(top)
    if arch and not re.fullmatch(r"sm_\d{2,3}[af]?", arch):
        raise ParseError(f"{arch!r} is no architecture", where="--arch", hint="as in sm_80")
    machine = load_machine(target) if target else None
    if prints:
        from perfc.measuring.ncu.command import command_line

        output_format("csv", output, ("csv",))
        chip = arch or (machine.arch if machine else "sm_80")
        line = command_line(words, chip, output=str(output or "report.csv"), marked=marked)
        emit(f"{line}\n", None)
        return 0
    if len(words) != 1 or words[0].startswith("-"):
        hint = "give one REPORT.csv, or --command SCRIPT"
        unknown = next((w for w in words if w.startswith("-")), None)
        raise click.UsageError(f"no such option {unknown!r}; {hint}" if unknown else hint)
    from perfc.measuring.ncu.output import document, shown, to_csv, to_json
    from perfc.measuring.ncu.report import load

    report = load(Path(words[0]), arch=arch, process=process)
    result = shown(report, machine)
    show_view(
        form,
        output,
        lambda: to_json(result),
        lambda: to_csv(result),
        lambda: document(result, limit),
    )
    return FINDINGS if result.has_errors else 0
