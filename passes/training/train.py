"""A training step: the model, a loss, the gradients of its parameters, and their update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from perfc.errors import PassError
from perfc.ir import DType, Graph, Loc, Module, Node, Phase, Value, frozen
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.symbolic.fresh import numbering
from perfc.ir.syntax.text import all_values

from .. import Transform
from ..manager import Analyses
from .accumulation import accumulated
from .checkpointing import Checkpoints, needed, recomputed
from .decomposition.dropouts import dropped
from .decomposition.rewrites import rewritten
from .decomposition.unfused import unfused
from .differentiate import Derivatives, differentiate
from .implementation import OptimizerLaunch, RecomputePolicy
from .lora import adapted
from .loss import head
from .modes import trained_form
from .optimizer import ListKernel, apply, optimizer, state_like

BUFFERS = (
    "*running_mean",
    "*running_var",
    "*num_batches_tracked",
    "*attn_mask",
    "*attention_mask",
    "*inv_freq",
    "*position_ids",
    "*relative_position_index",
    "*causal_mask",
    "*/Constant_output_0",
    "*/Constant_*_output_0",
)
"""Names of stored tensors that are no parameters: buffers of PyTorch, constants of torch.onnx."""
UNNAMED = "val_[0-9]*"
"""Names that torch.onnx gives to its constants, such as the biases of zeros of convolutions.

