"""Parts of a model and their cost on one rank: forward and backward time, bytes, parameters.

A part is one layer, all that a model has before its first layer, or all behind its last one. A step
consists of parts: of their kernels in order, their gradients and the activations that they save.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perfc.analyzers.estimators import Execution
from perfc.analyzers.runs.prediction import in_run
from perfc.analyzers.runs.run_law import Doing
from perfc.ir import Dim, Kind, Module, TensorType, Value, evaluate, record
from perfc.ir.problem import Collective, Exchange
from perfc.machine import Machine, load_machine
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.roofline.roofline import RooflineTable, bounds
from perfc.passes.runtimes import Tf32

from .costs.both_passes import BothPasses, Ran, Waiter, both_passes

Env = Mapping[str, int]
"""Extents by name."""
CHEAP = frozenset({Kind.NORMALIZATION, Kind.ELEMENTWISE, Kind.SOFTMAX, Kind.MOVEMENT})
"""Kinds whose results selective checkpointing recomputes: memory traffic takes their time, which is
far below the time of matrix multiplications and attention."""


@record
class Exchanged:
    """Tensor-parallel communication in the forward pass of a part; the backward has as much.

    Args:
        count: number of collectives.
        nbytes: total message bytes of one rank.
    """

    count: int
    nbytes: float


@record
class PassSeconds:
    """Seconds of kernels of one kind.

    Args:
        forward_s: forward pass.
        input_s: backward pass for inputs, which the part before waits for.
        weight_s: backward pass for parameter gradients.
    """

    forward_s: float
    input_s: float
    weight_s: float


NO_EXCHANGE = Exchanged(0, 0.0)
"""Parts on one rank exchange nothing."""
WIDE = (2, 3, 4)
"""Numbers of axes of activation tensors: 2 for rows, 3 for sequences, 4 for images."""


@record
class PartCost:
    """Cost of a part on one rank, for one micro-batch.

    Args:
        passes: seconds of each `Doing`, in its order.
        forward_s: forward pass.
        input_s: backward pass for inputs, which the part before waits for.
        weight_s: backward pass for parameter gradients.
        cheap_s: forward time of kernels that selective checkpointing recomputes.
        low: lower end of the prediction interval of all times, as a factor.
        high: its upper end.
        floors: lower bounds of both passes.
        again_floor_s: lower bound of the forward kernels that recomputing a whole part runs.
        mac: forward multiply-accumulates inside masks and windows.
        parameters: parameters that each copy has.
        expert_parameters: parameters that expert-parallel ranks divide.
        saved_bytes: activations saved for the backward pass.
        products_bytes: those of them that selective checkpointing stores: inputs of the part, and
            results of kernels whose kind is not in `CHEAP`.
        boundary_bytes: input of the part.
        tensor: tensor-parallel communication.
        replicated_bytes: saved activations that all tensor-parallel ranks hold.
        frozen_bytes: parameters that are not trained.
        summed_bytes: gradients of a tied table that are added to others.
    """

    passes: tuple[PassSeconds, ...]
    forward_s: float
    input_s: float
    weight_s: float
    cheap_s: float
    low: float
    high: float
    floors: PassSeconds
    again_floor_s: float
    mac: float
    parameters: float
    expert_parameters: float
    saved_bytes: float
    products_bytes: float
    boundary_bytes: float
    tensor: Exchanged
    replicated_bytes: float = 0.0
    frozen_bytes: float = 0.0
    summed_bytes: float = 0.0

    def freezing(self, nbytes: float, dequant_s: float) -> PartCost:
        """Return the cost with frozen parameters, which are dequantized in each pass.

        Args:
            nbytes: bytes of the parameters.
            dequant_s: seconds of one dequantization of all of them.
        """
        # lower bounds stay: without the dequantization they are only lower
        passes = self._streaming(dequant_s, dequant_s, 0.0)
        return replace(self, passes=passes, frozen_bytes=self.frozen_bytes + nbytes).timed()

    def _streaming(self, *more_s: float) -> tuple[PassSeconds, ...]:
        """Return the seconds of each `Doing`, with further seconds of pointwise kernels.

        Args:
            more_s: forward, input and weight seconds to add.
        """
        # pointwise kernels are the last member of `Doing`
        *others, last = self.passes
        pairs = zip((last.forward_s, last.input_s, last.weight_s), more_s, strict=True)
        return (*others, PassSeconds(*map(sum, pairs)))

    def frozen(self, weight_bytes: float) -> PartCost:
        """Return the cost of a part with frozen parameters of ``weight_bytes`` each."""
        count = self.parameters + self.expert_parameters
        passes = tuple([replace(p, weight_s=0.0) for p in self.passes])
        floors = replace(self.floors, weight_s=0.0)
        untrained = replace(
            self, passes=passes, floors=floors, parameters=0.0, expert_parameters=0.0
        )
        return replace(untrained, frozen_bytes=weight_bytes * count).timed()

    def adding(self, count: float, item: float, machine: Machine) -> PartCost:
        """Return the cost with the sum of two gradients of a tied table.

        Args:
            count: elements of the table.
            item: bytes of an element of a gradient.
            machine: machine that adds the gradients.
        """
        # two gradients are read and their sum is written
        moved, level = 3 * count * item, machine.level("device")
        if not moved or level is None:
            return self
        sum_s = moved / (level.sustained or level.nominal).value
        passes = self._streaming(0.0, 0.0, sum_s)
        least_s = self.floors.weight_s + streamed_s(machine, moved)
        floors = replace(self.floors, weight_s=least_s)
        return replace(self, passes=passes, floors=floors, summed_bytes=count * item).timed()

    def timed(self) -> PartCost:
        """Return the cost with its times as the sums over ``passes``, after these have changed."""
        return self.scaled(dict.fromkeys(Doing, 1.0))

    @property
    def floor_s(self) -> float:
        """Return the lower bound of both passes, in seconds."""
        return self.floors.forward_s + self.floors.input_s + self.floors.weight_s

    @property
    def backward_s(self) -> float:
        """Return the seconds of the backward pass, both halves."""
        return self.input_s + self.weight_s

    def scaled(self, factors: Mapping[Doing, float]) -> PartCost:
        """Return the cost with kernel times scaled by kind; lower bounds stay."""
        factored = [(factors[work], p) for work, p in zip(Doing, self.passes, strict=True)]
        return replace(
            self,
            forward_s=sum([f * p.forward_s for f, p in factored]),
            input_s=sum([f * p.input_s for f, p in factored]),
            weight_s=sum([f * p.weight_s for f, p in factored]),
            cheap_s=factors[Doing.POINTWISE] * self.cheap_s,
        )


def streamed_s(machine: Machine, nbytes: float) -> float:
    """Return the lower bound of one kernel's pass over ``nbytes`` bytes, in seconds.

    The last-level cache may hold what is read first and what is written last.
    """
    device, cache = machine.level("device"), machine.level("l2")
    cached_bytes = 0.0 if cache is None else 2 * cache.capacity_bytes
    return max(nbytes - cached_bytes, 0.0) / device.bandwidth.value if device is not None else 0.0


def costs(
    module: Module,
    runtime: str,
    target: str,
    envs: Sequence[Env],
    framework: str = "",
    *,
    tf32: Tf32 | None = None,
) -> list[PartCost]:
    """Return the cost of a part at several sizes.

    Args:
        module: module of the part.
        runtime: fusion rules.
        target: path of the machine's file.
        envs: values of its symbolic dimensions.
        framework: runtime whose kernels are estimated.
        tf32: which f32 products may use TF32; None for the runtime's default.
    """
    program, machine = both_passes(module, runtime), load_machine(target)
    table, width = program.table, len(program.counts)
    # kernels of all sizes as one table, so that predictors run once
    tables = [bounds(table, machine, env, tf32=tf32) for env in envs]
    kernels = tuple([bound for of_size in tables for bound in of_size.kernels])
    if not kernels:
        return [_part(program, [], env) for env in envs]
    envs_of = tuple([env for env in envs for _ in range(width)])
    # no lower bound by the weights of a run: the kernels of several sizes are no run
    side_by_side = RooflineTable(machine, kernels, weight_floor_s=0.0, env=envs[0], envs=envs_of)
    execution = Execution(side_by_side, table, framework=framework)
    times = in_run(execution)
    of_kernels = zip(
        program.counts * len(envs), kernels, times, program.roles * len(envs), strict=True
    )
    rows = [Ran(*row) for row in of_kernels]
    return [_part(program, rows[i * width : (i + 1) * width], env) for i, env in enumerate(envs)]


def part_of(
    forward: Sequence[Kernel],
    rows: Sequence[Ran],
    env: Env,
    saved: Iterable[Value],
    inputs: Sequence[Value] = (),
    tensor: Exchanged = NO_EXCHANGE,
    again: Sequence[int] = (),
) -> PartCost:
    """Return the cost of kernels that run one after another, with what the part saves.

    Args:
        forward: all kernels of the part's forward pass, in order.
        rows: kernels of both passes with their times.
        env: values of the symbolic dimensions.
        saved: values that the backward pass reads of the forward pass.
        inputs: inputs from the part before.
        tensor: tensor-parallel communication.
        again: number of each row's kernels that recomputing the part runs; empty for a part
            that is not recomputed.
    """
    # by kind of kernel and by what waits for it, the three columns of `PassSeconds`
    sums = {(work, role): 0.0 for work in Doing for role in Waiter}
    for r in rows:
        sums[Doing.of(r.bound.kernel), r.role] += r.count * r.time.time_s
    passes = tuple([PassSeconds(*[sums[work, role] for role in Waiter]) for work in Doing])
    ahead = [r for r in rows if r.role is Waiter.FORWARD]
    whole_s = math.fsum([r.count * r.time.time_s for r in rows])
    dense, experts = parameters_of(forward)
    # width of the model: the last extent of what comes from the part before
    hidden = width(inputs[0]) if inputs else None
    all_saved, of_products, replicated = saved_bytes(forward, saved, env, hidden)
    floors_s = [
        math.fsum([r.count * r.time.floor_s for r in rows if r.role is role]) for role in Waiter
    ]
    return PartCost(
        passes=passes,
        forward_s=math.fsum([p.forward_s for p in passes]),
        input_s=math.fsum([p.input_s for p in passes]),
        weight_s=math.fsum([p.weight_s for p in passes]),
        cheap_s=math.fsum([r.count * r.time.time_s for r in ahead if r.bound.kernel.kind in CHEAP]),
        # without kernels, the interval has no width
        low=math.fsum([r.count * r.time.summed.low for r in rows]) / whole_s if whole_s else 1.0,
        high=math.fsum([r.count * r.time.summed.high for r in rows]) / whole_s if whole_s else 1.0,
        floors=PassSeconds(*floors_s),
        # `again` is empty for a part that is not recomputed
        again_floor_s=math.fsum([n * r.time.floor_s for n, r in zip(again, rows, strict=False)]),
        mac=math.fsum([r.count * evaluate(r.bound.kernel.work.floor_mac, env) for r in ahead]),
        parameters=dense,
        expert_parameters=experts,
        saved_bytes=all_saved,
        products_bytes=of_products,
        boundary_bytes=math.fsum([_nbytes(v, env) for v in inputs if _is_wide(v)]),
        tensor=tensor,
        replicated_bytes=replicated,
    )


def _part(program: BothPasses, rows: Sequence[Ran], env: Env) -> PartCost:
    """Return the cost of a part that is a separate module."""
    exchange = exchanged(program.forward, env)
    saved, inputs, again = program.saved, program.inputs, program.again
    return part_of(program.forward, rows, env, saved, inputs, exchange, again)


def exchanged(kernels: Iterable[Kernel], env: Env) -> Exchanged:
    """Return the communication of tensor parallelism: the all-reduces of the forward pass."""
    collectives = [k.problem for k in kernels if isinstance(k.problem, Collective)]
    nbytes = [evaluate(p.nbytes, env) for p in collectives if p.exchange is Exchange.ALL_REDUCE]
    return Exchanged(len(nbytes), float(sum(nbytes)))


def parameters_of(kernels: Sequence[Kernel]) -> tuple[float, float]:
    """Return the numbers of parameters that kernels read: dense parameters, and experts'."""
    # a parameter that any kernel of experts reads is a parameter of experts
    is_of_experts: dict[Value, bool] = {}
    for kernel in kernels:
        of_experts = Doing.of(kernel) is Doing.EXPERTS
        for v in kernel.reads:
            if v.is_parameter:
                is_of_experts[v] = is_of_experts.get(v, False) or of_experts
    dense = routed = 0.0
    for v, of_experts in is_of_experts.items():
        if isinstance(v.type, TensorType):
            count = float(math.prod([int(evaluate(d, {})) for d in v.type.shape or ()]))
            if of_experts:
                routed += count
            else:
                dense += count
    return dense, routed


