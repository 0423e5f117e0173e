"""Select the weights that predict a kernel: by class, element type and measurement protocol."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from perfc.ir import record
from perfc.machine import Machine, Unit
from perfc.passes.runtimes import LaunchMode

from ..artefacts.artefact import Artefact
from ..artefacts.card import Card
from ..features.lowering import Lowered
from ..features.rows import Protocol
from ..features.sheet import Sheet
from . import predictor
from .estimator import Execution

TENSOR_CORES = frozenset({"matmul", "convolution"})
"""Classes whose f32 products run as TF32 where that is allowed."""
SINGLE = {"matmul": "matmul_f32"}
"""Classes of the same kernels in full single precision."""
STREAMED = {"movement": "elementwise", "embedding": "elementwise"}
"""Classes without measured rows, and the class with weights that predicts them: its kernels also
stream tensors."""
TOKENWISE = frozenset({"normalization", "elementwise", "embedding"})
"""Classes for which serving frameworks have custom kernels, in `STORED` types."""
NARROW = frozenset({"i8", "f8e4m3"})
"""Types of products with 8-bit operands."""
STORED = frozenset({"bf16", "f16", "f8e4m3", "i8"})
"""Types of activations that serving frameworks store."""
SERVED, SERVED_TYPE = "tokenwise", "bf16"
"""Class of `TOKENWISE` kernels of serving frameworks, and the only type of its measured rows: they
are memory-bound, so that the type of their arithmetic does not matter."""
ATTENTION = frozenset({"attention_prefill", "attention_decode"})
"""Classes of fused attention. Their kernels take 16-bit operands even in models whose matrix
products take 8-bit integers."""
INSIDE = Protocol.GRAPH
"""Protocol of kernels that the host does not launch one by one: time in a recorded graph, which
includes the launch on the device."""
PROFILED = frozenset({"matmul"})
"""Classes with profiled rows of many machines. Other classes have few profiled rows, or rows of
libraries that their frameworks do not call."""


def is_narrow_product(row: Lowered) -> bool:
    """Return True if a row multiplies matrices of 8 bits without widening them first."""
    is_plain = row.class_name == "matmul" and "weight_bits" not in row.parameters
    return is_plain and row.dtype in NARROW


def of_half_depth(row: Lowered, machine: Machine) -> Lowered:
    """Return the 16-bit product that takes as long as a product of 8 bits.

    Where the 8-bit rate is twice the 16-bit rate, that product is half as deep: its operands have
    as many bytes and its multiplications take as long. Products that were measured (`aic_gemm`,
    SmoothQuant and fp8) quantise their left operand first, in separate launches. With the law of
    that conversion, a product of half the depth gives 0.92 to 1.11 of the time of fp8 rows over
    50 µs on five machines.
    """
    whole, half = (machine.entry(Unit.MATRIX, t).nominal.value for t in (row.dtype, "f16"))
    depth = max(row.parameters["k"] * min(half / whole, 1.0), 1.0)
    return Lowered(row.class_name, "f16", {**row.parameters, "k": depth})


def weighted(
    row: Lowered, machine: Machine, known: Collection[str], *, tf32: bool, serves: bool = False
) -> tuple[str, str] | None:
    """Return class and element type of the weights that predict a kernel; None without any.

    ``serves`` is True if the framework's custom kernels for serving are known (`serves_on`).
    """
    # rows without an extent "tokens" are reductions, whose operand is larger than the result
    is_tokenwise = row.class_name in TOKENWISE and "tokens" in row.parameters
    if serves and is_tokenwise and row.dtype in STORED:
        return SERVED, SERVED_TYPE
    # class and type of the arithmetic if they have weights, else those of the row
    choices = (computed(row, machine, tf32=tf32), (row.class_name, row.dtype))
    return next((choice for choice in choices if choice[0] in known), None)


def serves_on(machine: Machine, framework: str, folder: Path) -> bool:
    """Return True if custom kernels of a framework for serving were measured on a machine.

    Only those rows count: times of other frameworks' kernels differ by up to three times, and
    the weights of other classes have rows of more machines.
    """
    return predictor.has_rows_of(SERVED, SERVED_TYPE, machine.name, framework, folder)


def computed(row: Lowered, machine: Machine, *, tf32: bool) -> tuple[str, str]:
    """Return the class and the element type of the weights for a kernel's arithmetic.

    Products of f16 count as bf16, of which there are more rows and which runs on the same units,
    unless the machine's bf16 is slower. Products of f32 without TF32 are a separate class.
    """
    name, dtype, parameters = row
    if name in ATTENTION and dtype == "i8" and (Unit.MATRIX, "i8") in machine.compute:
        return name, "f16"  # fused attention multiplies in 16 bits
    if name not in TENSOR_CORES:
        return STREAMED.get(name, name), dtype
    if dtype == "f16" and not parameters.get("weight_bits"):
        return name, "bf16" if Sheet(machine).has_equal_halves else "f16"
    if dtype == "f32" and tf32 and (Unit.MATRIX, "tf32") in machine.compute:
        return name, "tf32"
    return (SINGLE.get(name, name), dtype) if dtype == "f32" else (name, dtype)


def inside(card: Card, launch: LaunchMode, target: str) -> Protocol:
    """Return the timing protocol whose measurements predict the kernels of a run.

    It is `Protocol.KERNELS`, times by a profiler, if the class has no other rows, if the host
    launches each kernel and the class is in `PROFILED`, or if the target has no other rows;
    otherwise it is `INSIDE`.
    """
    if card.protocols == (Protocol.KERNELS,):
        return Protocol.KERNELS
    if card.class_name in PROFILED and Protocol.KERNELS in card.protocols:
        return Protocol.KERNELS if launch is LaunchMode.EAGER else INSIDE
    of_target = {i.protocol for i in card.implementations if i.target == target}
    return Protocol.KERNELS if of_target == {Protocol.KERNELS} else INSIDE


@record
class DescribedKernel:
    """A kernel in the terms of trained weights.

    Args:
        row: class and extents of the kernel.
        weights: class and element type of the weights.
        is_halved: True if the row stands for an integer product of twice the depth.
    """

    row: Lowered
    weights: tuple[str, str]
    is_halved: bool


class DescribedKernels:
    """Kernels of one run in the terms of trained weights.

    Args:
        execution: the kernels on their machine.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution, machine = execution, execution.machine
        # no weights were trained on kernels of processors
        self.known = predictor.known_classes(execution.folder) if machine.kind != "cpu" else ()
        self.serves = serves_on(machine, execution.framework, execution.folder)

    def __call__(self, index: int) -> DescribedKernel | None:
        """Return a kernel by index; None if no class with weights describes it."""
        bounds, machine = self.execution.bounds, self.execution.machine
        row = self.execution.lowered(index) if self.known else None
        if row is None:
            return None
        is_halved = self.execution.kernels.runtime.stores_integers and is_narrow_product(row)
        row = of_half_depth(row, machine) if is_halved else row
        tf32 = bounds.kernels[index].tf32
        key = weighted(row, machine, self.known, tf32=tf32, serves=self.serves)
        return None if key is None else DescribedKernel(row, key, is_halved)


def weights_of(
    execution: Execution, class_name: str, dtype: str, *, cells: bool = False
) -> Artefact:
    """Return the weights of a class for kernels of a run.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    name, folder = execution.machine.name, execution.folder
    return predictor.select(class_name, dtype, INSIDE, name, folder, cells=cells)
