"""Problem sizes of operators: named extents that describe the work of a kernel, one file per kind.

An operator defines its problem once (`perfc.ir.op.Op.problem`), in formulas of the model's symbols.
Code that needs the numbers of a kernel reads them here. Everything else about a kernel (operations,
bytes, element types, launches) is in `perfc.passes.fusion.kernel.Kernel`. They are named tuples,
since dataclasses take five times as long to define, which is 1% of a whole analysis.

*Problem* is the term of libraries that choose kernels: CUTLASS's problem size, MIOpen's
``ProblemDescription``.
"""

from __future__ import annotations

from typing import TypeAlias

from .attention import Attention as Attention
from .backward import Backward as Backward
from .backward import forward_of as forward_of
from .collective import Collective as Collective
from .collective import Exchange as Exchange
from .experts import Experts as Experts
from .linear_attention import LinearAttention as LinearAttention
from .mixed_attention import MixedAttention as MixedAttention
from .product import Product as Product
from .recurrence import Recurrence as Recurrence
from .rows import Rows as Rows
from .rows import Span as Span
from .window import SlidingWindow as SlidingWindow

Problem: TypeAlias = (
    "Product | SlidingWindow | Attention | MixedAttention | LinearAttention | Experts | Rows "
    "| Recurrence | Collective | Backward"
)
