"""Floors against measured times of kernels: none may be above.

    python benchmarks/floor_kernels.py DATA [--table SOURCE ...] [--top 5] [--traces FOLDER]

DATA is the folder of the tables; a SOURCE is a file of `lab/perfc_lab/tables`. A row is one kernel
by its extents, element type, machine and framework; its floor is the one predictions are held to.
Of DeepBench the sheets of old AMD cards count too, of which nothing is learned. Prints the rows by
source and those that come closest, and exits with 1 if a floor is above a measured time.
With a folder of traces their operators count too: of each trace the share of the kernel time that
has a floor, the share without communication, and the operators whose floor is withheld.

Needs pandas and pyarrow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.errors import ParseError
from perfc.machine import load_machine
from perfc.measuring.trace.classes import TracedClass
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.summary import summarized
from perfc_lab.data.rows import Rows
from perfc_lab.tables import deepbench, sources


@dataclass(frozen=True, order=True)
class Closest:
    """The kernel of one block that comes closest to its floor.

    Args:
        share: floor over measured time; above 1 is a violation.
        kernel: class, type and extents.
        target: machine.
        time_s: measured.
        rows: of the block.
        above: how many of them are faster than their floor.
    """

    share: float
    kernel: str
    target: str
    time_s: float
    rows: int
    above: int

    def __str__(self) -> str:
        return f"{self.share:6.3f}  {self.time_s * 1e6:10.1f} µs  {self.target}: {self.kernel}"


def closest(block: Rows) -> Closest:
    """Compare every row of a block with its floor."""
    kind = class_of(block.class_name)
    columns = complete(kind, block.columns)
    shares = kind.floor_s(columns, block.dtype, Sheet(load_machine(block.target))) / block.time_s
    at = int(np.argmax(shares))
    extents = " ".join(f"{n}={v[at]:g}" for n, v in columns.items() if n in kind.parameters)
    return Closest(
        float(shares[at]),
        f"{kind.name} {block.dtype} {extents}",
        block.target,
        float(block.time_s[at]),
        len(block),
        int((shares > 1).sum()),
    )


def blocks(data: Path, name: str) -> Iterator[Rows]:
    """Return the blocks of rows of a source, each of one class, type and machine."""
    source = sources()[name]
    if isinstance(source, deepbench.DeepBenchTable):
        return source.blocks(data, {**deepbench.TARGETS, **deepbench.OLD_TARGETS})
    return source.rows(data)


def report(name: str, kernels: Iterable[Closest], top: int) -> bool:
    """Print the kernels of one source; return False if a floor is above a measured time."""
    ordered = sorted(kernels, reverse=True)
    rows, above = sum(c.rows for c in ordered), sum(c.above for c in ordered)
    print(f"{name}: {rows:,} rows, {above:,} faster than their floor")
    for one in ordered[:top]:
        print(f"  {one}")
    return not above


def trace_report(path: Path) -> bool:
    """Print the bounds of one trace; return False if one is above the measured time."""
    try:
        summary = summarized(read_trace(path))
    except ParseError as error:
        print(f"{path.name}: {error}", file=sys.stderr)
        return True
    sent = TracedClass.COMMUNICATION
    bounded, rest = summary.bounded, [k for k in summary.kernels if k.class_name is not sent]
    whole = sum(k.operator_ns for k in bounded) / summary.kernel_ns
    of_rest = sum(k.operator_ns for k in rest if k.floor) / max(sum(k.time_ns for k in rest), 1)
    print(
        f"{path.name}: {whole:.1%} of the time bounded, {of_rest:.1%} without communication; "
        f"{len(bounded):,} operators, {len(summary.withheld)} withheld"
    )
    return not summary.withheld


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the tables")
    parser.add_argument("--table", nargs="+", choices=sources(), default=list(sources()))
    parser.add_argument("--top", type=int, default=5, help="closest rows shown of each source")
    parser.add_argument("--traces", type=Path, help="folder of traces of profilers")
    args = parser.parse_args()
    is_sound = True
    for name in args.table:
        try:
            is_sound &= report(name, map(closest, blocks(args.data, name)), args.top)
        except DataError as error:
            print(f"{name}: {error}", file=sys.stderr)
    for path in sorted(args.traces.rglob("*.json*")) if args.traces else ():
        is_sound &= trace_report(path)
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
