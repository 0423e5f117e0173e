"""Memory that running a model takes, and whether the machine has it, before anything runs.

Runtimes may run nodes one by one: results of nodes that a target would fuse are then in memory, and
nothing is overwritten. That is more than the peak of the report, which is of fused kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from perfc.common.plain_text import printable
from perfc.errors import ModelError
from perfc.ir import Dim, Module, TensorType, Value, evaluate, record, symbols
from perfc.kernels.backends import host
from perfc.passes.manager import Analyses
from perfc.passes.memory.liveness import Liveness
from perfc.view.report.units import size_text

USABLE = 0.5
"""Share of the free memory that a run may take: other programs need some, and the need of the run
is only estimated."""
RUNTIME_BYTES = 300 << 20
"""Memory of a process with a runtime and no model: 70 MiB of ONNX Runtime, 260 MiB of PyTorch."""
FEED_COPIES = 3
"""Copies of each input: as drawn, in the type of the input, and as a tensor of the runtime."""
MOST_BYTES = 1 << 60
"""Upper limit of sizes; larger ones, as products of several symbols, are clipped."""


class AllocatorBehavior(Enum):
    """Allocator behavior, as the measured ratio of used memory to live bytes.

    Six graphs of 256 MiB tensors under ONNX Runtime 1.31 took 1.0 to 1.4 times the bytes alive
    when buffers are given back, and 1.1 to 2.5 times with the arena, which grows by doubling.
    """

    RETURNED = 1.4
    ARENA = 2.5
    DEVICE = 0.0
    """Values lie in an accelerator's memory, whose driver refuses what is too much."""


@record
class Need:
    """Memory requirement of a run.

    Args:
        weight_bytes: bytes of stored tensors, times the number of copies in memory.
        value_bytes: bytes of inputs, results of nodes and outputs.
        is_bound: whether some value has no known size, so that the run takes more.
        symbols: symbols whose sizes could be smaller, the largest first.
    """

    weight_bytes: int
    value_bytes: int
    is_bound: bool = False
    symbols: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """Return the bytes of weights and values, with those of the runtime."""
        return self.weight_bytes + self.value_bytes + RUNTIME_BYTES


def need_of(
    module: Module, env: Mapping[str, int], allocator: AllocatorBehavior, sessions: int = 1
) -> Need:
    """Return the memory requirement of running a module node by node.

    Every session has a copy of the stored tensors, and so has the message that a session loads them
    from: ``sessions + 1`` copies.

    Args:
        module: the module, with inferred types.
        env: values of its symbols.
        allocator: allocator of the runtime.
        sessions: number of sessions that have the module loaded; one runs at a time.
    """
    table = Analyses().get(Liveness(in_place=False), module)
    # sizes of what is live after each node, as formulas; most nodes share a few
    formulas = {*table.live}
    live = max((_number(d, env) for d in formulas), default=0)
    graph = module.graph
    inputs = _stored_bytes((v for v in graph.inputs if v.weight is None), env)
    # a runtime returns results of a run while the caller still has those of the run before
    outputs = _stored_bytes(graph.outputs, env)
    return Need(
        (sessions + 1) * _number(table.weight_bytes, env),
        int(allocator.value * live) + FEED_COPIES * inputs + outputs,
        table.is_bound or any(_is_open(d, env) for d in formulas),
        tuple(sorted((s for s, n in env.items() if n > 1), key=lambda s: -env[s])),
    )


def fits(need: Need) -> bool:
    """Return True if a run needs at most half of the free memory, or free memory is unknown."""
    total, free = host.memory()
    return not total or need.nbytes <= USABLE * free


def check_room(need: Need, where: str = "") -> str:
    """Refuse a run that takes more than half of the free memory.

    Return a warning if sizes are unknown, else "".

    Raises:
        ModelError: it takes more; the error says how much, and what would reduce it.
    """
    least = "at least" if need.is_bound else "about"
    takes = f"running it takes {least} {size_text(need.nbytes)} of memory"
    if not fits(need):
        free = size_text(host.memory()[1])
        of, hint = "", "free some memory"
        # smaller sizes help only where values, not weights, take the memory
        if need.weight_bytes > need.value_bytes:
            of = f", {size_text(need.weight_bytes)} of it for weights"
        elif need.symbols:
            hint = f"give smaller sizes, as in --dim {printable(need.symbols[0])}=1"
        raise ModelError(
            f"{takes}{of}, more than half of the {free} that are free", where=where, hint=hint
        )
    return f"{takes}: not all sizes are known before it runs" if need.is_bound else ""


def _stored_bytes(values: Iterable[Value], env: Mapping[str, int]) -> int:
    """Return the bytes of values whose size is known."""
    sizes = (v.type.nbytes for v in values if isinstance(v.type, TensorType))
    return sum(_number(d, env) for d in sizes if d is not None)


def _number(d: Dim, env: Mapping[str, int]) -> int:
    """Return a size at the values of the symbols; one that depends on data has its upper limit."""
    return min(max(int(evaluate(d, env, upper=True)), 0), MOST_BYTES)


def _is_open(d: Dim, env: Mapping[str, int]) -> bool:
    """Return True if a size depends on data without an upper limit."""
    return any(a.key not in env and a.hi is None for a in symbols(d))
