"""The gradient of rotary position embedding: the rotation by the opposite angle."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..graph import Inputs, Value
from ..op import Types
from ..record import frozen
from .rotary import RotaryEmbedding

if TYPE_CHECKING:
    from ..gradients.tape import Tape


@frozen
class RotaryEmbeddingGrad(RotaryEmbedding):
    """Rotates gradients back, by the angles of the forward pass and the opposite sine.

    Shapes:  dY like X of RotaryEmbedding, and its caches and positions -> dX like dY.
    Work:    {alu} as RotaryEmbedding.
    Traffic: as RotaryEmbedding.
    Source:  the transposed matrix of arXiv:2104.09864 equation 34; Megatron-LM,
             fused_apply_rotary_pos_emb, whose backward pass is one kernel too.
    """

    mnemonic = "rotary_embedding_grad"
    onnx: ClassVar[tuple[str, ...]] = ()
    operands: ClassVar[tuple[str, ...]] = ("dY", "cos_cache", "sin_cache", "position_ids?")

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> tuple[Value | None, ...]:
        dy, cos, sin, *positions = ins
        assert sin is not None
        op = RotaryEmbedding(self.interleaved, self.num_heads, self.rotary_embedding_dim)
        return (tape.apply(op, dy, cos, tape.neg(sin), *positions),)
