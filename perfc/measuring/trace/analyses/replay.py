"""Replay of one operator of a trace: measured on the device at hand, with random operands.

`replayed` is `perfc measure --replay`: it compares the time here with that in the trace.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from perfc.errors import ParseError
from perfc.ir import record
from perfc.ir.tensors.types import BY_CODE
from perfc.kernels.backends import host
from perfc.machine import Machine
from perfc.passes.runtimes import Framework
from perfc.view.report.formats.document import Amount, Document, Fact, Facts, Section
from perfc.view.report.units import LOWER_BOUND, Unit, plural, quantity, share
from perfc.view.result import Result, ResultLayout

from ...measure.memory import USABLE
from ...measure.process import MeasurementProtocol, check_installed, requested, workspace
from ...measure.runtimes.replay import ATEN, ROOM, TYPES
from ..facts import Argument, TensorArgument
from ..formats import read_trace
from ..steps import selected
from ..summary import KernelTime, summarized
from ..work.operands import dtype_in, dtype_of


@record
class ReplayedOperator(Result):
    """One operator, measured here and in the trace.

    Args:
        trace: path of the trace.
        row: number of the kernel in `perfc trace`, from 1.
        operator: name.
        shapes: extents of its tensors.
        version: version of PyTorch.
        device: device at hand.
        runs: readings of the clock.
        time_s: median time of one execution here; operands may lie in a cache.
        iqr_s: distance of the quartiles.
        traced_s: mean time of one execution in the trace.
        floor_s: lower bound of one execution on the target; null without one.
        target: target of the lower bound; empty without one.
    """

    layout: ClassVar[str] = "perfc.measuring.trace.analyses.replay:LAYOUT"
    trace: str
    row: int
    operator: str
    shapes: str
    version: str
    device: str
    runs: int
    time_s: float
    iqr_s: float
    traced_s: float
    floor_s: float | None
    target: str


def replayed(
    place: str, machine: Machine | None, protocol: MeasurementProtocol
) -> ReplayedOperator:
    """Measure the operator of a row of a trace.

    Args:
        place: path and number of the row, as ``trace.json#17``.
        machine: target of the lower bound; that of the trace if None.
        protocol: device, repetitions and limits.

    Raises:
        ParseError: no such row, or an operator that cannot be executed here.
        PassError: PyTorch refused it.
    """
    path, _, number = place.rpartition("#")
    row = int(number[:9]) if number.isdecimal() else 0  # no trace has rows of more digits
    if not path or not row:
        raise ParseError("no row of a trace", where=place, hint="as in trace.json#17")
    summary = summarized(selected(read_trace(path)), machine)
    if row > len(summary.kernels):
        raise ParseError(f"no row {row}: `perfc trace` has {len(summary.kernels)}", where=path)
    k = summary.kernels[row - 1]
    operands = operands_of(k, place)
    check_installed(Framework.TORCH)
    # operands, results and workspaces, and 64 MiB for what does not grow with them
    need = round(ROOM * sum(nbytes_of(o) for o in operands)) + (64 << 20)
    _, free = host.memory()
    if protocol.device == "cpu" and free and need > USABLE * free:
        takes, has = quantity(need, Unit.BYTE), quantity(free, Unit.BYTE)
        message = f"its operands and results take about {takes}, more than half of the {has} free"
        raise ParseError(message, where=place)
    request = {
        **asdict(protocol),
        "framework": "",
        "runtime": "replay",
        "operator": k.operator,
        "arguments": operands,
        "profile": False,
        "room_bytes": max(need, round(USABLE * free)),
        "cases": [{"feeds": ""}],
    }
    with workspace() as folder:
        request["folder"] = str(folder)
        outcome = requested(request, folder, protocol.limit_s, k.operator)
    (case,) = outcome.cases
    floor = next((r.floor for r in summary.bounded if r.call == k.call), None)
    return ReplayedOperator(
        path,
        row,
        k.operator,
        k.shapes,
        outcome.version,
        protocol.device,
        len(case.times_s),
        case.time_s,
        case.iqr_s,
        k.operator_ns * 1e-9 / k.executions,
        floor.floor_s if floor else None,
        summary.target.name if summary.target and floor else "",
    )


def operands_of(k: KernelTime, place: str) -> list[dict[str, Any] | None]:
    """Return the arguments of an operator for the worker.

    Raises:
        ParseError: no operator of ATen, or an unknown element type or extent.
    """
    if k.call is None or not ATEN.fullmatch(k.operator):
        what = k.operator or f"the kernel {k.kernel[:60]}"
        message = f"{what} is no operator of ATen, which alone are replayed"
        raise ParseError(message, where=place, hint="record shapes: profile(record_shapes=True)")
    # members of lists have no recorded type: that in the kernel's name stands for it
    listed = dtype_in([k.kernel])
    result = [argument(a, listed.code if listed else "f32", place) for a in k.call.arguments]
    if not any(a and "value" not in a for a in result):
        raise ParseError(f"no tensor of {k.operator} is recorded", where=place)
    return result


def argument(given: Argument, listed: str, place: str) -> dict[str, Any] | None:
    """Return one argument for the worker; None for one that is not recorded."""
    match given:
        case None:
            return None
        case TensorArgument():
            return {"tensor": tensor(given, listed, place)}
        case tuple() if given and isinstance(given[0], TensorArgument):
            members = [t for t in given if isinstance(t, TensorArgument)]
            return {"list": [tensor(t, listed, place) for t in members]}
        case tuple():
            return {"value": list(given)}
        case _:
            return {"value": given}


def tensor(given: TensorArgument, listed: str, place: str) -> dict[str, Any]:
    """Return a tensor for the worker, with the elements that its strides reach.

    Raises:
        ParseError: an element type or an extent that PyTorch does not have.
    """
    dtype = dtype_of(given.dtype) if given.dtype else None
    code = listed if not given.dtype else dtype.code if dtype else ""
    steps = given.strides
    if code not in TYPES or min((*given.sizes, *(steps or ())), default=0) < 0:
        raise ParseError(f"no operand of type {given.dtype!r} over {given}", where=place)
    elements = math.prod(given.sizes)
    if steps is not None and elements:
        # place of the last element in storage, counted from the first
        elements = 1 + sum((e - 1) * s for e, s in zip(given.sizes, steps, strict=True))
    return {"dtype": code, "sizes": given.sizes, "strides": steps, "elements": elements}


def nbytes_of(given: Mapping[str, Any] | None) -> int:
    """Return the bytes of an argument as it is drawn, at least 2 for each element."""
    given = given or {}
    members = [given["tensor"]] if "tensor" in given else given.get("list", [])
    # 8-bit floats are drawn with 16 bits and converted
    return sum(max(BY_CODE[m["dtype"]].bits // 8, 2) * m["elements"] for m in members)


def document(made: ReplayedOperator) -> Document:
    """Return the three times."""
    where = f"{made.device}, {made.version}, {plural(made.runs, 'reading')}"
    spread = f"{where}, interquartile range {quantity(made.iqr_s, Unit.SECOND)}"
    ratio = (
        f"mean of one execution; {made.time_s / made.traced_s:.3g} times that here"
        if made.traced_s
        else ""
    )
    facts = [
        Fact("measured here", Amount(made.time_s, Unit.SECOND), spread),
        Fact("measured in the trace", Amount(made.traced_s, Unit.SECOND), ratio),
    ]
    if made.floor_s is not None:
        part = (
            f" ({share(made.floor_s / made.traced_s)} of the trace's time)" if made.traced_s else ""
        )
        words = f"on {made.target}{part}"
        facts.append(Fact(LOWER_BOUND, Amount(made.floor_s, Unit.SECOND), words))
    title = f"replay of {made.operator} {made.shapes}, row {made.row} of {made.trace}"
    return Document(title, (Section("replay", "one execution", (Facts(tuple(facts)),)),))


LAYOUT = ResultLayout("perfc-replay/1", ReplayedOperator, document)
