"""Low-rank adaptation: small trained factors in addition to frozen matrices."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from perfc.errors import PassError
from perfc.ir import Loc, Node, TensorType, Value, Weight, entity
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.contraction.matmul import Gemm, MatMul
from perfc.ir.ops.elementwise.elementwise import Add
from perfc.ir.ops.movement.movement import Transpose

ALPHA = 16.0
"""The product of the factors is scaled by ``ALPHA / rank``; its value does not change the cost.

PEFT calls it ``lora_alpha``; usual values are 8 to 32.
"""


@entity
class LoraModule:
    """Nodes of products with factors added to them, and the factors: all that is trained."""

    nodes: list[Node]
    factors: list[Value]


def adapted(nodes: Sequence[Node], rank: int, patterns: Sequence[str], tape: Tape) -> LoraModule:
    """Return ``y + (x @ A) @ B * alpha / rank`` for each product ``y`` of ``x`` and a parameter.

    Args:
        nodes: nodes of the forward pass.
        rank: rank of the factors.
        patterns: patterns of names of the matrices.
        tape: names values and makes nodes, which are moved to the result.

    Raises:
        PassError: no product has a matrix of such a name.

    Source: arXiv:2106.09685, equation 3; PEFT, peft.tuners.lora.layer.Linear.forward.
    """
    makers = {v: n for n in nodes for v in n.results}
    result: list[Node] = []
    factors: list[Value] = []
    for node in nodes:
        w = matrix_of(node, makers)
        if w is None or not any(fnmatchcase(w.name, p) for p in patterns):
            result.append(node)
            continue
        module = with_factors(node, w, rank, tape)
        result += module.nodes
        factors += module.factors
    if not factors:
        names = ", ".join(patterns)
        raise PassError(f"no product has a matrix called {names}", where="--lora")
    return LoraModule(result, factors)


def matrix_of(node: Node, makers: dict[Value, Node]) -> Value | None:
    """Return the stored matrix that a node multiplies its first operand by."""
    if not node.op.is_exactly(MatMul, Gemm) or len(node.inputs) < 2:
        return None
    w = node.inputs[1]
    # exporters may store the matrix transposed, with a transposition before the product
    maker = makers.get(w) if w is not None else None
    if maker is not None and isinstance(maker.op, Transpose):
        w = maker.inputs[0]
    is_matrix = w is not None and len(w.shape or ()) == 2
    return w if is_matrix and w is not None and w.is_parameter else None


def with_factors(node: Node, w: Value, rank: int, tape: Tape) -> LoraModule:
    """Return one product with its low-rank factors.

    A product that transposes ``x`` gets none: the factors multiply ``x`` as it is.
    """
    x, y = node.inputs[0], node.results[0]
    assert x is not None
    inner, outer = shape_of(x)[-1], shape_of(y)[-1]
    if isinstance(node.op, Gemm) and node.op.transA:
        return LoraModule([node], [])
    a = factor(tape, w, "lora_A", (inner, rank))
    b = factor(tape, w, "lora_B", (rank, outer))
    tape.place, tape.suffix, tape.nodes = Loc(node.name, frames=node.loc.frames), ".lora", []
    down = tape.apply(MatMul(), x, a)
    up = tape.scaled(tape.apply(MatMul(), down, b), ALPHA / rank)
    base_result = Value(tape.fresh(f"{y.name}.base"), y.type)
    base = Node(node.op, node.inputs, (base_result,), (), node.loc)
    loc = Loc(f"{node.name}.lora", "Add", phase=node.loc.phase, frames=node.loc.frames)
    adapted_nodes = [base, *tape.nodes, Node(Add(), (base_result, up), (y,), (), loc)]
    tape.nodes = []
    return LoraModule(adapted_nodes, [a, b])


def factor(tape: Tape, w: Value, name: str, shape: tuple[object, ...]) -> Value:
    """Return a factor as a new parameter in the element type of its matrix."""
    type_ = TensorType(w.dtype, shape)  # type: ignore[arg-type]
    return Value(tape.fresh(f"{w.name}.{name}"), type_, None, Weight(type_.known_nbytes))
