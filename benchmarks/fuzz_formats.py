"""Mutated files of formats other than ONNX by number, for ``fuzz.py --formats``.

A file is a small valid one with bytes changed as in `fuzz_files`, or a value of its JSON or XML
replaced by one that no writer would write.
"""

from __future__ import annotations

import copy
import io
import json
import random
import re
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_files

from tests.frontend import test_stablehlo
from tests.frontend.checkpoints import files
from tests.frontend.openvino import test_openvino
from tests.frontend.tflite import flat
from tests.measuring.trace import samples

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "perfc" / "frontend" / "config" / "configs"
Files = Mapping[str, bytes]
"""Contents by name; the first is mutated. The model is the folder if its name has a slash."""
SPECIAL: tuple[Any, ...] = (
    None,
    True,
    "",
    "x" * 5000,
    "../../secret.bin",
    "/dev/zero",
    -1,
    0,
    1,
    2**31,
    2**63,
    10**12,
    -(2**63),
    10**400,
    1e308,
    float("inf"),
    float("nan"),
    [],
    {},
    [[]],
    [0] * 5000,
    {"a": None},
    "__import__('os').system('id')",
    "Pow(Pow(s0, 9), 9)",
    "é\0",
)
"""Values that replace one of a document."""
INTEGERS = (0, 1, -1, 2**31 - 1, 2**32 - 1, 2**62, 2**63 - 1, -(2**63))


def pairs(node: Any) -> list[tuple[Any, Any]]:
    """Return the containers of a document with each of their keys."""
    result, waiting = [], [node]
    while waiting:
        at = waiting.pop()
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        result += [(at, key) for key in keys]
        waiting += [at[key] for key in keys]
    return result


def document(r: random.Random, data: bytes) -> bytes:
    """Return a JSON document with one to four values replaced, removed or moved."""
    root = json.loads(data)
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        places = pairs(root)
        if not places:
            break
        at, key = r.choice(places)
        match r.randrange(4):
            case 0:
                other, place = r.choice(places)
                at[key] = json.loads(json.dumps(other[place]))
            case 1:
                del at[key]
            case 2 if isinstance(at[key], int):
                at[key] = r.choice(INTEGERS)
            case _:
                at[key] = copy.deepcopy(r.choice(SPECIAL))
    text = json.dumps(root)
    # a value that is nested deeper than a recursive parser can follow
    deep = "[" * r.choice((50, 5000, 200_000))
    return (text.replace('"', f'"{deep}', 1) if r.random() < 0.02 else text).encode()


def markup(r: random.Random, data: bytes) -> bytes:
    """Return an XML document with one to four attributes or extents replaced."""
    text = data.decode()
    for _ in range(r.choice((1, 1, 2, 4))):
        spot = r.choice(list(re.finditer(r'(?<==")[^"]*|(?<=<dim>)[^<]*', text)))
        value = str(r.choice((*SPECIAL, *INTEGERS))).replace('"', "")[:6000]
        text = text[: spot.start()] + value + text[spot.end() :]
    if r.random() < 0.05:
        # nine levels of ten references each: a billion letters
        bomb = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
        text = text.replace("?>", f'?><!DOCTYPE n [<!ENTITY e0 "x">{bomb}]>', 1)
    return text.replace("\0", "").encode()


def header(r: random.Random, data: bytes) -> bytes:
    """Return a safetensors file whose header has other values or another length."""
    (size,) = struct.unpack_from("<Q", data)
    inside = document(r, data[8 : 8 + size])
    length = r.choice((2**63, 0, len(inside) + 9, 2**31)) if r.random() < 0.2 else len(inside)
    return struct.pack("<Q", length) + inside + data[8 + size :]