A parameter has such a name only if it is a matrix that torch.onnx transposed.
"""
SCALE = 65536.0
"""PyTorch, torch.amp.GradScaler: the scale that it starts with."""
UNSCALE = ListKernel("_amp_foreach_non_finite_check_and_unscale_", "g", "g", alu=2)
"""Kernel that divides gradients by the scale and looks for infinities."""
COPY = ListKernel("_foreach_copy_", "pw", "p", alu=0, unread="p")
"""Kernel that copies updated master weights ``w`` to the narrow parameters ``p``."""


@frozen
class Train(Transform):
    """The module as one training step: forward, loss, backward and optimizer, a node each.

    Every added node has its phase. Stored tensors of real numbers are trained, except constants,
    statistics of batch normalisation, and tensors that ``freeze`` names.

    Args:
        optimizer: name of the optimizer; "" for gradients alone.
        loss: name of the loss; "" for the one that fits the first result.
        implementation: implementation of the optimizer, ``foreach`` or ``fused``.
        freeze: patterns of names of parameters that are not trained.
        master_weights: whether the optimizer also has an f32 copy of parameters below 32 bits.
        loss_scaling: whether the loss is scaled and gradients are checked, as f16 needs.
        accumulate: number of small batches, each of the model's batch, before an update.
        lora_rank: rank of the factors that are added to matrices, and then are all that is trained;
            0 for no factors.
        lora: patterns of names of these matrices; all matrices by default.
        checkpointing: policy of what is computed again: none, block, selective or optimal.
        keep: share of the saved bytes that may stay, under ``optimal``.
        dropout: share of the elements that a transformer drops, if the model does not give it.
        fuses_attention: whether the framework runs and differentiates attention as one operator.
        is_trainer: whether the framework is a trainer, which fuses every attention, and the update
            with its master weights.
    """

    optimizer: str = "adamw"
    loss: str = ""
    implementation: str = "foreach"
    freeze: tuple[str, ...] = ()
    master_weights: bool = False
    loss_scaling: bool = False
    accumulate: int = 1
    lora_rank: int = 0
    lora: tuple[str, ...] = ()
    checkpointing: str = "none"
    keep: float = 0.5
    dropout: float = 0.0
    fuses_attention: bool = True
    is_trainer: bool = False

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the step; needs inferred types, and parameters that are not folded.

        Raises:
            PassError: nothing is left to train, an operator has no gradient, or no such name.
        """
        with numbering():
            return self.step(module)

    def step(self, module: Module) -> Module:
        """Return the module of a step."""
        graph = module.graph
        tape = Tape((v.name for v in all_values(graph)), Phase.FORWARD)
        trained = [w for w in graph.weights if self.is_trained(w)]
        nodes = rewritten(
            graph.nodes,
            graph.outputs,
            trained,
            tape,
            fuses_attention=self.fuses_attention,
            by_call=module.origin.is_program,
        )
        # attention is written out before dropout, which drops probabilities that are a tensor
        if not self.is_trainer:
            nodes = unfused(nodes, tape, fuses_attention=self.fuses_attention)
        if self.dropout:
            nodes = dropped(nodes, self.dropout, tape)
        nodes = trained_form(nodes, tape)
        if self.lora_rank:
            adapters = adapted(nodes, self.lora_rank, self.lora or ("*",), tape)
            nodes, trained = adapters.nodes, adapters.factors
        if not trained:
            raise PassError("nothing is left to train", where="--freeze", hint="freeze less")
        tape.phase, tape.place, tape.suffix = Phase.LOSS, Loc("loss"), ""
        loss_head = head(self.loss, tape, graph.outputs, nodes)
        loss = self.scaled(loss_head.loss, tape)
        forward = [*nodes, *tape.nodes]
        tape.phase, tape.suffix, tape.nodes = Phase.BACKWARD, ".grad", []
        seed = tape.number(1.0, loss.dtype)
        derivatives = differentiate(forward, {loss: seed}, trained, tape)
        pairs = self.of_parameters(trained, derivatives, tape)
        backward = self.with_recomputation(module, derivatives.forward, trained, tape)
        inputs = (*graph.inputs, *loss_head.inputs)
        # dead nodes are removed before the passes are repeated for each small batch
        passes = accumulated(
            needed([*derivatives.forward, *backward], [loss, *(g for _, g in pairs)]),
            inputs,
            [g for _, g in pairs],
            self.accumulate,
            tape,
        )
        pairs = [(p, g) for (p, _), g in zip(pairs, passes.gradients, strict=True)]
        tape.phase, tape.nodes = Phase.OPTIMIZER, []
        updated, states = self.update(pairs, tape)
        stepped = needed([*passes.nodes, *tape.nodes], [loss, *updated])
        weights = kept_weights(
            (*graph.weights, *trained, *states, *tape.constants.values()), stepped
        )
        return replace(
            module,
            graph=Graph(
                graph.name, (*inputs, *passes.inputs), (loss, *updated), tuple(stepped), weights
            ),
        )

    def with_recomputation(
        self, module: Module, forward: Sequence[Node], trained: Sequence[Value], tape: Tape
    ) -> list[Node]:
        """Return the backward pass on the tape, with recomputation as the policy requires."""
        policy = RecomputePolicy(self.checkpointing)
        if policy is RecomputePolicy.NONE and not any(n.loc.checkpoint for n in forward):
            return tape.nodes
        points = Checkpoints.of(forward, tape.nodes, trained, module.defaults())
        plan = points, points.policies(policy, self.keep)
        return recomputed(forward, tape.nodes, plan, tape)

    def scaled(self, loss: Value, tape: Tape) -> Value:
        """Return the loss to differentiate, scaled so that narrow gradients do not vanish."""
        # each small batch adds its share of the mean
        factor = (SCALE if self.loss_scaling else 1.0) / self.accumulate
        return tape.scaled(loss, factor)

    def is_trained(self, w: Value) -> bool:
        """Return True if a stored tensor is a parameter that is not frozen."""
        if not w.is_parameter or not w.is_real:
            return False
        # under a name of torch.onnx only matrices are parameters
        if fnmatchcase(w.name, UNNAMED) and len(shape_of(w)) <= 1:
            return False
        patterns = (*BUFFERS, *self.freeze)
        return not any(fnmatchcase(w.name, p) for p in patterns)

    def of_parameters(
        self, trained: Sequence[Value], derivatives: Derivatives, tape: Tape
    ) -> list[tuple[Value, Value]]:
        """Return the parameters that have gradients, each with its gradient in its type."""
        pairs: list[tuple[Value, Value]] = []
        for p in trained:
            g = derivatives.gradients.get(p)
            if g is None:
                continue
            if g.dtype is not p.dtype:
                tape.place = Loc(p.name)
                g = tape.apply(Cast(to=p.dtype), g)
            pairs.append((p, g))
        if not pairs:
            raise PassError("no parameter has a gradient", where="--loss")
        return pairs

    def update(
        self, pairs: Sequence[tuple[Value, Value]], tape: Tape
    ) -> tuple[list[Value], list[Value]]:
        """Return new parameters and states, and the stored states; or gradients alone."""
        if not self.optimizer:
            return [g for _, g in pairs], []
        launch = OptimizerLaunch.FUSED if self.is_trainer else OptimizerLaunch(self.implementation)
        if self.loss_scaling:
            lists = {"p": [p for p, _ in pairs], "g": [g for _, g in pairs]}
            apply(tape, UNSCALE, lists)
            pairs = list(zip(lists["p"], lists["g"], strict=True))
        # master weights serve parameters below 32 bits only
        narrow = [p for p, _ in pairs if p.dtype.bits < DType.F32.bits]
        if not self.master_weights or not narrow:
            return optimizer(self.optimizer).update(tape, pairs, launch)
        masters = [state_like(tape, p, "master", DType.F32) for p, _ in pairs]
        rule = optimizer(self.optimizer)
        if self.is_trainer and rule.fused is not None:
            return rule.narrowed(tape, masters, pairs)
        f32_gradients = [widened(tape, g) for _, g in pairs]
        updated, stored = rule.update(tape, list(zip(masters, f32_gradients, strict=True)), launch)
        lists = {"p": [p for p, _ in pairs], "w": updated[: len(pairs)]}
        apply(tape, COPY, lists)
        return [*lists["p"], *updated], [*masters, *stored]


def widened(tape: Tape, g: Value) -> Value:
    """Return a gradient in f32."""
    tape.place, tape.suffix = Loc(g.name), ".f32"
    return g if g.dtype is DType.F32 else tape.apply(Cast(to=DType.F32), g)


def kept_weights(weights: Sequence[Value], nodes: Sequence[Node]) -> tuple[Value, ...]:
    """Return the stored tensors that some node reads."""
    read = {v for n in nodes for v in n.inputs}
    return tuple(w for w in dict.fromkeys(weights) if w in read)
