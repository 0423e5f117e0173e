"""PF403: f32 operators between 16-bit neighbors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from perfc.ir import DType, Kind, Node, TensorType, Value, Weight
from perfc.ir.ops import CumSum, Erf, Exp, Log, Pow, Reciprocal, Softplus, Sqrt
from perfc.review.lint.fixes.edit import Edit, ReadInstead, Rewire
from perfc.review.lint.rule import Finding, Rule, Subject

from .cast_chain import dtype_of, operand

HALF = frozenset({DType.F16, DType.BF16})
WIDE = frozenset({DType.F32})
"""Element types of 16 and of 32 bits, one of which an island has and the other its neighbors."""
WIDE_ON_PURPOSE = frozenset({Kind.REDUCTION, Kind.NORMALIZATION, Kind.SOFTMAX, Kind.SIGNAL})
"""Kinds that frameworks compute in f32 in mixed precision (lists of torch.amp)."""
RANGE_HUNGRY = (Exp, Pow, Log, Erf, CumSum, Softplus, Reciprocal, Sqrt)
"""Operators that frameworks compute in f32 for their range (lists of torch.amp)."""
MAX_NODES = 64
"""Maximum operators of an island, which bounds the search from each cast."""


class Fp32Island(Rule):
    """Operators between a conversion to f32 and the conversion back.

    What it does:
        Follows the results of a Cast from f16 or bf16 to f32 up to the conversions back. Reports
        the operators in between if all their inputs come from such casts or are stored, and none
        of them needs the range or precision of f32. Sums, normalizations, softmax, exponentials
        and powers are excluded. The gain is that of the module without the conversions and with
        16-bit stored tensors.

    Why is this bad:
        Twice the bytes, two more kernels, and matrix products at the f32 rate, for operators that
        have the same quality in 16 bits.

    Example:
        y = Cast(Relu(Cast(x_f16, to=FLOAT)), to=FLOAT16)

    Use instead:
        y = Relu(x_f16)

    Source:
        Micikevicius et al. 2018, arXiv:1710.03740, section 3; PyTorch autocast op lists.
    """

    code = "PF403"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield islands among the executed nodes."""
        for ups, inside, downs in islands(subject, HALF, WIDE):
            # mixed precision computes these in f32 for their precision or range
            if any(n.op.kind in WIDE_ON_PURPOSE or isinstance(n.op, RANGE_HUNGRY) for n in inside):
                continue
            first = ups[0].inputs[0]
            half = None if first is None else dtype_of(first)
            # a conversion to the other type of 16 bits remains
            ends = [n for n in downs if dtype_of(n.results[0]) is half]
            narrow = stored_as(inside, half, WIDE) if half is not None else {}
            shape_key = (self.code, subject.shape_key((*ups, *inside)))
            edits = without_casts((*ups, *ends), inside, narrow)
            gain = subject.rewriting(edits, shape_key, tuple(narrow.values()))
            yield self.finding(
                f"{described(inside, 'f32')} between {half} neighbors",
                f"compute in {half}; check the model's quality",
                nodes=(*inside, *ups, *downs),
                gain=gain,
            )


def islands(
    subject: Subject, others: frozenset[DType], inner: frozenset[DType]
) -> Iterator[tuple[list[Node], list[Node], list[Node]]]:
    """Yield the casts into each island, its nodes, and the casts out of it, as in `explored`.

    Args:
        subject: the module.
        others: types of its neighbors.
        inner: types that the island computes in.
    """
    seen: set[Node] = set()
    for node in subject.graph:
        if node in seen or not converts(node, others, inner):
            continue
        island = explored(subject, node, inner, others)
        if island is None:
            continue
        seen.update(island[0])
        if island[1]:
            yield island


def without_casts(
    casts: Iterable[Node], inside: Iterable[Node], stored: Mapping[Value, Value]
) -> list[Edit]:
    """Return edits that remove the casts and replace the stored tensors of an island."""
    edits: list[Edit] = [
        ReadInstead(n.results[0], v) for n in casts if (v := n.inputs[0]) is not None
    ]
    return edits + [Rewire(n, tuple(v and stored.get(v, v) for v in n.inputs)) for n in inside]


def described(inside: Sequence[Node], dtype: str) -> str:
    """Describe the number of nodes of an island and their operators."""
    names = ", ".join(dict.fromkeys(n.loc.op_type or n.op.mnemonic for n in inside))
    return f"{len(inside)} {dtype} node{'s' if len(inside) > 1 else ''} ({names})"


def stored_as(nodes: list[Node], to: DType, before: frozenset[DType]) -> dict[Value, Value]:
    """Return the stored tensors of some types that ``nodes`` read, converted to another type."""
    stored_in: dict[Value, Value] = {}
    for v in (v for n in nodes for v in n.inputs if v is not None and v.weight is not None):
        if v.dtype in before:
            nbytes = v.weight.nbytes if v.weight is not None else None
            size = nbytes * to.bits // v.dtype.bits if nbytes is not None else None
            type_ = TensorType(to, v.shape)
            stored_in[v] = Value(f"{v.name}_{to.code}", type_, v.known, Weight(size))
    return stored_in


def converts(node: Node, before: frozenset[DType], to: frozenset[DType]) -> bool:
    """Return True if a node converts one of the types in ``before`` to one in ``to``."""
    source = operand(node)
    return (
        source is not None
        and bool(node.results)
        and dtype_of(source) in before
        and dtype_of(node.results[0]) in to
    )


def explored(
    subject: Subject, start: Node, inner: frozenset[DType], others: frozenset[DType]
) -> tuple[list[Node], list[Node], list[Node]] | None:
    """Return the casts into an island, its nodes and the casts out of it; None if not closed.

    Args:
        subject: the module.
        start: a cast into the island.
        inner: types that the island computes in.
        others: types of its neighbors.
    """
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
            # a conversion back is the end of the island
            if operand(node) is not None and node.results and dtype_of(node.results[0]) in others:
                downs[node] = None
                continue
            if node in inside:
                continue
            if node.regions or node.op.kind is Kind.CONTROL:
                return None
            inside[node] = None
            waiting += [r for r in node.results if dtype_of(r) in inner]
            for w in node.inputs:
                maker = graph.producers.get(w) if w is not None else None
                if w is None or w.weight is not None or maker in inside or maker in ups:
                    continue
                # indices, shapes and masks have their type in either precision
                if dtype_of(w) not in inner:
                    continue
                if maker is None or not converts(maker, others, inner):
                    return None
                ups[maker] = None
                waiting += list(maker.results)
    return (list(ups), list(inside), list(downs)) if downs else None
