"""Classes of kernels, by the kernel's name and the operator that launched it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import cache

from perfc.common.fitted import data_next_to
from perfc.view.report.formats.document import Name

_DECORATION = re.compile(r"\((?!anonymous).*$|^void |\(anonymous namespace\)::|\b(\w+::)+")
"""Parameters, result type and namespaces of a kernel's name."""
LONGEST = 56
"""Characters of a kernel's name in text, so that its row fits into a line."""
HEAD = 20
"""Leading characters of a name that remain if narrow text shortens it in the middle."""


class TracedClass(Enum):
    """Classes of kernels by their work."""

    MATMUL = "matrix product"
    CONV = "convolution"
    ATTENTION = "attention"
    EXPERTS = "experts"
    NORMALIZATION = "normalization"
    SOFTMAX = "softmax"
    REDUCTION = "reduction"
    ELEMENTWISE = "elementwise"
    GATHER = "gather, scatter"
    SORT = "sort, sampling"
    QUANTIZE = "quantization"
    OPTIMIZER = "optimizer"
    COPY = "copy"
    COMMUNICATION = "communication"
    OTHER = "other"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@cache
def _patterns() -> tuple[tuple[TracedClass, re.Pattern[str], re.Pattern[str]], ...]:
    """Return classes with patterns of kernels and of operators, in order of precedence."""

    def pattern(alternatives: Sequence[str]) -> re.Pattern[str]:
        # a pattern of no alternatives matches nothing
        return re.compile("|".join(alternatives) or "(?!)", re.IGNORECASE)

    return tuple(
        (TracedClass(row["class"]), pattern(row["kernels"]), pattern(row["operators"]))
        for row in data_next_to(__file__)["classes"]
    )


@cache
def class_of(kernel: str, operator: str = "") -> TracedClass:
    """Return the class of a kernel.

    Kernels of communication are known by their name. For others the operator decides, or the name
    of the kernel if no pattern matches the operator. An operator that Triton generated is named as
    its kernel and decides nothing.

    >>> class_of("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64").value
    'matrix product'
    >>> class_of("volta_scudnn_128x64_relu_medium_nn_v1", "aten::relu").value
    'elementwise'
    """
    # JAX gives the path of an operator: its last part is the name
    name = "" if operator.startswith("triton_") else operator.rpartition("/")[2]
    # communication is the first class of the table
    (communication, sends, _), *_ = _patterns()
    if sends.search(kernel):
        return communication
    by_operator = (which for which, _, pattern in _patterns() if pattern.search(name))
    by_kernel = (which for which, pattern, _ in _patterns() if pattern.search(kernel))
    return next(by_operator, next(by_kernel, TracedClass.OTHER))


def kernel_name(kernel: str) -> Name:
    """Return the name of a kernel, in text without its namespaces and parameters."""
    short = _DECORATION.sub("", kernel) or kernel
    return Name(kernel, short[:LONGEST], HEAD)


def called(operator: str) -> str | None:
    """Return an operator without its namespace; None if the trace has none."""
    return operator.removeprefix("aten::") or None


def abbreviated(text: str) -> Name | None:
    """Return a name that narrow text shortens in its middle; None for an empty one."""
    return Name(text, text, HEAD) if text else None
