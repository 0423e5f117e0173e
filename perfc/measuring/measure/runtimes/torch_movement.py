"""ONNX data movement operators in PyTorch, those for which one call does not suffice.

Importing it registers them. A function takes torch, the attributes and the operands of a node;
shapes and axes are tensors or attributes, depending on the version of ONNX.
"""

from __future__ import annotations

from typing import Any

from .torch_ops import Attributes, ints, operator, together


def listed(attrs: Attributes, name: str, given: Any) -> list[int]:
    """Return integers that are an attribute in older versions and an operand in newer ones."""
    return ints(attrs.get(name, []) if given is None else given)


@operator("Reshape")
def _reshape(torch: Any, attrs: Attributes, x: Any, shape: Any) -> Any:
    sizes = ints(shape)
    # -1 means the same in PyTorch, 0 does not: ONNX copies the extent of the input
    if not attrs.get("allowzero"):
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return x.reshape(sizes)


@operator("Unsqueeze")
def _unsqueeze(torch: Any, attrs: Attributes, x: Any, axes: Any = None) -> Any:
    given = listed(attrs, "axes", axes)
    # axes are those of the result; inserted in rising order, no later axis moves an earlier one
    rank = x.dim() + len(given)
    for axis in sorted(a % rank for a in given):
        x = x.unsqueeze(axis)
    return x


@operator("Squeeze")
def _squeeze(torch: Any, attrs: Attributes, x: Any, axes: Any = None) -> Any:
    given = attrs.get("axes") if axes is None else ints(axes)
    return x.squeeze() if given is None else x.squeeze(tuple(given))


@operator("Concat")
def _concat(torch: Any, attrs: Attributes, *inputs: Any) -> Any:
    first = next((i for i in inputs if i.device.type != "cpu"), inputs[0])
    return torch.cat([i.to(first.device) for i in inputs], dim=attrs["axis"])


@operator("Split")
def _split(torch: Any, attrs: Attributes, x: Any, sizes: Any = None) -> Any:
    axis = attrs.get("axis", 0)
    given = attrs.get("split") if sizes is None else ints(sizes)
    if given is None:
        # as many parts as outputs; the last may be smaller, so sizes are rounded up
        count = attrs.get("num_outputs", attrs["_outputs"])
        given = -(-x.shape[axis] // count)
    return tuple(torch.split(x, given, axis))


@operator("Slice")
def _slice(torch: Any, attrs: Attributes, x: Any, *rest: Any) -> Any:
    starts = attrs["starts"] if "starts" in attrs else ints(rest[0])
    ends = attrs["ends"] if "ends" in attrs else ints(rest[1])
    axes = attrs.get("axes") or (ints(rest[2]) if len(rest) > 2 and rest[2] is not None else None)
    steps = ints(rest[3]) if len(rest) > 3 and rest[3] is not None else [1] * len(starts)
    index: list[Any] = [slice(None)] * x.dim()
    flipped: list[int] = []
    for axis, start, end, step in zip(axes or range(len(starts)), starts, ends, steps, strict=True):
        n = x.shape[axis]
        if step < 0:
            # PyTorch has no negative steps: flip the axis, where index i becomes n - 1 - i. A start
            # after the last element counts as the last, an end before the first one as -1
            flipped.append(axis)
            start, end, step = (
                n - 1 - (start + n if start < 0 else min(start, n - 1)),
                n - 1 - (max(end + n, -1) if end < 0 else end),
                -step,
            )
        index[axis] = slice(start, end, step)
    return (x.flip(flipped) if flipped else x)[tuple(index)]


@operator("Gather")
def _gather(torch: Any, attrs: Attributes, x: Any, index: Any) -> Any:
    axis = attrs.get("axis", 0) % x.dim()
    index = torch.where(index < 0, index + x.shape[axis], index).to(x.device)
    # rows of a matrix of floats are an embedding, as models of PyTorch call it
    if axis == 0 and x.dim() == 2 and x.is_floating_point():
        return torch.nn.functional.embedding(index, x)
    # PyTorch selects by one list of indices: their axes replace the axis afterwards
    flat = torch.index_select(x, axis, index.reshape(-1))
    return flat.reshape((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


@operator("Where")
def _where(torch: Any, _: Attributes, condition: Any, a: Any, b: Any) -> Any:
    # any of the three may be on the host: the second call may move `a` to the device of the
    # condition, and the third then moves `b` after it
    a, b = together(a, b)
    condition, a = together(condition, a)
    return torch.where(condition, *together(a, b))


@operator("Pad")
def _pad(
    torch: Any, attrs: Attributes, x: Any, pads: Any = None, value: Any = None, *_: Any
) -> Any:
    given = listed(attrs, "pads", pads)
    rank = len(given) // 2
    # ONNX: all begins, then all ends; PyTorch: begin and end of the last axis first
    turned = [p for i in reversed(range(rank)) for p in (given[i], given[rank + i])]
    onnx_mode = str(attrs.get("mode", "constant"))
    mode = {"edge": "replicate"}.get(onnx_mode, onnx_mode)
    # other modes of PyTorch pad only the last axes: leading ones without padding are dropped
    while mode != "constant" and turned[-2:] == [0, 0]:
        turned = turned[:-2]
    fill = 0.0 if value is None else value.item()
    if mode == "constant":
        return torch.nn.functional.pad(x, turned, mode, fill)
    return torch.nn.functional.pad(x, turned, mode)


@operator("Resize")
def _resize(
    torch: Any, attrs: Attributes, x: Any, roi: Any = None, factors: Any = None, size: Any = None
) -> Any:
    # batch and channels are not resized: PyTorch takes the other extents
    sizes = None if size is None else ints(size)[2:]
    scales = None if size is not None else [float(s) for s in factors.tolist()][2:]
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(
        str(attrs.get("mode", "nearest")), "nearest"
    )
    f = torch.nn.functional
    corners = attrs.get("coordinate_transformation_mode") == "align_corners"
    more = {} if mode == "nearest" else {"align_corners": corners}
    return f.interpolate(x, size=sizes, scale_factor=scales, mode=mode, **more)


@operator("GatherElements")
def _gather_elements(torch: Any, attrs: Attributes, x: Any, index: Any) -> Any:
    axis = attrs.get("axis", 0)
    index = index.to(x.device)
    return torch.gather(x, axis, torch.where(index < 0, index + x.shape[axis], index))
