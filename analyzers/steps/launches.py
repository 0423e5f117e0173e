"""List the launches of one run of a model: kernels, and the casts and copies between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from perfc.ir import Dim, Env, Kind, Module, Numbers, TensorType, Type, Value, element_count
from perfc.ir.graphs.duplicates import DuplicateKeys
from perfc.ir.problem import Span
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.strides import Strides, StrideTable
from perfc.passes.manager import Analyses
from perfc.passes.precision.autocast import NARROW_KINDS, Autocast, Policy, StoredTypes

from .geometry import geometry, kind_of, shape, span_of
from .launch import Amount, Launch
from .launch_kind import LaunchKind
from .setting import Setting

PRODUCTS = frozenset({Kind.CONV, Kind.MATMUL, Kind.ATTENTION})
"""Kinds of kernels that come from libraries, even in compiled runs."""
CASTS = frozenset({Policy.NARROW, Policy.WIDE})
"""Policies of autocast that cast operands."""
NARROW_BITS, WIDE_BITS = 16, 32
"""Bits of the types between which autocast casts: f16 or bf16, and f32."""


def launches(
    module: Module, am: Analyses, setting: Setting, envs: Sequence[Env]
) -> tuple[KernelTable, list[Launch]]:
    """Return the launches of one run of a typed, canonical f32 module, in order.

    Args:
        module: module whose floating-point tensors are f32.
        am: results of passes: fusion, autocast and strides.
        setting: precision, layout and framework of the run.
        envs: values of the symbols; amounts have an element for each.
    """
    table = am.get(Fuse(setting.runtime), module)
    mixed = setting.precision.is_mixed
    stored = am.get(Autocast(setting.precision.dtype), module) if mixed else None
    strides = am.get(Strides(setting.runtime), module)
    evaluators = [Numbers(env) for env in envs]
    bits = setting.precision.bits
    walk = LaunchWalk(table, stored, strides, setting.compiled, evaluators, bits)
    return table, list(walk.all())


class LaunchWalk:
    """Walk over a kernel table that yields launches; equal ones are counted once."""

    def __init__(
        self,
        table: KernelTable,
        stored: StoredTypes | None,
        strides: StrideTable,
        compiled: bool,
        at: Sequence[Numbers],
        plain_bits: int = NARROW_BITS,
    ) -> None:
        """Prepare the caches of the walk, and the readers of values for compiled runs.

        Args:
            table: kernels of the run.
            stored: types under autocast; None if all tensors have one type.
            strides: strides of values.
            compiled: True if generated kernels include casts and copies, except before products.
            at: evaluator of extents at each environment.
            plain_bits: bits of a floating-point element without autocast.
        """
        self.table, self.stored, self.strides = table, stored, strides
        self.compiled, self.at, self.plain_bits = compiled, at, plain_bits
        self.readers: dict[Value, list[Kernel]] = {}
        for k in table.kernels if compiled else ():
            for v in k.reads:
                self.readers.setdefault(v, []).append(k)
        self.amounts: dict[Dim, Amount] = {}
        self.widths: dict[Value, int] = {}  # bits of a stored element
        self.lies: dict[Value, int] = {}  # number of each value in `ways`
        # numbers of the ways in which values are stored: type, bits of an element, no weight
        self.ways: dict[tuple[Type, int, bool], int] = {}
        self.moves: dict[tuple[Hashable, ...], Launch] = {}  # casts and copies
        self.known: dict[tuple[Hashable, ...], Launch] = {}  # kernels, by `signature`
        self.duplicates = DuplicateKeys()
        # f32 bytes and number of the weights that were cast so far
        self.weight_bytes = 0.0
        self.weights = 0

    def all(self) -> Iterator[Launch]:
        """Yield every launch in order; the casts of all weights are one launch at the end."""
        for index, kernel in enumerate(self.table.kernels):
            yield from self.casts(kernel)
            yield self.launch(index, kernel)
            if self.strides.copies:
                yield from self.copied(kernel)
        yield from self.weight_casts()

    def weight_casts(self) -> Iterator[Launch]:
        """Yield the casts of weights before the kernels so far as one launch."""
        if self.weights:
            read, traits = self.weight_bytes, {"operands": float(self.weights)}
            # from f32 to a type of 16 bits: half of the bytes are written
            amounts = {"read_bytes": self.same(read), "write_bytes": self.same(read / 2)}
            yield Launch(LaunchKind.WEIGHT_CAST, -1, amounts, traits, 1.0)

    def number(self, d: Dim) -> float:
        """Return the value of a formula at the first environment."""
        return self.amount(d)[0]

    def amount(self, d: Dim) -> Amount:
        """Return the values of a formula at every environment; cached, as layers repeat them."""
        amount = self.amounts.get(d)
        if amount is None:
            amount = self.amounts[d] = tuple([float(evaluate(d)) for evaluate in self.at])
        return amount

    def same(self, number: float) -> Amount:
        """Return a constant number as an amount."""
        return (number,) * len(self.at)

    def policy(self, kernel: Kernel) -> Policy:
        """Return the policy of autocast for a kernel; without autocast one that casts nothing."""
        if self.stored is None:
            return Policy.WIDEST
        if kernel.kind in NARROW_KINDS:
            return Policy.NARROW
        return self.stored.policies.get(kernel.anchor, Policy.WIDEST)

    def bits(self, v: Value) -> int:
        """Return the bits of a stored element."""
        bits = self.widths.get(v)
        if bits is None:
            bits = self.widths[v] = self._bits(v)
        return bits

    def way(self, v: Value) -> int:
        """Return a number for a value's type, bits of an element, and whether it is a weight."""
        way = self.lies.get(v)
        if way is None:
            key = v.type, self.bits(v), v.weight is None
            way = self.lies[v] = self.ways.setdefault(key, len(self.ways))
        return way

    def _bits(self, v: Value) -> int:
        """Return the bits of a stored element; 0 for values that are no tensors."""
        if not isinstance(v.type, TensorType):
            return 0
        if not v.type.dtype.is_float:
            return v.type.dtype.bits
        return self.plain_bits if self.stored is None else self.stored.of(v).bits

    def read_bits(self, v: Value, policy: Policy) -> int:
        """Return the bits of an element as a kernel reads it, after casts."""
        bits = self.bits(v)
        if self.stored is None or not v.is_real:
            return bits
        # autocast narrows activations and weights, but no stored scalars
        if policy is Policy.NARROW and (v.weight is None or shape(v)):
            return min(bits, NARROW_BITS)
        # weights are stored wide already, and generated kernels widen as they read
        if policy is Policy.WIDE and v.weight is None and not self.compiled:
            return max(bits, WIDE_BITS)
        return bits

    def write_bits(self, v: Value, policy: Policy) -> int:
        """Return the bits of an element that a kernel writes.

        Generated kernels write the type that readers need, or both types if readers differ.
        """
        bits = self.bits(v)
        # only a wide result of a generated kernel may be written in another type
        if not self.compiled or self.stored is None or bits != WIDE_BITS or not v.is_real:
            return bits
        if policy is Policy.NARROW:
            return bits
        wants = [self.policy(k) is Policy.NARROW for k in self.readers.get(v, ())]
        if wants and all(wants):
            return NARROW_BITS
        # both types are written
        return WIDE_BITS + NARROW_BITS if any(wants) else bits

    def casts(self, kernel: Kernel) -> Iterator[Launch]:
        """Yield the casts that autocast launches before a kernel; those of weights are summed."""
        if self.stored is None:
            return
        policy = self.policy(kernel)
        if policy not in CASTS:
            return
        for v, part in zip(kernel.reads, kernel.read_parts, strict=True):  # part: bytes read of v
            if not v.is_real:
                continue
            before, after = self.bits(v), self.read_bits(v, policy)
            if v.weight is not None:
                if before != after:
                    self.weight_bytes += self.number(part)
                    self.weights += 1
            elif before != after and not self.compiled:
                yield self.moved(LaunchKind.CAST, v, before, after, 0.0)

    def copied(self, kernel: Kernel) -> Iterator[Launch]:
        """Yield the copies of views among a kernel's nodes that strides cannot express."""
        for node in kernel.nodes:
            v = self.strides.copies.get(node)
            if v is None or not v.is_real:
                continue
            # generated kernels read the view with its strides
            if self.compiled and kernel.kind not in PRODUCTS:
                continue
            yield self.moved(LaunchKind.COPY, v, self.bits(v), self.bits(v), 1.0)

    def moved(self, kind: LaunchKind, v: Value, old: int, new: int, permuted: float) -> Launch:
        """Return a launch that reads a tensor and writes it elsewhere; equal ones are one object.

        ``old`` and ``new`` are bits of an element, ``permuted`` is the share that is reordered.
        """
        key = kind, v.type, old, new, permuted
        launch = self.moves.get(key)
        if launch is None:
            launch = self.moves[key] = self._moved(kind, v, old, new, permuted)
        return launch

    def _moved(self, kind: LaunchKind, v: Value, old: int, new: int, permuted: float) -> Launch:
        """Return the launch of `moved`, computed instead of from the cache."""
        count = self.amount(element_count(shape(v)))
        amounts = {
            "read_bytes": tuple([n * old / 8 for n in count]),
            "write_bytes": tuple([n * new / 8 for n in count]),
        }
        extents = shape(v)
        traits = {
            "inner": self.number(extents[-1]) if extents else 1.0,
            "permuted": permuted,
            "read_bits": float(old),
            "write_bits": float(new),
        }
        return Launch(kind, -1, amounts, traits, 1.0)

    def launch(self, index: int, kernel: Kernel) -> Launch:
        """Return the launch of a kernel; equal kernels, as of repeated layers, are counted once."""
        key = self.signature(kernel)
        launch = self.known.get(key)
        if launch is None:
            launch = self.known[key] = self.counted(kernel)
        return Launch(launch.kind, index, launch.amounts, launch.traits, launch.times)

    def signature(self, kernel: Kernel) -> tuple[Hashable, ...]:
        """Return a key of all inputs of `counted`; for attention the problem replaces inner nodes.

        Equal kernels share one ``work`` object in the table, so that its identity is compared.
        """
        anchor, policy, kind, way = kernel.anchor, self.policy(kernel), kernel.kind, self.way
        return (
            kernel.problem if kind is Kind.ATTENTION else None,
            self.duplicates.operator(anchor.op),
            kind,
            kernel.pattern,
            policy,
            kernel.repeat,
            len(kernel.nodes),
            id(kernel.work),
            kernel.traffic,
            self.strides.permuted_share(kernel),
            len(anchor.inputs),
            len(kernel.reads),
            kernel.read_parts,
            *[v and v.type for v in anchor.inputs],
            *[v.type for v in anchor.results],
            *map(way, kernel.reads),
            *map(way, kernel.writes),
            *[self.write_bits(v, policy) for v in kernel.writes if self.compiled],
        )

    def compared(self, kernel: Kernel) -> Launch:
        """Return the launch of a kernel by its extents only: without index, traffic and types."""
        extents, work = geometry(kernel), kernel.work
        amounts = {
            "mac": self.amount(work.mac),
            "m": self.amount(extents.m),
            "groups": self.amount(extents.groups),
        }
        largest = self.largest(kernel)
        # axis 1 in the order of ONNX: batch, channels, ...
        channels = self.number(largest[1]) if len(largest) > 1 else 1.0
        traits = {
            "n": self.number(extents.n),
            "k": self.depth(kernel, amounts, extents.n, extents.k),
            "window": self.number(extents.window),
            "stride": float(extents.stride),
            "channels": channels,
            "reduced": self.reduced(kernel, largest),
        }
        times = self.number(kernel.repeat)
        return Launch(kind_of(kernel, extents, channels), -1, amounts, traits, times)

    def counted(self, kernel: Kernel) -> Launch:
        """Return the launch of a kernel with all counts, without its index in the table."""
        policy = self.policy(kernel)
        parts = list(zip(kernel.reads, kernel.read_parts, strict=True))
        reads = self.stored_bytes([(v, part, self.read_bits(v, policy)) for v, part in parts])
        writes = self.written(kernel, policy)
        work, gain = kernel.work, kernel.winograd_gain
        amounts = {
            "floor_mac": tuple([n / gain for n in self.amount(work.floor_mac)]),
            "alu": self.amount(work.alu),
            "sfu": self.amount(work.sfu),
            "read_bytes": reads,
            "write_bytes": writes,
        }
        if kernel.kind in PRODUCTS:
            amounts["least_read_bytes"] = self.least(parts)
            amounts["least_write_bytes"] = self.least([(v, v.nbytes or 0) for v in kernel.writes])
        launch = self.compared(kernel)
        traits = {**launch.traits, **self.traits(kernel, reads[0], writes[0])}
        return replace(launch, amounts={**launch.amounts, **amounts}, traits=traits)

    def stored_bytes(self, parts: Sequence[tuple[Value, Dim, int]]) -> Amount:
        """Return the bytes of parts of values, with given bits instead of those of their types."""
        total = [0.0] * len(self.at)
        for v, part, bits in parts:
            declared = v.type.dtype.bits if isinstance(v.type, TensorType) else 0
            share = bits / declared if declared else 1.0
            for i, nbytes in enumerate(self.amount(part)):
                total[i] += nbytes * share
        return tuple(total)

    def least(self, parts: Sequence[tuple[Value, Dim]]) -> Amount:
        """Return the bytes of parts of values if all were stored in at most 16 bits."""
        return self.stored_bytes([(v, part, min(self.bits(v), NARROW_BITS)) for v, part in parts])

    def written(self, kernel: Kernel, policy: Policy) -> Amount:
        """Return the bytes that a kernel writes, in stored types.

        An assignment in place writes less than its result, so that stored bytes are scaled by the
        counted share.
        """
        whole = [(v, v.nbytes or 0) for v in kernel.writes]
        stored = self.stored_bytes([(v, n, self.write_bits(v, policy)) for v, n in whole])
        declared = [sum(column) for column in zip(*(self.amount(n) for _, n in whole), strict=True)]
        actual = self.amount(kernel.traffic.write_bytes)
        if not declared:
            return actual
        amounts = zip(actual, stored, declared, strict=True)
        return tuple([part * bits / whole_ if whole_ else part for part, bits, whole_ in amounts])

    def depth(self, kernel: Kernel, amounts: Mapping[str, Amount], n: Dim, k: Dim | None) -> float:
        """Return the depth ``k`` of products with ``n`` columns; if None, from their amounts."""
        if k is not None:
            return self.number(k)
        products = 2 if kernel.kind is Kind.ATTENTION else 1  # scores, and their use of values
        count = amounts["groups"][0] * amounts["m"][0] * self.number(n) * products
        return amounts["mac"][0] / max(count, 1.0)

    def largest(self, kernel: Kernel) -> tuple[Dim, ...]:
        """Return the extents of the input with the largest part read."""
        parts = zip(kernel.reads, kernel.read_parts, strict=True)
        most = max(parts, key=lambda r: self.number(r[1]), default=None)
        return shape(most[0]) if most is not None else ()

    def traits(self, kernel: Kernel, read: float, written: float) -> dict[str, float]:
        """Return the traits of every kernel: layout, types and operands."""
        out = shape(kernel.writes[0]) if kernel.writes else ()
        read_count = sum(self.number(element_count(shape(v))) for v in kernel.reads)
        write_count = sum(self.number(element_count(shape(v))) for v in kernel.writes)
        return {
            "inner": self.number(out[-1]) if out else 1.0,
            "permuted": self.strides.permuted_share(kernel),
            "read_bits": 8 * read / max(read_count, 1.0),
            "write_bits": 8 * written / max(write_count, 1.0),
            "operands": float(sum(1 for v in kernel.reads if shape(v))),
            "nodes": float(len(kernel.nodes) - len(kernel.folded)),
        }

    def reduced(self, kernel: Kernel, largest: tuple[Dim, ...]) -> float:
        """Return the number of elements that are reduced to one."""
        match kernel.kind:
            case Kind.REDUCTION:
                out = shape(kernel.writes[0]) if kernel.writes else ()
                written = max(self.number(element_count(out)), 1.0)
                return self.number(element_count(largest)) / written
            case Kind.SOFTMAX:
                return self.number(largest[-1]) if largest else 1.0
            # statistics of channels are inputs at inference: nothing is reduced
            case Kind.NORMALIZATION if span_of(kernel) is not Span.CHANNEL:
                extents = shape(kernel.anchor.results[0])
                return self.number(extents[-1]) if extents else 1.0
            case _:
                return 1.0
