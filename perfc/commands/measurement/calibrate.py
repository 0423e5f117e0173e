"""``perfc calibrate``: measure this machine's ceilings and write a target file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.plain_text import say

from ..shared.help import grouped_command
from ..shared.output import output_option
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.kernels.session import Progress
    from perfc.measuring.calibrate import CalibratedTarget

INCOMPLETE = 3
"""Exit code under ``--strict`` if a figure is uncertain: no target file is written."""
LINE_S = 5.0
"""Interval of progress lines if standard error is not a terminal."""


@grouped_command("calibrate")
@table_options("calibrate")
@output_option(
    "target", words="Output target file (default: the device's name in the user's target folder)."
)
def command(
    device: str,
    output: Path | None,
    resume: bool,
    strict: bool,
    quick: bool,
    threads: int | None,
) -> int:
    """Measure the ceilings of this machine and write a target file.

    Raw samples are written as JSON lines next to the file. Every ceiling has its best and worst
    round, and one that varies is marked; only a failed probe leaves the file unwritten.
    """
    from perfc.measuring.calibrate import UncertainError, calibrate

    try:
        with _progress() as (tell, warn):
            calibrated = calibrate(
                device,
                output,
                resume=resume,
                quick=quick,
                threads=threads or 0,
                strict=strict,
                tell=tell,
                say=warn,
            )
    except UncertainError as error:
        say(f"error: {error}", is_error=True)
        return INCOMPLETE
    except KeyboardInterrupt:
        say("stopped, no target written; --resume goes on", is_error=True)
        raise
    for line in _lines(calibrated):
        say(line)
    return 0


@contextmanager
def _progress() -> Iterator[tuple[Callable[[Progress], None], Callable[[str], None]]]:
    """Yield callbacks that print the current measurement and notes to standard error.

    A terminal gets a bar; anything else a line at the start and every ``LINE_S`` seconds.
    """
    if not sys.stderr.isatty():
        yield _Lines().tell, lambda line: say(f"warning: {line}", is_error=True)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description:36}"), BarColumn(), TextColumn("{task.fields[time]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("opening the device", total=None, time="")

        # escaped: names in brackets would be taken for markup
        def tell(now: Progress) -> None:
            bar.update(
                task,
                description=escape(now.what),
                completed=now.done,
                total=now.total,
                time=_time(now),
            )

        yield tell, lambda line: bar.console.print(f"warning: {line}", markup=False)


class _Lines:
    """Progress for a log: one line at a time, at intervals."""

    def __init__(self) -> None:
        self.next_s = 0.0

    def tell(self, now: Progress) -> None:
        """Print a line if the interval since the last one has passed."""
        if now.elapsed_s >= self.next_s:
            self.next_s = now.elapsed_s + LINE_S
            say(f"{_time(now)}: {now.what}, {now.done + 1} of {now.total}", is_error=True)


def _time(now: Progress) -> str:
    """Return the time so far and its limit: ``12 of at most 100 s``."""
    return f"{now.elapsed_s:.0f} of at most {now.limit_s:.0f} s"


def _lines(done: CalibratedTarget) -> Iterator[str]:
    """Yield the report of a calibration: ceilings, changes, notes and files."""
    yield f"{done.machine.description}"
    yield ""
    rows: list[tuple[str, ...]] = [
        ("", "spec", "measured", "of spec", "rounds", "worst", "best", "spread", "")
    ]
    for row in done.rows:
        value, spread = row.measured.value, row.measured.spread
        spec = f"{quantity(row.key, row.spec.value)} {row.spec.origin}" if row.spec else ""
        share = f"{value / row.spec.value:.0%}" if row.spec else ""
        cells = ("", "", "", "")
        if spread is not None:
            worst, best = quantity(row.key, spread.worst), quantity(row.key, spread.best)
            cells = (str(spread.rounds), worst, best, f"{spread.share(value):.1%}")
        mark = "uncertain" if row.measured.is_uncertain else ""
        rows.append((row.key, spec, quantity(row.key, value), share, *cells, mark))
    yield from _columns(rows)
    yield ""
    yield from _differences(done)
    yield from done.notes
    yield _verdict(done)
    yield f"written: {done.path}"
    yield f"samples: {done.samples}"


def _verdict(done: CalibratedTarget) -> str:
    """Return the quality of the target file and what to do if it is uncertain."""
    uncertain, all_ = done.uncertain, len(done.rows)
    if not uncertain:
        return f"all {all_} figures repeat; {done.elapsed_s:.0f} s"
    names = ", ".join(r.key for r in uncertain[:3])
    more = f" and {len(uncertain) - 3} more" if len(uncertain) > 3 else ""
    summary = f"{len(uncertain)} of {all_} figures are uncertain: {names}{more}"
    return f"{summary}; --resume continues once the machine is idle; {done.elapsed_s:.0f} s"


def _differences(done: CalibratedTarget) -> Iterator[str]:
    """Yield the differences from the target file that was overwritten, if there was one."""
    if not done.replaced:
        return
    yield "against the earlier file:" if done.changes else "no change against the earlier file"
    changes: list[tuple[str, ...]] = [("", "before", "now", "")]
    # a figure that only one file has is blank in the other column, without a share
    for c in done.changes:
        old, new = ("" if v is None else quantity(c.key, v) for v in (c.before, c.after))
        share = f"{c.after / c.before - 1:+.1%}" if c.before and c.after else ""
        changes.append((c.key, old, new, share))
    if done.changes:
        yield from _columns(changes)
    yield ""


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows with the first cell aligned left and the others, which are numbers, right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for first, *others in rows:
        # blanks of empty last cells are cut off
        cells = [c.rjust(w) for c, w in zip(others, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


def quantity(key: str, value: float) -> str:
    """Format a number with the unit in its key: ``1.83 TB/s``, ``32 MiB``."""
    from perfc.view.report.units import Unit, prefixed

    # their values are the endings of keys: flop_per_s, bytes
    named = Unit.FLOP_PER_S, Unit.OP_PER_S, Unit.BYTE_PER_S, Unit.BYTE
    units = {u.value: u for u in named}
    units |= {"hz": Unit.NONE, "w": Unit.WATT, "j": Unit.JOULE, "s": Unit.SECOND}
    # the first match counts: bytes_per_s, which ends with _s as well, comes before it
    name = next((n for n in units if key.endswith(f"_{n}")), "")
    if not name:
        return f"{value:g}"
    factor, symbol = prefixed(value, units[name])
    return f"{value * factor:.4g} {symbol}{'Hz' if name == 'hz' else ''}"
