"""Mutated ONNX files by number: the same seed and number give the same bytes."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_operators
import onnx
from fuzz_hostile import HOSTILE, INT64

from tests.oracles import sweep_cases

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "models"
WRONG_TYPES = (0, -1, 99, 8, 9, 14, 16, 21, 23, 28)
"""Element types that do not exist, or that few operators take: text, complex, narrow floats."""


@cache
def seeds(largest: int = 60_000) -> tuple[bytes, ...]:
    """Return small valid models: some of the sweep's, and the examples that are small enough."""
    models = []
    for i, case in enumerate(sweep_cases.cases(seed=7, scale=0.01)):
        data = case.model.SerializeToString()
        if i % 5 == 0 and len(data) < largest:
            models.append(data)
    for path in sorted(EXAMPLES.glob("*.onnx*")) if EXAMPLES.is_dir() else []:
        import gzip

        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        if path.suffix in (".onnx", ".gz") and len(data) < 40 * largest:
            models.append(data)
    return tuple(models)


@cache
def text_seeds() -> tuple[str, ...]:
    """Return the same models in ONNX's text form, as far as it can print them."""
    texts = []
    for data in seeds()[:60]:
        try:
            text = onnx.printer.to_text(onnx.load_model_from_string(data))
        except Exception:  # the printer does not know every type
            continue
        if len(text) < 20_000:
            texts.append(text)
    return tuple(texts)


HOSTILE_SHARE = 0.30
"""Share of hostile files among those that are not a single node."""


