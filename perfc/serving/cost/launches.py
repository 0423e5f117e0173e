"""Count the kernels of an engine's steps that the host launches one by one, without a graph."""

from __future__ import annotations

from perfc.ir import Kind, record
from perfc.passes.runtimes import EngineKind

from .program import Passes, Program

NOT_RECORDED = frozenset({Kind.ATTENTION, Kind.RECURRENT})
"""Kinds of kernels that read the context; recorded steps with prompts launch them separately."""


@record
class Launches:
    """Kernels that the host launches in each kind of step; 0 in a recorded decode step.

    Args:
        decoding: launches of a decode step that is not recorded.
        prompts: launches of a step with prompts that is not recorded.
        pieces: launches of a step with prompts that is recorded except for attention.
    """

    decoding: int
    prompts: int
    pieces: int

    def of(self, *, is_recorded: bool, has_prompts: bool) -> int:
        """Return the launches of a step."""
        if has_prompts:
            return self.pieces if is_recorded else self.prompts
        return 0 if is_recorded else self.decoding


def launches_of(passes: Passes, kind: EngineKind | None) -> Launches:
    """Return the launches of a model's stage; one per kernel if the engine is unknown.

    Args:
        passes: passes of the stage.
        kind: engine description.
    """
    decoding, prompts = (_singly(program, kind) for program in (passes.decode, passes.prefill))
    recording = None if kind is None else kind.recording
    # launches for each attention, at which the recorded graph is interrupted; 0 for no such graphs
    around = 0 if recording is None else recording.around_attention
    attentions = [k for k in passes.prefill.whole if k.anchor.op.kind in NOT_RECORDED]
    # an engine that records no pieces launches every kernel of a step with prompts
    return Launches(decoding, prompts, around * len(attentions) if around else prompts)


def _singly(program: Program, kind: EngineKind | None) -> int:
    """Return the launches of a pass without graphs.

    An engine may launch several kernels for one operator, by the table of its description.
    """
    launches_of_op = {} if kind is None else kind.launched
    return sum([launches_of_op.get(kernel.anchor.op.mnemonic, 1) for kernel in program.whole])
