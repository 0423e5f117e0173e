"""PF403: a stretch of f32 between f16 neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir.graph import Node, Value, Weight
from perfc.ir.op import Kind
from perfc.ir.types import DType, TensorType
from perfc.lint.edit import Edit, ReadInstead, Rewire
from perfc.lint.finding import Finding
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject

from .cast_chain import dtype_of, operand

HALF = frozenset({DType.F16, DType.BF16})
WIDE_ON_PURPOSE = frozenset({Kind.REDUCTION, Kind.NORMALIZATION, Kind.SOFTMAX, Kind.SIGNAL})
RANGE_HUNGRY = frozenset({"exp", "pow", "log", "erf", "cumsum", "softplus", "reciprocal", "sqrt"})
MAX_NODES = 64


class Fp32Island(Rule):
    """Operators between a conversion to f32 and one back.

    What it does:
        Follows what a Cast from f16 or bf16 to f32 feeds until conversions back. Reports the
        operators in between where all that enters comes from such casts or is stored, and none
        of them needs the range or the precision. Sums, normalisations, softmax, exponentials and
        powers are left alone. The gain is that of the module without the conversions, with the
        stored f32 tensors that the operators read in 16 bits.

    Why is this bad:
        Twice the bytes, two more kernels, and products at the f32 rate, for operators that give
        the same quality in 16 bits.

    Example:
        y = Cast(Relu(Cast(x_f16, to=FLOAT)), to=FLOAT16)

    Use instead:
        y = Relu(x_f16)

    Source:
        Micikevicius et al. 2018, arXiv:1710.03740, section 3; PyTorch autocast op lists.
    """

    code = "PF403"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Islands among the nodes that execute."""
        seen: set[Node] = set()
        for node in subject.graph:
            if node in seen or not _widens(node):
                continue
            island = explored(subject, node)
            if island is None:
                continue
            ups, inside, downs = island
            seen.update(ups)
            if not inside or any(_needs_width(n) for n in inside):
                continue
            first = ups[0].inputs[0]
            half = None if first is None else dtype_of(first)
            ends = [n for n in downs if dtype_of(n.results[0]) is half]
            edits: list[Edit] = [
                ReadInstead(n.results[0], v)
                for n in (*ups, *ends)
                if (v := n.inputs[0]) is not None
            ]
            narrow = narrowed(inside, half) if half is not None else {}
            edits += [Rewire(n, tuple(v and narrow.get(v, v) for v in n.inputs)) for n in inside]
            alike = (self.code, subject.shape_key((*ups, *inside)))
            gain = subject.rewriting(edits, alike, tuple(narrow.values()))
            names = ", ".join(dict.fromkeys(n.loc.op_type or n.op.mnemonic for n in inside))
            message = f"{len(inside)} f32 node{'s' if len(inside) > 1 else ''} ({names})"
            yield self.finding(
                f"{message} between {half} neighbours",
                f"compute in {half}; check the model's quality",
                nodes=(*inside, *ups, *downs),
                gain=gain,
            )


def narrowed(nodes: list[Node], half: DType) -> dict[Value, Value]:
    """The stored f32 tensors that ``nodes`` read, in 16 bits."""
    found: dict[Value, Value] = {}
    for v in (v for n in nodes for v in n.inputs if v is not None and v.weight is not None):
        if isinstance(v.type, TensorType) and v.type.dtype is DType.F32:
            size = v.weight.nbytes // 2 if v.weight and v.weight.nbytes is not None else None
            type_ = TensorType(half, v.type.shape)
            found[v] = Value(f"{v.name}_{half.code}", type_, v.known, Weight(size))
    return found


def _widens(node: Node) -> bool:
    source = operand(node)
    return (
        source is not None
        and bool(node.results)
        and dtype_of(source) in HALF
        and dtype_of(node.results[0]) is DType.F32
    )


def _narrows(node: Node) -> bool:
    return operand(node) is not None and bool(node.results) and dtype_of(node.results[0]) in HALF


def _needs_width(node: Node) -> bool:
    return node.op.kind in WIDE_ON_PURPOSE or node.op.mnemonic in RANGE_HUNGRY


def explored(subject: Subject, start: Node) -> tuple[list[Node], list[Node], list[Node]] | None:
    """Widening casts, f32 nodes and narrowing casts of an island; None where f32 leaves it."""
    graph = subject.graph
    ups: dict[Node, None] = {start: None}
    inside: dict[Node, None] = {}
    downs: dict[Node, None] = {}
    waiting: list[Value] = list(start.results)
    while waiting:
        v = waiting.pop()
        if v in graph.outputs or len(inside) > MAX_NODES:
            return None
        for node in graph.users.get(v, ()):
            if _narrows(node):
                downs[node] = None
                continue
            if node in inside:
                continue
            if node.regions or node.op.kind is Kind.CONTROL:
                return None
            inside[node] = None
            waiting += [r for r in node.results if dtype_of(r) is DType.F32]
            for w in node.inputs:
                maker = graph.producers.get(w) if w is not None else None
                if w is None or w.weight is not None or maker in inside or maker in ups:
                    continue
                if dtype_of(w) is not DType.F32:
                    continue
                if maker is None or not _widens(maker):
                    return None
                ups[maker] = None
                waiting += list(maker.results)
    return (list(ups), list(inside), list(downs)) if downs else None
