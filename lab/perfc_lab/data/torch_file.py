"""Read files of ``torch.save`` without running code that they may contain.

Both containers are read: the archive of PyTorch 1.6 and later, and the sequence of pickles of older
versions (``torch/serialization.py``, ``_legacy_load``).
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from .pickle_machine import MAX_ELEMENTS, PickledName, PickleMachine, Storage, TorchCall
from .source import MAX_FILE_BYTES, FetchError, checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
"""First pickle of a file before PyTorch 1.6. Source: torch/serialization.py, MAGIC_NUMBER."""
LARGEST_NUMBER = 8
"""Maximum bytes of a number in a storage."""
RECORDS = {
    "torch_geometric.data.data.Data": ("_store", "x", "edge_index", "static", "y"),
    "torch_geometric.data.storage.GlobalStorage": ("_mapping",),
    "networkx.classes.digraph.DiGraph": ("_node", "_adj"),
}
"""Fields that are read of classes of graphs; they become a mapping, and no class is created."""
# errors that a damaged file may cause in the code below
WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def read_torch(path: Path) -> object:
    """Return the value in a file of ``torch.save``: arrays become lists of numbers.

    Raises:
        FetchError: it is no such file, is too large, or has values that are no data.
    """
    return torch_value(checked(path).read_bytes(), str(path))


def torch_value(content: bytes, where: str, most: int = MAX_ELEMENTS) -> object:
    """Return the value that ``torch.save`` wrote as bytes.

    Args:
        content: the file.
        where: name of the file, for messages.
        most: maximum of numbers in all arrays together.

    Raises:
        FetchError: as `read_torch`.
    """
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            # a small archive may unpack to far more bytes than it has
            value, storages = from_archive(content, min(MAX_FILE_BYTES, LARGEST_NUMBER * most))
        else:
            value, storages = from_pickles(content)
        return Resolver(storages, most).resolve(value)
    except (*WRONG, zipfile.BadZipFile, OSError) as error:
        line = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise FetchError(f"no data of torch.save: {line}", where=where) from None


def pickled_value(content: bytes, where: str, most: int = MAX_ELEMENTS) -> object:
    """Return the value of a plain pickle, of lists, mappings, numbers and `RECORDS`.

    Raises:
        FetchError: it is no pickle, or has values that are no data.
    """
    try:
        return Resolver({}, most).resolve(PickleMachine().run(io.BytesIO(content)))
    except (*WRONG, OSError) as error:
        line = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise FetchError(f"no pickle of data: {line}", where=where) from None


def from_archive(content: bytes, most_bytes: int) -> tuple[object, dict[str, bytes]]:
    """Return the value of an archive, and its storages by key; nothing is written to disk."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        if sum(sizes.values()) > most_bytes:
            raise ValueError(f"more than {most_bytes} bytes")
        (main,) = (name for name in sizes if name.endswith("/data.pkl"))
        root = main.removesuffix("data.pkl") + "data/"
        storages = {n.removeprefix(root): archive.read(n) for n in sizes if n.startswith(root)}
        return PickleMachine().run(io.BytesIO(archive.read(main))), storages


def from_pickles(content: bytes) -> tuple[object, dict[str, bytes]]:
    """Return the value and the storages of the older container: five pickles, then the storages."""
    stream = io.BytesIO(content)
    # magic number, protocol version, byte order, the value, keys of its storages
    if PickleMachine().run(stream) != MAGIC:
        raise ValueError("another kind of file")
    PickleMachine().run(stream)
    system = PickleMachine().run(stream)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise ValueError("numbers of another byte order")
    machine = PickleMachine()
    value = machine.run(stream)
    keys = PickleMachine().run(stream)
    storages: dict[str, bytes] = {}
    for key in keys if isinstance(keys, list) else []:
        # a storage is its number of elements, then their bytes; the width is that of "<f4"
        count = int.from_bytes(stream.read(8), "little")
        width = int(machine.storages[str(key)].dtype[2:])
        if not 0 <= count <= MAX_ELEMENTS:
            raise ValueError(f"a storage of {count} numbers")
        storages[str(key)] = stream.read(count * width)
    return value, storages


