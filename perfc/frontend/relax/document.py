"""JSON document of a Relax module: nodes that refer to one another by number."""

from __future__ import annotations

import base64
import hashlib
import json
import mmap
import re
from dataclasses import field
from typing import Any

from perfc.errors import ModelError
from perfc.ir import mutable

from ..lowering.builder import UNKNOWN, Meta, Size
from ..lowering.elements import DataType, element_type, is_small
from ..source import is_deeper, one_line, open_file, unreadable

MOST_BYTES = 32 << 20
"""Maximum bytes of a document without its weights."""
MOST_MARKS = 8_000_000
"""Maximum quotes, commas and brackets: an empty list in JSON takes 64 bytes of memory, as many as
this 512 MB."""
MOST_VISITS = 2_000_000
"""Maximum number of times that nodes are read: a node may be part of many others."""
DEEPEST = 16
"""Maximum nesting of the JSON, which is flat: nodes refer to others by number."""
DEEPEST_SIZE = 8
"""Maximum nesting of the expression of an extent."""
MOST_AXES = 64
"""Maximum axes of a tensor; a damaged document may claim billions."""
MOST_WRITTEN = 16384
"""Maximum characters of the elements of a tensor that are read, in base64: 12 KiB of elements."""
WEIGHTS = re.compile(rb'"[A-Za-z0-9+/=\\]{%d,}+"' % MOST_WRITTEN)
"""Base64 of large tensors, which is skipped without decoding; no name is as long."""
NUMBERS = frozenset(
    {
        "groups",
        "num_groups",
        "channel_axis",
        "batch_dims",
        "depth",
        "k",
        "upscale_factor",
        "repeats",
        "seq_axis",
        "batch_axis",
    }
)
"""Attributes whose whole number is in the document itself, not in a separate node."""
OPTIONAL_AXIS = frozenset(
    {
        "ArgmaxArgminAttrs",
        "ConcatAttrs",
        "RepeatAttrs",
        "ScanopAttrs",
        "StackAttrs",
        "TakeAttrs",
        "StatisticalAttrs",
        "SqueezeAttrs",
        "ExpandDimsAttrs",
    }
)
"""Attributes of operators whose ``axis`` is a node; of other operators it is a number.
Source: fields that TVM 0.25 to 0.27 declares."""
OPERATIONS = {"Add": "+", "Mul": "*", "FloorDiv": "//", "FloorMod": "%"}
"""Operations of extents, by class of the node."""