def make(number: int, seed: int = 0) -> tuple[bytes, str, str]:
    """Return the bytes, suffix and kind of one file."""
    r = random.Random(f"{seed}/{number}")
    roll = r.random()
    if number % 3 == 2:
        name, cls = fuzz_operators.operators()[number // 3 % len(fuzz_operators.operators())]
        return fuzz_operators.make(r, name, cls), ".onnx", f"operator.{name}"
    if roll < HOSTILE_SHARE:
        maker = HOSTILE[number // 3 % len(HOSTILE)]  # every third number is of an operator
        data, suffix = maker(r)
        return data, suffix, f"hostile.{maker.__name__}"
    if roll < 0.65:
        data = bytearray(r.choice(seeds()))
        kind = r.choice(list(BYTES))
        return bytes(BYTES[kind](r, data)), ".onnx", f"bytes.{kind}"
    if roll < 0.95:
        proto = onnx.load_model_from_string(r.choice(seeds()))
        changes = [r.choice(STRUCTURE) for _ in range(r.randint(1, 3))]
        for change in changes:
            change(r, proto)
        return proto.SerializeToString(), ".onnx", f"structure.{changes[0].__name__}"
    text = list(r.choice(text_seeds()))
    for _ in range(r.randint(1, 8)):
        at = r.randrange(len(text))
        text[at] = r.choice((text[r.randrange(len(text))], "", "(", ">", "\0", "9" * 30, "é"))
    return "".join(text).encode(), ".onnxtxt", "text"


# ------------------------------------------------------------------------------------ bytes


def flip(r: random.Random, data: bytearray) -> bytes:
    """Flip one to twenty bits."""
    for _ in range(r.choice((1, 1, 2, 5, 20))):
        data[r.randrange(len(data))] ^= 1 << r.randrange(8)
    return data


def truncate(r: random.Random, data: bytearray) -> bytes:
    """Cut the end off."""
    return data[: r.randrange(len(data))]


def insert(r: random.Random, data: bytearray) -> bytes:
    """Put bytes in, among them varints of ten bytes."""
    at = r.randrange(len(data))
    more = r.choice((r.randbytes(r.randint(1, 9)), b"\xff" * 9 + b"\x01", b"\xff" * 30, bytes(100)))
    return data[:at] + more + data[at:]


def delete(r: random.Random, data: bytearray) -> bytes:
    """Take a piece out."""
    at = r.randrange(len(data))
    return data[:at] + data[at + r.randint(1, 30) :]


def repeat(r: random.Random, data: bytearray) -> bytes:
    """Double a piece, or the whole: protobuf merges repeated messages."""
    a, b = sorted(r.randrange(len(data) + 1) for _ in range(2))
    return data + data if r.random() < 0.2 else data[:b] + data[a:b] + data[b:]


def splice(r: random.Random, data: bytearray) -> bytes:
    """Return the head of one model and the tail of another."""
    other = r.choice(seeds())
    return data[: r.randrange(len(data))] + other[r.randrange(len(other)) :]


def overwrite(r: random.Random, data: bytearray) -> bytes:
    """Write 0xff or 0x00 over a piece."""
    at, n = r.randrange(len(data)), r.randint(1, 12)
    return data[:at] + r.choice((b"\xff", b"\0", b"\x7f")) * n + data[at + n :]


BYTES = {f.__name__: f for f in (flip, truncate, insert, delete, repeat, splice, overwrite)}


# -------------------------------------------------------------------------------- structure


def pick(r: random.Random, items: Any) -> Any:
    """Return one of a repeated field, None when it is empty."""
    listed = list(items)
    return r.choice(listed) if listed else None


def dims(r: random.Random, m: onnx.ModelProto) -> None:
    """A dimension of an input becomes absurd."""
    info = pick(r, m.graph.input)
    if info is None:
        return
    shape = info.type.tensor_type.shape
    dim = pick(r, shape.dim) or shape.dim.add()
    if r.random() < 0.3:
        dim.dim_param = r.choice(("N", "", "N+1", "-", "N*N", "1", "__import__('os')"))
    else:
        dim.dim_value = r.choice(INT64)


def initializer(r: random.Random, m: onnx.ModelProto) -> None:
    """An initializer's extents, type or bytes no longer fit."""
    t = pick(r, m.graph.initializer)
    if t is None:
        return
    match r.randrange(4):
        case 0:
            t.dims.append(r.choice(INT64))
        case 1:
            t.data_type = r.choice(WRONG_TYPES)
        case 2:
            t.raw_data = r.randbytes(r.randint(0, 40))
        case _:
            t.int64_data.extend(INT64)


def edge(r: random.Random, m: onnx.ModelProto) -> None:
    """An input is taken away, doubled, unknown, or comes from later."""
    n = pick(r, m.graph.node)
    if n is None:
        return
    later = [o for k in m.graph.node for o in k.output]
    match r.randrange(4):
        case 0:
            del n.input[:1]
        case 1:
            n.input.append("nowhere")
        case 2:
            n.input.extend(list(n.input) * 3)
        case _:
            if n.input and later:
                n.input[0] = r.choice(later)


def output(r: random.Random, m: onnx.ModelProto) -> None:
    """Outputs repeat one another, or there are too many or none."""
    n = pick(r, m.graph.node)
    if n is None:
        return
    if r.random() < 0.3:
        del n.output[:]
    else:
        n.output.extend(r.choice((list(n.output), ["x1"], ["", ""])))


def attribute(r: random.Random, m: onnx.ModelProto) -> None:
    """An attribute's number is at a limit, its type another, its list long."""
    chosen = pick(r, (a for n in m.graph.node for a in n.attribute))
    if chosen is None:
        return
    match r.randrange(6):
        case 0:
            chosen.i = r.choice(INT64)
        case 1:
            chosen.f = r.choice((float("nan"), float("inf"), 1e38))
        case 2:
            chosen.ints.extend([r.choice(INT64)] * r.choice((1, 5000)))
        case 3:
            chosen.type = r.choice((0, 1, 2, 3, 4, 5, 7, 8, 14))
        case 4:
            chosen.name = r.choice(("", "axis", "to", "body", "perm"))
        case _:
            chosen.s = r.randbytes(9)


def operator(r: random.Random, m: onnx.ModelProto) -> None:
    """Another operator takes the node's place, or another domain or opset."""
    n = pick(r, m.graph.node)
    if n is None:
        return
    names = sorted({s.name for s in onnx.defs.get_all_schemas()})
    match r.randrange(3):
        case 0:
            n.op_type = r.choice(names)
        case 1:
            n.domain = r.choice(("com.microsoft", "ai.onnx.ml", "x.y"))
        case _:
            for opset in m.opset_import[:1]:
                opset.version = r.choice((1, 7, 13, 28, 0, 2**40))


def element(r: random.Random, m: onnx.ModelProto) -> None:
    """An input is of a wrong or impossible element type, or of none."""
    info = pick(r, m.graph.input)
    if info is not None:
        info.type.tensor_type.elem_type = r.choice(WRONG_TYPES)


def drop(r: random.Random, m: onnx.ModelProto) -> None:
    """A part of the graph is gone."""
    fields = [m.graph.node, m.graph.input, m.graph.initializer, m.graph.output, m.opset_import]
    field = r.choice(fields)
    if len(field):
        del field[r.randrange(len(field))]


STRUCTURE = (dims, initializer, edge, output, attribute, attribute, operator, element, drop)