class Resolver:
    """Turns the objects of a pickle into plain values, each once however often it is referred to.

    Attributes:
        storages: bytes of the numbers by key.
        left: number of array elements that may still be read.
        known: plain value by the identity of its object.
    """

    def __init__(self, storages: Mapping[str, bytes], most: int = MAX_ELEMENTS) -> None:
        self.storages = storages
        self.left = most
        self.known: dict[int, object] = {}

    def spend(self, count: int) -> None:
        """Subtract the elements of an array, for each of the arrays that share a storage."""
        self.left -= count
        if self.left < 0:
            raise ValueError("more numbers than are read")

    def resolve(self, value: object) -> object:
        """Return a value as lists, mappings, numbers and strings."""
        if isinstance(value, str | bytes | int | float | None):
            return value
        if id(value) not in self.known:
            self.known[id(value)] = None  # in place of itself, in a value that contains itself
            self.known[id(value)] = self.plain(value)
        return self.known[id(value)]

    def plain(self, value: object) -> object:
        """Return the plain value of an object that is not in ``known`` yet."""
        match value:
            case list() | tuple():
                return [self.resolve(item) for item in value]
            case dict():
                return {key: self.resolve(item) for key, item in value.items()}
            case TorchCall(name="collections.OrderedDict"):
                return {key: self.resolve(item) for key, item in value.items.items()}
            case TorchCall(name=name) if name.startswith("torch._utils._rebuild_tensor"):
                return self.tensor(value)
            case TorchCall(name=name) if name.endswith("multiarray._reconstruct"):
                array = ndarray(value.state)
                self.spend(array.size)
                return array.tolist()
            case TorchCall(name=name) if name.endswith("multiarray.scalar"):
                # a scalar is an array of one number
                return array_of(raw(value.arguments[1]), dtype_of(value.arguments[0])).tolist()[0]
            case TorchCall(name=name, state=dict() as state) if name in RECORDS:
                read = (key for key in RECORDS[name] if key in state)
                return {key: self.resolve(state[key]) for key in read}
            case TorchCall(name=name) | PickledName(text=name):
                raise ValueError(f"the name {name}")
            case _:
                raise ValueError(f"a {type(value).__name__}")

    def tensor(self, call: TorchCall) -> object:
        """Return a tensor as nested lists."""
        import numpy as np

        storage, offset, size, stride = call.arguments[:4]
        if not isinstance(storage, Storage):
            raise TypeError("a tensor without storage")
        flat = array_of(self.storages[storage.key], storage.dtype)
        start, extents, steps = int(str(offset)), integers(size), integers(stride)
        # index of the last element. `as_strided` checks no bounds: without the test below a file
        # could read memory beyond its storage
        last = start + sum((n - 1) * s for n, s in zip(extents, steps, strict=True))
        count = math.prod(extents)
        if count == 0:
            return []
        if min(start, *extents, *steps, 0) < 0 or max(last + 1, count) > flat.size:
            raise ValueError("a tensor beyond its storage")
        self.spend(count)
        strides = tuple(s * flat.itemsize for s in steps)
        return np.lib.stride_tricks.as_strided(flat[start:], tuple(extents), strides).tolist()


def integers(value: object) -> list[int]:
    """Return a tuple of whole numbers as a list, or raise an error for another value."""
    if not isinstance(value, tuple) or not all(isinstance(v, int) for v in value):
        raise TypeError("extents that are no numbers")
    return list(value)


def ndarray(state: object) -> np.ndarray:
    """Return a NumPy array from the state in its pickle: version, shape, type, order, bytes."""
    if not isinstance(state, tuple) or len(state) != 5:
        raise TypeError("an array without state")
    _, shape, dtype, is_fortran, content = state
    flat = array_of(raw(content), dtype_of(dtype))
    return flat.reshape(integers(shape), order="F" if is_fortran else "C")


def dtype_of(call: object) -> str:
    """Return the little-endian type of an array of floats, integers or truth values, ``<f4``."""
    if not isinstance(call, TorchCall) or call.name != "numpy.dtype":
        raise TypeError("an array of no dtype")
    name = str(call.arguments[0])  # "f4"
    # second item of the state: the byte order; "|" is for single bytes, "=" the order of the
    # machine
    order = call.state[1] if isinstance(call.state, tuple) else "<"
    if name[:1] not in "fiub" or order not in ("<", "|", "="):
        raise ValueError(f"an array of {name}")
    return f"<{name}"


def raw(content: object) -> bytes:
    """Return the bytes of an array, which older pickles write as text."""
    if isinstance(content, TorchCall) and content.name == "_codecs.encode":
        content = content.arguments[0]
    if isinstance(content, str):
        return content.encode("latin1")
    if isinstance(content, bytes):
        return content
    raise TypeError("an array without numbers")


def array_of(content: bytes, dtype: str) -> np.ndarray:
    """Return bytes as a flat array of numbers."""
    import numpy as np

    return np.frombuffer(content, dtype=dtype)
