"""Summary: the totals of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.ir import Dim, dim_sum, record
from perfc.passes.roofline.parameters import Role

from ..amounts import amount, ratio
from ..formats.document import Amount, Fact, Facts, Note, Section, in_seconds
from ..units import LOWER_BOUND, Unit, plural, share, size_text

if TYPE_CHECKING:
    from perfc.api import Report

    from ..memory_sections.memory import Memory
    from .coverage import Coverage
    from .verdict import Verdict


@record
class Summary:
    """Totals of a run.

    Args:
        floor_s: lower bound on the target, without launches.
        sustained_s: kernel time at measured rates.
        launch_gap_s: launch overhead that kernels do not hide.
        roofline_time_s: sustained time plus launch gaps; not a prediction.
        launches: kernels launched in one run.
        flop: floating-point operations of the graph; 1 mac is 2 flop.
        executed_flop: operations of the kernels; fewer if the runtime folds nodes.
        mac: multiply-accumulates.
        effective_mac: multiply-accumulates that no mask removes (causal attention).
        integer: integer and index operations, not in flop.
        read_bytes: compulsory bytes that kernels read.
        write_bytes: compulsory bytes that kernels write.
        device_bytes: bytes charged to device memory in the sustained time.
        intensity_flop_per_byte: executed flop per compulsory byte; None if one is unknown.
        parameters: elements of the parameters in the file, each counted once.
        tied_parameters: elements that kernels read in several layouts, such as a head that shares
            the table of an embedding.
        tied_copies: elements that the runtime stores again for them.
        running_statistics: elements of means and variances of batch normalizations.
        quantization_parameters: elements of scales and zero points of quantized tensors.
        weight_bytes: bytes of the stored tensors that are read.
        peak_activation_bytes: peak of live bytes without weights.
        peak_node: node that runs at the peak.
        device_capacity_bytes: device memory of the target; None if not declared.
    """

    floor_s: Amount
    sustained_s: Amount
    launch_gap_s: Amount
    roofline_time_s: Amount
    launches: float
    flop: Amount
    executed_flop: Amount
    mac: Amount
    effective_mac: Amount
    integer: Amount
    read_bytes: Amount
    write_bytes: Amount
    device_bytes: Amount
    intensity_flop_per_byte: float | None
    parameters: Amount
    tied_parameters: Amount
    tied_copies: Amount
    running_statistics: Amount
    quantization_parameters: Amount
    weight_bytes: Amount
    peak_activation_bytes: Amount
    peak_node: str
    device_capacity_bytes: float | None


@record
class ModelWork:
    """Work of a run, and the size of its model.

    Args:
        flop: floating-point operations of the kernels; 1 mac is 2 flop.
        mac: multiply-accumulates of the graph.
        parameters: elements of the parameters.
    """

    flop: Amount
    mac: Amount
    parameters: Amount


def work(report: Report) -> ModelWork:
    """Return the work of a run, without its memory, which takes long to compute."""
    env, cost = report.env, report.cost
    executed = dim_sum(k.work.flop * k.repeat for k in report.kernels.kernels)
    return ModelWork(
        flop=amount(executed, env, Unit.FLOP, is_bound=cost.is_bound),
        mac=amount(cost.work.mac, env, Unit.MAC, is_bound=cost.is_bound),
        parameters=amount(report.parameter_table.count(Role.PARAMETER), env, Unit.COUNT),
    )


def collect(report: Report, memory: Memory) -> Summary:
    """Collect the totals of ``report``."""
    env, roof, cost = report.env, report.roofline, report.cost
    is_bound = cost.is_bound
    counted, done = cost.work, work(report)
    kernels = report.kernels.kernels
    read = dim_sum(k.traffic.read_bytes * k.repeat for k in kernels)
    write = dim_sum(k.traffic.write_bytes * k.repeat for k in kernels)
    unsized = any(k.traffic.is_bound for k in kernels)
    flop = amount(counted.flop, env, Unit.FLOP, is_bound=is_bound)
    reads = amount(read, env, Unit.BYTE, is_bound=unsized)
    writes = amount(write, env, Unit.BYTE, is_bound=unsized)
    moved = (reads.value or 0) + (writes.value or 0)
    table = report.parameter_table
    tied, copies = table.tied(report.module, report.deployment.table)

    def elements(formula: Dim) -> Amount:
        return amount(formula, env, Unit.COUNT)

    bounded = is_bound or reads.is_bound or flop.is_bound or writes.is_bound

    def seconds(value: float) -> Amount:
        return Amount(value, Unit.SECOND, is_bound=bounded)

    capacity = report.deployment.capacity(report.machine)
    return Summary(
        floor_s=Amount(roof.floor_s, Unit.SECOND, is_bound=True),
        sustained_s=seconds(roof.sustained_s),
        launch_gap_s=in_seconds(roof.launch_gap_s),
        roofline_time_s=seconds(roof.time_s),
        launches=sum(k.launches for k in roof.kernels),
        flop=flop,
        executed_flop=done.flop,
        mac=done.mac,
        effective_mac=amount(counted.floor_mac, env, Unit.MAC, is_bound=is_bound),
        integer=amount(counted.integer, env, Unit.COUNT, is_bound=is_bound),
        read_bytes=reads,
        write_bytes=writes,
        device_bytes=Amount(sum(k.device_bytes for k in roof.kernels), Unit.BYTE, is_bound=bounded),
        intensity_flop_per_byte=((done.flop.value or 0) / moved if moved and not bounded else None),
        parameters=done.parameters,
        tied_parameters=elements(tied),
        tied_copies=elements(copies),
        running_statistics=elements(table.count(Role.STATISTIC)),
        quantization_parameters=elements(table.count(Role.QUANTIZATION)),
        weight_bytes=amount(
            report.weight_bytes, env, Unit.BYTE, is_bound=report.has_unsized_weights
        ),
        peak_activation_bytes=memory.peak_bytes,
        peak_node="" if memory.peak_step is None else memory.nodes[memory.peak_step],
        device_capacity_bytes=float(capacity.usable_bytes) if capacity is not None else None,
    )


def section(view: Summary, coverage: Coverage, verdict: Verdict) -> Section:
    """Return the section of totals with explanations and formulas."""
    flop, mac = view.flop, view.mac
    masked = ratio(view.effective_mac.value or 0, mac.value or 0)
    # without masks there is nothing to say
    also = f"; {share(masked)} of it unmasked" if 0 < masked < 1 else ""
    if view.executed_flop.value != flop.value:
        also += f"; kernels execute {view.executed_flop}"
    moved = total(view.read_bytes, view.write_bytes)
    tight = share(ratio(view.floor_s.value or 0, verdict.time_s))
    headline = "the predicted time" if verdict.is_predicted else "the time at measured rates"
    launches = plural(round(view.launches), "launch", "launches")
    intensity = Amount(view.intensity_flop_per_byte, Unit.FLOP_PER_BYTE)
    rows = (
        Fact(LOWER_BOUND, view.floor_s, f"kernels at peak rates; {tight} of {headline}"),
        Fact("sustained", view.sustained_s, "kernels at measured rates, else the vendor's"),
        Fact("launch gaps", view.launch_gap_s, f"added by {launches}"),
        Fact("total", view.roofline_time_s, "at measured rates; the prediction is more accurate"),
        Fact("work", flop, f"{mac}, two flop each{also}", flop.symbolic),
        Fact(
            "traffic",
            moved,
            f"compulsory: {view.read_bytes} read, {view.write_bytes} written",
            moved.symbolic,
        ),
        Fact("intensity", intensity, f"{view.device_bytes} of device memory traffic"),
        Fact(
            "parameters",
            view.parameters,
            besides(view),
            view.parameters.symbolic,
        ),
        Fact(
            "peak memory",
            view.peak_activation_bytes,
            f"of activations{f', at {view.peak_node}' if view.peak_node else ''}; {fits(view)}",
            view.peak_activation_bytes.symbolic,
        ),
    )
    parts = (Facts(rows), Note(coverage.line, is_warning=not coverage.is_complete))
    return Section("summary", "summary", parts)


def besides(view: Summary) -> str:
    """Describe stored tensors, tied parameters, and elements that are not parameters."""
    tied = ""
    if view.tied_parameters.value:
        again = "again for each layout" if view.tied_copies.value else "once"
        tied = f"; {view.tied_parameters} tied, stored {again}"
    others = (
        (view.running_statistics, "running statistics"),
        (
            view.quantization_parameters,
            "scales and zero points",
        ),
    )
    named = [f"{count} {name}" for count, name in others if count.value]
    also = f"; plus {' and '.join(named)}" if named else ""
    return f"{view.weight_bytes} of stored tensors{tied}{also}"


def total(a: Amount, b: Amount) -> Amount:
    """Add two amounts of one unit."""
    formula = None if a.formula is None or b.formula is None else a.formula + b.formula
    return Amount((a.value or 0) + (b.value or 0), a.unit, formula, a.is_bound or b.is_bound)


def fits(view: Summary) -> str:
    """Describe weights plus peak activations against the capacity of the device."""
    need = (view.weight_bytes.value or 0) + (view.peak_activation_bytes.value or 0)
    if not view.device_capacity_bytes:
        return f"{size_text(need)} with weights"
    used = need / view.device_capacity_bytes
    room = size_text(view.device_capacity_bytes)
    verdict = f"{share(used)} of {room}" if used <= 1 else f"more than the {room} available"
    return f"{size_text(need)} with weights, {verdict}"
