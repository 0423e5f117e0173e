"""A training step: the model, a loss, the gradients of its parameters, and their update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from perfc.errors import PassError
from perfc.ir.fresh import numbering
from perfc.ir.gradients.tape import Tape, dtype_of
from perfc.ir.graph import Graph, Loc, Module, Node, Phase, Value
from perfc.ir.ops.cast import Cast
from perfc.ir.record import frozen
from perfc.ir.text import all_values

from . import Transform
from .training.differentiate import Derivatives, differentiate, is_real
from .training.implementation import Implementation
from .training.loss import head
from .training.modes import trained_form
from .training.optimizer import optimizer

if TYPE_CHECKING:
    from .manager import Analyses

BUFFERS = (
    "*running_mean", "*running_var", "*num_batches_tracked", "*attn_mask", "*attention_mask",
    "*inv_freq", "*position_ids", "*relative_position_index", "*causal_mask",
)  # fmt: skip
"""Names that PyTorch modules give to stored tensors that are no parameters."""


@frozen
class Train(Transform):
    """The module as one training step: forward, loss, backward and optimiser, a node each.

    Every node behind the model's own says its phase. Stored tensors of real numbers are trained,
    but for constants, statistics of batch normalisation, and what ``freeze`` names.

    Args:
        optimizer: by name; "" for gradients alone.
        loss: by name; "" for the one that fits the first result.
        implementation: of the optimiser, ``foreach`` or ``fused``.
        freeze: patterns of names of parameters that are not trained.
    """

    optimizer: str = "adamw"
    loss: str = ""
    implementation: str = "foreach"
    freeze: tuple[str, ...] = ()

    def run(self, module: Module, am: Analyses) -> Module:
        """The step; needs inferred types, and parameters that are not folded.

        Raises:
            PassError: nothing is left to train, an operator has no gradient, or no such name.
        """
        with numbering():
            return self.step(module)

    def step(self, module: Module) -> Module:
        """The module of a step."""
        graph = module.graph
        tape = Tape((v.name for v in all_values(graph)), Phase.LOSS)
        nodes = trained_form(graph.nodes, tape)
        trained = [w for w in graph.weights if self.is_trained(w, nodes)]
        if not trained:
            raise PassError("nothing is left to train", where="--freeze", hint="freeze less")
        tape.place, tape.suffix = Loc("loss"), ""
        ends = head(self.loss, tape, graph.outputs, nodes)
        before = [*nodes, *tape.nodes]
        tape.phase, tape.suffix, tape.nodes = Phase.BACKWARD, ".grad", []
        seed = tape.number(1.0, dtype_of(ends.loss))
        found = differentiate(before, {ends.loss: seed}, trained, tape)
        pairs = self.of_parameters(trained, found, tape)
        backward = [*tape.nodes]
        tape.phase, tape.nodes = Phase.OPTIMIZER, []
        updated, states = self.update(pairs, tape)
        stepped = alive([*found.forward, *backward, *tape.nodes], [ends.loss, *updated])
        weights = kept_weights((*graph.weights, *states, *tape.constants.values()), stepped)
        outputs = (ends.loss, *updated)
        inputs = (*graph.inputs, *ends.inputs)
        return replace(module, graph=Graph(graph.name, inputs, outputs, tuple(stepped), weights))

    def is_trained(self, w: Value, nodes: Sequence[Node]) -> bool:
        """Whether a stored tensor is a parameter that is not frozen."""
        if w.weight is None or not w.weight.is_parameter or not is_real(w):
            return False
        patterns = (*BUFFERS, *self.freeze)
        return not any(fnmatchcase(w.name, p) for p in patterns)

    def of_parameters(
        self, trained: Sequence[Value], found: Derivatives, tape: Tape
    ) -> list[tuple[Value, Value]]:
        """Parameters with their gradients, in the parameter's type, those without left out."""
        pairs: list[tuple[Value, Value]] = []
        for p in trained:
            g = found.gradients.get(p)
            if g is None:
                continue
            if dtype_of(g) is not dtype_of(p):
                tape.place = Loc(p.name)
                g = tape.apply(Cast(to=dtype_of(p)), g)
            pairs.append((p, g))
        if not pairs:
            raise PassError("no parameter has a gradient", where="--loss")
        return pairs

    def update(
        self, pairs: Sequence[tuple[Value, Value]], tape: Tape
    ) -> tuple[list[Value], list[Value]]:
        """New parameters and states, and the states; gradients where nothing updates."""
        if not self.optimizer:
            return [g for _, g in pairs], []
        how = Implementation(self.implementation)
        return optimizer(self.optimizer).update(tape, pairs, how)


def alive(nodes: Sequence[Node], outputs: Sequence[Value]) -> list[Node]:
    """Nodes that something needs, in their order."""
    needed = set(outputs)
    kept: list[Node] = []
    for node in reversed(nodes):
        if any(v in needed for v in node.results):
            kept.append(node)
            needed.update(v for v in node.inputs if v is not None)
    return kept[::-1]


def kept_weights(weights: Sequence[Value], nodes: Sequence[Node]) -> tuple[Value, ...]:
    """Stored tensors that some node reads."""
    read = {v for n in nodes for v in n.inputs}
    return tuple(w for w in dict.fromkeys(weights) if w in read)
