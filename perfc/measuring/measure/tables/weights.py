"""Runnable copy of a model without weights, with seeded random values.

Times do not depend on the values as long as they are ordinary numbers, so weights are scaled to
keep activations between denormals and infinity. They are written to one file in pieces and mapped
by the runtime, so that at most one copy is in memory.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from perfc.errors import ModelError
from perfc.ir import record

if TYPE_CHECKING:
    import numpy as np
    import onnx

BLOCK = 1 << 20
"""Random numbers drawn once; tensors are slices of them at distinct offsets."""
ALIGNMENT = 4096
"""Page alignment that runtimes require to map tensors."""
WEIGHTS = "weights.bin"
"""File of the tensors next to the file ``MODEL``, which points into it."""
MODEL = "model.onnx"
"""File of the runnable copy of a model."""


@record
class WeightRole:
    """Use of a stored tensor, as far as its values matter.

    Args:
        mean: mean of its values.
        deviation: deviation of its values.
        is_positive: whether negative values would give NaN, as under a root.
    """

    mean: float = 0.0
    deviation: float = 0.02
    is_positive: bool = False


SCALE = WeightRole(1.0, 0.02, is_positive=True)
"""Scales near 1 and above 0: signals neither vanish nor overflow in deep networks."""
SHIFT = WeightRole(0.0, 0.02)
"""Biases and means: small and of either sign."""
VARIANCE = WeightRole(1.0, 0.1, is_positive=True)
"""Variances above 0, since layers divide by their root."""
LEAST_REFILLED = 4
"""Minimum elements of a vector inside the model that gets new values; a shorter one may be a
constant, as a scale or an axis."""
# roles by position of the operand: the activation first, then as ONNX lists them
_NORMS: dict[str, tuple[WeightRole, ...]] = {
    "BatchNormalization": (SHIFT, SCALE, SHIFT, SHIFT, VARIANCE),
    "LayerNormalization": (SHIFT, SCALE, SHIFT),
    "SkipLayerNormalization": (SHIFT, SHIFT, SCALE, SHIFT),
    "InstanceNormalization": (SHIFT, SCALE, SHIFT),
    "GroupNormalization": (SHIFT, SCALE, SHIFT),
    "RMSNormalization": (SHIFT, SCALE),
    "SimplifiedLayerNormalization": (SHIFT, SCALE),
}
_SCALING = frozenset({"Mul", "Div", "Pow", "Sqrt", "Reciprocal", "Log", "PRelu"})
"""Operators that multiply by a weight or divide by it: values near 0 would let activations vanish
or overflow."""
_PASSING = frozenset({"Cast", "Transpose", "Reshape", "Unsqueeze", "Squeeze", "Identity"})
"""Operators that pass a weight on with its values."""
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
"""Operators whose weights have the inputs of a unit along their last axis."""


@record
class Runnable:
    """A model file that a runtime can load.

    Args:
        path: path of the model file.
        weight_bytes: size of its stored tensors that lie outside the model.
        is_random: whether their values are made up.
    """

    path: Path
    weight_bytes: int
    is_random: bool


def runnable(path: str | os.PathLike[str], folder: Path, seed: int = 0) -> Runnable:
    """Return a loadable version of the model at ``path``, written to ``folder`` if necessary.

    A file that is complete, or has all its external files next to it, is used directly. Otherwise
    every external tensor gets random values.

    Raises:
        ModelError: it cannot be read, or its weights do not fit on the disk.
    """
    from perfc.frontend.reading.onnx_file import read_model

    where = os.fspath(path)
    if where.endswith((".tflite", ".pt2")):  # these formats hold their weights
        return Runnable(Path(where).resolve(), weight_bytes=0, is_random=False)
    model = read_model(where)
    # profiles call kernels by the names of nodes, so names must be there and differ
    renamed = name_nodes(model.graph, set())
    outside = list(external(model.graph))
    home = Path(where).resolve().parent
    is_there = all(_stored_at(t, home) for t in outside)
    # runtimes do not read gzip or ONNX text, which `read_model` does
    if is_there and where.endswith(".onnx") and not renamed:
        return Runnable(Path(where).resolve(), sum(map(_nbytes, outside)), is_random=False)
    own_constants(model.graph)
    outside = list(external(model.graph))
    nbytes = sum(_nbytes(t) for t in outside)
    _check_disk(folder, nbytes)
    roles = find_roles(model.graph)
    if outside:
        refill(model.graph, roles, seed)
    with (folder / WEIGHTS).open("wb") as stream:
        for tensor in outside:
            fill(tensor, roles.get(tensor.name, WeightRole()), stream, seed)
    (folder / MODEL).write_bytes(model.SerializeToString())
    return Runnable(folder / MODEL, nbytes, bool(outside))


def external(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Yield the external tensors of a graph and its subgraphs."""
    import onnx

    outside = onnx.TensorProto.EXTERNAL
    yield from (t for t in graph.initializer if t.data_location == outside)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t") and attribute.t.data_location == outside:
                yield attribute.t
            yield from (t for t in attribute.tensors if t.data_location == outside)
            if attribute.HasField("g"):
                yield from external(attribute.g)
            for inner in attribute.graphs:
                yield from external(inner)


