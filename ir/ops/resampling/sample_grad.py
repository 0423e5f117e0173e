"""Gradient of sampling: each sample's gradient is added to the elements it was computed from."""

from __future__ import annotations

from ... import Extents, Inputs, Kind, Op, Traffic, Types, count, frozen, tensor
from ...traffic import moved, stored
from .resize import TAPS


@frozen
class GridSampleGrad(Op):
    """Gradients of an image and of the grid that it was sampled at, in one kernel.

    Shapes:  dY[n, c, g...], X[n, c, d...], grid[n, g..., k] -> dX like X, dgrid like grid.
    Work:    alu = e * t * (2 + 2 * k) with e the elements of dY and t = 2**k (linear) or 4**k
             (cubic) taps: of each a product and an addition into dX, and the same for each of the
             k coordinates; alu = e for nearest, whose grid has no gradient.
    Traffic: dY, X and grid once, dX and dgrid once; X not for nearest.
    Source:  PyTorch, grid_sampler_2d_backward and grid_sampler_3d_backward.
    """

    mnemonic = "grid_sample_grad"
    operands = "dY X grid"
    kind = Kind.GATHER
    formulas = {"alu": "e*o"}
    align_corners: int = 0
    mode: str = "linear"
    padding_mode: str = "zeros"

    def infer(self, ins: Inputs) -> Types:
        return tensor(ins, 1), tensor(ins, 2)

    @property
    def _is_nearest(self) -> bool:
        return self.mode == "nearest"

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # nearest needs no elements of X, as its grid has no gradient
        first = 2 if self._is_nearest else 1
        read = [stored(tensor(ins, i)) for i in (0, *range(first, 3))]
        return moved(read, [stored(t) for t in outs])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # without batch and channels; an unknown rank counts as that of images
        axes = (tensor(ins, 1).rank or 4) - 2
        operations = 1 if self._is_nearest else int(TAPS.get(self.mode, 1) ** axes) * (2 + 2 * axes)
        return {"e": count(tensor(ins, 0)), "o": operations}
