"""Modules of a model as a tree: output, parameters, multiply-accumulates and time of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from perfc.ir import evaluate, record
from perfc.ir.graphs.blocks import split
from perfc.ir.symbolic.sizes import bound_type

from ..formats.document import Column, Note, Section, tabulate
from ..units import Unit
from .operations import NUMBER

if TYPE_CHECKING:
    from perfc.api import Report

    from .kernels import KernelRow

INDENT = "· "
"""Mark before the name of a module, for each module around it; some formats drop leading spaces."""
DEEPEST = 32
"""Assumed: maximum number of modules around a node; a hostile name has half a million parts."""


@record
class ModuleRow:
    """A module of the model, or several in a row that are equal except for names and times.

    Args:
        path: path of the module, of the first of several; empty for the whole model.
        name: last part of the path; of several also that of the last, ``0 to 11``.
        depth: number of modules around it.
        count: number of modules.
        output: type of the result of its last node; empty if it only stands around others.
        parameters: elements of the parameters that all of them are the first to read.
        mac: multiply-accumulates of all of them in one run.
        time_s: predicted time of all of them; that at measured rates without a prediction.
        share: share of the time of the run.
    """

    path: str
    name: str
    depth: int
    count: int
    output: str
    parameters: int
    mac: int
    time_s: float
    share: float


@dataclass(eq=False, slots=True)
class Branch:
    """A module with the modules inside it; its numbers include theirs."""

    path: tuple[str, ...] = ()
    output: str = ""
    parameters: int = 0
    kernels: list[KernelRow] = field(default_factory=list)
    inside: dict[str, Branch] = field(default_factory=dict)

    def along(self, path: Sequence[str]) -> Iterator[Branch]:
        """Yield the modules of a path from this one on, adding those that are missing."""
        branch = self
        yield branch
        for name in path[:DEEPEST]:
            branch = branch.inside.setdefault(name, Branch((*branch.path, name)))
            yield branch

    @property
    def mac(self) -> int:
        """Return the multiply-accumulates of one run."""
        return sum(int(k.mac.value or 0) for k in self.kernels)

    @property
    def look(self) -> tuple[object, ...]:
        """Return what equal modules share: the pattern of the name, numbers, and what is inside."""
        name = NUMBER.sub("*", self.path[-1])
        inside = tuple(b.look for b in self.inside.values())
        return name, self.output, self.parameters, self.mac, inside


def collect(report: Report, kernels: Sequence[KernelRow]) -> tuple[ModuleRow, ...]:
    """Return the modules in the order of the model's nodes, each before those inside it."""
    root, table, env = Branch(), report.parameter_table, report.env
    counted = set[object]()
    for node in report.source.graph:
        path = split(node.name)[:-1]
        is_stored = all(v.name in table.sources for v in node.results)
        # a tensor rewritten outside of any module is a parameter of the module that reads it then
        if is_stored and not path:
            continue
        new = {v: n for v, n in table.behind(node.inputs).items() if v not in counted}
        counted.update(new)
        parameters = sum(int(evaluate(n, env)) for n in new.values())
        output = str(bound_type(node.results[0].type, env)) if node.results else ""
        for branch in root.along(path):
            branch.parameters += parameters
            if not (is_stored and branch.output):
                branch.output = output
    for kernel in kernels:
        for branch in root.along(split(kernel.anchor)[:-1]):
            branch.kernels.append(kernel)
    # also those that only nodes of subgraphs read
    root.parameters = report.parameters
    return tuple(rows([root], 0))


def rows(equal: Sequence[Branch], depth: int) -> Iterator[ModuleRow]:
    """Yield equal modules as one row, then what is inside all of them."""
    first, last = equal[0], equal[-1]
    kernels = [k for b in equal for k in b.kernels]
    ends = dict.fromkeys(n for b in (first, last) for n in b.path[-1:])
    yield ModuleRow(
        path="/".join(first.path),
        name=" to ".join(ends),
        depth=depth,
        count=len(equal),
        output=first.output,
        parameters=sum(b.parameters for b in equal),
        mac=sum(b.mac for b in equal),
        time_s=math.fsum(k.time_s for k in kernels),
        share=math.fsum(k.share for k in kernels),
    )
    for same in repeats(equal):
        yield from rows(same, depth + 1)


def repeats(equal: Iterable[Branch]) -> Iterator[list[Branch]]:
    """Yield the modules inside equal modules, those in a row that are equal as one."""
    columns = zip(*(b.inside.values() for b in equal), strict=True)
    for _, same in groupby(columns, key=lambda c: c[0].look):
        yield [b for column in same for b in column]


def section(tree: Sequence[ModuleRow]) -> Section:
    """Return the section of the tree."""
    columns = (
        Column("module", is_name=True, cell=title),
        Column("output", is_spare=True),
        Column("parameters", unit=Unit.COUNT),
        Column("mac", "work", Unit.MAC),
        Column("time_s", "time", Unit.SECOND),
        Column("share", unit=Unit.SHARE),
    )
    note = Note("figures of equal modules are sums; a parameter counts where it is read first")
    return Section("modules", "modules", (tabulate(columns, tree), note))


def title(row: ModuleRow) -> str:
    """Return the name of a module, indented; of several with their number."""
    several = f" ({row.count} equal)" if " to " in row.name else ""
    return INDENT * row.depth + (row.name or "model") + several