def name_nodes(graph: onnx.GraphProto, taken: set[str]) -> int:
    """Name nodes without a name, or with that of another, after their first output; count them."""
    renamed = 0
    for node in graph.node:
        if not node.name or node.name in taken:
            first = next((o for o in node.output if o), node.op_type)
            name, i = first, 0
            while name in taken:
                name, i = f"{first}.{i}", i + 1
            node.name = name
            renamed += 1
        taken.add(node.name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                renamed += name_nodes(attribute.g, taken)
    return renamed


def own_constants(graph: onnx.GraphProto) -> None:
    """Convert external constants to initializers, which runtimes can map."""
    import onnx

    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                own_constants(attribute.g)
        tensor = next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)
        is_outside = tensor is not None and tensor.data_location == onnx.TensorProto.EXTERNAL
        if node.op_type == "Constant" and tensor is not None and is_outside:
            added = graph.initializer.add()
            added.CopyFrom(tensor)
            added.name = node.output[0]
        else:
            nodes.append(node)
    if len(nodes) < len(graph.node):
        copies = []
        for node in nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copies.append(copy)
        del graph.node[:]
        graph.node.extend(copies)


def _stored_at(tensor: onnx.TensorProto, folder: Path) -> bool:
    """Return True if the tensor's file exists in the model's folder."""
    location = next((e.value for e in tensor.external_data if e.key == "location"), "")
    if not location or os.path.isabs(location):
        return False
    path = (folder / location).resolve()
    # a model from elsewhere must not make a runtime map a file outside of its folder
    return path.is_relative_to(folder) and path.is_file()


def _nbytes(tensor: onnx.TensorProto) -> int:
    """Return the size of a tensor's values; 4-bit ones are packed."""
    from perfc.ir import DType
    from perfc.ir.tensors.types import BY_ONNX

    bits = BY_ONNX.get(tensor.data_type, DType.F32).bits
    count: int = math.prod(int(d) for d in tensor.dims)
    return (count * bits + 7) // 8


def _check_disk(folder: Path, nbytes: int) -> None:
    """Refuse weights that do not fit on the disk of a folder.

    Raises:
        ModelError: they do not.
    """
    import shutil

    free = shutil.disk_usage(folder).free
    if nbytes > free * 0.9:  # other programs write to the disk, too
        need, have = nbytes / 2**30, free / 2**30
        raise ModelError(
            f"its weights take {need:.1f} GiB, the temporary folder has {have:.1f} GiB free",
            hint="set TMPDIR to a folder on a larger disk",
        )


def find_roles(graph: onnx.GraphProto) -> dict[str, WeightRole]:
    """Return mean and deviation for each stored tensor, by its reader."""
    shapes = {t.name: tuple(t.dims) for t in graph.initializer}
    roles: dict[str, WeightRole] = {}
    renamed: dict[str, str] = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            root = renamed.get(name, name)
            if root not in shapes:
                continue
            if node.op_type in _PASSING and i == 0:
                renamed[node.output[0]] = root
                continue
            role = role_of(node, i, shapes[root])
            # exporters store equal tensors once: if one reader needs positive values, all get them
            if root not in roles or (role.is_positive and not roles[root].is_positive):
                roles[root] = role
    return roles


def refill(graph: onnx.GraphProto, roles: Mapping[str, WeightRole], seed: int) -> None:
    """Write usable values into short vectors of floats inside the model, too.

    A model without its weights may still have short ones, with arbitrary values.
    """
    import onnx

    layers = (n for n in graph.node if n.op_type in _NORMS or n.op_type in ("Conv", "Gemm"))
    learnt = {name for n in layers for name in n.input[1:]}
    for tensor in graph.initializer:
        role = roles.get(tensor.name)
        is_plain = tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) == 1
        if role is None or not is_plain or tensor.data_location == onnx.TensorProto.EXTERNAL:
            continue
        if tensor.name in learnt and math.prod(tensor.dims) >= LEAST_REFILLED:
            del tensor.float_data[:]
            tensor.raw_data = b"".join(pieces(tensor, role, seed))


