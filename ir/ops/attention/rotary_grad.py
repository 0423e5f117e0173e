"""Gradient of rotary position embedding: the rotation by the opposite angle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import Dim, Inputs, Results, Types, Value, frozen, has, shape_at
from ..movement.gather import Gather
from .rotary import RotaryEmbedding

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class RotaryEmbeddingGrad(RotaryEmbedding):
    """Rotation of gradients by the forward angles with opposite sine.

    Shapes:  dY like X of RotaryEmbedding, and its caches and positions -> dX like dY.
    Work:    {alu} as RotaryEmbedding.
    Traffic: as RotaryEmbedding.
    Source:  the transposed matrix of arXiv:2104.09864 equation 34; Megatron-LM,
             fused_apply_rotary_pos_emb, whose backward pass is one kernel too.
    """

    mnemonic = "rotary_embedding_grad"
    onnx = ""  # ONNX has no such operator
    operands = "dY cos_cache sin_cache position_ids?"

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results | None:
        dy, shape = ins[0], shape_at(ins, 0)
        d = None if shape is None else self.head_size(shape)
        cos, sin = (self.at_positions(tape, ins, i) for i in (1, 2))
        if dy is None or not shape or not isinstance(d, int) or cos is None or sin is None:
            return None
        heads = shape if len(shape) == 4 else (*shape[:-1], shape[-1] // d, d)
        split = tape.reshape(dy, heads)
        half = (cos.shape or ())[-1]  # angles: one per pair of elements
        last = len(heads) - 1
        # only the first 2 * half elements of a head rotate, the others stay
        rotated = tape.part(split, {last: (0, half * 2)})
        first, second = self.pairs(tape, rotated, half)
        # the forward rotation with -sin in place of sin
        unrotated = self.joined(
            tape,
            tape.add(tape.mul(first, cos), tape.mul(second, sin)),
            tape.sub(tape.mul(second, cos), tape.mul(first, sin)),
        )
        unchanged = [tape.part(split, {last: (half * 2, d)})] if half * 2 != d else []
        return (tape.reshape(tape.concat((unrotated, *unchanged), last), shape),)

    def at_positions(self, tape: Tape, ins: Inputs, index: int) -> Value | None:
        """Return cosines or sines per token, with an axis of extent 1 for the heads.

        None if the rank of dY or of the cache (operand ``index``) is unknown.
        """
        cache, x = ins[index], shape_at(ins, 0)
        if cache is None or not x or not cache.shape:
            return None
        rows = tape.apply(Gather(axis=0), cache, ins[3]) if has(ins, 3) else cache
        shape = rows.shape or ()
        # heads are axis 1 of [b, h, s, d], else the last but one, as `expand` splits the last axis
        heads_at = 1 if len(x) == 4 else len(shape) - 1
        return tape.reshape(rows, (*shape[:heads_at], 1, *shape[heads_at:]))

    def pairs(self, tape: Tape, v: Value, half: Dim) -> tuple[Value, Value]:
        """Return the first and the second elements of all pairs.

        The elements of a pair are adjacent with ``interleaved``, else half a head distant.
        """
        shape = v.shape or ()
        last = len(shape) - 1
        if not self.interleaved:
            return tape.part(v, {last: (0, half)}), tape.part(v, {last: (half, half * 2)})
        split = tape.reshape(v, (*shape[:-1], half, 2))
        first, second = (tape.part(split, {last + 1: (i, i + 1)}) for i in (0, 1))
        extents = (*shape[:-1], half)
        return tape.reshape(first, extents), tape.reshape(second, extents)

    def joined(self, tape: Tape, first: Value, second: Value) -> Value:
        """Return heads from the first and the second elements of pairs, the reverse of `pairs`."""
        shape = first.shape or ()
        if not self.interleaved:
            return tape.concat((first, second), len(shape) - 1)
        columns = [tape.reshape(v, (*shape, 1)) for v in (first, second)]
        return tape.reshape(tape.concat(columns, len(shape)), (*shape[:-1], shape[-1] * 2))