def archive(r: random.Random, data: bytes) -> bytes:
    """Return an archive whose program has other values, or that inflates to 256 MiB or more."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".json") and ("/models/" in name or r.random() < 0.3):
                content = document(r, content)
                content += b" " * (1 << 28 if r.random() < 0.01 else 0)
            new.writestr(name, content, r.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)))
    return target.getvalue()


def words(r: random.Random, data: bytes) -> bytes:
    """Return a binary file with one to four integers of 4 or 8 bytes replaced."""
    content = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 4))):
        size = r.choice((4, 8))
        at = r.randrange(max(len(content) - size, 1)) // 4 * 4
        content[at : at + size] = (r.choice(INTEGERS) & (256**size - 1)).to_bytes(size, "little")
    return bytes(content)


Mutation = Callable[[random.Random, bytes], bytes]


@cache
def seeds() -> tuple[tuple[str, Mutation, Files], ...]:
    """Return the kind, mutation of its contents, and files of small valid models and traces."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        test_openvino.network().save(place)
        samples.nsys(place / "nsys.sqlite")
        files.write_gguf(place / "m.gguf")
        files.write_safetensors(
            place / "model.safetensors",
            {
                f"model.layers.{i}.self_attn.{p}_proj.weight": ("BF16", (64, 64))
                for i in range(2)
                for p in "qkvo"
            },
        )
        written = {p.name: p.read_bytes() for p in place.iterdir()}
    config = (CONFIGS / "llama-3.1-8b.json").read_bytes()
    index = json.dumps(
        {
            "metadata": {"total_size": 4096},
            "weight_map": {"model.layers.0.self_attn.q_proj.weight": "model.safetensors"},
        }
    ).encode()
    decoder = {"model": {"decoder": {"filename": "m.onnx", "head_size": 64}, "context_length": 8}}
    tensors = written["model.safetensors"]
    functions = json.dumps(test_stablehlo.network()).encode()
    return (
        *[
            ("pt2", archive, {"m.pt2": p.read_bytes()})
            for p in sorted((ROOT / "tests" / "fixtures").glob("*.pt2"))
        ],
        ("gguf", words, {"m.gguf": written["m.gguf"]}),
        ("gguf", words, {"m.gguf": files.gguf_header(files.LLAMA, files.llama_tensors(), 2)}),
        ("safetensors", header, {"model.safetensors": tensors, "config.json": config}),
        (
            "index",
            document,
            {
                "x/model.safetensors.index.json": index,
                "x/model.safetensors": tensors,
                "x/config.json": config,
            },
        ),
        ("tflite", words, {"m.tflite": flat.network().file()}),
        ("tflite", words, {"m.tflite": flat.network(is_quantized=True).file()}),
        (
            "openvino",
            markup,
            {"model.xml": written["model.xml"], "model.bin": written["model.bin"]},
        ),
        ("stablehlo", document, {"functions.hlo-json": functions}),
        *[
            ("relax", document, {"net.json": p.read_bytes()})
            for p in sorted((ROOT / "tests" / "fixtures").glob("relax-*.json"))
        ],
        (
            "genai",
            document,
            {
                "x/genai_config.json": json.dumps(decoder).encode(),
                "x/m.onnx": fuzz_files.seeds()[0],
            },
        ),
        *[
            ("config", document, {"config.json": p.read_bytes()})
            for p in sorted(CONFIGS.glob("*.json"))[::12]
        ],
        *[
            (f"trace.{kind}", document, {"run.trace-json": samples.text_of(sample()).encode()})
            for kind, sample in samples.WRITERS.items()
        ],
        ("trace.nsys", words, {"run.trace-sqlite": written["nsys.sqlite"]}),
    )


def make(number: int, seed: int = 0) -> tuple[Files, str]:
    """Return the files and kind of one case; each kind of seed in turn."""
    r = random.Random(f"formats/{seed}/{number}")
    kind, mutation, given = seeds()[number % len(seeds())]
    target = next(iter(given))
    how = r.choice(list(fuzz_files.BYTES)) if r.random() < 0.35 else ""
    if how == "splice":
        other = next(iter(r.choice(seeds())[2].values()))
        data = given[target][: r.randrange(len(given[target]))] + other[r.randrange(len(other)) :]
    elif how:
        data = bytes(fuzz_files.BYTES[how](r, bytearray(given[target])))
    else:
        data = mutation(r, given[target])
    return {**given, target: data}, f"{kind}.{how or mutation.__name__}"


def write(folder: Path, number: int, seed: int) -> tuple[Path, str]:
    """Write the files of one case; return the path of the model and the kind."""
    contents, kind = make(number, seed)
    place = folder / f"case{number}"
    for name, data in contents.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    target = place / next(iter(contents))
    return target.parent if target.parent != place else target, kind
