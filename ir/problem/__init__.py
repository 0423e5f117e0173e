"""What an operator is to whoever must run it fast: its extents by name, one file a kind.

An operator states its problem once (`perfc.ir.op.Op.problem`), in formulas of the model's symbols.
Whoever needs a kernel's numbers reads them here. What a kernel has besides (operations, bytes,
element types, launches) is the kernel's own: `perfc.passes.fuse.Kernel`. They are named tuples, as
dataclasses take five times as long to define, which is a hundredth of a whole analysis.

*Problem* is the word of libraries that choose kernels: CUTLASS's problem size, MIOpen's
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
from .window import Window as Window

Problem: TypeAlias = (
    "Product | Window | Attention | MixedAttention | LinearAttention | Experts | Rows | Recurrence "
    "| Collective | Backward"
)
