"""Collectives among machines of one kind, by their size alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from perfc.errors import ParseError, TargetError
from perfc.ir.problem import Collective, Exchange
from perfc.ir.record import record
from perfc.machine import Machine, load_machine

if TYPE_CHECKING:
    from perfc.deployment import Deployment

MOST_RANKS = 1 << 20
EXTENTS = ("operation", "bytes", "ranks", "nodes")
"""What a collective is asked for by, as options and as keywords."""
USUAL_DTYPE = "bf16"
"""Of the numbers where nobody says: most rows that were measured are of them."""


@record
class CollectiveRow:
    """A collective among machines of one kind.

    Args:
        target: the machine.
        time_s: expected.
        low_s: end of the interval that holds nine in ten.
        high_s: its other end.
        floor_s: what one direction of the fastest link of one rank must carry; 0 where no link is
            stated.
        bytes_per_s: of the message at the expected time.
        is_extrapolating: whether it is unlike all that was measured.
    """

    target: str
    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    bytes_per_s: float
    is_extrapolating: bool


@record
class CollectiveView:
    """A collective, with a row for every machine.

    Args:
        operation: of ``OPERATIONS``.
        nbytes: the whole message of one rank: what an all-reduce sums, what an all-gather ends
            with, what a reduce-scatter starts from.
        ranks: machines that take part.
        nodes: over how many nodes they spread.
        dtype: element type.
        rows: one for each machine.
    """

    document: ClassVar[str] = "perfc-collective/1"
    operation: str
    nbytes: int
    ranks: int
    nodes: int
    dtype: str
    rows: tuple[CollectiveRow, ...]


def operations() -> tuple[str, ...]:
    """Names of the collectives that were measured."""
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
) -> CollectiveView:
    """Predict a collective on machines of each kind.

    Args:
        operation: of ``operations()``.
        nbytes: the whole message of one rank.
        ranks: machines that take part, two at least.
        machines: kinds of them.
        nodes: over how many nodes the ranks spread.
        dtype: element type; bf16 by default.
        is_graph: whether a recorded graph launches it; else the host does.

    Raises:
        ParseError: no such collective, or a size that is none.
        TargetError: a machine that has no links to others of its kind.
    """
    import numpy as np

    from perfc.analyzers.estimators.predictor import predict
    from perfc.analyzers.features.lowering import exchange
    from perfc.analyzers.features.rows import Protocol

    if operation not in operations():
        hint = f"there are {', '.join(operations())}"
        raise ParseError(f"no collective {operation[:32]!r}", where="--operation", hint=hint)
    check_sizes(nbytes, ranks, nodes)
    parameters = exchange(Collective(Exchange(operation), nbytes, ranks, nodes), {}) or {}
    columns = {name: np.array([value]) for name, value in parameters.items()}
    rows: list[CollectiveRow] = []
    for machine in machines:
        if machine.kind == "cpu":
            hint = "collectives that were measured are of GPUs"
            raise TargetError("a processor, not a GPU", where=machine.name, hint=hint)
        protocol = Protocol.GRAPH if is_graph else Protocol.EAGER
        found = predict("collective", columns, dtype or USUAL_DTYPE, machine, protocol)
        time_s = float(found.time_s[0])
        rows.append(
            CollectiveRow(
                machine.name, time_s, float(found.low_s[0]), float(found.high_s[0]),
                float(found.floor_s[0]), nbytes / time_s, bool(found.extrapolating[0]),
            )
        )  # fmt: skip
    return CollectiveView(operation, nbytes, ranks, nodes, dtype or USUAL_DTYPE, tuple(rows))


def asked(target: str | None, how: Deployment, extents: Mapping[str, object]) -> CollectiveView:
    """A collective as ``perfc.op`` is asked for it.

    Args:
        target: names of machines, parted by commas; that of ``how`` if None.
        how: its element type, and whether its runtime launches graphs.
        extents: ``operation``, ``bytes`` and ``ranks``, and ``nodes`` where they are several.

    Raises:
        PerfcError: an extent that is missing, unknown or none; else as ``collective``.
    """
    from perfc.passes.runtimes import Launch

    if how.dims:
        raise ParseError("a collective has no batch, seq, dims")
    stated = {"operation": "all-reduce", "nodes": 1, **extents}
    for name in stated:
        if name not in EXTENTS:
            hint = f"it has {', '.join(EXTENTS)}"
            raise ParseError(f"collective has no extent {name[:32]!r}", hint=hint)
    for name in EXTENTS:
        if name not in stated:
            raise ParseError(f"collective needs {name}", where=f"--{name}")
    operation, *sizes = (stated[name] for name in EXTENTS)
    if not isinstance(operation, str):
        raise ParseError(f"{operation!r} is no name", where="--operation")
    numbers: list[int] = []
    for name, size in zip(EXTENTS[1:], sizes, strict=True):
        if isinstance(size, bool) or not isinstance(size, int):
            raise ParseError(f"{size!r} is no whole number", where=f"--{name}")
        numbers.append(size)
    nbytes, ranks, nodes = numbers
    machines = [load_machine(name) for name in (target or how.target).split(",")]
    is_graph = how.table.launch is Launch.GRAPH
    return collective(
        operation, nbytes, ranks, machines, nodes=nodes, dtype=how.dtype, is_graph=is_graph
    )


def check_sizes(nbytes: int, ranks: int, nodes: int) -> None:
    """Refuse sizes that are none.

    Raises:
        ParseError: a size that is none, or ranks that do not spread evenly.
    """
    for name, size, least in (("bytes", nbytes, 1), ("ranks", ranks, 2), ("nodes", nodes, 1)):
        if not least <= size <= (MOST_RANKS if name != "bytes" else 1 << 50):
            raise ParseError(f"{name} = {size} is none", where=f"--{name}", hint=f"{least} or more")
    if nodes > ranks or ranks % nodes:
        raise ParseError(f"{ranks} ranks do not spread over {nodes} nodes", where="--nodes")
