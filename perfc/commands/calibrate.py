"""``perfc calibrate``: measure the ceilings of this machine into a target file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.plain_text import say

from ._output import output_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfc.calibrate import Calibration

_UNITS = (
    ("flop_per_s", "flop/s"),
    ("op_per_s", "op/s"),
    ("bytes_per_s", "B/s"),
    ("_hz", "Hz"),
    ("_w", "W"),
    ("_j", "J"),
    ("_s", "s"),
)
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"), (1e-15, "f"))


@click.command("calibrate")
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    metavar="DEVICE",
    help="cpu, cuda:0, or fake: a device with known peaks.",
)
@output_option(
    "target", words="The target file; by default one of the device's name in the user's folder."
)
@click.option("--resume", is_flag=True, help="Go on with the samples of a run that was stopped.")
@click.option(
    "--unsteady",
    is_flag=True,
    help="Write even where others use the memory at times; the numbers then say so.",
)
@click.option("--quick", is_flag=True, help="Fewer sizes and rounds, in less than half a minute.")
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=None, help="Cores to use; by default all."
)
@click.option(
    "--fit-from",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="ROWS",
    help="Fit efficiencies to rows of 'perfc measure --append' instead of measuring.",
)
@click.option(
    "-t",
    "--target",
    metavar="TARGET",
    help="With --fit-from: the machine the rows are of; by default the output file.",
)
def command(
    device: str,
    output: Path | None,
    resume: bool,
    unsteady: bool,
    quick: bool,
    threads: int | None,
    fit_from: Path | None,
    target: str | None,
) -> None:
    """Measure the ceilings of this machine and write them as a target file.

    Raw samples lie beside the file as JSON lines. Where rounds disagree the file is not written.
    With --fit-from, what each class of kernels sustains is fitted and written beside the ceilings.
    """
    from perfc.calibrate import calibrate

    if fit_from is not None:
        _fit(fit_from, target, output, threads)
        return

    with _progress() as tell:
        done = calibrate(
            device,
            output,
            resume=resume,
            quick=quick,
            threads=threads or 0,
            unsteady=unsteady,
            tell=tell,
        )
    for line in _lines(done):
        say(line)


def _fit(rows: Path, target: str | None, output: Path | None, threads: int | None) -> None:
    """Fit efficiencies and say how well they predict a model left out."""
    from perfc.measure.fit_file import fit_from

    if output is None:
        raise click.UsageError("--fit-from needs --output, the target file to write")
    done = fit_from(rows, target or str(output), output, threads=threads)
    for o in sorted(done.outcomes, key=lambda o: -abs(o.error)):
        say(f"{o.model:52} {o.dims:14} {o.time_s * 1e3:9.2f} ms  {o.error:+7.1%}")
    models = len({o.model for o in done.outcomes})
    say(
        f"{output}: {len(done.efficiencies.seconds)} classes of {done.version} at {done.threads} "
        f"threads; a model left out of {models}: {done.error:.1%} mean absolute error"
    )


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on standard error of a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:36}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("verify")
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total
        )


def _lines(done: Calibration) -> Iterator[str]:
    yield f"{done.machine.description}"
    yield ""
    rows: list[tuple[str, ...]] = [("", "spec", "measured", "of spec", "samples", "IQR")]
    for row in done.rows:
        spec = f"{quantity(row.key, row.spec.value)} {row.spec.origin}" if row.spec else ""
        share = f"{row.measured / row.spec.value:.0%}" if row.spec else ""
        value = quantity(row.key, row.measured)
        rows.append((row.key, spec, value, share, str(row.n), f"{row.iqr:.1%}"))
    yield from _columns(rows)
    if done.replaced:
        yield ""
        yield "against the earlier file:" if done.changes else "no change against the earlier file"
        changes: list[tuple[str, ...]] = [("", "before", "now", "")]
        for c in done.changes:
            old, new = ("" if v is None else quantity(c.key, v) for v in (c.before, c.after))
            both = c.before and c.after
            share = f"{c.after / c.before - 1:+.1%}" if both and c.after and c.before else ""
            changes.append((c.key, old, new, share))
        if done.changes:
            yield from _columns(changes)
    yield ""
    yield from done.notes
    yield f"written: {done.path}"
    yield f"samples: {done.samples}"


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for first, *rest in rows:
        cells = [c.rjust(w) for c, w in zip(rest, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


def quantity(key: str, value: float) -> str:
    """A number with the unit its key ends in: ``1.83 TB/s``, ``32 MiB``."""
    if key.endswith("_bytes"):
        for step, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value >= step:
                return f"{value / step:.4g} {unit}"
        return f"{value:g} B"
    unit = next((u for suffix, u in _UNITS if key.endswith(suffix)), "")
    if not unit:
        return f"{value:g}"
    scales = _PREFIXES if value >= 1 else _SMALL
    scale, prefix = next((p for p in scales if value >= p[0]), scales[-1])
    return f"{value / scale:.4g} {prefix}{unit}"
