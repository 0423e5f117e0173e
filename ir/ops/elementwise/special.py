"""Elementwise functions of PyTorch without an operator of ONNX.

Each is a row of the TOML file next to this module; keys are arguments of `pointwise`.
"""

from __future__ import annotations

from perfc.common.fitted import data_next_to

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
    for source, row in data_next_to(__file__).items()
]