@mutable
class RelaxDocument:
    """Nodes of a document; the argument ``at`` of its methods is the number of a node.

    Args:
        nodes: objects with ``type`` and ``data``.
        root: number of the module.
        has_literals: whether whole numbers of the program have their value in their node, as
            before TVM 0.27; since then it is a node.
        symbols: names of the symbolic extents of inputs, by number of their variable.
        nbytes: bytes of the file.
        digest: SHA-256 of the file.
        visits: number of times that nodes were read.
    """

    nodes: list[Any]
    root: int
    has_literals: bool = False
    symbols: dict[int, str] = field(default_factory=dict)
    nbytes: int = 0
    digest: str = ""
    visits: int = 0

    def kind(self, at: int) -> str:
        """Return the class of a node by the name that all versions have, without its module.

        Raises:
            ModelError: nodes are read too often.
        """
        self.visits += 1
        if self.visits > MOST_VISITS:
            raise ModelError(f"nodes refer to others more than {MOST_VISITS} times")
        name = str(self.nodes[number(at)]["type"]).rpartition(".")[2]
        # names that changed between versions
        return name.replace("StructInfo", "Type").replace("SizeVar", "Var")

    def data(self, at: int) -> Any:
        """Return the content of a node."""
        return self.nodes[number(at)].get("data")

    def part(self, at: int, *names: str) -> int:
        """Return the number of the node in a field; versions name the field differently."""
        data = self.data(at)
        return number(next(data[n] for n in names if n in data))

    def listed(self, at: int) -> list[int]:
        """Return the numbers of the nodes in an array, or of keys and values of a map in turn."""
        return [number(p) for p in self.data(at)] if self.kind(at) in ("Array", "Map") else []

    def text(self, at: int) -> str:
        """Return the text of a node; empty for a node without one."""
        data = self.data(at)
        return data if isinstance(data, str) else ""

    def name(self, at: int) -> str:
        """Return the name of a variable or function."""
        data = self.data(at)
        # a variable of Relax has its name in a node for its identity
        if "vid" in data:
            at = number(data["vid"])
        return re.sub(r"\W", "_", self.text(self.part(at, "name", "name_hint"))) or "value"

    def plain(self, at: int) -> Any:
        """Return the value of a node: a number, a text, None, or a list of such values."""
        match self.kind(at):
            case "Array" | "List":
                return [self.plain(p) for p in self.data(at)]
            case "IntImm" if self.has_literals:
                return self.data(at)["value"]
            case "IntImm" | "FloatImm" | "PrimValue" | "StringImm" | "DataTypeImm":
                value = self.data(at)["value"]
                return self.plain(value) if type(value) is int else value
            case "PrimType":
                return self.data(at)["dtype"]
            case _:
                data = self.data(at)
                return None if isinstance(data, dict | list) else data

    def attributes(self, at: int) -> dict[str, Any]:
        """Return the attributes of a call by name."""
        kind, data = self.kind(at), self.data(at)
        if not isinstance(data, dict):
            return {}
        # whole numbers are numbers of nodes, except in these fields
        is_number = {*NUMBERS, *(() if kind in OPTIONAL_AXIS else ("axis",))}
        return {
            name: self.plain(v) if type(v) is int and name not in is_number else v
            for name, v in data.items()
        }

    def size(self, at: int, depth: int = 0) -> Size:
        """Return an extent: a number, symbol or expression; None for any other."""
        kind = self.kind(at)
        if kind in ("IntImm", "int"):
            value = self.plain(at)
            return value if type(value) is int and 0 <= value < 1 << 63 else None
        if kind == "Var":
            return self.symbols.get(at)
        if depth > DEEPEST_SIZE or kind not in (*OPERATIONS, "Sub"):
            return None
        operands = self.data(at)
        left, right = (self.size(number(operands[n]), depth + 1) for n in "ab")
        if left is None or right is None:
            return None
        if kind == "Sub":
            # a difference is the sum with the negative
            kind, right = "Add", -right if isinstance(right, int) else ("*", -1, right)
        return OPERATIONS[kind], left, right

    def sizes(self, at: int) -> list[Size]:
        """Return the extents of a shape or a tuple of numbers."""
        kind = self.kind(at)
        values = self.part(at, "fields" if kind == "Tuple" else "values")
        parts = [
            p if self.kind(p) != "PrimValue" else self.part(p, "value") for p in self.listed(values)
        ]
        return [self.size(p) for p in parts]

    def metas(self, at: int) -> list[Meta]:
        """Return the types of the tensors of a type: one, or those of a tuple in order."""
        if self.kind(at) == "TupleType":
            return [m for p in self.listed(self.part(at, "fields")) for m in self.metas(p)]
        return [self.meta(at)]

    def meta(self, at: int) -> Meta:
        """Return the type of a tensor or shape."""
        kind = self.kind(at)
        if kind == "PrimType":
            return Meta(self.dtype(at), ())
        if kind not in ("TensorType", "ShapeType"):
            return UNKNOWN
        data = self.data(at)
        rank = data["ndim"]
        if type(rank) is not int or not -1 <= rank <= MOST_AXES:
            raise ValueError(f"a tensor of {rank} axes")
        # a shape is a vector of its extents
        if kind == "ShapeType":
            return Meta(DataType.INT64, (None if rank < 0 else rank,))
        dtype = data["dtype"]
        element = element_type(dtype) if isinstance(dtype, str) else self.dtype(dtype)
        shape = number(data["shape"])
        if self.kind(shape) == "ShapeExpr":
            return Meta(element, tuple(self.sizes(shape)))
        return UNKNOWN if rank < 0 else Meta(element, (None,) * rank)

    def dtype(self, at: int) -> int:
        """Return the ONNX element type of a type; 0 for an unknown one."""
        return element_type(str(self.plain(at)))

    def elements(self, at: int, meta: Meta) -> bytes | None:
        """Return the elements of a constant; None if they are many."""
        # large weights became empty strings in `document_of`
        encoded = self.text(self.part(at, "value", "data"))
        if not encoded or len(encoded) > MOST_WRITTEN:
            return None
        data = base64.b64decode(encoded, validate=True)
        # ``SaveDLTensor`` of TVM's ndarray.h: magic number, reserved, device, rank and type in 32
        # bytes; extents and the number of bytes in 8 bytes each; elements
        start = 32 + 8 * meta.rank
        nbytes = int.from_bytes(data[start : start + 8], "little")
        payload = data[start + 8 :]
        if len(payload) != nbytes or not is_small(meta.dtype, meta.count, nbytes):
            return None
        return payload


