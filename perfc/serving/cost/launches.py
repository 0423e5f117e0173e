"""Kernels of an engine's steps that its host launches one by one."""

from __future__ import annotations

from perfc.ir.op import Kind
from perfc.ir.record import record
from perfc.passes.runtimes import EngineKind

from .program import Passes, Program

APART = frozenset({Kind.ATTENTION, Kind.RECURRENT})
"""Kinds of kernels that see other tokens, which recorded steps with prompts launch apart."""


@record
class Launches:
    """Kernels that a host launches in a step of each kind; none in a recorded step of decoding.

    Args:
        decoding: of a step of decoding that is not recorded.
        prompts: of one with prompts that is not.
        pieces: of one with prompts that is recorded but for attention.
    """

    decoding: int
    prompts: int
    pieces: int

    def of(self, *, is_recorded: bool, has_prompts: bool) -> int:
        """Of a step that is recorded or not, with prompts or of single tokens alone."""
        if has_prompts:
            return self.pieces if is_recorded else self.prompts
        return 0 if is_recorded else self.decoding


def launches_of(passes: Passes, kind: EngineKind | None) -> Launches:
    """Of the stage of a model; each kernel is one where nobody says how an engine runs.

    Args:
        passes: of the stage.
        kind: how its engine runs it.
    """
    decoding, prompts = (_singly(program, kind) for program in (passes.decode, passes.prefill))
    if kind is not None and kind.is_compiled:
        return Launches(decoding, 0, 0)
    recording = None if kind is None else kind.recording
    around = 0 if recording is None else recording.around_attention
    attentions = [k for k in passes.prefill.whole if k.anchor.op.kind in APART]
    return Launches(decoding, prompts, around * len(attentions) if around else prompts)


def _singly(program: Program, kind: EngineKind | None) -> int:
    each = {} if kind is None else kind.launched
    return sum([each.get(kernel.anchor.op.mnemonic, 1) for kernel in program.whole])
