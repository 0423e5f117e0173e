"""Operation counts in the conventions of other FLOP counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.frontend import is_configuration, load
from perfc.ir import record
from perfc.ir.record import project
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost, CostTable

from .amounts import amount
from .formats.document import Amount, Column, Note, Section, tabulate
from .units import Unit

if TYPE_CHECKING:
    from perfc.api import Report


@record
class OperatorCount:
    """Operations of all nodes of one operator.

    Args:
        operator: ONNX name of the operator.
        operations: total over its nodes.
    """

    operator: str
    operations: Amount


@record
class Counts:
    """Operations of one run in the convention of another tool.

    Args:
        convention: name of the convention, as ``--count-as`` takes it.
        tool: package and version of the tool.
        source: files of the package that define the convention.
        unit: unit of the tool's figure, MAC or flop.
        total: all operations.
        attention: operations of attention: products of two activations and the softmax in between.
        sees_fused_attention: True if the tool counts attention that PyTorch runs as one operator;
            otherwise its figure for such a model is ``total`` minus ``attention``.
        by_operator: operations by operator, most first.
    """

    convention: str
    tool: str
    source: str
    unit: str
    total: Amount
    attention: Amount
    sees_fused_attention: bool
    by_operator: tuple[OperatorCount, ...]


def forward_cost(report: Report) -> CostTable:
    """Return costs of the forward pass.

    A configuration is read again as for training, with the scores of every token, as other tools
    count; the run itself may compute those of the last token only.
    """
    if report.deployment.is_step or not is_configuration(report.model):
        return report.cost
    am = Analyses()
    module = am.apply(Sizes(), load(report.model, report.env, is_trained=True))
    return am.get(Cost(), module)


def collect(report: Report, name: str) -> Counts:
    """Count the operations of ``report`` in the convention ``name``.

    Raises:
        PassError: if there is no such convention.
    """
    from perfc.passes.conventions import convention, tally

    rules = convention(name)
    table = forward_cost(report)
    counted = tally(table, rules)
    env, unit = report.env, Unit.MAC if rules.unit == "MAC" else Unit.FLOP
    rows = [OperatorCount(k, amount(v, env, unit)) for k, v in counted.by_operator.items()]
    return project(
        Counts,
        rules,
        convention=name,
        total=amount(counted.total, env, unit, is_bound=table.is_bound),
        attention=amount(counted.attention, env, unit),
        by_operator=tuple(sorted(rows, key=lambda r: -(r.operations.value or 0))),
    )


def section(view: Counts) -> Section:
    """Return the section of counts: total, operators, and what the tool does not count."""
    columns = (Column("operations"), Column("operator", is_name=True))
    table = tabulate(columns, view.by_operator)
    notes = [Note(f"{view.total} as counted by {view.tool} ({view.source})")]
    if view.attention.value and not view.sees_fused_attention:
        notes.append(
            Note(
                f"{view.attention} of it in attention, which {view.convention} does not count "
                "where PyTorch runs it as one operator (scaled_dot_product_attention)"
            )
        )
    return Section("counts", f"counted as {view.convention}", (*notes, table))
