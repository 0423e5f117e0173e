"""Kernels of a runtime as a device executes them, with the launches that libraries insert."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from perfc.ir import DType, Env, Kind, Module, Numbers, Op, Value, cached_entity
from perfc.ir.ops.convolution.conv_grad import ConvDataGrad, ConvFilterGrad, ConvGrad
from perfc.ir.ops.movement.pad import Pad
from perfc.ir.problem import Product, Rows, SlidingWindow, Span
from perfc.machine import Machine, Unit

from ..fusion.fuse import KernelTable
from ..fusion.kernel import Alternative, Kernel
from ..inference.placement import viewed
from ..inference.strides import StrideTable, is_channels_last, strides_of
from ..runtimes import (
    Arithmetic,
    Framework,
    KernelTraits,
    LaunchRule,
    Layout,
    RuleOperation,
    Runtime,
    Tf32,
)
from .helper_launches import Helpers
from .lists import over_lists

if TYPE_CHECKING:
    from .autocast_launches import Casts, OperandCast

HALVES = frozenset({DType.F16, DType.BF16})
"""Types of 16 bits, for which rules are the same."""
TILE = 128 * 256
"""Elements of the result that one block of a large product computes."""
# operators of gradients by the class of their rules
GRADIENTS: Mapping[type[Op], RuleOperation] = {
    ConvDataGrad: RuleOperation.DATA_GRADIENT,
    ConvFilterGrad: RuleOperation.FILTER_GRADIENT,
}
FEATURE_MAPS: Mapping[type[Op], int] = {ConvDataGrad: 3, ConvFilterGrad: 1}
"""Positions of the forward pass's feature map in gradients; other convolutions have it first."""
NEEDS_ORDER = frozenset({Kind.NORMALIZATION, Kind.SOFTMAX})
"""Kinds of kernels that read row by row in the order of the axes."""
NEEDS_DENSE = frozenset({Kind.CONV, Kind.POOL})
"""Kinds that read dense feature maps in either order."""


def launched(
    table: KernelTable,
    machine: Machine,
    env: Env,
    module: Module | None = None,
    *,
    layout: Layout = Layout.CHANNELS_FIRST,
    tf32: Tf32 | None = None,
    casts: Casts = (),
    version: tuple[int, int] | None = None,
) -> KernelTable:
    """Return what a machine executes for the kernels of a runtime, in order.

    Args:
        table: kernels of the runtime.
        machine: machine whose libraries run the kernels.
        env: values of the symbols: rules depend on sizes.
        module: module of the kernels, for views that are copied; None leaves copies out.
        layout: order of feature maps that the model is run with.
        tf32: which f32 products may use TF32; None for the runtime's default.
        casts: casts of operands before each kernel, under autocast.
        version: version of the framework; None for the newest.
    """
    runtime = table.runtime
    # of libraries on processors only the copies around TorchInductor's convolutions have rules
    is_ruled = machine.kind != "cpu" or runtime.puts_last is not None
    has_rules = is_ruled and runtime.launches is not None
    if not (has_rules or runtime.lists or runtime.blocks_channels):
        return table
    tf32 = runtime.tf32_on(machine.vendor) if tf32 is None else tf32
    units = frozenset(name for unit, name in machine.compute if unit is Unit.MATRIX)
    options = layout, tf32, module is not None, bool(casts), version
    is_exported = runtime.framework is Framework.TORCH
    at = table.numbers(env)
    helpers = table.once(
        "helpers",
        {},
        lambda: Helpers(1 + max([k.identity for k in every(table)], default=-1), is_exported),
    )
    has_casts = len(casts) == len(table.kernels)  # they belong to kernels by position
    casts_by_kernel = dict(zip(table.kernels, casts, strict=True)) if has_casts else {}
    launching = Launching(table, machine, units, tf32, at, helpers, module, layout, casts_by_kernel)
    # only launches of products depend on the size of a machine, so that the key has their rules
    products = launching.products() if has_rules else ()
    key = machine.vendor, machine.arch, units, *options, *map(launching.rule, products)

    def new_table() -> KernelTable:
        of_lists = over_lists(table, machine, at, version)
        if runtime.blocks_channels:
            from .blocks import with_reorders

            return with_reorders(of_lists, helpers)
        return launching.table_of(of_lists) if has_rules else of_lists

    def shared() -> KernelTable:
        # sizes with the same launches have one table, and what is computed of it later
        result = new_table()
        return table.once(("shared", result.kernels), {}, lambda: result)

    return table.once(("launched", *key), env, shared)


