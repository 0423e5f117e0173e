"""Sampling of an image at computed positions: grids and regions of interest."""

from __future__ import annotations

from perfc.errors import ShapeError

from ... import (
    Attributes,
    Dim,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Positives,
    Shape,
    TensorType,
    Traffic,
    Types,
    count,
    frozen,
    single,
    tensor,
)
from ...symbolic.fresh import data_extent
from ...tensors.contents import agreed, elements, or_data
from ...traffic import first_once, lesser, moved, packed, stored
from ..movement.movement import unknown_extents
from .resize import TAPS


def _touched(ins: Inputs, outs: Types, per_sample: int) -> Dim | None:
    """Return bytes of operand 0 that samples read, ``per_sample`` elements each, at most all."""
    x, y = tensor(ins, 0), outs[0]
    samples = y.numel if isinstance(y, TensorType) else None
    n_read = None if samples is None else samples * per_sample
    return packed(None if x.numel is None else lesser(x.numel, n_read), x.dtype)


@frozen
class GridSample(Op):
    """The operand interpolated at the points of a grid.

    Shapes:  X[n, c, d...], grid[n, g..., k] -> Y[n, c, g...], k spatial axes.
    Work:    alu = e * o with e the elements of Y, o = 2 * taps - 1, taps = 2**k (linear), 4**k
             (cubic), o = 0 for nearest; coordinates and weights are not counted.
    Traffic: of X what the samples touch, at most all; the grid read and Y written once.
    Source:  ONNX GridSample-22.
    """

    mnemonic = "grid_sample"
    onnx = "GridSample com.microsoft::GridSample"
    operands = "X grid"
    kind = Kind.GATHER
    formulas = {"alu": "e*o"}
    align_corners: int = 0
    mode: str = "linear"
    padding_mode: str = "zeros"

    def infer(self, ins: Inputs) -> Types:
        x, grid = tensor(ins, 0), tensor(ins, 1)
        if x.shape is None and grid.shape is None:
            return single(x.dtype, None)
        if x.shape is not None and grid.shape is not None and len(x.shape) != len(grid.shape):
            raise ShapeError(f"ranks {len(x.shape)} and {len(grid.shape)} differ")
        rank = len(x.shape or grid.shape or ())
        if rank < 3:
            raise ShapeError(f"sampling needs rank 3 or more, not {rank}")
        extents = x.shape or unknown_extents(rank)
        points = grid.shape or unknown_extents(rank)
        batch = agreed(extents[0], points[0])
        if batch is None:
            raise ShapeError(f"batches {extents[0]} and {points[0]} differ")
        return single(x.dtype, (batch, extents[1], *points[1:-1]))

    def _taps(self, outs: Types) -> int:
        """Return the elements of X that an element of Y is computed from."""
        y = outs[0]
        rank = y.rank if isinstance(y, TensorType) else None
        # batch and channels are no spatial axes; an unknown rank counts as none
        return int(TAPS.get(self.mode, 1) ** ((rank or 2) - 2))

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        read = [_touched(ins, outs, self._taps(outs)), stored(tensor(ins, 1))]
        return moved(read, [stored(outs[0])])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # a product per tap and the additions between
        operations = 0 if self.mode == "nearest" else 2 * self._taps(outs) - 1
        return {"e": count(outs[0]), "o": operations}


@frozen
class AffineGrid(Op):
    """A grid of sampling points from affine matrices.

    Shapes:  theta[n, k, k + 1], size[n, c, d...] -> grid[n, d..., k], k spatial axes.
    Work:    mac = p * k * (k + 1), p points: a matrix–vector product per point.
    Traffic: theta read once, the grid written once.
    Source:  ONNX AffineGrid-20.
    """

    mnemonic = "affine_grid"
    onnx = "AffineGrid"
    operands = "theta size"
    kind = Kind.MATMUL
    # v coordinates: k per point
    formulas = {"mac": "v*(k + 1)"}
    align_corners: int = 0

    def infer(self, ins: Inputs) -> Types:
        theta, size = tensor(ins, 0), elements(ins, 1)
        axes = theta.shape[1] if theta.shape is not None and len(theta.shape) == 3 else None
        if size is None:
            if not isinstance(axes, int):
                return single(theta.dtype, None)
            size = (None,) * (axes + 2)
        # batch and channels, then the two axes of images or the three of volumes
        if len(size) not in (4, 5):
            raise ShapeError(f"size has {len(size)} extents, not 4 or 5")
        batch = size[0] if size[0] is not None or theta.shape is None else theta.shape[0]
        dims = (or_data(batch), *(or_data(d) for d in size[2:]), len(size) - 2)
        return single(theta.dtype, dims)

    traffic = first_once

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        grid = outs[0]
        axes = grid.shape[-1] if isinstance(grid, TensorType) and grid.shape else 0
        return {"v": count(grid), "k": axes}


