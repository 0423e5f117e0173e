"""PyTorch's autocast lists: operators whose type does not follow their operands.

Imported only when a model runs under autocast, because it imports many operator families.
Source: PyTorch, Automatic Mixed Precision package, CUDA Op-Specific Behavior.
"""

from __future__ import annotations

from perfc.ir.ops.elementwise.activation import PRelu, Softplus
from perfc.ir.ops.elementwise.elementwise import Pow, Reciprocal
from perfc.ir.ops.elementwise.rounding import Acos, Asin, Cosh, Exp, Log, Sinh, Tan
from perfc.ir.ops.normalization.cumulative import CumSum
from perfc.ir.ops.normalization.normalization import (
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    LpNormalization,
)
from perfc.ir.ops.normalization.reduce import (
    ReduceL1,
    ReduceL2,
    ReduceLogSumExp,
    ReduceProd,
    ReduceSum,
)
from perfc.ir.ops.normalization.softmax import Softmax

NARROW = (PRelu,)
"""Operators other than products whose operands are cast to the narrow type."""
WIDE = (
    LayerNormalization,
    GroupNormalization,
    InstanceNormalization,
    LpNormalization,
    Exp,
    Log,
    Pow,
    Reciprocal,
    Softplus,
    Acos,
    Asin,
    Cosh,
    Sinh,
    Tan,
    ReduceL1,
    ReduceL2,
    ReduceLogSumExp,
)
"""Operators whose operands are cast to f32."""
WIDE_INSIDE = (ReduceSum, CumSum, ReduceProd, Softmax)
"""Operators that read any type and write f32."""
