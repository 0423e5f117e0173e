"""Write a comparison of fusions as document, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from perfc.ir import record
from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Part,
    Section,
    excerpt,
    tabulate,
)
from perfc.view.report.units import Unit, share
from perfc.view.result import Records, Result, ResultLayout

from . import FusionComparison, operators


@record
class FusedGroupView:
    """A kernel of the compiler next to ours.

    Args:
        name: the compiler's name for it.
        operator: the compiler's operator, or kind of kernel.
        nodes: nodes of the model in it.
        operators: their operators.
        ours: operators of each of our kernels with these nodes.
        agreement: whether they are equal, else how they differ.
    """

    name: str
    operator: str
    nodes: tuple[str, ...]
    operators: str
    ours: tuple[str, ...]
    agreement: str


@record
class FusionDifferenceView:
    """Number of groups whose kernels differ from ours in the same way."""

    agreement: str
    difference: str
    count: int


@record
class FusionView(Result):
    """Fusion of a compiler next to a fusion table.

    Args:
        model: model.
        oracle: compiler.
        runtime: runtime of the table.
        theirs: kernels of the compiler with nodes of the model.
        ours: our kernels of the same nodes.
        same: kernels that are equal.
        share: equal kernels over those of the compiler.
        differences: differing kernels by class, the most frequent first.
        groups: kernels in the order of the compiler.
    """

    layout: ClassVar[str] = "perfc_lab.fusion.output:LAYOUT"
    model: str
    oracle: str
    runtime: str
    theirs: int
    ours: int
    same: int
    share: float
    differences: tuple[FusionDifferenceView, ...]
    groups: tuple[FusedGroupView, ...]

    @classmethod
    def of(cls, model: str, oracle: str, result: FusionComparison) -> FusionView:
        """Build the view of a comparison."""
        differences = tuple(
            FusionDifferenceView(how.value, text, count)
            for (how, text), count in result.differences.most_common()
        )
        groups = tuple(
            FusedGroupView(
                p.group.name,
                p.group.operator,
                tuple(sorted(n.name for n in p.group.nodes)),
                operators(p.group.nodes),
                ours=tuple(map(operators, p.ours)),
                agreement=p.agreement.value,
            )
            for p in result.pairs
        )
        theirs = len(result.pairs)
        return cls(
            model,
            oracle,
            result.runtime.name,
            theirs,
            result.ours,
            result.same,
            share=result.same / theirs if theirs else 0.0,
            differences=differences,
            groups=groups,
        )


def records(view: FusionView) -> Records:
    """Return one row per kernel of the compiler."""
    names = ["name", "operator", "operators", "ours", "agreement", "nodes"]
    return names, [[getattr(group, name) for name in names] for group in view.groups]


def document(view: FusionView, top: int | None = None) -> Document:
    """Return the sections: agreement, classes of differences, groups."""
    facts = (
        Fact("kernels", Amount(view.theirs, Unit.COUNT), f"of {view.oracle}"),
        Fact("ours", Amount(view.ours, Unit.COUNT), f"of the table {view.runtime}"),
        Fact("same", Amount(view.same, Unit.COUNT), f"{share(view.share)} of {view.oracle}'s"),
    )
    differences = tabulate(
        (
            Column("count", "kernels", Unit.COUNT),
            Column("agreement"),
            Column("difference", "theirs = operators; ours", wraps=True, is_name=True),
        ),
        view.differences[:top],
    )
    sections = [Section("agreement", "agreement", (Facts(facts),))]
    if view.differences:
        sections.append(Section("differences", "differences", (differences,)))
    sections.append(Section("groups", "kernels", tuple(group_parts(view, top))))
    return Document(
        f"fusion of {view.model}: {view.oracle} against {view.runtime}", tuple(sections)
    )


def group_parts(view: FusionView, top: int | None) -> Iterator[Part]:
    """Yield the table of kernels, and a note on the number of kernels that it leaves out."""
    columns = (
        Column("name", view.oracle, is_name=True),
        Column("operators"),
        Column("ours", is_spare=True, cell=lambda g: " | ".join(g.ours) or None),
        Column("agreement"),
    )
    return excerpt(columns, view.groups[:top], len(view.groups), "kernel")


LAYOUT = ResultLayout("perfc-fusion/1", FusionView, document, rows=records)