def saved_bytes(
    kernels: Sequence[Kernel], values: Iterable[Value], env: Env, hidden: Dim | None
) -> tuple[float, float, float]:
    """Return the bytes that the backward pass rereads: all, not recomputed, and replicated bytes.

    They are ``saved_bytes``, ``products_bytes`` and ``replicated_bytes`` of `PartCost`.

    Args:
        kernels: kernels of the forward pass.
        values: values that the backward pass reads of it.
        env: values of the symbolic dimensions.
        hidden: width of the model; all ranks of a tensor group hold tensors of this width.
    """
    source = {v: k for k in kernels for v in k.writes}
    total = products = replicated = 0.0
    for v in values:
        if not _is_wide(v):
            continue
        nbytes = _nbytes(v, env)
        total += nbytes
        # inputs of the part have no kernel here: they are stored, not recomputed
        if v not in source or source[v].kind not in CHEAP:
            products += nbytes
        if hidden is not None and width(v) == hidden:
            replicated += nbytes
    return total, products, replicated


def width(v: Value) -> Dim | None:
    """Return the last extent of a tensor."""
    assert isinstance(v.type, TensorType)
    return v.type.shape[-1] if v.type.shape else None


def _is_wide(v: Value) -> bool:
    """Return True for a tensor of activations, not of indices, lengths or cached tokens."""
    t = v.type
    return (
        v.weight is None
        and isinstance(t, TensorType)
        and t.dtype.is_float
        and len(t.shape or ()) in WIDE
        and t.nbytes is not None
    )


def _nbytes(v: Value, env: Env) -> float:
    """Return the bytes of a tensor at given extents."""
    assert isinstance(v.type, TensorType)
    assert v.type.nbytes is not None
    return float(evaluate(v.type.nbytes, env))