def every(table: KernelTable) -> list[Kernel]:
    """Return the kernels of a table and of its alternatives."""
    kernels, others = [*table.kernels], [*table.alternatives]
    while others:
        kernels += others[-1].kernels
        others += others.pop().alternatives
    return kernels


@cached_entity
class Launching:
    """Inserts the helper launches of one table.

    Args:
        table: the kernels.
        machine: the machine.
        units: element types of its matrix units.
        tf32: which f32 products may use TF32.
        at: evaluates extents.
        helpers: makes the launches.
        module: module of the kernels, for views that are copied; None leaves copies out.
        layout: order of feature maps that the model is run with.
        casts: casts of operands, by kernel.
        rules: rule of each kernel, by identity and `is_reordered`.
    """

    table: KernelTable
    machine: Machine
    units: frozenset[str]
    tf32: Tf32
    at: Numbers
    helpers: Helpers
    module: Module | None
    layout: Layout
    casts: Mapping[Kernel, tuple[OperandCast, ...]]
    rules: dict[tuple[int, bool], LaunchRule | None] = field(default_factory=dict)

    @cached_property
    def strides(self) -> StrideTable | None:
        """Return the strides of values; None without views."""
        module, table = self.module, self.table
        if module is None or not table.runtime.is_strided:
            return None
        last = self.layout is Layout.CHANNELS_LAST
        return table.once(("strides", last), {}, lambda: strides_of(module, table, last=last))

    @cached_property
    def is_last(self) -> bool:
        """Return True if the runtime itself puts channels last."""
        puts_last = self.table.runtime.puts_last
        return puts_last is not None and (
            self.layout is Layout.CHANNELS_LAST
            or self.machine.kind == "cpu"
            # the runtime's function describes what it does on NVIDIA's GPUs
            or (self.machine.vendor != "AMD" and puts_last(self.table.kernels, self.at))
        )

    def products(self) -> tuple[Kernel, ...]:
        """Return the products of the table and of its alternatives that rules distinguish."""
        products = [k for k in every(self.table) if isinstance(k.problem, Product)]
        return tuple({(k.identity, self.is_reordered(k)): k for k in products}.values())

    def table_of(self, table: KernelTable) -> KernelTable:
        """Return the table with the launches around its kernels."""
        kernels: list[Kernel] = []
        begins: list[int] = []
        for kernel in table.kernels:
            begins.append(len(kernels))
            kernels += self.around(kernel)
        begins.append(len(kernels))
        others = tuple(
            [
                Alternative(begins[a.first], begins[a.last], *self.inside(a))
                for a in table.alternatives
            ]
        )
        return replace(table, kernels=tuple(kernels), alternatives=others, memo={})

    def inside(self, other: Alternative) -> tuple[tuple[Kernel, ...], tuple[Alternative, ...]]:
        """Return the launches of the other side of a branch."""
        inner = replace(self.table, kernels=other.kernels, alternatives=other.alternatives, memo={})
        launches = self.table_of(inner)
        return launches.kernels, launches.alternatives

    def around(self, kernel: Kernel) -> Sequence[Kernel]:
        """Return a kernel and the launches around it, in order."""
        casts = self.casts.get(kernel, ())
        launches = self.helpers.around(kernel, self.unordered(kernel), self.rule(kernel), casts)
        if self.strides is None or not self.strides.copies:
            return launches
        for node in kernel.nodes:
            v = self.strides.copies.get(node)
            if v is not None and node.inputs[0] is not None:
                launches = (*launches, *self.helpers.copied(kernel, v, node.inputs[0]))
        return launches

    def unordered(self, kernel: Kernel) -> tuple[Value, ...]:
        """Return the operands that must be copied, as the kernel cannot read their strides."""
        kind = kernel.kind
        if self.strides is None:
            return ()
        if isinstance(kernel.problem, Product) and kind is Kind.MATMUL:
            operands = [v for v in kernel.anchor.inputs[:2] if v is not None]
            # a matrix that all products share makes them one with more rows
            inner = 1 if any(len(v.shape or ()) == 2 for v in operands) else 2
            return tuple([v for v in operands if not self.folds(v, inner)])
        if kind not in NEEDS_ORDER and kind not in NEEDS_DENSE:
            return ()
        is_view = self.table.runtime.is_view
        first = next((n for n in kernel.nodes if not is_view(n)), kernel.anchor)
        v = first.inputs[0] if first.inputs else None
        if v is None or v not in self.strides.strides:
            return ()
        either = kind in NEEDS_DENSE or operation_of(kernel) is RuleOperation.BATCH_NORM
        return () if self.lies_dense(v, either=either) else (v,)

    def folds(self, v: Value, inner: int) -> bool:
        """Return True if a view can merge all axes of an operand but the ``inner`` last ones."""
        assert self.strides is not None
        strides, extents = self.strides.strides.get(v), v.shape or ()
        if strides is None or len(extents) < 3:
            return True
        axes = [axis for axis in range(len(extents)) if self.at(extents[axis]) != 1]
        lead = [axis for axis in axes if axis < len(extents) - inner]
        shape = self.strides.shapes[v]
        old, steps = (tuple([sizes[axis] for axis in lead]) for sizes in (shape, strides))
        return not lead or viewed(old, steps, (math.prod(old),)) is not None

    def is_strided(self, kernel: Kernel) -> bool:
        """Return True if the left operand of a product is no dense tensor of rank 3 or more."""
        v = kernel.anchor.inputs[0]
        if self.strides is None or v is None or v not in self.strides.strides:
            return False
        return len(v.shape or ()) > 2 and not self.lies_dense(v, either=False)

    def lies_dense(self, v: Value, *, either: bool) -> bool:
        """Return True if a value is dense in the order of its axes.

        With ``either``, dense with channels last is enough.
        """
        assert self.strides is not None
        if either and is_channels_last(self.strides, v):
            return True
        step = 1
        shape, strides, extents = self.strides.shapes[v], self.strides.of(v), v.shape or ()
        # the step of an axis must be the product of the extents of those behind it
        for axis in reversed(range(len(shape))):
            if self.at(extents[axis]) == 1:
                continue
            if strides[axis] != step:
                return False
            step *= shape[axis]
        return True

    def rule(self, kernel: Kernel) -> LaunchRule | None:
        """Return the first rule of the runtime that matches a kernel."""
        operation = operation_of(kernel)
        if operation is None:
            return None
        is_reordered = self.is_reordered(kernel)
        key = kernel.identity, is_reordered
        if key not in self.rules:
            traits = self.traits(kernel, is_reordered=is_reordered)
            # TorchInductor copies on processors as on NVIDIA's GPUs
            maker = "NVIDIA" if self.machine.kind == "cpu" else self.machine.vendor
            rules = rules_of(self.table.runtime, operation, maker, self.arithmetic(kernel))
            self.rules[key] = next((r for r in rules if r.matches(traits)), None)
        return self.rules[key]

    def is_reordered(self, kernel: Kernel) -> bool:
        """Return True for channels last, or for a product whose left operand is not dense.

        All other traits that rules compare are equal for kernels of one identity.
        """
        match kernel.problem:
            case SlidingWindow():
                # cuDNN brings the gradient of the result into the order of the feature map
                v = kernel.anchor.inputs[FEATURE_MAPS.get(type(kernel.anchor.op), 0)]
                if v is None or self.strides is None:
                    return self.is_last
                return self.is_last or is_channels_last(self.strides, v)
            case Product():
                return self.is_strided(kernel)
        return False

    def arithmetic(self, kernel: Kernel) -> Arithmetic:
        """Return the type in which a machine multiplies for a kernel."""
        dtype = kernel.mac_dtype
        if kernel.kind is Kind.NORMALIZATION:
            # the type of the parameters decides on the library
            is_half = any(v.dtype in HALVES for v in kernel.anchor.inputs[1:2] if v is not None)
            return Arithmetic.HALF if is_half else Arithmetic.F32
        if dtype in HALVES:
            return Arithmetic.HALF if dtype.code in self.units else Arithmetic.F32
        if dtype is not DType.F32:
            return Arithmetic.OTHER
        rounded = self.tf32.of(kernel.kind) and "tf32" in self.units
        return Arithmetic.TF32 if rounded else Arithmetic.F32

    def traits(self, kernel: Kernel, *, is_reordered: bool) -> KernelTraits:
        """Return the numbers of a kernel that rules compare."""
        at, capability = self.at, self.machine.capability
        match kernel.problem:
            case SlidingWindow() as w:
                # more than the convolution and the nodes folded into its weights
                merged = len(kernel.nodes) > 1 + len(kernel.folded)
                return self.of_window(w, capability, is_last=is_reordered, merged=merged)
            case Product() as p:
                elements = at(p.products) * at(p.rows) * at(p.n)
                tiles = elements / TILE / self.machine.sm_count
                return KernelTraits(
                    elements=elements,
                    tiles=tiles,
                    capability=capability,
                    strided=is_reordered,
                )
            case _:
                return KernelTraits(capability=capability)

    def of_window(
        self, w: SlidingWindow, capability: float, *, is_last: bool, merged: bool
    ) -> KernelTraits:
        """Return the numbers of a convolution."""
        at = self.at
        pixels = math.prod(at(d) for d in w.out_extents)
        return KernelTraits(
            window=max((at(d) for d in w.extents), default=1),
            stride=w.stride,
            depth=at(w.depth),
            channels=min(at(w.in_channels), at(w.out_channels)),
            filters=at(w.filters),
            alignment=math.gcd(int(pixels), 8),
            pixels=pixels,
            batch=at(w.batch),
            elements=at(w.batch) * at(w.out_channels) * pixels,
            capability=capability,
            channels_last=is_last,
            # a model with channels first also stores its weights with channels first
            copied_weights=is_last and self.layout is Layout.CHANNELS_FIRST,
            merged=merged,
        )


