"""Differentiation of a part of a model; gradients of its results are inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perfc.errors import PassError
from perfc.ir import Graph, Module, Node, Phase, Value, frozen, record
from perfc.ir.gradients.tape import Tape
from perfc.ir.symbolic.fresh import numbering
from perfc.ir.syntax.text import all_values

from .. import Transform
from ..manager import Analyses
from .checkpointing import needed
from .differentiate import differentiate
from .train import kept_weights

SEED = ".seed"
"""Suffix of the name of a result's incoming gradient."""
ACTIVATIONS = (1, 2, 3)
"""Ranks of activations between parts (rows of tokens); caches and states have more axes."""


@frozen
class Backward(Transform):
    """Add gradients of parameters and of activations from the previous part to a module.

    Its results are the module's results, then gradients of inputs, then gradients of parameters.
    Unlike `Train` it has no loss and no optimizer, because it differentiates a part of a larger
    model.
    """

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the forward and backward pass of the part; needs inferred types.

        Raises:
            PassError: an operator has no gradient, or nothing has one.
        """
        return differentiated(module).module


@record
class BothWays:
    """Forward and backward pass of a part.

    Args:
        module: the part, with gradients as further results.
        inputs: activations from the previous part that have a gradient.
        before: nodes of the backward pass that the previous part waits for.
    """

    module: Module
    inputs: tuple[Value, ...]
    before: frozenset[Node]


def differentiated(module: Module) -> BothWays:
    """Return a part with its backward pass.

    Raises:
        PassError: as `Backward.run`.
    """
    with numbering():
        graph = module.graph
        tape = Tape((v.name for v in all_values(graph)), Phase.BACKWARD)
        seeds = {
            v: Value(tape.fresh(f"{v.name}{SEED}"), v.type) for v in graph.outputs if v.is_real
        }
        activations = handed(graph.inputs)
        wanted = [*activations, *trained(graph.weights)]
        derivatives = differentiate(graph.nodes, seeds, wanted, tape)
        gradients = [derivatives.gradients[v] for v in wanted if v in derivatives.gradients]
        if not gradients:
            raise PassError("nothing has a gradient", where=module.graph.name)
        # gradients may need results that the forward pass drops, such as statistics
        nodes = needed([*derivatives.forward, *tape.nodes], [*graph.outputs, *gradients])
        weights = kept_weights((*graph.weights, *tape.constants.values()), nodes)
        # one value may be several results: an output that is an input, a gradient of two values
        outputs = tuple(dict.fromkeys((*graph.outputs, *gradients)))
        inputs = (*graph.inputs, *seeds.values())
        both_passes = replace(
            module, graph=Graph(graph.name, inputs, outputs, tuple(nodes), weights)
        )
        received = tuple([v for v in activations if v in derivatives.gradients])
        before_previous = needed(tape.nodes, [derivatives.gradients[v] for v in received])
        return BothWays(both_passes, received, frozenset(before_previous))


def handed(values: Iterable[Value]) -> list[Value]:
    """Return inputs that another part computed: real numbers of few axes, unlike caches."""
    return [v for v in values if v.is_real and len(v.shape or ()) in ACTIVATIONS]


def trained(weights: Iterable[Value]) -> list[Value]:
    """Return the floating-point parameters."""
    return [w for w in weights if w.is_parameter and w.is_real]
