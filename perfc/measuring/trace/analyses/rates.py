"""Rates that operators of a trace achieved: by name, and of matrix products by extents.

`operators_of` and `products_of` make records of `TracedRun`, `rate_sections` their tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from perfc.ir import record
from perfc.view.report.formats.document import Column, Section, tabulate
from perfc.view.report.units import Unit

from ..floors import OperatorFloor
from ..summary import KernelTime

TF32 = "tf32"
"""Type of products of f32 operands that are rounded to TF32."""


@record
class ProductShape:
    """Extents of ``batch`` products ``[m, k] · [k, n]``, and the type that is multiplied."""

    dtype: str
    batch: int
    m: int
    n: int
    k: int

    @classmethod
    def of(cls, floor: OperatorFloor | None) -> ProductShape | None:
        """Return the extents of an operator; None if it is no matrix product."""
        if floor is None or floor.lowered is None or floor.lowered.class_name != "matmul":
            return None
        batch, m, n, k = (int(floor.lowered.parameters[name]) for name in ("batch", "m", "n", "k"))
        return cls(TF32 if floor.tf32 else floor.lowered.dtype, batch, m, n, k)


@record
class ProductView:
    """Products of one shape, of all operators together.

    Args:
        shape: extents and element type.
        count: executions.
        time_s: time of all their kernels.
        share: of the time of all kernels.
        flop_per_s: achieved rate.
        floor_s: lower bound of all executions.
        floor_share: lower bound over time.
    """

    shape: ProductShape
    count: int
    time_s: float
    share: float
    flop_per_s: float
    floor_s: float
    floor_share: float


@record
class OperatorView:
    """All executions of the operators of one name.

    Args:
        operator: name.
        executions: count.
        time_s: time of all their kernels.
        share: of the time of all kernels.
        bounded_s: time of the executions with a lower bound; the three rates below are of these.
        floor_share: lower bound over time; null without one.
        flop_per_s: achieved rate; null if operations are unknown.
        bytes_per_s: compulsory bytes over time; null without a lower bound.
    """

    operator: str
    executions: int
    time_s: float
    share: float
    bounded_s: float
    floor_share: float | None
    flop_per_s: float | None
    bytes_per_s: float | None


def operators_of(kernels: Sequence[KernelTime], total_ns: int) -> tuple[OperatorView, ...]:
    """Return the operators by name, those with the longest time first."""
    by_name: dict[str, list[KernelTime]] = {}
    for k in kernels:
        if k.call is not None:
            by_name.setdefault(k.operator, []).append(k)
    views: list[OperatorView] = []
    for name, group in by_name.items():
        # kernels of one call have the same executions, which count once
        executions = {k.call: k.executions for k in group}
        bounded = [(k, k.floor) for k in group if k.floor is not None]
        time_s = sum(k.time_ns for k in group) * 1e-9
        bounded_s = sum(k.operator_ns for k, _ in bounded) * 1e-9
        rates: list[float | None] = [None, None, None]
        if bounded_s:
            # operations of a part of the kernels over the time of all would be too low a rate
            flop = [None if f.flop is None else f.flop * k.executions for k, f in bounded]
            counted = [x for x in flop if x is not None]
            rates = [
                sum(f.floor_s * k.executions for k, f in bounded) / bounded_s,
                sum(counted) / bounded_s if len(counted) == len(flop) else None,
                sum(f.nbytes * k.executions for k, f in bounded) / bounded_s,
            ]
        count, share = sum(executions.values()), time_s * 1e9 / total_ns
        views.append(OperatorView(name, count, time_s, share, bounded_s, *rates))
    return tuple(sorted(views, key=lambda o: -o.time_s))


def products_of(kernels: Sequence[KernelTime], total_ns: int) -> tuple[ProductView, ...]:
    """Return the products by shape, those with the longest time first."""
    by_shape: dict[ProductShape, list[KernelTime]] = {}
    for k in kernels:
        shape = ProductShape.of(k.floor)
        if shape is not None:
            by_shape.setdefault(shape, []).append(k)
    views: list[ProductView] = []
    for shape, group in by_shape.items():
        # the longest kernel of an operator has the lower bound of the whole operator, so the times
        # are those of all its kernels
        count, time_ns = sum(k.executions for k in group), sum(k.operator_ns for k in group)
        floor_s = sum(k.floor.floor_s * k.executions for k in group if k.floor)
        # a product takes m n k multiply-adds of two operations
        flop = 2.0 * shape.batch * shape.m * shape.n * shape.k * count
        time_s = time_ns * 1e-9
        views.append(
            ProductView(
                shape, count, time_s, time_ns / total_ns, flop / time_s, floor_s, floor_s / time_s
            )
        )
    return tuple(sorted(views, key=lambda p: -p.time_s))


def rate_sections(
    operators: Sequence[OperatorView], products: Sequence[ProductView]
) -> Iterator[Section]:
    """Yield the tables of operators and of products, if any has a lower bound."""
    time = (Column("time_s", "time", Unit.SECOND), Column("share", "of time", Unit.SHARE))
    rates = (
        Column("flop_per_s", "achieved", Unit.FLOP_PER_S),
        Column("floor_share", "floor %", Unit.SHARE, "floor over time"),
    )
    if any(o.bounded_s for o in operators):
        count = Column("executions", "executions", Unit.COUNT)
        bandwidth = Column("bytes_per_s", "bandwidth", Unit.BYTE_PER_S, is_spare=True)
        operator = Column(
            "operator",
            is_name=True,
            cell=lambda o: o.operator.removeprefix("aten::"),
        )
        table = tabulate((operator, count, *time, bandwidth, *rates), operators)
        yield Section("operators", "operators", (table,))
    if products:
        shape = (
            Column(n, n, Unit.COUNT, cell=attrgetter(f"shape.{n}"))
            for n in ("batch", "m", "n", "k")
        )
        dtype = Column("dtype", is_name=True, cell=lambda p: p.shape.dtype)
        count = Column("count", "count", Unit.COUNT)
        table = tabulate((dtype, *shape, count, *time, *rates), products)
        yield Section("products", "matrix products by shape", (table,))