@cache
def rules_of(
    runtime: Runtime, operation: RuleOperation, maker: str, arithmetic: Arithmetic
) -> tuple[LaunchRule, ...]:
    """Return the rules of a runtime for one class of kernels and a type on GPUs of a maker."""
    rules = () if runtime.launches is None else runtime.launches()
    matching = [r for r in rules if r.operation is operation and r.maker == maker]
    return tuple([r for r in matching if not r.types or arithmetic in r.types])


def operation_of(kernel: Kernel) -> RuleOperation | None:
    """Return the class that rules put a kernel in; None if no rule is of such a kernel."""
    match kernel.problem:
        case SlidingWindow() as w if isinstance(kernel.anchor.op, ConvGrad):
            return GRADIENTS.get(type(kernel.anchor.op)) if w.groups == 1 else None
        case SlidingWindow() if kernel.kind is Kind.POOL:
            return RuleOperation.POOL
        case SlidingWindow() as w if kernel.kind is Kind.CONV:
            if w.is_depthwise:
                return RuleOperation.DEPTHWISE
            return RuleOperation.GROUPED if w.groups > 1 else RuleOperation.CONVOLUTION
        case Rows(span=Span.CHANNEL):
            return RuleOperation.BATCH_NORM
        case Product() if kernel.kind is Kind.MATMUL:
            return RuleOperation.PRODUCT
        case _ if kernel.kind is Kind.ATTENTION:
            return RuleOperation.ATTENTION
        case _ if isinstance(kernel.anchor.op, Pad):
            return RuleOperation.PAD
        case _:
            return None
