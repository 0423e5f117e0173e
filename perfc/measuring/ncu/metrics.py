"""Names of counters, and how many operations an instruction of the tensor pipe does.

Sources: equations 3.3 to 3.6 of the thesis cited in `docs/ncu.md`; Nsight Compute's own roofline
sections; shapes of warp-level products from the PTX ISA, section "Matrix multiply-accumulate
operation using mma instruction"; Jia et al. 2018 (HMMA.884 in four steps on Volta) and 2019
(HMMA.1688 on Turing).
"""

from __future__ import annotations

import re

from perfc.common.fitted import data_next_to
from perfc.ir import record

CYCLES = ("sm__cycles_elapsed.avg", "smsp__cycles_elapsed.avg", "Elapsed Cycles")
"""Names of the raw page, of sub-partitions, and of the details page; likewise below."""
CYCLES_PER_S = (
    "sm__cycles_elapsed.avg.per_second",
    "smsp__cycles_elapsed.avg.per_second",
    "SM Frequency",
)
DURATION = ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration")
_DATA = data_next_to(__file__)
LEVELS = {
    "l1": ("l1tex__t_bytes.sum",),
    "l2": ("lts__t_bytes.sum",),
    "device": ("dram__bytes.sum",),
}
"""Bytes that pass each memory level."""
SECTORS = _DATA["sectors"]
"""Sectors that pass a level, where its bytes are not counted."""
SECTOR_BYTES = 32
"""Bytes of a sector, the unit of accesses to L1 and L2. Source: Nsight Compute, Kernel Profiling
Guide."""
DRAM_PARTS = ("dram__bytes_read.sum", "dram__bytes_write.sum")
"""Bytes of both directions, where their sum is not counted."""
DEVICE_NAME = "device__attribute_display_name"
"""Name of the chip."""

SCALAR = _DATA["letters"]
"""First letter of the instructions of each element type, as of ``fadd``, ``ffma`` and ``fmul``."""
SCALAR_OPS = _DATA["flop"]
"""Flop of each instruction, by its name without that letter."""
SCALAR_PATTERN = "{unit}__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum"
"""Threads whose instruction was not predicated off; letters are f, h, d for the types."""
PER_CYCLE = ".per_cycle_elapsed"
"""Suffix of a counter over the elapsed cycles."""

PIPE_TENSOR = "sm__inst_executed_pipe_tensor.sum"
"""Instructions of the tensor pipe, of whichever kind."""
PIPE_TENSOR_OPS = _DATA["pipes"]
"""Counters of instructions by kind of tensor pipe."""
OPS_PATH_TYPES = _DATA["types"]
"""Element types as target files write them, by source type in ``sm__ops_path_tensor_src_…``."""
# operations by the type of operands, maybe also by type of result, sparsity, or a cycle
OPS_PATH = re.compile(
    r"sm__ops_path_tensor_(?:op_[a-z]+_)?src_(?P<src>[a-z]+\d*(?:_fp\d+)?)"
    r"(?:_dst_(?P<dst>[a-z]+\d+))?(?P<sparsity>_sparsity_(?:on|off))?\.sum(?P<rate>\.per_cycle_elapsed)?$"
)


@record
class TensorInstruction:
    """Operations of one warp-level tensor instruction.

    Args:
        flop: a multiply–accumulate counted as two.
        dtype: element type of the operands.
        shape: in the name that the assembler gives it.
        source: where the shape is from.
    """

    flop: int
    dtype: str
    shape: str
    source: str


_PTX = "PTX ISA, shapes of mma instructions"
_VOLTA = "HMMA.884 is four steps of m8n8k4 over quad pairs (Jia et al. 2018); equation 3.6"
_TURING = "HMMA.1688 (Jia et al. 2019)"
# a product of m by n by k has 2 m n k operations: 16816 is m16n8k16, so 4096
_H884 = TensorInstruction(512, "f16", "HMMA.884, one of four steps", _VOLTA)
_H1688 = TensorInstruction(2048, "f16", "HMMA.1688", _TURING)
_H16816 = TensorInstruction(4096, "f16", "HMMA.16816", _PTX)
_TF32 = TensorInstruction(2048, "tf32", "HMMA.1688.TF32", _PTX)
_I8816 = TensorInstruction(2048, "i8", "IMMA.8816", _PTX)
_I16832 = TensorInstruction(8192, "i8", "IMMA.16832", _PTX)
_D884 = TensorInstruction(512, "f64", "DMMA.884", _PTX)