def number(value: Any) -> int:
    """Return a value of the document as the number of a node.

    Raises:
        TypeError: it is no such number.
    """
    if type(value) is not int or value < 0:
        raise TypeError(f"{str(value)[:40]} is no node")
    return value


def read_document(model: str | bytes, where: str) -> RelaxDocument:
    """Return the nodes of a document, its weights without elements.

    Args:
        model: path of a file, or the bytes of one.
        where: name of the model in errors.

    Raises:
        ModelError: it cannot be read, is too large, or is no such document.
    """
    if isinstance(model, bytes):
        return document_of(model, where)
    with open_file(model, one_line(model)) as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return document_of(data, where)
        except (OSError, ValueError) as error:
            raise unreadable(error, where) from None


def document_of(data: bytes | mmap.mmap, where: str) -> RelaxDocument:
    """Return the nodes of a document; arguments as `read_document` has them."""
    # weights become empty strings; after the last one comes the end of the data, marked by an end
    # of 0. `count` is the number of bytes that are no weights
    pieces, count, last = list[bytes](), 0, 0
    for start, end in [*((m.start(), m.end()) for m in WEIGHTS.finditer(data)), (len(data), 0)]:
        count += start - last
        if count > MOST_BYTES:
            what = f"a Relax module of more than {MOST_BYTES >> 20} MiB without its weights"
            raise ModelError(what, hint="give a part of it", where=where)
        pieces += [data[last:start], b'""' if end else b""]
        last = end
    text = b"".join(pieces)
    hint = "save it with tvm.ir.save_json of TVM 0.22 or newer"
    if sum(map(text.count, (b'"', b",", b"[", b"{"))) > MOST_MARKS:
        raise ModelError(f"more than {MOST_MARKS:,} values", hint="give a part of it", where=where)
    if is_deeper(text, DEEPEST):
        raise ModelError(f"nested deeper than {DEEPEST}", hint=hint, where=where)
    try:
        tree = json.loads(text)
        nodes, root = tree["nodes"], number(tree["root_index"])
        version = re.match(r"0\.(\d{1,4})\b", str(tree.get("metadata", {}).get("tvm_version")))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        what = "not a Relax module that perfc reads"
        raise ModelError(what, hint=hint, where=where) from None
    if not isinstance(nodes, list) or root >= len(nodes):
        raise ModelError("a Relax module without nodes", hint=hint, where=where)
    digest = hashlib.sha256(data).hexdigest()
    has_literals = version is not None and int(version[1]) < 27
    return RelaxDocument(nodes, root, has_literals, nbytes=len(data), digest=digest)
