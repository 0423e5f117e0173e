"""Results of analyses as text, for golden files; what a pass states of nodes prints by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perfc.ir.graph import Module, Node, Value
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.strides import StrideTable
from perfc.passes.manager import Analyses
from perfc.passes.memory.liveness import LivenessTable
from perfc.passes.memory.saved import SavedTable
from perfc.passes.precision.autocast import StoredTypes
from perfc.passes.roofline.parameters import ParameterTable
from perfc.passes.roofline.roofline import RooflineTable
from perfc.passes.runtimes import runtimes


def kernels_by_runtime(module: Module, am: Analyses) -> str:
    """The kernels under every runtime; runtimes that launch the same are listed together."""
    named: dict[str, list[str]] = {}
    for name in runtimes():
        text = "\n".join(table(am.get(Fuse(name), module)))
        named.setdefault(text, []).append(name)
    return "\n\n".join(f"## {', '.join(names)}\n{text}" for text, names in named.items()) + "\n"


def table(result: object) -> Iterator[str]:
    """Lines of a result."""
    match result:
        case KernelTable():
            for i, kernel in enumerate(result.kernels):
                yield from kernel_lines(i, kernel)
            if result.host:
                yield f"host: {results(result.host)}"
            for a in result.alternatives:
                yield f"alternative to kernels from {a.first} up to {a.last}:"
                for i, kernel in enumerate(a.kernels):
                    yield from (f"  {line}" for line in kernel_lines(i, kernel))
        case LivenessTable():
            for node, live in zip(result.steps, result.live, strict=True):
                yield f"{results([node])}: {live} bytes live"
            yield from (f"{names(vs)} share storage" for vs in result.by_owner.values() if vs[1:])
            yield f"weights: {result.weight_bytes} bytes"
        case RooflineTable():
            for bound in result.kernels:
                yield (
                    f"{bound.kernel.label}: floor {second(bound.floor_s)}, sustained "
                    f"{second(bound.sustained_s)}, bound by {bound.binding.value}"
                )
            yield f"run: floor {second(result.floor_s)}, sustained {second(result.sustained_s)}"
        case StrideTable():
            for value, strides in result.strides.items():
                yield f"%{value.name}: {list(result.shapes[value])} strides {list(strides)}"
            if result.copies:
                yield f"copied, as strides cannot say it: {names(result.copies.values())}"
        case StoredTypes():
            yield from (f"%{value.name}: {dtype.code}" for value, dtype in result.types.items())
            yield from (f"{results([n])}: {p.value}" for n, p in result.policies.items())
        case SavedTable():
            for value, storage in result.values.items():
                shared = "" if storage is value else f", in the storage of %{storage.name}"
                reader = results([result.readers[value]])
                yield f"%{value.name}: {value.type}, read by {reader}{shared}"
            yield f"kept: {result.nbytes} bytes"
        case ParameterTable():
            for value, role in result.roles.items():
                yield f"%{value.name}: {result.elements[value]}, {role.value}"
        case _:
            raise TypeError(f"no text for {type(result).__name__}: tests/golden_tables.py")


def kernel_lines(index: int, kernel: Kernel) -> Iterator[str]:
    """What one kernel does and moves."""
    pattern = f", {kernel.pattern}" if kernel.pattern else ""
    repeat = f", {kernel.repeat} times" if kernel.repeat != 1 else ""
    yield f"kernel {index}: {kernel.label} ({kernel.kind.value}{pattern}){repeat}"
    folded = f", folded {results(kernel.folded)}" if kernel.folded else ""
    yield f"  nodes {results(kernel.nodes)}{folded}"
    work = kernel.work
    units = (("mac", work.mac), ("alu", work.alu), ("sfu", work.sfu), ("integer", work.integer))
    counts = ", ".join(f"{count} {unit}" for unit, count in units if count != 0)
    yield f"  {counts or 'no operations'}; {kernel.mac_dtype.code}"
    yield f"  reads {names(kernel.reads)}: {kernel.traffic.read_bytes} bytes"
    yield f"  writes {names(kernel.writes)}: {kernel.traffic.write_bytes} bytes"


def names(values: Iterable[Value]) -> str:
    """Values as the IR writes them."""
    return " ".join(f"%{v.name}" for v in values) or "nothing"


def results(nodes: Iterable[Node]) -> str:
    """Nodes, by what they make."""
    return names(n.results[0] for n in nodes if n.results)


def second(time_s: float) -> str:
    """A time with four digits; more differ from machine to machine."""
    return f"{time_s:.4g} s"
