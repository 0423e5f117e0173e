"""Time of a run by kind of operation, and by module of the model."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from perfc.ir import record
from perfc.ir.graphs.blocks import Path, split

from .kernels import KernelRow

KINDS = {
    "conv": "convolutions",
    "matmul": "matrix products",
    "attention": "attention",
    "recurrent": "recurrent layers",
    "normalization": "normalizations",
    "pool": "pooling",
    "movement": "layout and copies",
    "view": "layout and copies",
    "shape": "layout and copies",
    "container": "layout and copies",
    "gather": "indexed access",
    "quantize": "quantization",
    "reduction": "reductions",
    "sort": "sorting",
    "random": "random numbers",
    "collective": "collectives",
    "control": "control flow",
    "optimizer": "optimizer",
    "opaque": "unknown operators",
}
"""Titles of kinds of kernels; the others are titled by their own name."""
DOMINANT = 0.8
"""Assumed: share of the time of all modules above which a module is replaced by its children."""
EVEN = 1.5
"""Assumed: largest over smallest time of the modules of a repeated block."""
LEAST_BLOCKS = 3
"""Minimum number of modules that stand for one repeated block."""
NUMBER = re.compile(r"\d+")


@record
class OperationTime:
    """All kernels of one kind of operation.

    Args:
        name: title of the kind, ``convolutions``.
        examples: first words of the titles of its kernels, by time, longest first.
        time_s: predicted time; that at measured rates without a prediction.
        share: share of the time of the run.
        launches: kernels launched in one run.
        floor_s: lower bound of its time.
        limited_by: ceiling that takes most of its time.
    """

    name: str
    examples: tuple[str, ...]
    time_s: float
    share: float
    launches: float
    floor_s: float
    limited_by: str


@record
class ModuleTime:
    """A module of the model, or a block that repeats.

    Args:
        name: name of the module; of a repeated block with a star for its number.
        count: number of modules, 1 unless the block repeats.
        share: share of the time of the run that all of them take.
    """

    name: str
    count: int
    share: float


def operations(rows: Sequence[KernelRow]) -> tuple[OperationTime, ...]:
    """Return the kinds of operations of a run, longest first; their shares are those of kernels."""
    kinds: dict[str, list[KernelRow]] = defaultdict(list)
    for row in rows:
        kinds[KINDS.get(row.kind, row.kind)].append(row)
    times = (operation(name, same) for name, same in kinds.items())
    return tuple(sorted(times, key=lambda o: (-o.time_s, o.name)))


def operation(name: str, rows: Sequence[KernelRow]) -> OperationTime:
    """Return the sum of the kernels of one kind."""
    words: dict[str, float] = defaultdict(float)
    ceilings: dict[str, float] = defaultdict(float)
    for row in rows:
        words[row.title.partition(" ")[0]] += row.time_s
        ceilings[row.held_by] += row.time_s
    return OperationTime(
        name,
        tuple(sorted(words, key=lambda w: (-words[w], w))),
        time_s=math.fsum(r.time_s for r in rows),
        share=math.fsum(r.share for r in rows),
        launches=sum(r.launches for r in rows),
        floor_s=math.fsum(r.floor_s for r in rows),
        limited_by=max(ceilings, key=lambda c: (ceilings[c], c)),
    )


def modules(rows: Sequence[KernelRow]) -> tuple[ModuleTime, ...]:
    """Return the modules of the first level that has several, longest first.

    A module that takes most of the time of all is replaced by its children. Kernels of no module
    are left out.
    """
    level: dict[Path, list[tuple[Path, float]]] = defaultdict(list)
    for row in rows:
        if path := split(row.anchor)[:-1]:
            level[path[:1]].append((path[1:], row.share))
    while (wrapper := dominant(level)) is not None:
        for rest, share in level.pop(wrapper):
            level[wrapper + rest[:1]].append((rest[1:], share))
    shares = {path: math.fsum(s for _, s in inside) for path, inside in level.items()}
    times = (ModuleTime(*block) for block in blocks(shares))
    return tuple(sorted(times, key=lambda m: (-m.share, m.name)))


def dominant(level: Mapping[Path, Sequence[tuple[Path, float]]]) -> Path | None:
    """Return the module that takes most of the time and has children; None without one."""
    total = math.fsum(s for inside in level.values() for _, s in inside)
    for path, inside in level.items():
        if math.fsum(s for rest, s in inside if rest) >= DOMINANT * total > 0:
            return path
    return None


def blocks(shares: Mapping[Path, float]) -> Iterator[tuple[str, int, float]]:
    """Yield name, number and share of modules; modules that differ in a number alone are one."""
    by_pattern: dict[str, list[Path]] = defaultdict(list)
    for path in shares:
        by_pattern["/".join((*path[:-1], NUMBER.sub("*", path[-1])))].append(path)
    for pattern, paths in by_pattern.items():
        times = [shares[p] for p in paths]
        if len(paths) >= LEAST_BLOCKS and max(times) <= EVEN * min(times):
            yield short(pattern), len(paths), math.fsum(times)
        else:
            yield from ((short("/".join(p)), 1, shares[p]) for p in paths)


def short(name: str) -> str:
    """Return the last part of a path; a number keeps the name of its list: ``layer/3``."""
    *outer, last = name.split("/")
    return f"{outer[-1]}/{last}" if outer and not NUMBER.sub("", last).strip("*_") else last
