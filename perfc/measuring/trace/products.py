"""Matrix products of a trace by their extents."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir.record import record
from perfc.view.report.formats.document import Column, Table
from perfc.view.report.units import Unit

from .floors import OperatorFloor
from .summary import KernelTime

TF32 = "tf32"


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


def products_of(kernels: Sequence[KernelTime], total_ns: int) -> tuple[ProductView, ...]:
    """Return the products by shape, those with the longest time first."""
    by_shape: dict[ProductShape, list[KernelTime]] = {}
    for k in kernels:
        shape = ProductShape.of(k.floor)
        if shape is not None:
            by_shape.setdefault(shape, []).append(k)
    made: list[ProductView] = []
    for shape, group in by_shape.items():
        count, time_ns = sum(k.executions for k in group), sum(k.operator_ns for k in group)
        floor_s = sum(k.floor.floor_s * k.executions for k in group if k.floor)
        flop = 2.0 * shape.batch * shape.m * shape.n * shape.k * count
        time_s = time_ns * 1e-9
        made.append(
            ProductView(
                shape, count, time_s, time_ns / total_ns, flop / time_s, floor_s, floor_s / time_s
            )
        )
    return tuple(sorted(made, key=lambda p: -p.time_s))


def product_table(products: Sequence[ProductView]) -> Table:
    """Return one row per shape."""
    columns = (
        Column("dtype", "dtype", is_name=True),
        *(Column(name, name, Unit.COUNT) for name in ("batch", "m", "n", "k", "count")),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "of time", Unit.SHARE),
        Column("flop_per_s", "achieved", Unit.FLOP_PER_S),
        Column("floor_share", "floor %", Unit.SHARE, "floor over time"),
    )
    rows = (
        (p.shape.dtype, p.shape.batch, p.shape.m, p.shape.n, p.shape.k, p.count, p.time_s, p.share,
         p.flop_per_s, p.floor_share)
        for p in products
    )  # fmt: skip
    return Table(columns, tuple(rows))
