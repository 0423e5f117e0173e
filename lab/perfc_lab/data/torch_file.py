"""What ``torch.save`` wrote, read without running it.

A pickle is a program.  Here its instructions are decoded by ``pickletools``, which imports and
calls nothing, and interpreted as far as they make lists, mappings, numbers, texts and arrays; an
instruction or name beyond those is an error.  Both containers are read: the archive of PyTorch 1.6
and later, and the row of pickles before it (``torch/serialization.py``, ``_legacy_load``).
"""

from __future__ import annotations

import io
import math
import pickletools
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir.record import record

from .source import MAX_FILE_BYTES, FetchError, checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
MAX_ELEMENTS = 1 << 27
LARGEST_NUMBER = 8
"""Bytes of a number, at most."""
STORAGES = {
    "torch.FloatStorage": "<f4",
    "torch.DoubleStorage": "<f8",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.ShortStorage": "<i2",
    "torch.ByteStorage": "|u1",
    "torch.CharStorage": "|i1",
    "torch.BoolStorage": "|b1",
    "torch.HalfStorage": "<f2",
}
RECORDS = {
    "torch_geometric.data.data.Data": ("_store", "x", "edge_index", "static", "y"),
    "torch_geometric.data.storage.GlobalStorage": ("_mapping",),
    "networkx.classes.digraph.DiGraph": ("_node", "_adj"),
}
"""Classes of graphs whose fields are data, and the fields that are read; no class is made."""
LITERALS = {
    "INT",
    "BININT",
    "BININT1",
    "BININT2",
    "LONG",
    "LONG1",
    "LONG4",
    "FLOAT",
    "BINFLOAT",
    "STRING",
    "BINSTRING",
    "SHORT_BINSTRING",
    "UNICODE",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
    "BINBYTES",
    "SHORT_BINBYTES",
    "BINBYTES8",
}
NOTHING = {"PROTO", "FRAME", "STOP"}
PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
GETS = {"GET", "BINGET", "LONG_BINGET"}
WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@record
class PickledName:
    """A class or function that a file names; it is not looked up."""

    text: str


@dataclass(slots=True)
class TorchCall:
    """A call that a file asks for; it is not made."""

    name: str
    arguments: tuple[object, ...]
    state: object = None
    items: dict[object, object] = field(default_factory=dict)


@record
class Storage:
    """A reference to numbers that lie beside the pickle."""

    dtype: str
    key: str
    count: int


