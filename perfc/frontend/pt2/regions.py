"""Operators of torchvision.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

from ..lowering.elements import DataType
from .call import AtenCall, lowers


@lowers("torchvision::deform_conv2d")
def _deform_conv(c: AtenCall) -> str:
    strides, pads, dilations = (
        tuple(c.integer(f"{name}_{axis}", default) for axis in "hw")
        for name, default in (("stride", 1), ("pad", 0), ("dilation", 1))
    )
    operands = [c.tensor(name) for name in ("input", "weight", "offset", "bias")]
    return c.emit(
        "DeformConv",
        *operands,
        c.tensor("mask") if c.flag("use_mask") else "",
        strides=strides,
        pads=pads * 2,
        dilations=dilations,
        group=c.integer("groups", 1),
        offset_group=c.integer("offset_groups", 1),
    )


@lowers("torchvision::roi_align")
def _roi_align(c: AtenCall) -> str:
    # a region of five numbers begins with the index of its image
    return c.emit(
        "RoiAlign",
        c.tensor("input"),
        c.tensor("rois"),
        c.builder.filled((0,), DataType.INT64),
        output_height=c.integer("pooled_height", 1),
        output_width=c.integer("pooled_width", 1),
        sampling_ratio=max(c.integer("sampling_ratio", 0), 0),
    )


@lowers("torchvision::roi_pool", "torchvision::ps_roi_pool")
def _roi_pool(c: AtenCall) -> list[str]:
    shape = tuple(c.integer(f"pooled_{axis}", 1) for axis in ("height", "width"))
    operands = c.tensor("input"), c.tensor("rois")
    if c.operator == "roi_pool":
        pooled = c.emit("MaxRoiPool", *operands, pooled_shape=shape)
        return [pooled, c.cast(pooled, c.result.dtype, DataType.INT32)]
    return positioned(c, 1)


@lowers("torchvision::ps_roi_align")
def _ps_roi_align(c: AtenCall) -> list[str]:
    # as in RoiAlign, a sample is 7 operations to interpolate and 1 to pool
    return positioned(c, 8 * max(c.integer("sampling_ratio", 0), 1) ** 2)


def positioned(c: AtenCall, operations: int) -> list[str]:
    """Return regions whose bins have channels of their own, and the numbers of these channels."""
    height, width = (c.integer(f"pooled_{axis}", 1) for axis in ("height", "width"))
    return c.several(
        "ps_roi_align",
        (c.tensor("input"), c.tensor("rois")),
        2,
        domain="torchvision",
        height=height,
        width=width,
        operations=operations,
    )


@lowers("torchvision::nms")
def _nms(c: AtenCall) -> str:
    boxes = c.emit("Unsqueeze", c.tensor("dets"), c.ints(0))
    scores = c.emit("Unsqueeze", c.tensor("scores"), c.ints(0, 1))
    most = c.size(c.meta("scores").sizes[0])
    chosen = c.emit("NonMaxSuppression", boxes, scores, most)
    return c.emit("Gather", chosen, c.scalar(2, DataType.INT64), axis=1)
