"""ONNX Runtime operators on feature maps whose channels are the last axis."""

from __future__ import annotations

from typing import ClassVar

from ... import Extents, Folded, Inputs, Op, TensorType, Traffic, Type, Types, Value
from ..movement.movement import DepthToSpace, SpaceToDepth
from ..normalization.normalization import LRN, BatchNormalization, InstanceNormalization
from ..resampling.sample import GridSample
from .conv import channels_first, in_layout
from .global_pool import GlobalLpPool
from .pool import LpPool, MaxUnpool


def _reordered(type_: Type) -> Type:
    """Return the type of a feature map with channels second; others as they are."""
    if not isinstance(type_, TensorType):
        return type_
    return TensorType(type_.dtype, channels_first(type_.shape, 1))


class ChannelsLast(Op):
    """An operator on feature maps with channels last, computed as with channels second.

    Source:  ONNX Runtime, com.ms.internal.nhwc.
    """

    maps: ClassVar[tuple[int, ...]] = (0,)
    """Operands that are feature maps; the first result is one as well."""

    def _operands(self, ins: Inputs) -> Inputs:
        """Return the operands with channels second, without contents."""
        return tuple(
            Value(v.name, _reordered(v.type)) if v is not None and i in self.maps else v
            for i, v in enumerate(ins)
        )

    def infer(self, ins: Inputs) -> Types:
        # the first result is a feature map too; others, such as statistics, have no layout
        first, *rest = super().infer(self._operands(ins))
        if isinstance(first, TensorType) and first.shape is not None:
            first = TensorType(first.dtype, in_layout(first.shape, 1))
        return first, *rest

    def fold(self, ins: Inputs, outs: Types) -> Folded:
        # contents of the base class would be in the other order of axes
        return ()

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return super().extents(self._operands(ins), (_reordered(outs[0]), *outs[1:]))

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return super().traffic(self._operands(ins), (_reordered(outs[0]), *outs[1:]))


class NhwcBatchNormalization(ChannelsLast, BatchNormalization):
    """BatchNormalization with channels last."""

    mnemonic = "nhwc_batch_norm"
    onnx = "com.ms.internal.nhwc::BatchNormalization"


class NhwcInstanceNormalization(ChannelsLast, InstanceNormalization):
    """InstanceNormalization with channels last."""

    mnemonic = "nhwc_instance_norm"
    onnx = "com.ms.internal.nhwc::InstanceNormalization"


class NhwcLRN(ChannelsLast, LRN):
    """LRN with channels last."""

    mnemonic = "nhwc_lrn"
    onnx = "com.ms.internal.nhwc::LRN"


class NhwcDepthToSpace(ChannelsLast, DepthToSpace):
    """DepthToSpace with channels last."""

    mnemonic = "nhwc_depth_to_space"
    onnx = "com.ms.internal.nhwc::DepthToSpace"


class NhwcSpaceToDepth(ChannelsLast, SpaceToDepth):
    """SpaceToDepth with channels last."""

    mnemonic = "nhwc_space_to_depth"
    onnx = "com.ms.internal.nhwc::SpaceToDepth"


class NhwcGridSample(ChannelsLast, GridSample):
    """GridSample with channels last."""

    mnemonic = "nhwc_grid_sample"
    onnx = "com.ms.internal.nhwc::GridSample"


class NhwcMaxUnpool(ChannelsLast, MaxUnpool):
    """MaxUnpool with channels last."""

    mnemonic = "nhwc_max_unpool"
    onnx = "com.ms.internal.nhwc::MaxUnpool"
    maps = (0, 1)


class NhwcLpPool(LpPool):
    """``p``-norm of each window; channels are the last axis."""

    mnemonic = "nhwc_lp_pool"
    onnx = "com.ms.internal.nhwc::LpPool"
    is_nhwc = True


class NhwcGlobalLpPool(GlobalLpPool):
    """``p``-norm of each channel; channels are the last axis."""

    mnemonic = "nhwc_global_lp_pool"
    onnx = "com.ms.internal.nhwc::GlobalLpPool"
    is_nhwc = True