def role_of(node: onnx.NodeProto, index: int, shape: tuple[int, ...]) -> WeightRole:
    """Return mean and deviation of values that preserve the scale of activations.

    Products keep their variance with a deviation of one over the root of the fan-in.
    Source: LeCun et al. 1998, Efficient BackProp, section 4.6.
    """
    norms = _NORMS.get(node.op_type)
    if norms is not None and index < len(norms):
        return norms[index]
    rank = len(shape)
    if node.op_type in _SCALING and index > 0:
        return SCALE
    # vectors are biases or scales
    if rank < 2:
        return SCALE if node.op_type in _SCALING else SHIFT
    match node.op_type:
        case "Conv":
            fan_in = math.prod(shape[1:])  # (outputs, inputs of a group, *window)
        case "ConvTranspose":
            fan_in = shape[0]  # (inputs, outputs of a group, *window)
        case "Gemm":
            is_transposed = any(a.name == "transB" and a.i for a in node.attribute)
            fan_in = shape[-1] if is_transposed else shape[0]
        case "MatMul" | "FusedMatMul" | "Attention":
            fan_in = shape[-2] if index else shape[-1]
        case op if op in _RECURRENT:
            fan_in = shape[-1]
        case _:
            return SHIFT
    return WeightRole(0.0, 1 / math.sqrt(max(fan_in, 1)))


def fill(tensor: onnx.TensorProto, role: WeightRole, stream: BinaryIO, seed: int) -> None:
    """Append values for ``tensor`` to ``stream`` and let it point there."""
    import onnx

    start = -(-stream.tell() // ALIGNMENT) * ALIGNMENT
    stream.seek(start)
    for piece in pieces(tensor, role, seed):
        stream.write(piece)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    length = stream.tell() - start
    for key, value in (("location", WEIGHTS), ("offset", str(start)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)


def pieces(tensor: onnx.TensorProto, role: WeightRole, seed: int) -> Iterator[bytes]:
    """Yield the bytes of a tensor's values in pieces of ``BLOCK`` elements.

    Integers are zero, which is a valid index of any table; truth values are true, so that a mask
    hides nothing.
    """
    import numpy as np
    import onnx

    remaining = math.prod(tensor.dims)
    if tensor.data_type in _packed():  # two elements in a byte
        yield from _zeros((remaining + 1) // 2)
        return
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    if dtype.kind in "iu":
        yield from _zeros(remaining * dtype.itemsize)
        return
    if dtype.kind == "b":
        yield from _ones(remaining)
        return
    block = normal(seed)
    # each tensor begins at another place of the block, so that no two are equal; a CRC of the name,
    # since Python's hash of a text differs from process to process
    first = zlib.crc32(tensor.name.encode()) % BLOCK
    while remaining > 0:
        part = block[first : first + min(remaining, BLOCK - first)] * np.float32(role.deviation)
        part += np.float32(role.mean)
        if role.is_positive:
            # layers divide by the root of a variance, so that none may be zero
            np.abs(part, out=part)
            part += np.float32(0.01)
        yield part.astype(dtype).tobytes()
        remaining -= len(part)
        first = 0


def _packed() -> frozenset[int]:
    """Return the element types of ONNX of which a byte has two."""
    import onnx

    return frozenset({onnx.TensorProto.INT4, onnx.TensorProto.UINT4, onnx.TensorProto.FLOAT4E2M1})


def _zeros(nbytes: int) -> Iterator[bytes]:
    """Yield zero bytes, a block at a time."""
    for start in range(0, nbytes, BLOCK):
        yield bytes(min(BLOCK, nbytes - start))


def _ones(count: int) -> Iterator[bytes]:
    """Yield elements of one byte that are 1, a block at a time."""
    for start in range(0, count, BLOCK):
        yield b"\x01" * min(BLOCK, count - start)


_BLOCKS: dict[int, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}
"""Random numbers of the last seed."""


def normal(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Draw normal numbers once per seed."""
    import numpy as np

    if seed not in _BLOCKS:
        _BLOCKS.clear()  # one block of 4 MiB is held, that of the last seed
        _BLOCKS[seed] = np.random.default_rng(seed).standard_normal(BLOCK, dtype=np.float32)
    return _BLOCKS[seed]
