"""Elementwise functions of PyTorch without an operator of ONNX."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ... import DType
from .elementwise import pointwise

OPERATORS = [
    pointwise(
        row["mnemonic"],
        source,
        row["operands"],
        row["does"],
        alu=row.get("alu", 1),
        sfu=row.get("sfu", 0),
        result=DType[row["result"]] if "result" in row else None,
    )
    for source, row in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
]
