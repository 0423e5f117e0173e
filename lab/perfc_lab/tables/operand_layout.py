"""Read the layouts of a product's operands from the name that a BLAS library gives its kernel."""

from __future__ import annotations

import re

OTHER_LAYOUT = "other_layout"
"""Column of rows that is 1 where the kernel read operands in a layout other than that of the
class."""
# layouts in names of kernels of cuBLAS, and of AMD's generator Tensile, which writes the indices of
# each operand in the order of memory; `l` is the reduced index
CUDA = re.compile(r"_(nn|nt|tn|tt)(?:_|$)", re.IGNORECASE)
TENSILE = re.compile(r"Cijk_A(ilk|lik)_B(ljk|jlk)(?:_|$)")


def layout(kernel_name: str) -> str:
    """Return the layout letters of a kernel: ``nn`` for plain products, ``tn`` for linear layers.

    Linear layers store their weight as ``[n, k]``. Libraries count by columns, so that the first
    letter is that of the right operand in perfc, the second that of the left: ``n`` for a left
    operand whose reduced axis is last in memory. "" if the name has no layout.

    >>> layout("ampere_sgemm_128x64_tn"), layout("sgemm_128x128x8_NT_vec")
    ('tn', 'nt')
    >>> layout("Cijk_Alik_Bljk_SB_MT128x96x32"), layout("gemvx::kernel")
    ('tn', '')
    """
    if match := TENSILE.search(kernel_name):
        return ("n" if match[1] == "ilk" else "t") + ("n" if match[2] == "ljk" else "t")
    match = CUDA.search(kernel_name)
    return match[1].lower() if match else ""
