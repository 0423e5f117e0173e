"""Adam with states of 8 bits, in blocks with a scale each."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import DType, Value, frozen
from perfc.ir.gradients.tape import Tape
from perfc.ir.ops.training.multi_tensor import MultiTensor

from ..implementation import OptimizerLaunch
from ..optimizer import ListOptimizer, state_like

BLOCK = 256
"""Elements that share a scale, as in bitsandbytes' Adam8bit."""
LEAST_ELEMENTS = 4096
"""Elements below which a tensor has states of 32 bits: ``min_8bit_size``."""


@frozen
class Blockwise(ListOptimizer):
    """AdamW with 8-bit states, one kernel per tensor."""

    @property
    def state_bytes(self) -> float:
        """Return the bytes per element of both moments and of the scales of their blocks."""
        return 2 * (1 + 4 / BLOCK)

    def update(
        self, tape: Tape, trained: Sequence[tuple[Value, Value]], how: OptimizerLaunch
    ) -> tuple[list[Value], list[Value]]:
        """Return the updated values; see `ListOptimizer.update`."""
        del how
        updated: list[Value] = []
        stored: list[Value] = []
        for p, g in trained:
            states = self.states_of(tape, p)
            stored += states
            lists = (p, g, *states)
            # all but the gradient, operand 1, are overwritten
            overwritten = (0, *range(2, len(lists)))
            # the numbers of operations set no time: memory bounds a kernel of 16 bytes an element
            op = MultiTensor("adam8bit", len(lists), overwritten, alu=18, sfu=2)
            names = [f"{v.name}.next" for i, v in enumerate(lists) if i != 1]
            updated += tape.named(op, lists, names, f"{p.name}.adam8bit")
        return updated, stored

    def states_of(self, tape: Tape, p: Value) -> list[Value]:
        """Return both moments, and the largest magnitude of each of their blocks.

        Small tensors have moments of 32 bits, without blocks.
        """
        elements = p.numel
        if not isinstance(elements, int) or elements < LEAST_ELEMENTS:
            return [state_like(tape, p, name, DType.F32) for name in ("state1", "state2")]
        blocks = (-(-elements // BLOCK),)
        moments = [state_like(tape, p, name, DType.U8) for name in ("state1", "state2")]
        return moments + [
            state_like(tape, p, name, DType.F32, blocks) for name in ("absmax1", "absmax2")
        ]


OPTIMIZER = Blockwise(
    name="adam8bit",
    title="Adam with states of 8 bits",
    source="bitsandbytes, Adam8bit, kOptimizerStatic8bit2StateBlockwise; arXiv:2110.02861",
)
