"""Parts of a model and what they cost on one rank: time forward and backward, bytes, parameters.

A part is a layer, what is before the first or behind the last one. It is what the step is made of:
kernels in order with their times, gradients with their bytes, and what memory it keeps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache

from perfc.analyzers.estimate.estimate import Estimate
from perfc.analyzers.estimators import Execution, predictor
from perfc.analyzers.estimators.choice import estimates
from perfc.analyzers.estimators.forest import INSIDE, columns_of, computed, inside
from perfc.analyzers.features.lowering import Lowered
from perfc.analyzers.runs.prediction import in_run
from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Module, Value
from perfc.ir.op import Kind
from perfc.ir.ops.elementwise import Add
from perfc.ir.ops.moe import MoE
from perfc.ir.problem import Collective, Exchange
from perfc.ir.record import record
from perfc.ir.types import TensorType
from perfc.machine import Machine, load_machine
from perfc.passes.fuse import Kernel, KernelTable
from perfc.passes.roofline import KernelBound, RooflineTable, bounds
from perfc.serving.program import Program

from .backward import Split, by_factor, columns, products

Env = Mapping[str, int]
CHEAP = frozenset({Kind.NORMALIZATION, Kind.ELEMENTWISE, Kind.SOFTMAX, Kind.MOVEMENT})
"""Kinds whose results selective checkpointing computes again: they read more than they compute."""


@record
class Exchanged:
    """What ranks of ``tensor`` exchange in the forward pass of a part; its backward has as much.

    Args:
        count: exchanges.
        nbytes: of all of them together, the whole message of one rank each.
    """

    count: int
    nbytes: float


class Doing(Enum):
    """What kernels do, by what a law of runs tells apart."""

    PRODUCTS = "products"
    ATTENTION = "attention"
    EXPERTS = "experts"
    POINTWISE = "pointwise"

    __hash__ = object.__hash__

    @classmethod
    def of(cls, kernel: Kernel) -> Doing:
        """Of a kernel."""
        if isinstance(kernel.anchor.op, MoE):
            return cls.EXPERTS
        match kernel.kind:
            case Kind.MATMUL | Kind.CONV:
                return cls.PRODUCTS
            case Kind.ATTENTION | Kind.RECURRENT:
                return cls.ATTENTION
            case _:
                return cls.POINTWISE


@record
class Passes:
    """Seconds of kernels of one kind.

    Args:
        forward_s: expected.
        input_s: backward, what the part before waits for.
        weight_s: backward, gradients of parameters.
    """

    forward_s: float
    input_s: float
    weight_s: float


NO_EXCHANGE = Exchanged(0, 0.0)
WIDE = (2, 3, 4)
"""Axes of activations: rows, sequences, images."""


@record
class PartCost:
    """A part on one rank, for one micro-batch.

    Args:
        passes: of each `Doing`, in its order.
        forward_s: expected.
        input_s: backward, what the part before waits for.
        weight_s: backward, gradients of parameters.
        cheap_s: forward time of kernels that selective checkpointing runs again.
        low: end of the interval of all times, as a share of what is expected.
        high: its other end.
        floor_s: forward and backward; nothing is faster.
        mac: forward multiply-accumulates.
        parameters: of the part that each copy has.
        expert_parameters: that are divided among ranks of experts.
        saved_bytes: kept for the backward pass.
        products_bytes: of those, results of products and attention.
        boundary_bytes: the part's input.
        tensor: exchanged among ranks that share products.
    """

    passes: tuple[Passes, ...]
    forward_s: float
    input_s: float
    weight_s: float
    cheap_s: float
    low: float
    high: float
    floor_s: float
    mac: float
    parameters: float
    expert_parameters: float
    saved_bytes: float
    products_bytes: float
    boundary_bytes: float
    tensor: Exchanged

    @property
    def backward_s(self) -> float:
        """Both halves."""
        return self.input_s + self.weight_s

    def repeated(self, doing: Doing, times: float) -> PartCost:
        """The same where kernels that do one thing run so many times."""
        if times == 1:
            return self
        each = [
            Passes(p.forward_s * times, p.input_s * times, p.weight_s * times) if d is doing else p
            for d, p in zip(Doing, self.passes, strict=True)
        ]
        again = replace(self, passes=tuple(each))
        return again.scaled(dict.fromkeys(Doing, 1.0))

    def scaled(self, factors: Mapping[Doing, float]) -> PartCost:
        """The same where kernels of each kind take so many times as long; never below the floor."""
        each = [(factors[work], p) for work, p in zip(Doing, self.passes, strict=True)]
        return replace(
            self,
            forward_s=sum([f * p.forward_s for f, p in each]),
            input_s=sum([f * p.input_s for f, p in each]),
            weight_s=sum([f * p.weight_s for f, p in each]),
            cheap_s=factors[Doing.POINTWISE] * self.cheap_s,
        )


@lru_cache(maxsize=512)
def program_of(module: Module, runtime: str) -> Program:
    """A part, typed and fused once."""
    return Program.of(module, runtime)


def costs(
    module: Module, runtime: str, target: str, envs: Sequence[Env], framework: str = "", *,
    tf32: bool = True,
) -> list[PartCost]:  # fmt: skip
    """A part at several sizes.

    Args:
        module: of the part.
        runtime: fusion table.
        target: path of the file of the machine.
        envs: values of its symbols.
        framework: whose kernels.
        tf32: whether f32 products may use TF32.
    """
    program, machine = program_of(module, runtime), load_machine(target)
    wanted = [i for i in range(len(program.counts)) if i not in program.exchanges]
    part = KernelTable(program.table.runtime, tuple([program.table.kernels[i] for i in wanted]), ())
    counts = [program.counts[i] for i in wanted]
    each = [bounds(part, machine, env, tf32=tf32) for env in envs]
    kernels = tuple([bound for table in each for bound in table.kernels])
    if not kernels:
        return [_part(program, [], env) for env in envs]
    envs_of = [env for env in envs for _ in wanted]
    side = RooflineTable(machine, kernels, 0.0, envs[0], envs=tuple(envs_of))
    execution = Execution(side, part, tf32=tf32, framework=framework)
    found = in_run(execution, estimates(execution))
    back = backward_times(kernels, [f.time_s for f in found], envs_of, machine, execution)
    rows = list(zip(counts * len(envs), kernels, found, back, strict=True))
    width = len(wanted)
    return [_part(program, rows[i * width : (i + 1) * width], env) for i, env in enumerate(envs)]


def backward_times(
    kernels: Sequence[KernelBound], forward_s: Sequence[float], envs: Sequence[Env],
    machine: Machine, execution: Execution,
) -> list[Split]:  # fmt: skip
    """The backward pass of each kernel; products are predicted, all of a class at once."""
    asked: list[Lowered] = []
    places: list[tuple[int, int] | None] = []
    known: dict[tuple[object, ...], int] = {}
    for bound, env in zip(kernels, envs, strict=True):
        pair = products(bound, env)
        if pair is None:
            places.append(None)
            continue
        at = []
        for row in pair:
            key = (row.class_name, row.dtype, *sorted(row.parameters.items()))
            if key not in known:
                known[key] = len(asked)
                asked.append(row)
            at.append(known[key])
        places.append((at[0], at[1]))
    times = _predicted(asked, machine, execution)
    found: list[Split] = []
    for bound, time_s, place in zip(kernels, forward_s, places, strict=True):
        if place is None:
            found.append(by_factor(bound.kernel, time_s))
        else:
            n = bound.launches
            found.append(Split(n * times[place[0]], n * times[place[1]]))
    return found


def _predicted(rows: Sequence[Lowered], machine: Machine, execution: Execution) -> list[float]:
    """Times of products by their extents."""
    times = [0.0] * len(rows)
    own = [Lowered(*computed(r, machine, tf32=execution.tf32), r.parameters) for r in rows]
    for (class_name, dtype), at in columns(own):
        card = predictor.select(class_name, dtype, INSIDE, machine.name).card
        protocol = inside(card, execution.kernels.runtime.launch)
        table = columns_of([own[i].parameters for i in at])
        answer = predictor.predict(class_name, table, dtype, machine, protocol)
        for i, time_s in zip(at, answer.time_s, strict=True):
            times[i] = float(time_s)
    return times


def part_of(
    kernels: Sequence[Kernel], rows: Sequence[tuple[int, KernelBound, Estimate, Split]], env: Env,
    inputs: Sequence[Value] = (), tensor: Exchanged = NO_EXCHANGE,
) -> PartCost:  # fmt: skip
    """Kernels one after another, with what the part keeps.

    Args:
        kernels: all of the part, in order.
        rows: how many alike, their roofline, what they take forward and backward.
        env: values of the symbols.
        inputs: what the part gets from the one before.
        tensor: exchanged among ranks that share products.
    """
    sums = {work: [0.0, 0.0, 0.0] for work in Doing}
    for n, b, f, split in rows:
        own = sums[Doing.of(b.kernel)]
        own[0] += n * f.time_s
        own[1] += n * split.input_s
        own[2] += n * split.weight_s
    passes = tuple([Passes(*own) for own in sums.values()])
    forward_s = math.fsum([p.forward_s for p in passes])
    low_s = math.fsum([n * f.summed.low for n, _, f, _ in rows])
    high_s = math.fsum([n * f.summed.high for n, _, f, _ in rows])
    floors = [n * f.floor_s * (1 + (b.kernel.kind is Kind.MATMUL) * 2) for n, b, f, _ in rows]
    dense, experts = parameters_of(kernels)
    saved, of_products = saved_bytes(kernels, env)
    return PartCost(
        passes,
        forward_s,
        math.fsum([p.input_s for p in passes]),
        math.fsum([p.weight_s for p in passes]),
        math.fsum([n * f.time_s for n, b, f, _ in rows if b.kernel.kind in CHEAP]),
        low_s / forward_s if forward_s else 1.0,
        high_s / forward_s if forward_s else 1.0,
        math.fsum(floors),
        math.fsum([n * evaluate(b.kernel.work.mac, env) for n, b, *_ in rows]),
        dense, experts, saved, of_products,
        math.fsum([_nbytes(v, env) for v in inputs if _is_wide(v)]),
        tensor,
    )  # fmt: skip


def _part(
    program: Program, rows: Sequence[tuple[int, KernelBound, Estimate, Split]], env: Env
) -> PartCost:
    """A part that is a module of its own."""
    inputs = program.module.graph.inputs
    return part_of(program.whole, rows, env, inputs, exchanged(program, env))


def exchanged(program: Program, env: Env) -> Exchanged:
    """What the collectives of the forward pass carry."""
    count, nbytes = 0, 0.0
    for i in program.exchanges:
        kernel, times = program.table.kernels[i], program.counts[i]
        problem = kernel.problem
        if isinstance(problem, Collective) and problem.exchange is Exchange.ALL_REDUCE:
            count += times
            nbytes += times * evaluate(problem.nbytes, env)
    return Exchanged(count, nbytes)


def parameters_of(kernels: Sequence[Kernel]) -> tuple[float, float]:
    """Elements of parameters that kernels read, and those of experts apart."""
    found: dict[Value, bool] = {}
    for kernel in kernels:
        of_experts = Doing.of(kernel) is Doing.EXPERTS
        for v in kernel.reads:
            if v.weight is not None and v.weight.is_parameter:
                found[v] = found.get(v, False) or of_experts
    dense = routed = 0.0
    for v, of_experts in found.items():
        if isinstance(v.type, TensorType):
            count = float(math.prod([int(evaluate(d, {})) for d in v.type.shape or ()]))
            routed, dense = (routed + count, dense) if of_experts else (routed, dense + count)
    return dense, routed


def saved_bytes(kernels: Sequence[Kernel], env: Env) -> tuple[float, float]:
    """What the backward pass reads again, and how much of it products and attention computed.

    A kernel needs what it reads, but an addition nothing: its gradient is passed on.
    """
    written = {v: k for k in kernels for v in k.writes}
    needed: dict[Value, Kernel | None] = {}
    for kernel in kernels:
        if isinstance(kernel.anchor.op, Add) or kernel.kind in (Kind.VIEW, Kind.COLLECTIVE):
            continue
        for v in kernel.reads:
            # cached tokens of other ranks have four axes, and nothing here wrote them
            if _is_wide(v) and (v in written or _axes(v) < 4):
                needed[v] = written.get(v)
        if kernel.kind in (Kind.ATTENTION, Kind.SOFTMAX):
            needed |= {v: kernel for v in kernel.writes[:1] if _is_wide(v)}
    whole = products = 0.0
    for v, source in needed.items():
        nbytes = _nbytes(v, env)
        whole += nbytes
        if source is None or source.kind not in CHEAP:
            products += nbytes
    return whole, products


def _is_wide(v: Value) -> bool:
    """Whether it is a tensor of activations, not of indices, lengths or cached tokens."""
    t = v.type
    return (
        v.weight is None and isinstance(t, TensorType) and t.dtype.is_float
        and len(t.shape or ()) in WIDE and t.nbytes is not None
    )  # fmt: skip


def _axes(v: Value) -> int:
    return len(v.type.shape or ()) if isinstance(v.type, TensorType) else 0


def _nbytes(v: Value, env: Env) -> float:
    assert isinstance(v.type, TensorType)
    assert v.type.nbytes is not None
    return float(evaluate(v.type.nbytes, env))
