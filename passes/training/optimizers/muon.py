"""Muon: momentum made orthogonal for matrices, AdamW for the rest."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import DType, Loc, Value, frozen
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.contraction.matmul import Gemm
from perfc.ir.ops.elementwise.cast import Cast

from ..implementation import OptimizerLaunch
from ..optimizer import ListKernel, ListOptimizer, apply, state_like
from . import adamw

ITERATIONS = 5
"""Newton-Schulz iterations of an update, the default ``ns_steps`` of ``torch.optim.Muon``."""
COEFFICIENTS = (3.4445, -4.775, 2.0315)
"""Coefficients of the Newton-Schulz iteration, the default ``ns_coefficients``."""
MOMENTUM = (
    ListKernel("lerp_", "mg", "m", alu=3),
    ListKernel("lerp", "gm", "g", alu=3),
)
"""Momentum ``m``, and the gradient ``g`` mixed with it (Nesterov)."""
STEP = (ListKernel("mul_", "p", "p"), ListKernel("add_", "pu", "p", alu=2))
"""Weight decay of the parameters ``p``, then their update by the orthogonal matrices ``u``."""


@frozen
class Orthogonal(ListOptimizer):
    """Muon: matrices have momentum alone, all other parameters the states of AdamW."""

    @property
    def state_bytes(self) -> float:
        """Return the bytes of momentum per element, as nearly all parameters are in matrices."""
        return 4.0

    def update(
        self, tape: Tape, trained: Sequence[tuple[Value, Value]], how: OptimizerLaunch
    ) -> tuple[list[Value], list[Value]]:
        """Return the updated values; see `ListOptimizer.update`."""
        matrices = [pair for pair in trained if len(shape_of(pair[0])) == 2]
        rest = [pair for pair in trained if len(shape_of(pair[0])) != 2]
        updated, stored = adamw.OPTIMIZER.update(tape, rest, how) if rest else ([], [])
        if not matrices:
            return updated, stored
        lists = {"p": [p for p, _ in matrices], "g": [g for _, g in matrices]}
        lists["m"] = [state_like(tape, p, "momentum_buffer") for p, _ in matrices]
        stored = [*stored, *lists["m"]]
        # momentum runs over lists, the iteration matrix by matrix
        for step in MOMENTUM:
            apply(tape, step, lists)
        names = [p.name for p in lists["p"]]
        lists["u"] = [orthogonal(tape, g, n) for g, n in zip(lists["g"], names, strict=True)]
        for step in STEP:
            apply(tape, step, lists)
        return [*updated, *lists["p"], *lists["m"]], stored


def orthogonal(tape: Tape, g: Value, name: str) -> Value:
    """Return nearly the nearest orthogonal matrix, by Newton-Schulz iteration.

    ``A = X Xᵀ; X ← aX + (bA + cA²)X`` in bf16; for tall matrices, ``A = Xᵀ X`` is the right factor.
    The division by the norm before the first iteration is left out.
    """
    a, b, c = COEFFICIENTS
    tape.place, tape.suffix = Loc(f"{name}.muon"), ""
    dtype = g.dtype
    x = tape.apply(Cast(to=DType.BF16), g)
    rows, columns = shape_of(x)
    # the product over the longer side is the smaller matrix
    is_tall = isinstance(rows, int) and isinstance(columns, int) and rows > columns
    for _ in range(ITERATIONS):
        gram = tape.apply(Gemm(transA=int(is_tall), transB=int(not is_tall)), x, x)
        update = tape.apply(Gemm(alpha=c, beta=b), gram, gram, gram)  # bA + cA²
        sides = (x, update) if is_tall else (update, x)
        x = tape.apply(Gemm(beta=a), *sides, x)  # the update times X, plus aX
    return tape.apply(Cast(to=dtype), x)


OPTIMIZER = Orthogonal(
    name="muon",
    title="Muon for matrices, AdamW for the rest",
    source="PyTorch, torch/optim/_muon.py; https://kellerjordan.github.io/posts/muon/",
)
