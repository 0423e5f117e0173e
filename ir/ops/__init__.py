"""Operators, one file per family; a file is loaded when one of its operators is first looked up.

There is no list to edit: the files are searched for the operators they define.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from perfc.common.first_use import first_use

from ..op import BY_ONNX, REGISTRY, Op

if TYPE_CHECKING:
    from .attention.attention import Attention as Attention
    from .attention.ragged_attention import RaggedAttention as RaggedAttention
    from .attention.rotary import RotaryEmbedding as RotaryEmbedding
    from .collective import AllGather as AllGather
    from .collective import AllReduce as AllReduce
    from .collective import ReduceScatter as ReduceScatter
    from .collective import SendReceive as SendReceive
    from .contraction.grouped_matmul import GroupedGemm as GroupedGemm
    from .contraction.matmul import Gemm as Gemm
    from .contraction.matmul import MatMul as MatMul
    from .contraction.moe import FUSED_ROWS as FUSED_ROWS
    from .contraction.moe import NARROW as NARROW
    from .contraction.moe import MoE as MoE
    from .contraction.moe import QMoE as QMoE
    from .convolution.conv import Conv as Conv
    from .convolution.conv_grad import ConvGrad as ConvGrad
    from .convolution.pool import MaxPool as MaxPool
    from .convolution.window import touched as touched
    from .elementwise.activation import Elu as Elu
    from .elementwise.activation import FastGelu as FastGelu
    from .elementwise.activation import Gelu as Gelu
    from .elementwise.activation import QuickGelu as QuickGelu
    from .elementwise.activation import Relu as Relu
    from .elementwise.activation import Sigmoid as Sigmoid
    from .elementwise.activation import Softplus as Softplus
    from .elementwise.activation import Swish as Swish
    from .elementwise.activation import Tanh as Tanh
    from .elementwise.cast import Cast as Cast
    from .elementwise.elementwise import Add as Add
    from .elementwise.elementwise import Div as Div
    from .elementwise.elementwise import Mul as Mul
    from .elementwise.elementwise import Neg as Neg
    from .elementwise.elementwise import Pow as Pow
    from .elementwise.elementwise import Reciprocal as Reciprocal
    from .elementwise.elementwise import Sqrt as Sqrt
    from .elementwise.elementwise import Sub as Sub
    from .elementwise.gated import GatedActivation as GatedActivation
    from .elementwise.logic import LessOrEqual as LessOrEqual
    from .elementwise.logic import Where as Where
    from .elementwise.random import Dropout as Dropout
    from .elementwise.random import RandomUniformLike as RandomUniformLike
    from .elementwise.rounding import Cos as Cos
    from .elementwise.rounding import Erf as Erf
    from .elementwise.rounding import Exp as Exp
    from .elementwise.rounding import Log as Log
    from .elementwise.rounding import Sin as Sin
    from .movement.gather import Gather as Gather
    from .movement.gather import GatherElements as GatherElements
    from .movement.movement import Contiguous as Contiguous
    from .movement.movement import Expand as Expand
    from .movement.movement import Transpose as Transpose
    from .movement.scatter import ScatterElements as ScatterElements
    from .movement.select import TopK as TopK
    from .movement.slice import Concat as Concat
    from .movement.slice import Split as Split
    from .movement.view import Flatten as Flatten
    from .movement.view import Identity as Identity
    from .movement.view import Reshape as Reshape
    from .movement.view import Squeeze as Squeeze
    from .movement.view import Unsqueeze as Unsqueeze
    from .normalization.arg_reduce import ArgMax as ArgMax
    from .normalization.contrib_normalization import GatedRMSNorm as GatedRMSNorm
    from .normalization.cumulative import CumSum as CumSum
    from .normalization.normalization import BatchNormalization as BatchNormalization
    from .normalization.normalization import LayerNormalization as LayerNormalization
    from .normalization.normalization import LpNormalization as LpNormalization
    from .normalization.normalization import RMSNormalization as RMSNormalization
    from .normalization.reduce import ReduceMean as ReduceMean
    from .normalization.reduce import ReduceSumSquare as ReduceSumSquare
    from .normalization.softmax import LogSoftmax as LogSoftmax
    from .normalization.softmax import NegativeLogLikelihoodLoss as NegativeLogLikelihoodLoss
    from .normalization.softmax import Softmax as Softmax
    from .quantized.quantize import DequantizeLinear as DequantizeLinear
    from .quantized.quantize import QuantizeLinear as QuantizeLinear
    from .quantized.quantized_gather import GatherBlockQuantized as GatherBlockQuantized
    from .quantized.quantized_matmul import GemmFloat8 as GemmFloat8
    from .quantized.quantized_matmul import MatMulIntegerToFloat as MatMulIntegerToFloat
    from .quantized.weight_only_matmul import (
        MatMulBlockQuantizedFp4Weight as MatMulBlockQuantizedFp4Weight,
    )
    from .quantized.weight_only_matmul import MatMulBnb4 as MatMulBnb4
    from .quantized.weight_only_matmul import MatMulNBits as MatMulNBits
    from .recurrent.causal_conv import VarlenCausalConvWithState as VarlenCausalConvWithState
    from .recurrent.linear_attention import GatedDeltaNet as GatedDeltaNet
    from .recurrent.recurrent import GRU as GRU
    from .recurrent.recurrent import LSTM as LSTM
    from .recurrent.recurrent import RNN as RNN
    from .recurrent.state_space import StateSpaceScan as StateSpaceScan

_DOOR = {
    ".attention.attention": "Attention",
    ".attention.ragged_attention": "RaggedAttention",
    ".attention.rotary": "RotaryEmbedding",
    ".collective": "AllGather AllReduce ReduceScatter SendReceive",
    ".contraction.grouped_matmul": "GroupedGemm",
    ".contraction.matmul": "Gemm MatMul",
    ".contraction.moe": "FUSED_ROWS MoE NARROW QMoE",
    ".convolution.conv": "Conv",
    ".convolution.conv_grad": "ConvGrad",
    ".convolution.pool": "MaxPool",
    ".convolution.window": "touched",
    ".elementwise.activation": "Elu FastGelu Gelu QuickGelu Relu Sigmoid Softplus Swish Tanh",
    ".elementwise.cast": "Cast",
    ".elementwise.elementwise": "Add Div Mul Neg Pow Reciprocal Sqrt Sub",
    ".elementwise.gated": "GatedActivation",
    ".elementwise.logic": "LessOrEqual Where",
    ".elementwise.random": "Dropout RandomUniformLike",
    ".elementwise.rounding": "Cos Erf Exp Log Sin",
    ".movement.gather": "Gather GatherElements",
    ".movement.movement": "Contiguous Expand Transpose",
    ".movement.scatter": "ScatterElements",
    ".movement.select": "TopK",
    ".movement.slice": "Concat Split",
    ".movement.view": "Flatten Identity Reshape Squeeze Unsqueeze",
    ".normalization.arg_reduce": "ArgMax",
    ".normalization.contrib_normalization": "GatedRMSNorm",
    ".normalization.cumulative": "CumSum",
    ".normalization.normalization": "BatchNormalization LayerNormalization LpNormalization"
    " RMSNormalization",
    ".normalization.reduce": "ReduceMean ReduceSumSquare",
    ".normalization.softmax": "LogSoftmax NegativeLogLikelihoodLoss Softmax",
    ".quantized.quantize": "DequantizeLinear QuantizeLinear",
    ".quantized.quantized_gather": "GatherBlockQuantized",
    ".quantized.quantized_matmul": "GemmFloat8 MatMulIntegerToFloat",
    ".quantized.weight_only_matmul": "MatMulBlockQuantizedFp4Weight MatMulBnb4 MatMulNBits",
    ".recurrent.causal_conv": "VarlenCausalConvWithState",
    ".recurrent.linear_attention": "GatedDeltaNet",
    ".recurrent.recurrent": "GRU LSTM RNN",
    ".recurrent.state_space": "StateSpaceScan",
}
"""Names that are imported from here, by the module that has them; it is loaded on first use."""
__getattr__ = first_use(__name__, {n: m for m, names in _DOOR.items() for n in names.split()})

# The four patterns are the forms in which a family names an operator: a class attribute
# `mnemonic`; a class attribute `onnx`; a call at module level that creates a class from mnemonic
# and ONNX name; a section of a TOML file next to the module.
# "\n" in place of "^": a pattern that begins with a literal is searched ten times faster.
_MNEMONIC = re.compile(r'\n    mnemonic(?::[^=\n]*)? = "([^"]+)"')
_ONNX = re.compile(r'\n    onnx = (?:\(\s+)?"((?:[^"]|"\s+")*)"')
_ROW = re.compile(r'\n[A-Z]\w+ = \w+\(\s*"(\w+)",\s*"([\w.:]+)')
_TABLE = re.compile(r'\n\["([\w.:]+)"\]\nmnemonic = "(\w+)"')
_NAME = re.compile(r"[\w.:]+")  # one of the names that `onnx` lists with blanks between


@cache
def _index() -> tuple[dict[str, str], dict[str, str]]:
    """Return the family (dotted module name) by mnemonic, and by ONNX name.

    Modules are searched as text, since importing all of them would slow down every command.
    """
    by_mnemonic: dict[str, str] = {}
    by_onnx: dict[str, str] = {}
    for family in families():
        path = os.path.join(__path__[0], *family.split("."))
        with open(f"{path}.py", encoding="utf-8") as source:
            text = source.read()
        if "\nOPERATORS = " in text:
            # the classes are created from a TOML file with the name of the module
            with open(f"{path}.toml", encoding="utf-8") as table:
                for name, mnemonic in _TABLE.findall(table.read()):
                    by_mnemonic[mnemonic] = by_onnx[name] = family
        by_mnemonic.update(dict.fromkeys(_MNEMONIC.findall(text), family))
        for mnemonic, name in _ROW.findall(text):
            by_mnemonic[mnemonic] = by_onnx[name] = family
        for names in _ONNX.findall(text):
            by_onnx.update(dict.fromkeys(_NAME.findall(names), family))
    return by_mnemonic, by_onnx


@cache
def families() -> tuple[str, ...]:
    """Return the dotted names of the modules that define operators, relative to this package."""
    return tuple(sorted(_modules(__path__[0], "")))


def _modules(folder: str, prefix: str) -> Iterator[str]:
    """Yield dotted names of public modules below a folder; names without a dot are packages."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py") and not name.startswith("_"):
                yield prefix + name[:-3]
            elif "." not in name and not name.startswith("_"):  # skips other files, __pycache__
                yield from _modules(entry.path, f"{prefix}{name}.")


def mnemonics() -> tuple[str, ...]:
    """Return every mnemonic, without loading the operators."""
    return tuple(sorted(_index()[0]))


def operator(mnemonic: str) -> type[Op]:
    """Return the operator called ``mnemonic`` in the text form.

    Raises:
        KeyError: there is none.
    """
    if mnemonic not in REGISTRY and mnemonic in _index()[0]:
        import_module(f".{_index()[0][mnemonic]}", __name__)
    return REGISTRY[mnemonic]


def operator_for(domain: str, op_type: str) -> type[Op] | None:
    """Return the operator for an ONNX operator, None if there is none.

    >>> operator_for("", "MatMul").__name__
    'MatMul'
    """
    name = op_type if domain in ("", "ai.onnx") else f"{domain}::{op_type}"
    if name not in BY_ONNX and name in _index()[1]:
        import_module(f".{_index()[1][name]}", __name__)
    return BY_ONNX.get(name)


def load_all() -> dict[str, type[Op]]:
    """Load every family; return operators by mnemonic."""
    for family in families():
        import_module(f".{family}", __name__)
    return dict(REGISTRY)