class PickleMachine:
    """The stack of a pickle."""

    def __init__(self) -> None:
        self.stack: list[object] = []
        self.below: list[list[object]] = []
        self.memo: dict[int, object] = {}
        self.storages: dict[str, Storage] = {}

    def run(self, stream: io.BufferedIOBase) -> object:
        """The value that one pickle of a stream stands for; the stream is behind it then."""
        for opcode, argument, _ in pickletools.genops(stream):  # type: ignore[arg-type]
            self.step(opcode.name, argument)
        return self.stack.pop()

    def step(self, op: str, argument: object) -> None:
        """One instruction."""
        push, pop = self.stack.append, self.stack.pop
        if op in LITERALS:
            push(argument)
        elif op in PUTS:
            self.memo[int(str(argument))] = self.stack[-1]
        elif op in GETS:
            push(self.memo[int(str(argument))])
        elif op not in NOTHING:
            match op:
                case "MEMOIZE":
                    self.memo[len(self.memo)] = self.stack[-1]
                case "MARK":
                    self.below.append(self.stack)
                    self.stack = []
                case "NONE" | "NEWTRUE" | "NEWFALSE":
                    push({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[op])
                case "GLOBAL":
                    push(PickledName(str(argument).replace(" ", ".")))
                case "STACK_GLOBAL":
                    last, first = pop(), pop()
                    push(PickledName(f"{first}.{last}"))
                case "REDUCE" | "NEWOBJ":
                    arguments, called = pop(), pop()
                    if not isinstance(called, PickledName) or not isinstance(arguments, tuple):
                        raise TypeError(op)
                    push(TorchCall(called.text, arguments))
                case "BUILD":
                    state, call = pop(), self.stack[-1]
                    if not isinstance(call, TorchCall):
                        raise TypeError(op)
                    call.state = state
                case "BINPERSID":
                    storage = storage_of(pop())
                    self.storages[storage.key] = storage
                    push(storage)
                case _:
                    self.collect(op)

    def collect(self, op: str) -> None:
        """Instructions that make or fill lists, tuples and mappings."""
        stack = self.stack
        match op:
            case "EMPTY_LIST" | "EMPTY_TUPLE" | "EMPTY_DICT":
                empty: dict[str, object] = {"EMPTY_LIST": [], "EMPTY_TUPLE": (), "EMPTY_DICT": {}}
                stack.append(empty[op])
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                size = int(op[-1])
                stack[-size:] = [tuple(stack[-size:])]
            case "TUPLE":
                self.push_marked(tuple)
            case "LIST":
                self.push_marked(list)
            case "DICT":
                self.push_marked(lambda items: dict(zip(items[::2], items[1::2], strict=True)))
            case "APPEND":
                item = stack.pop()
                self.extend([item])
            case "APPENDS":
                self.extend(self.marked())
            case "SETITEM":
                pair = [stack.pop(-2), stack.pop()]
                self.update(pair)
            case "SETITEMS":
                self.update(self.marked())
            case _:
                raise ValueError(f"the instruction {op}")

    def marked(self) -> list[object]:
        """What lies above the last mark."""
        items, self.stack = self.stack, self.below.pop()
        return items

    def push_marked(self, make: object) -> None:
        """A collection of what lies above the last mark."""
        items = self.marked()
        self.stack.append(make(items))  # type: ignore[operator]

    def extend(self, items: list[object]) -> None:
        """Append to the list on top."""
        top = self.stack[-1]
        if not isinstance(top, list):
            raise TypeError("APPEND")
        top.extend(items)

    def update(self, items: list[object]) -> None:
        """Set entries of the mapping on top."""
        top = self.stack[-1]
        target = top.items if isinstance(top, TorchCall) else top
        if not isinstance(target, dict):
            raise TypeError("SETITEM")
        target.update(zip(items[::2], items[1::2], strict=True))


def storage_of(reference: object) -> Storage:
    """What a persistent id refers to."""
    if not isinstance(reference, tuple) or reference[0] != "storage":
        raise ValueError("a reference to no storage")
    kind, key, count = reference[1], str(reference[2]), int(reference[4])
    if (
        not isinstance(kind, PickledName)
        or kind.text not in STORAGES
        or not 0 <= count <= MAX_ELEMENTS
    ):
        raise ValueError(f"a storage of {kind}")
    return Storage(STORAGES[kind.text], key, count)


def read_torch(path: Path) -> object:
    """The value in a file of ``torch.save``: arrays become lists of numbers.

    Raises:
        FetchError: it is no such file, too large, or holds what is no data.
    """
    return torch_value(checked(path).read_bytes(), str(path))


def torch_value(content: bytes, where: str, most: int = MAX_ELEMENTS) -> object:
    """Return the value that ``torch.save`` wrote as bytes.

    Args:
        content: the file.
        where: its name, for messages.
        most: numbers of all its arrays, at most.

    Raises:
        FetchError: as `read_torch`.
    """
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
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
        FetchError: it is none, or holds what is no data.
    """
    try:
        return Resolver({}, most).resolve(PickleMachine().run(io.BytesIO(content)))
    except (*WRONG, OSError) as error:
        line = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise FetchError(f"no pickle of data: {line}", where=where) from None


def from_archive(content: bytes, most_bytes: int) -> tuple[object, dict[str, bytes]]:
    """Value and storages of an archive; nothing is written to disk."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        if sum(sizes.values()) > most_bytes:
            raise ValueError(f"more than {most_bytes} bytes")
        (main,) = (name for name in sizes if name.endswith("/data.pkl"))
        root = main.removesuffix("data.pkl") + "data/"
        storages = {n.removeprefix(root): archive.read(n) for n in sizes if n.startswith(root)}
        return PickleMachine().run(io.BytesIO(archive.read(main))), storages


def from_pickles(content: bytes) -> tuple[object, dict[str, bytes]]:
    """Value and storages of the older container: five pickles, then the storages in order."""
    stream = io.BytesIO(content)
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
        count = int.from_bytes(stream.read(8), "little")
        width = int(machine.storages[str(key)].dtype[2:])
        if not 0 <= count <= MAX_ELEMENTS:
            raise ValueError(f"a storage of {count} numbers")
        storages[str(key)] = stream.read(count * width)
    return value, storages


class Resolver:
    """Makes plain values of what a pickle stands for, each once however often it is referred to."""

    def __init__(self, storages: Mapping[str, bytes], most: int = MAX_ELEMENTS) -> None:
        self.storages = storages
        self.left = most
        self.known: dict[int, object] = {}

    def spend(self, count: int) -> None:
        """Count numbers of an array; many arrays may be of one storage."""
        self.left -= count
        if self.left < 0:
            raise ValueError("more numbers than are read")

    def resolve(self, value: object) -> object:
        """Return a value as lists, mappings, numbers and strings."""
        if isinstance(value, str | bytes | int | float | None):
            return value
        if id(value) not in self.known:
            self.known[id(value)] = None  # a value within itself
            self.known[id(value)] = self.plain(value)
        return self.known[id(value)]

    def plain(self, value: object) -> object:
        """Return a value that is not in ``known`` yet as plain Python."""
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
                return array_of(raw(value.arguments[1]), dtype_of(value.arguments[0])).tolist()[0]
            case TorchCall(name=name, state=dict() as state) if name in RECORDS:
                read = (key for key in RECORDS[name] if key in state)
                return {key: self.resolve(state[key]) for key in read}
            case TorchCall(name=name) | PickledName(text=name):
                raise ValueError(f"the name {name}")
            case _:
                raise ValueError(f"a {type(value).__name__}")

    def tensor(self, call: TorchCall) -> object:
        """A tensor as nested lists."""
        import numpy as np

        storage, offset, size, stride = call.arguments[:4]
        if not isinstance(storage, Storage):
            raise TypeError("a tensor without storage")
        flat = array_of(self.storages[storage.key], storage.dtype)
        start, extents, steps = int(str(offset)), integers(size), integers(stride)
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
    """A tuple of whole numbers."""
    if not isinstance(value, tuple) or not all(isinstance(v, int) for v in value):
        raise TypeError("extents that are no numbers")
    return list(value)


def ndarray(state: object) -> np.ndarray:
    """Return a NumPy array from what its pickle sets."""
    if not isinstance(state, tuple) or len(state) != 5:
        raise TypeError("an array without state")
    _, shape, dtype, is_fortran, content = state
    flat = array_of(raw(content), dtype_of(dtype))
    return flat.reshape(integers(shape), order="F" if is_fortran else "C")


def dtype_of(call: object) -> str:
    """Kind of the numbers of an array: floats, integers or truth values, of this byte order."""
    if not isinstance(call, TorchCall) or call.name != "numpy.dtype":
        raise TypeError("an array of no dtype")
    name = str(call.arguments[0])
    order = call.state[1] if isinstance(call.state, tuple) else "<"
    if name[:1] not in "fiub" or order not in ("<", "|", "="):
        raise ValueError(f"an array of {name}")
    return f"<{name}"


def raw(content: object) -> bytes:
    """Bytes, which older pickles spell as a text."""
    if isinstance(content, TorchCall) and content.name == "_codecs.encode":
        content = content.arguments[0]
    if isinstance(content, str):
        return content.encode("latin1")
    if isinstance(content, bytes):
        return content
    raise TypeError("an array without numbers")


def array_of(content: bytes, dtype: str) -> np.ndarray:
    """Numbers in a row."""
    import numpy as np

    return np.frombuffer(content, dtype=dtype)
