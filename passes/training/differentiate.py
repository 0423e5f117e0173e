"""Reverse-mode differentiation: the nodes that compute gradients of a loss."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from perfc.errors import PassError
from perfc.ir import DType, Inputs, Loc, Node, TensorType, Value, entity
from perfc.ir.gradients.adjoint import Adjoint
from perfc.ir.gradients.tape import Tape
from perfc.ir.ops.elementwise.cast import Cast

from ..precision.retype import is_wide_float


@entity
class Derivatives:
    """Result of differentiation.

    Args:
        forward: forward nodes, with the additional results that the backward pass needs.
        gradients: gradients of the requested values, and of all values between them and the seeds.
    """

    forward: tuple[Node, ...]
    gradients: Mapping[Value, Value]


def may_carry(v: Value) -> bool:
    """Return True if gradients may pass through a value: real tensors and their containers."""
    return v.is_real or not isinstance(v.type, TensorType) or v.dtype is DType.UNKNOWN


def active(nodes: Sequence[Node], wanted: Collection[Value]) -> set[Value]:
    """Return the wanted values and the values of real numbers that depend on them."""
    result = set(wanted)
    for node in nodes:
        if not result.isdisjoint(node.inputs):
            result.update(v for v in node.results if may_carry(v))
    return result


def differentiate(
    nodes: Sequence[Node], seeds: Mapping[Value, Value], wanted: Collection[Value], tape: Tape
) -> Derivatives:
    """Return the gradients of ``wanted``, written on ``tape``.

    Args:
        nodes: forward nodes, in an order that can run.
        seeds: gradients of results, by result.
        wanted: values whose gradients are computed.
        tape: takes the backward nodes, beginning with those of the last forward node.

    Raises:
        PassError: an operator on the way has no rule.
    """
    alive = active(nodes, wanted)
    gradients: dict[Value, Value] = dict(seeds)
    changed: dict[Node, Node] = {}
    for node in reversed(nodes):
        incoming = tuple(gradients.get(v) if v is not None else None for v in node.outputs)
        # no wanted value comes before the node, or the loss does not depend on its results
        if alive.isdisjoint(node.inputs) or not any(incoming):
            continue
        tape.place = Loc(node.name, node.loc.op_type, frames=node.loc.frames)
        is_wanted = tuple(v in alive for v in node.inputs)
        adjoint = Adjoint(node, incoming, is_wanted, tape)
        parts = node.op.gradient(adjoint) if not node.regions else None
        if parts is None:
            raise without_rule(node)
        # a rule may give the forward node a further result, to be saved
        changed[node] = adjoint.node
        for index, part in parts.items():
            if part is not None and is_wanted[index]:
                collect(gradients, node.inputs, index, part, tape)
    forward = tuple(changed.get(n, n) for n in nodes)
    return Derivatives(forward, gradients)


def collect(
    gradients: dict[Value, Value], ins: Inputs, index: int, part: Value, tape: Tape
) -> None:
    """Add a gradient of an operand to its gradients from other readers, in the operand's type.

    Source: PyTorch, torch/csrc/autograd/engine.cpp, `validate_outputs`.
    """
    v = ins[index]
    assert v is not None
    # the gradient of a parameter is cast once, after its sum (`Train.of_parameters`)
    if is_wide_float(v.dtype) and part.dtype is not v.dtype and v.weight is None:
        part = tape.apply(Cast(to=v.dtype), part)
    so_far = gradients.get(v)
    gradients[v] = part if so_far is None else tape.add(so_far, part)


def without_rule(node: Node) -> PassError:
    """Return the error for an operator without a gradient."""
    kind = "control flow" if node.regions else "an operator without a rule"
    return PassError(
        f"no gradient of {node.op.mnemonic}, {kind}",
        where=node.name,
        hint="--freeze what lies before it, or add a rule to ir/gradients",
    )