class RegionPooling(Op):
    """A patch of fixed size for each region of interest.

    Shapes:  X[n, c, h, w], r regions -> Y[r, c, patch height, patch width].
    Work:    as in each operator.
    Traffic: of X at most what the samples touch; regions read and Y written once.
    Source:  ONNX.
    """

    kind = Kind.POOL
    formulas = {"alu": "e*o"}

    def _patch(self, ins: Inputs) -> Shape:
        return unknown_extents(2)

    def _operations(self) -> int:
        """Return operations per element of the result."""
        return 1

    def _samples(self) -> int:
        """Return elements of X read per element of the result."""
        return 1

    def infer(self, ins: Inputs) -> Types:
        x, regions = tensor(ins, 0), tensor(ins, 1)
        if x.shape is not None and len(x.shape) != 4:
            raise ShapeError(f"regions need an image of rank 4, not {len(x.shape)}")
        channels = data_extent() if x.shape is None else x.shape[1]
        n = regions.shape[0] if regions.shape else None
        # the number of regions is also that of the indices of their images
        if n is None and len(ins) > 2 and tensor(ins, 2).shape:
            n = (tensor(ins, 2).shape or (None,))[0]
        return single(x.dtype, (or_data(n), channels, *self._patch(ins)))

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        regions = [stored(v.type) for v in ins[1:3] if v is not None]
        return moved([_touched(ins, outs, self._samples()), *regions], [stored(outs[0])])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "o": self._operations()}


@frozen
class RoiAlign(RegionPooling):
    """Regions of interest sampled bilinearly and pooled.

    Work:    alu = e * 8 * s**2: of s * s samples each 7 operations of bilinear interpolation and
             one to pool; s = ``sampling_ratio``, and 1 where the size of the region decides, which
             is a lower bound.
    Source:  ONNX RoiAlign-22; He et al. 2017, Mask R-CNN.
    """

    mnemonic = "roi_align"
    onnx = "RoiAlign"
    operands = "X rois batch_indices"
    coordinate_transformation_mode: str = "half_pixel"
    mode: str = "avg"
    output_height: Natural = 1
    output_width: Natural = 1
    sampling_ratio: Natural = 0
    spatial_scale: float = 1.0

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Set the shift by half a pixel, which did not exist before opset 16."""
        before = {"coordinate_transformation_mode": "output_half_pixel"}
        return {**before, **attrs} if version < 16 else attrs

    def _patch(self, ins: Inputs) -> Shape:
        return self.output_height, self.output_width

    def _operations(self) -> int:
        return 8 * max(self.sampling_ratio, 1) ** 2  # 7 to interpolate a sample, 1 to pool it

    def _samples(self) -> int:
        # a bilinear sample has four neighbors
        return 4 * max(self.sampling_ratio, 1) ** 2


@frozen
class MaxRoiPool(RegionPooling):
    """Maximum of each bin of regions of interest.

    Work:    alu = e, one comparison per element of Y; a lower bound, for the bins' size depends on
             the data.
    Source:  ONNX MaxRoiPool-22; Girshick 2015, Fast R-CNN.
    """

    mnemonic = "max_roi_pool"
    onnx = "MaxRoiPool"
    operands = "X rois"
    pooled_shape: Positives = (1, 1)
    spatial_scale: float = 1.0

    def _patch(self, ins: Inputs) -> Shape:
        return self.pooled_shape


@frozen
class CropAndResize(RegionPooling):
    """Regions of interest cropped and resampled to one size.

    Work:    alu = 7 * e for bilinear interpolation, 0 for nearest.
    Source:  com.microsoft CropAndResize-1.
    """

    mnemonic = "crop_and_resize"
    onnx = "com.microsoft::CropAndResize"
    operands = "X rois batch_indices crop_size"
    extrapolation_value: float = 0.0
    mode: str = "bilinear"

    def _patch(self, ins: Inputs) -> Shape:
        height, width = elements(ins, 3) or (None, None)
        return or_data(height), or_data(width)

    def _operations(self) -> int:
        return 0 if self.mode == "nearest" else 7  # 4 products and 3 sums

    def _samples(self) -> int:
        return 1 if self.mode == "nearest" else 4