VOLTA = {"hmma": _H884, "tensor": _H884}
TURING = {"hmma": _H1688, "tensor": _H1688, "imma": _I8816}
AMPERE = {"hmma": _H16816, "tensor": _H16816, "imma": _I16832, "dmma": _D884}
HOPPER = {"hmma": _H16816, "imma": _I16832, "dmma": _D884}
"""No entry for ``gmma``: a product of a warp group has 8 to 256 columns, as its program says, so
that the number of instructions does not give that of operations. For the same reason none for
``tensor``, all instructions of the pipe together."""
ARCHITECTURES = {
    "sm_70": VOLTA,
    "sm_72": VOLTA,
    "sm_75": TURING,
    "sm_80": AMPERE,
    "sm_86": AMPERE,
    "sm_87": AMPERE,
    "sm_89": AMPERE,
    "sm_90": HOPPER,
    "sm_120": AMPERE,
}
"""Instructions of the tensor pipe by architecture. Without a table, as for sm_100, whose widths
depend on the program, operations are unknown unless the chip counts them. sm_120 has warp-level
products again, of the shapes of Ampere."""

# Instructions by digits in names of kernels, in this order. 1688 is of f16 if the name says so,
# else of TF32; a name with ``fp16`` and without digits of another shape counts as 1688 of f16.
_NAMED = (
    (re.compile(r"(?<!\d)16816"), _H16816),
    (re.compile(r"(?<!\d)16832"), _I16832),
    (re.compile(r"h1688|f16.*1688|1688.*f16|fp16"), _H1688),
    (re.compile(r"(?<!\d)1688(?!\d)|tf32f32"), _TF32),
)


def instruction(arch: str, pipe: str, kernel: str) -> tuple[TensorInstruction | None, bool]:
    """Return the operations of an instruction of ``pipe``, and True if that is certain.

    On Volta and Turing there is one shape. From Ampere on there are several; cuBLAS and cuDNN write
    theirs into the kernel's name (``s16816gemm``), else the widest is assumed.
    """
    table = ARCHITECTURES.get(arch, {})
    operations = table.get(pipe)
    if operations is None or table in (VOLTA, TURING):
        return operations, True
    if pipe in ("hmma", "tensor"):
        for pattern, named in _NAMED:
            if pattern.search(kernel):
                return named, True
    return operations, pipe not in ("hmma", "tensor", "imma")


def generation(arch: str) -> int:
    """Return the number of an architecture, 80 for ``sm_80``; 0 where it is not known."""
    return int(re.sub(r"\D", "", arch) or 0)


def has_tensor_pipe(arch: str) -> bool:
    """Return True if an architecture has a tensor pipe, as from Volta on, or is unknown."""
    return not 0 < generation(arch) < 70


def collected(arch: str) -> tuple[str, ...]:
    """Return the counters that the equations need of ncu on an architecture."""
    names = [CYCLES[0], CYCLES_PER_S[0], DURATION[0]]
    for letter in SCALAR.values():
        names += [SCALAR_PATTERN.format(unit="sm", letter=letter, op=op) for op in SCALAR_OPS]
    names += tensor_counters(arch)
    names += [LEVELS["l1"][0], LEVELS["l2"][0], *DRAM_PARTS]
    return tuple(names)


def tensor_counters(arch: str) -> list[str]:
    """Return counters of the tensor pipe: operations if the chip counts them, else instructions."""
    if not has_tensor_pipe(arch):
        return []
    # chips count operations from Ampere on
    if 0 < generation(arch) < 80:
        return [PIPE_TENSOR]
    sources = ["fp16_dst_fp16", "fp16_dst_fp32", "bf16_dst_fp32", "tf32_dst_fp32", "int8", "fp64"]
    # these have no tensor instructions of f64: the entry ``dmma`` of their table, AMPERE, is for
    # sm_80 alone
    if generation(arch) in (86, 87, 89) or generation(arch) >= 120:
        sources.remove("fp64")
    if generation(arch) in (0, 90):  # on Hopper without a result type; ncu skips unknown names
        sources.insert(0, "fp16")
    return [PIPE_TENSOR, *(f"sm__ops_path_tensor_src_{s}.sum" for s in sources)]
