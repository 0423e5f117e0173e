"""GELU and attention that exporters write out, as the operators that PyTorch runs and saves."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from perfc.ir import Node, Op, TensorType, Value
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.contraction.matmul import MatMul
from perfc.ir.ops.elementwise.activation import Gelu
from perfc.ir.ops.elementwise.elementwise import Add, Div, Mul, Pow
from perfc.ir.ops.elementwise.logic import Equal, IsNaN, Where
from perfc.ir.ops.movement.movement import Transpose, Trilu
from perfc.ir.ops.normalization.softmax import Softmax

from ...fusion.neighbourhood import is_scalar, number

Changes = dict[Node, list[Node]]
CLOSE = 1e-3
"""Relative tolerance for numbers that exporters round."""
CUBE, INNER = 0.044715, math.sqrt(2 / math.pi)
"""Coefficients of GELU by tanh. Source: Hendrycks & Gimpel 2016, section 2."""
RANK = 4
"""Rank of queries, keys and values: batch, heads, tokens, head width."""


class Written:
    """Producers and readers of the values of a graph, and values that must stay.

    Args:
        nodes: nodes in execution order.
        taken: values that are read outside of the graph.
    """

    def __init__(self, nodes: Sequence[Node], taken: Collection[Value]) -> None:
        self.taken = taken
        self.users: dict[Value, list[Node]] = {}
        self.makers: dict[Value, Node] = {}
        for node in nodes:
            self.makers.update((v, node) for v in node.results)
            for v in node.inputs:
                if v is not None:
                    self.users.setdefault(v, []).append(node)

    def maker(self, v: Value | None, *kinds: type[Op]) -> Node | None:
        """Return the node that computes a value, if its operator is exactly of one of the kinds."""
        node = None if v is None else self.makers.get(v)
        return node if node is not None and node.op.is_exactly(*kinds) else None

    def reader(self, v: Value, *kinds: type[Op]) -> Node | None:
        """Return the only reader of a value, if its operator is exactly of one of the kinds."""
        readers = self.users.get(v, [])
        if len(readers) != 1 or v in self.taken or not readers[0].op.is_exactly(*kinds):
            return None
        return readers[0]

    def is_inner(self, nodes: Sequence[Node]) -> bool:
        """Return True if each result of nodes has one reader and is not a result of the graph."""
        results = [v for n in nodes for v in n.results]
        return all(len(self.users.get(v, [])) == 1 and v not in self.taken for v in results)


def is_near(actual: float | None, wanted: float) -> bool:
    """Return True if a number equals the expected one up to rounding."""
    return actual is not None and math.isclose(actual, wanted, rel_tol=CLOSE)


def factor(node: Node | None) -> tuple[Value, float] | None:
    """Return the operand that a node scales, and the factor."""
    if node is None or not node.op.is_exactly(Mul, Div) or len(node.inputs) != 2:
        return None
    first, second = node.inputs
    scale = number(second)
    if first is not None and scale:
        return first, 1 / scale if node.op.is_exactly(Div) else scale
    scale = number(first)
    return (second, scale) if second is not None and scale and node.op.is_exactly(Mul) else None


def other(node: Node, v: Value) -> Value | None:
    """Return the second operand of a node, given one of its two."""
    rest = [w for w in node.inputs if w is not v]
    return rest[0] if len(node.inputs) == 2 and len(rest) == 1 else None


def is_half_of(node: Node, v: Value) -> bool:
    """Return True if a node multiplies ``v`` by 1/2."""
    operand, scale = factor(node) or (None, None)
    return operand is v and is_near(scale, 0.5)


def gelu_by_erf(node: Node, at: Written) -> Changes:
    """Return GELU for ``x * (1 + erf(x / sqrt(2))) / 2``, with the half at any factor.

    Source: torch.onnx, symbolic_opset9.gelu, and its torch.export successor.
    """
    inner = at.maker(node.inputs[0], Mul, Div)
    x, scale = factor(inner) or (None, None)
    if inner is None or x is None or not is_near(scale, math.sqrt(0.5)):
        return {}
    return closed(node, x, [inner, node], "none", at)


def gelu_by_tanh(node: Node, at: Written) -> Changes:
    """Return GELU for ``x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3))) / 2``.

    A cube of two products is always replaced. A cube that is a power is replaced only if the name
    of the last product has "gelu", as an exporter writes it for the function; a module that is
    written with a power runs each operator.

    Source: torch.onnx, symbolic_opset9.gelu, and its torch.export successor; transformers,
    activations.NewGELUActivation, for the module.
    """
    inner = at.maker(node.inputs[0], Mul)
    argument, scale = factor(inner) or (None, None)
    total = at.maker(argument, Add)
    if inner is None or total is None or not is_near(scale, INNER):
        return {}
    # either operand of the sum may be x
    for x in total.inputs:
        cubic_term = None if x is None else at.maker(other(total, x), Mul)
        power, coefficient = factor(cubic_term) or (None, None)
        cube = at.maker(power, Mul, Pow)
        if x is None or cubic_term is None or cube is None:
            continue
        powers = _cubed(x, cube, at)
        if powers and is_near(coefficient, CUBE):
            changes = closed(node, x, [*powers, cubic_term, total, inner, node], "tanh", at)
            # the last product is the node with a replacement
            is_named = any("gelu" in last.name for last, written in changes.items() if written)
            return changes if is_named or not cube.op.is_exactly(Pow) else {}
    return {}


def _cubed(x: Value, cube: Node, at: Written) -> list[Node]:
    """Return the nodes that compute the cube of ``x``; empty if ``cube`` is not its cube."""
    if cube.op.is_exactly(Pow):
        return [cube] if cube.inputs[0] is x and is_near(number(cube.inputs[1]), 3.0) else []
    square = at.maker(other(cube, x), Mul)
    return [square, cube] if square is not None and set(square.inputs) == {x} else []


def closed(node: Node, x: Value, gone: list[Node], approximate: str, at: Written) -> Changes:
    """Return the GELU of ``x`` whose erf or tanh is ``node``; empty if it is not a GELU.

    The GELU replaces the nodes in ``gone``, which end with ``node``, and the sum and the products
    after them.
    """
    plus = at.reader(node.results[0], Add)
    if plus is None or not is_near(number(other(plus, node.results[0])), 1.0):
        return {}
    gone = [*gone, plus]
    first = at.reader(plus.results[0], Mul, Div)
    if first is None:
        return {}
    # the half is at x, or one of two products after the sum
    other_operand = other(first, plus.results[0])
    half = at.maker(other_operand, Mul, Div)
    if half is not None and is_half_of(half, x):
        last, gone = first, [*gone, half]
    else:
        second = at.reader(first.results[0], Mul, Div)
        if second is None:
            return {}
        pair = {first: plus.results[0], second: first.results[0]}
        halves = [n for n, v in pair.items() if is_half_of(n, v)]
        gates = [n for n, v in pair.items() if n.op.is_exactly(Mul) and other(n, v) is x]
        if len(halves) != 1 or len(gates) != 1:
            return {}
        last, gone = second, [*gone, first]
    if not at.is_inner(gone):
        return {}
    loc = replace(last.loc, op_type="Gelu")
    gelu = Node(Gelu(approximate=approximate), (x,), last.outputs, (), loc)
    return {**{n: [] for n in gone}, last: [gelu]}


def attention(node: Node, at: Written, trained: Collection[Value], tape: Tape) -> Changes:
    """Return attention for ``softmax(q * s @ (k * s)^T + mask) @ v``.

    Only exporters' expansion of ``scaled_dot_product_attention`` splits the scale between queries
    and keys. Its fused kernels save their operands and result, and take no mask that is trained.

    Source: torch.onnx, symbolic_opset14.scaled_dot_product_attention; PyTorch,
    derivatives.yaml, _scaled_dot_product_efficient_attention.

    Args:
        node: the softmax.
        at: the graph around it.
        trained: values that depend on parameters.
        tape: names the new values.
    """
    total = at.maker(node.inputs[0], Add, MatMul)
    scores, mask = _masked(total, at)
    product, cleaned = _weighted(node, at)
    if total is None or scores is None or product is None or (mask and mask in trained):
        return {}
    ends = [at.maker(v, Mul, Div) for v in scores.inputs]
    scaled_operands = [_scaled(end) for end in ends]
    probabilities = (cleaned[-1] if cleaned else node).results
    if (
        len(scaled_operands) != 2
        or None in scaled_operands
        or product.inputs[0] not in probabilities
    ):
        return {}
    q, k = (v for v in scaled_operands if v is not None)
    v = product.inputs[1]
    if v is None or not _are_heads(node, q, k, v):
        return {}
    removed = [*(e for e in ends if e is not None), scores, *((total,) if mask else ()), node]
    # the softmax has two readers where its rows are cleaned
    if not at.is_inner([n for n in removed if n is not node]):
        return {}
    written, keys = _keys(k, product, at, tape)
    factors = [pair for end in ends if (pair := factor(end)) is not None]
    # None where the scale is computed from shapes, as the default is
    scale = math.prod(part for _, part in factors) if len(factors) == 2 else None
    head_dim = shape_of(q)[-1]
    assert isinstance(head_dim, int)  # by `_are_heads`
    is_default_scale = scale is None or is_near(scale, head_dim**-0.5)
    causal = _causal_mask(mask, at)
    op = Attention(scale=None if is_default_scale else scale, is_causal=int(bool(causal)))
    ins = (q, keys, v, *((mask,) if mask is not None and not causal else ()))
    # attention of several layers may share the nodes that write a mask
    removed += [n for n in causal if at.is_inner([n])]
    loc = replace(product.loc, op_type="Attention")
    fused = Node(op, ins, product.outputs, (), loc)
    return {**{n: [] for n in (*removed, *cleaned)}, product: [*written, fused]}


def _masked(total: Node | None, at: Written) -> tuple[Node | None, Value | None]:
    """Return the product of queries and keys, and the mask that is added to it, if any."""
    if total is None or total.op.is_exactly(MatMul):
        return total, None
    for v in total.inputs:
        scores = at.maker(v, MatMul)
        mask = None if v is None else other(total, v)
        if scores is not None and mask is not None:
            return scores, mask
    return None, None


def _causal_mask(mask: Value | None, at: Written) -> list[Node]:
    """Return the nodes that write a causal mask and nothing else; empty if they do not."""
    nodes: list[Node] = []
    waiting = [mask]
    while waiting:
        node = at.maker(v := waiting.pop(), Where, Equal, Trilu)
        if node is not None:
            nodes.append(node)
            # a triangle is cut out of constants, which need no look
            waiting += () if node.op.is_exactly(Trilu) else node.inputs
        elif v is not None and v in at.makers and not is_scalar(v):
            return []
    return nodes if any(n.op.is_exactly(Trilu) for n in nodes) else []


def _weighted(node: Node, at: Written) -> tuple[Node | None, list[Node]]:
    """Return the product of probabilities with values, and the nodes between softmax and product.

    They set rows without any key, which are NaN, to zero.
    """
    readers = at.users.get(node.results[0], [])
    cleaned: list[Node] = []
    out = node.results[0]
    if len(readers) == 2 and any(n.op.is_exactly(IsNaN) for n in readers):
        # the test for NaN, then the selection that also reads it
        cleaned = sorted(readers, key=lambda n: not n.op.is_exactly(IsNaN))
        if at.reader(cleaned[0].results[0], Where) is not cleaned[1]:
            return None, []
        out = cleaned[1].results[0]
    return at.reader(out, MatMul), cleaned


def _scaled(node: Node | None) -> Value | None:
    """Return the operand that a node scales by one number, stored or computed from shapes."""
    if node is None:
        return None
    tensors = [v for v in node.inputs if v is not None and not is_scalar(v)]
    return tensors[0] if len(tensors) == 1 and len(node.inputs) == 2 else None


def _are_heads(softmax: Node, q: Value, k: Value, v: Value) -> bool:
    """Return True for queries, transposed keys and values of one attention.

    There are as many heads of keys and values as of queries, or a single one for all queries.
    """
    if any(not isinstance(x.type, TensorType) or not x.type.shape for x in (q, k, v)):
        return False
    of_q, of_k, of_v = shape_of(q), shape_of(k), shape_of(v)
    axis = softmax.op.axis if isinstance(softmax.op, Softmax) else None
    return (
        {len(of_q), len(of_k), len(of_v)} == {RANK}
        and axis in (-1, RANK - 1)
        and of_q[0] == of_k[0] == of_v[0]
        and of_k[1] == of_v[1]
        and of_k[1] in (of_q[1], 1)
        and of_q[-1] == of_k[-2]
        and isinstance(of_q[-1], int)
        and of_k[-1] == of_v[-2]
    )


def _keys(k: Value, product: Node, at: Written, tape: Tape) -> tuple[list[Node], Value]:
    """Return the keys with the head width last, and the transpose that they need, if any.

    An existing transpose is left out: its operand has the width last.
    """
    perm = (0, 1, 3, 2)
    maker = at.maker(k, Transpose)
    if maker is not None and isinstance(maker.op, Transpose) and maker.op.perm == perm:
        operand = maker.inputs[0]
        assert operand is not None
        return [], operand
    shape = shape_of(k)
    shown = Value(tape.fresh(k.name), TensorType(k.dtype, tuple(shape[i] for i in perm)))
    loc = replace(product.loc, op_type="Transpose")
    return [Node(Transpose(perm=perm), (k,), (shown,), (), loc)], shown
