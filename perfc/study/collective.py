"""Predict a single collective among devices of one kind.

``perfc op collective`` and ``perfc.op("collective", …)`` call `collective` and `collective_of`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from perfc.errors import ParseError, TargetError
from perfc.ir import Numbers, record
from perfc.ir.problem import Collective, Exchange
from perfc.machine import Machine, load_machine
from perfc.view.report.formats.document import Document, Note, Section, in_seconds
from perfc.view.report.units import (
    INTERVAL,
    LOWER_BOUND,
    Unit,
    plural,
    size_text,
    time_range,
)
from perfc.view.result import Field, Fields, Result, ResultLayout

if TYPE_CHECKING:
    from perfc.deployment import Deployment

MOST_RANKS = 1 << 20
"""Maximum ranks and nodes; a larger number is a typing error."""
EXTENTS = ("operation", "bytes", "ranks", "nodes")
"""Parameters of a collective, as options and as keywords."""
USUAL_DTYPE = "bf16"
"""Default element type: that of most measured rows."""


@record
class CollectiveRow:
    """Predicted collective on one kind of device.

    Args:
        target: the device.
        time_s: predicted time.
        low_s: lower end of the 90 % prediction interval.
        high_s: its upper end.
        floor_s: lower bound from one direction of the fastest link of one rank; 0 if the target
            has no link.
        bytes_per_s: message bytes over the predicted time.
        is_extrapolating: True if no measurement is similar.
    """

    target: str
    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    bytes_per_s: float
    is_extrapolating: bool


@record
class Collectives(Result):
    """Predicted collective, with one row per kind of device.

    Args:
        operation: one of ``OPERATIONS``.
        nbytes: whole message of one rank: input of an all-reduce, output of an all-gather, input
            of a reduce-scatter.
        ranks: number of devices.
        nodes: number of nodes.
        dtype: element type.
        rows: one per kind of device.
    """

    layout: ClassVar[str] = "perfc.study.collective:LAYOUT"
    operation: str
    nbytes: int
    ranks: int
    nodes: int
    dtype: str
    rows: tuple[CollectiveRow, ...]


def operations() -> tuple[str, ...]:
    """Return the names of the measured collectives."""
    return tuple(exchange.value for exchange in Exchange)


def collective(
    operation: str,
    nbytes: int,
    ranks: int,
    machines: Sequence[Machine],
    *,
    nodes: int = 1,
    dtype: str = "",
    is_graph: bool = False,
) -> Collectives:
    """Predict a collective on each kind of device.

    Args:
        operation: one of ``operations()``.
        nbytes: whole message of one rank.
        ranks: number of devices, at least two.
        machines: kinds of devices.
        nodes: number of nodes.
        dtype: element type (default: bf16).
        is_graph: True if a CUDA graph launches it instead of the host.

    Raises:
        ParseError: an unknown collective or an invalid size.
        TargetError: a device without links to others of its kind.
    """
    import numpy as np

    from perfc.analyzers.estimators.predictor import predict
    from perfc.analyzers.features.lowering import exchange
    from perfc.analyzers.features.rows import Protocol

    if operation not in operations():
        hint = f"there are {', '.join(operations())}"
        raise ParseError(f"no collective {operation[:32]!r}", where="--operation", hint=hint)
    check_sizes(nbytes, ranks, nodes)
    parameters = exchange(Collective(Exchange(operation), nbytes, ranks, nodes), Numbers({})) or {}
    # the predictor takes columns of many rows, here of one row
    columns = {name: np.array([value]) for name, value in parameters.items()}
    rows: list[CollectiveRow] = []
    for machine in machines:
        # without this check, the predictor would extrapolate from rows of GPUs
        if machine.kind == "cpu":
            hint = "collectives that were measured are of GPUs"
            raise TargetError("a processor, not a GPU", where=machine.name, hint=hint)
        protocol = Protocol.GRAPH if is_graph else Protocol.EAGER
        estimate = predict("collective", columns, dtype or USUAL_DTYPE, machine, protocol)
        names = ("time_s", "low_s", "high_s", "floor_s")
        times = {name: float(getattr(estimate, name)[0]) for name in names}
        rows.append(
            CollectiveRow(
                machine.name,
                **times,
                bytes_per_s=nbytes / times["time_s"],
                is_extrapolating=bool(estimate.extrapolating[0]),
            )
        )
    return Collectives(operation, nbytes, ranks, nodes, dtype or USUAL_DTYPE, tuple(rows))


def collective_of(
    target: str | None, how: Deployment, extents: Mapping[str, object]
) -> Collectives:
    """Predict the collective of a ``perfc.op`` call.

    Args:
        target: comma-separated names of devices; that of ``how`` if None.
        how: deployment with the element type and the runtime, which may launch graphs.
        extents: ``operation``, ``bytes``, ``ranks`` and optionally ``nodes``.

    Raises:
        PerfcError: a missing, unknown or invalid extent, or as ``collective``.
    """
    from perfc.passes.runtimes import LaunchMode

    if how.dims:
        raise ParseError("a collective has no batch, seq, dims")
    given = {"operation": "all-reduce", "nodes": 1, **extents}
    for name in given:
        if name not in EXTENTS:
            hint = f"it has {', '.join(EXTENTS)}"
            raise ParseError(f"collective has no extent {name[:32]!r}", hint=hint)
    for name in EXTENTS:
        if name not in given:
            raise ParseError(f"collective needs {name}", where=f"--{name}")
    operation, *sizes = (given[name] for name in EXTENTS)
    if not isinstance(operation, str):
        raise ParseError(f"{operation!r} is no name", where="--operation")
    numbers: list[int] = []
    for name, size in zip(EXTENTS[1:], sizes, strict=True):
        if isinstance(size, bool) or not isinstance(size, int):
            raise ParseError(f"{size!r} is no whole number", where=f"--{name}")
        numbers.append(size)
    nbytes, ranks, nodes = numbers
    machines = [load_machine(name) for name in (target or how.target).split(",")]
    is_graph = how.table.launch is LaunchMode.GRAPH
    return collective(
        operation, nbytes, ranks, machines, nodes=nodes, dtype=how.dtype, is_graph=is_graph
    )


def check_sizes(nbytes: int, ranks: int, nodes: int) -> None:
    """Reject invalid sizes.

    Raises:
        ParseError: an invalid size, or ranks that do not divide evenly among nodes.
    """
    for name, size, least in (("bytes", nbytes, 1), ("ranks", ranks, 2), ("nodes", nodes, 1)):
        # a message of more than 2^50 bytes, about a petabyte, is a typing error
        if not least <= size <= (MOST_RANKS if name != "bytes" else 1 << 50):
            raise ParseError(f"{name} = {size} is none", where=f"--{name}", hint=f"{least} or more")
    if nodes > ranks or ranks % nodes:
        raise ParseError(f"{ranks} ranks do not spread over {nodes} nodes", where="--nodes")


def document(result: Collectives) -> Document:
    """Return the document: one row per machine."""
    unmeasured = [r.target for r in result.rows if r.is_extrapolating]
    notes = [Note(f"nothing like it was measured on {', '.join(unmeasured)}")] if unmeasured else []
    nodes = f" over {plural(result.nodes, 'node')}" if result.nodes > 1 else ""
    size = size_text(result.nbytes)
    title = f"{result.operation} of {size}, {result.dtype}, {plural(result.ranks, 'rank')}{nodes}"
    table = ROW.table(result.rows, result)
    return Document(title, (Section("collective", "machines", (table, *notes)),))


ROW = Fields.every(
    CollectiveRow,
    {
        "target": Field(title="target"),
        "time_s": Field(title="predicted"),
        "low_s": Field(title=INTERVAL, text=lambda r: time_range(r.low_s, r.high_s)),
        # 0: the target has no link, so there is no bound
        "floor_s": Field(title=LOWER_BOUND, text=lambda r: in_seconds(r.floor_s or None)),
        "bytes_per_s": Field(title="rate of the message", unit=Unit.BYTE_PER_S),
    },
)
LAYOUT = ResultLayout(
    "perfc-collective/1",
    Fields.every(Collectives, {"rows": Field(of=ROW)}),
    document,
    rows="rows",
)
