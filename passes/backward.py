"""A part of a model with its backward pass: gradients of its results are inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.errors import PassError
from perfc.ir.fresh import numbering
from perfc.ir.gradients.tape import Tape
from perfc.ir.graph import Graph, Module, Node, Phase, Value
from perfc.ir.record import frozen, record
from perfc.ir.text import all_values
from perfc.ir.types import TensorType

from . import Transform
from .train import alive, kept_weights
from .training.differentiate import differentiate

if TYPE_CHECKING:
    from .manager import Analyses

SEED = ".seed"
"""Of the names of gradients that come from behind, after the results that they are of."""
ACTIVATIONS = (1, 2, 3)
"""Axes of what one part hands to the next: rows of tokens. Caches and states have more."""


@frozen
class Backward(Transform):
    """The module, and the gradients of its parameters and of what the part before gave it.

    Results are those of the module, then gradients of inputs, then those of parameters. Unlike
    `Train` it has no loss and no optimiser: what it differentiates is a part of a larger model.
    """

    def run(self, module: Module, am: Analyses) -> Module:
        """The part forward and backward; needs inferred types.

        Raises:
            PassError: an operator has no gradient, or nothing has one.
        """
        return differentiated(module).module


@record
class BothWays:
    """A part forward and backward.

    Args:
        module: with gradients as further results.
        inputs: what the part before hands over, without whatever has no gradient.
        before: nodes of the backward pass that the part before waits for.
    """

    module: Module
    inputs: tuple[Value, ...]
    before: frozenset[Node]


def differentiated(module: Module) -> BothWays:
    """A part with its backward pass; otherwise as `Backward`."""
    with numbering():
        graph = module.graph
        tape = Tape((v.name for v in all_values(graph)), Phase.BACKWARD)
        seeds = {
            v: Value(tape.fresh(f"{v.name}{SEED}"), v.type) for v in graph.outputs if v.is_real
        }
        before = handed(graph.inputs)
        wanted = [*before, *trained(graph.weights)]
        found = differentiate(graph.nodes, seeds, wanted, tape)
        gradients = [found.gradients[v] for v in wanted if v in found.gradients]
        if not gradients:
            raise PassError("nothing has a gradient", where=module.graph.name)
        # results of operators that nobody asked for, such as statistics, are asked for now
        nodes = alive([*found.forward, *tape.nodes], [*graph.outputs, *gradients])
        weights = kept_weights((*graph.weights, *tape.constants.values()), nodes)
        outputs = tuple(dict.fromkeys((*graph.outputs, *gradients)))
        inputs = (*graph.inputs, *seeds.values())
        both = replace(module, graph=Graph(graph.name, inputs, outputs, tuple(nodes), weights))
        given = tuple([v for v in before if v in found.gradients])
        waited = alive(tape.nodes, [found.gradients[v] for v in given])
        return BothWays(both, given, frozenset(waited))


def handed(values: Iterable[Value]) -> list[Value]:
    """Inputs that another part computed: real numbers, of few axes, which caches are not."""
    return [
        v
        for v in values
        if v.is_real and isinstance(v.type, TensorType) and len(v.type.shape or ()) in ACTIVATIONS
    ]


def trained(weights: Iterable[Value]) -> list[Value]:
    """Parameters of real numbers."""
    return [w for w in weights if w.weight is not None and w.weight.is_parameter and w.is_real]
