"""Layouts of a product's operands, as BLAS libraries write them into a kernel's name."""

from __future__ import annotations

import re

OTHER_LAYOUT = "other_layout"
"""Column that is 1 where the kernel read operands stored otherwise than the class says."""
# layouts in names of kernels of cuBLAS and of Tensile, AMD's generator
CUDA = re.compile(r"_(nn|nt|tn|tt)(?:_|$)", re.IGNORECASE)
TENSILE = re.compile(r"Cijk_A(ilk|lik)_B(ljk|jlk)(?:_|$)")


def layout(kernel_name: str) -> str:
    """Return ``tn`` where a linear layer stores its weight ``[n, k]``, ``nn`` for plain products.

    Libraries count by columns, so that the first letter is of the right operand here, the second
    of the left: ``n`` for a left operand whose reduced axis is the last one stored. Empty where
    the name says nothing.

    >>> layout("ampere_sgemm_128x64_tn"), layout("sgemm_128x128x8_NT_vec")
    ('tn', 'nt')
    >>> layout("Cijk_Alik_Bljk_SB_MT128x96x32"), layout("gemvx::kernel")
    ('tn', '')
    """
    if match := TENSILE.search(kernel_name):
        return ("n" if match[1] == "ilk" else "t") + ("n" if match[2] == "ljk" else "t")
    match = CUDA.search(kernel_name)
    return match[1].lower() if match else ""
