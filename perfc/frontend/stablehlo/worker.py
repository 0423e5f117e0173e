"""Process that parses one StableHLO program with JAX's bindings of MLIR and writes it as JSON."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

MOST_ELEMENTS = 1024
"""Maximum elements of a constant that are written: larger ones are weights, which no analysis
reads."""
LONGEST_TEXT = 4000
"""Maximum characters of an attribute, and of a location, which has any number of frames."""


def main(path: str, reply: str) -> None:
    """Parse a program and write its operations.

    Args:
        path: text or bytecode of MLIR, or bytes of ``jax.export``.
        reply: path of the answer.
    """
    os.environ.update(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="-1")
    answer: dict[str, Any]
    try:
        answer = {"functions": functions(Path(path).read_bytes())}
    except ModuleNotFoundError as error:
        answer = {"missing": (error.name or str(error)).partition(".")[0]}
    except Exception as error:
        # the second line of a syntax error says where it is; a line may quote the whole program
        lines = [t.strip() for t in str(error).splitlines() if t.strip()][:2]
        answer = {
            "error": f"JAX does not parse it: {' '.join(lines) or type(error).__name__}"[:300]
        }
    Path(reply).write_text(json.dumps(answer), encoding="utf-8")


def functions(data: bytes) -> dict[str, Any]:
    """Return the functions of a program by name."""
    ir: Any = importlib.import_module("jaxlib.mlir.ir")
    dialect: Any = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    mlir: Any = importlib.import_module("jax._src.interpreters.mlir")
    # bytecode of MLIR has a magic number; exports of JAX have zero bytes near their beginning, text
    # has none
    is_text = not data.startswith(b"ML\xefR") and b"\0" not in data[:4096]
    if not is_text and not data.startswith(b"ML\xefR"):
        export: Any = importlib.import_module("jax.export")
        data, is_text = export.deserialize(bytearray(data)).mlir_module().encode(), True
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(data.decode() if is_text else data)
        except Exception:
            # bytecode in the versioned form of StableHLO is no plain MLIR
            if is_text:
                raise
            module = dialect.deserialize_portable_artifact(context, data)
        writer = Writer(ir)
        return {
            str(f.attributes["sym_name"]).strip('"'): writer.block(f.regions[0].blocks[0])
            for f in module.body.operations
            if f.operation.name == "func.func"
        }


class Writer:
    """Conversion of a program to JSON, with numbers for its values."""

    def __init__(self, ir: Any) -> None:
        self.ir = ir
        self.values: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of a value."""
        return self.values.setdefault(value, len(self.values))

    def block(self, block: Any) -> dict[str, Any]:
        """Return the arguments and operations of a block."""
        arguments = [
            [self.number(a), str(a.type), str(a.location)[:LONGEST_TEXT]] for a in block.arguments
        ]
        return {"args": arguments, "ops": [self.operation(op.operation) for op in block.operations]}

    def operation(self, op: Any) -> dict[str, Any]:
        """Return one operation."""
        attributes = op.attributes
        pairs = [(a, attributes[a]) if isinstance(a, str) else (a.name, a.attr) for a in attributes]
        return {
            "name": op.name,
            "in": [self.number(v) for v in op.operands],
            "out": [[self.number(v), str(v.type)] for v in op.results],
            "attrs": {name: self.attribute(attribute) for name, attribute in pairs},
            "loc": str(op.location)[:LONGEST_TEXT],
            "regions": [self.block(r.blocks[0]) for r in op.regions if len(r.blocks)],
        }

    def attribute(self, attribute: Any) -> Any:
        """Return an attribute as a number, text or list; None for a large constant."""
        ir = self.ir
        if isinstance(attribute, ir.DenseElementsAttr):
            count = math.prod(ir.ShapedType(attribute.type).shape)
            if count > MOST_ELEMENTS:
                return None
            if attribute.is_splat:
                return [attribute.get_splat_value().value] * count
            import numpy as np

            try:
                return np.array(attribute).reshape(-1).tolist()
            except TypeError:  # NumPy has no bf16
                return None
        if isinstance(attribute, ir.DenseResourceElementsAttr):
            return None
        if isinstance(attribute, ir.ArrayAttr):
            return [self.attribute(a) for a in attribute]
        for kind in (ir.DenseI64ArrayAttr, ir.DenseI32ArrayAttr, ir.DenseBoolArrayAttr):
            if isinstance(attribute, kind):
                return list(attribute)
        for kind in (
            ir.BoolAttr,
            ir.IntegerAttr,
            ir.FloatAttr,
            ir.StringAttr,
            ir.FlatSymbolRefAttr,
        ):
            if isinstance(attribute, kind):
                return attribute.value
        return str(attribute)[:LONGEST_TEXT]


if __name__ == "__main__":
    main(*sys.argv[1:])
