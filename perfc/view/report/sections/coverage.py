"""Coverage: the share of the model with known cost, by tier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.ir import Node, dim_sum, each_once, record, walk
from perfc.ir.ops.opaque import Opaque
from perfc.passes.roofline.cost import NodeCost, Tier

from ..amounts import amount, ratio
from ..formats.document import Amount, Column, Note, Section, tabulate
from ..units import Unit, plural, share, size_text

if TYPE_CHECKING:
    from perfc.api import Report


@record
class TierCoverage:
    """Nodes of one coverage tier.

    Args:
        tier: exact, expanded, expected, bytes only, or unknown.
        nodes: number of nodes.
        node_share: share of all executed nodes.
        flop: operations; without a value if unknown.
        flop_share: share of the known operations; None if there are none.
        nbytes: compulsory bytes; without a value if unknown.
        bytes_share: share of the known bytes; None if there are none.
    """

    tier: str
    nodes: int
    node_share: float
    flop: Amount
    flop_share: float | None
    nbytes: Amount
    bytes_share: float | None


@record
class OpaqueOperator:
    """An operator without a fully known cost.

    Args:
        op_type: name in the model.
        nodes: number of nodes.
        tier: bytes only, or unknown.
        first_node: name of the first node.
        possible_reads: the operands of its nodes if it has no definition; it may read less.
    """

    op_type: str
    nodes: int
    tier: str
    first_node: str
    possible_reads: Amount


@record
class Coverage:
    """Coverage of a model by known costs.

    Args:
        nodes_in_file: nodes of the file, including subgraphs.
        nodes_executed: nodes left after constant folding.
        tiers: non-empty tiers, best first.
        opaque: operators without a fully known cost.
        open_symbols: data-dependent extents; totals use their lower limits.
        is_complete: True if totals are exact; otherwise they are lower bounds.
    """

    nodes_in_file: int
    nodes_executed: int
    tiers: tuple[TierCoverage, ...]
    opaque: tuple[OpaqueOperator, ...]
    open_symbols: tuple[str, ...]
    is_complete: bool

    @property
    def line(self) -> str:
        """Return the coverage in one sentence."""
        known = "known " if self.opaque else ""
        parts = [
            f"{t.tier} {share(t.node_share)} of {plural(self.nodes_executed, 'node')}, "
            f"{tier_share(t.flop, t.flop_share, f'{known}flop')}, "
            f"{tier_share(t.nbytes, t.bytes_share, f'{known}bytes')}"
            for t in self.tiers
        ]
        text = "coverage: " + ("; ".join(parts) or "no node executes")
        folded = self.nodes_in_file - self.nodes_executed
        if folded > 0:
            text += f"; {plural(folded, 'node')} folded"
        if self.opaque:
            names = [
                f"{o.op_type} x{o.nodes}"
                + (f" (may read {size_text(n)})" if (n := o.possible_reads.value) else "")
                for o in self.opaque
            ]
            text += f"; totals are lower bounds, unknown cost: {listed(names)}"
        if self.open_symbols:
            names = list(self.open_symbols)
            text += f"; totals are lower bounds, data-dependent extents: {listed(names)}"
        return text


def tier_share(amount: Amount, part: float | None, noun: str) -> str:
    """Describe the share of a tier."""
    if amount.value is None:
        return f"unknown {noun.removeprefix('known ')}"
    return f"no {noun}" if part is None else f"{share(part)} of {noun}"


def listed(names: list[str]) -> str:
    """Join the first four names and the number of the others."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more


def collect(report: Report, unset: Sequence[str]) -> Coverage:
    """Collect the coverage of ``report``."""
    by_tier: dict[Tier, list[NodeCost]] = {t: [] for t in Tier}
    opaque: dict[tuple[str, Tier], list[Node]] = {}
    for node, c in report.cost.nodes.items():
        by_tier[c.tier].append(c)
        if c.tier in (Tier.BYTES, Tier.UNKNOWN):
            name = node.loc.op_type or node.op.mnemonic
            opaque.setdefault((name, c.tier), []).append(node)
    flop = {t: work_of(t, costs, report) for t, costs in by_tier.items()}
    nbytes = {t: bytes_of(t, costs, report) for t, costs in by_tier.items()}
    known_flop = sum(a.value or 0 for a in flop.values())
    known_bytes = sum(a.value or 0 for a in nbytes.values())
    executed = len(report.cost.nodes)

    def tier_row(t: Tier) -> TierCoverage:
        f, b = flop[t], nbytes[t]
        return TierCoverage(
            t.value,
            nodes=len(by_tier[t]),
            node_share=ratio(len(by_tier[t]), executed),
            flop=f,
            flop_share=None if f.value is None or not known_flop else ratio(f.value, known_flop),
            nbytes=b,
            bytes_share=None if b.value is None or not known_bytes else ratio(b.value, known_bytes),
        )

    operators = [
        OpaqueOperator(name, len(nodes), tier.value, nodes[0].name, may_read(nodes, report))
        for (name, tier), nodes in opaque.items()
    ]
    # the number of nodes, with those in regions
    in_file = sum(1 for _ in walk(report.source.graph))
    return Coverage(
        in_file,
        executed,
        tuple(tier_row(t) for t in Tier if by_tier[t]),
        tuple(sorted(operators, key=lambda o: (-o.nodes, o.op_type))),
        tuple(unset),
        not (report.cost.is_bound or unset),
    )


def may_read(nodes: Sequence[Node], report: Report) -> Amount:
    """Return the bytes of the operands of nodes without a definition; no value for others."""
    if any(not isinstance(n.op, Opaque) for n in nodes):
        return Amount(None, Unit.BYTE)
    costs = report.cost.nodes
    whole = dim_sum(each_once(n.inputs, ()).read_bytes * costs[n].repeat for n in nodes)
    return amount(whole, report.env, Unit.BYTE)


def work_of(tier: Tier, costs: list[NodeCost], report: Report) -> Amount:
    """Return the operations of a tier; without a value if they are unknown."""
    if tier in (Tier.BYTES, Tier.UNKNOWN) and costs:
        return Amount(None, Unit.FLOP, is_bound=True)
    return amount(dim_sum(c.work.flop * c.repeat for c in costs), report.env, Unit.FLOP)


def bytes_of(tier: Tier, costs: list[NodeCost], report: Report) -> Amount:
    """Return the compulsory bytes of a tier; without a value if they are unknown."""
    if tier is Tier.UNKNOWN and costs:
        return Amount(None, Unit.BYTE, is_bound=True)
    return amount(dim_sum(c.traffic.nbytes * c.repeat for c in costs), report.env, Unit.BYTE)


def section(view: Coverage) -> Section:
    """Return the section of coverage: tiers, then operators without a fully known cost."""
    columns = (
        Column("tier"),
        Column("nodes", "nodes", Unit.COUNT),
        Column("node_share", "nodes", Unit.SHARE, is_spare=True),
        Column("flop", "operations"),
        Column("flop_share", "operations", Unit.SHARE, is_spare=True),
        Column("nbytes", "traffic"),
        Column("bytes_share", "traffic", Unit.SHARE, is_spare=True),
    )
    tiers = tabulate(columns, view.tiers)
    unknown = tabulate(
        (
            Column("op_type", "operator"),
            Column("nodes", "nodes", Unit.COUNT),
            Column("tier"),
            Column("first_node", "first node", is_name=True),
            Column("possible_reads", "may read"),
        ),
        view.opaque,
    )
    note = Note(view.line, is_warning=not view.is_complete)
    parts = (tiers, unknown, note) if unknown.rows else (tiers, note)
    return Section("coverage", "coverage", parts)
