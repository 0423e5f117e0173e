"""nn-Meter: kernels detected in a model, a random forest for each kind on measured kernels, summed.

Zhang et al., "nn-Meter: Towards Accurate Latency Prediction of Deep-Learning Model Inference on
Diverse Edge Devices", MobiSys 2021, Sections 3 to 5. `kernel_forest` stands for it where only whole
models were measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.graph.schema import Schema
from perfc.errors import PerfcError
from perfc.ir.record import record
from perfc_lab.training.xgboost_forest import random_forest

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

EXTENTS = 4
"""Number of extents of a tensor that are read; those of a longer one are multiplied first."""
# tensors and attributes whose numbers are read
TENSORS = ("first", "second", "result")
ATTRIBUTES = ("kernel_shape", "strides", "group")
AMOUNTS = ("mac", "read_bytes", "write_bytes")
FEATURES = Schema(
    "nn-Meter kernels",
    (*(f"{t}_{i}" for t in TENSORS for i in range(EXTENTS)), *ATTRIBUTES, *AMOUNTS),
)
"""Configuration of a kernel, its work and its traffic (Table 3 of the paper), by the logarithm."""
LEAST_KERNELS = 30
"""Measured ones that a kind needs for a separate forest; others have that of their class."""


@record
class MeasuredKernel:
    """A kernel that a runtime was timed at.

    Args:
        kind: operators that run as one, ``Conv + Relu``: what kernel detection gives.
        group: class of the kind, for kinds that are rare.
        op: the operator it is named after, with its attributes.
        operands: types of its inputs, separated by blanks.
        results: types of what it writes.
        mac: multiply-accumulates.
        read_bytes: compulsory.
        write_bytes: compulsory.
        time_s: measured; NaN where it is to be predicted.
    """

    kind: str
    group: str
    op: str
    operands: str
    results: str
    mac: float
    read_bytes: float
    write_bytes: float
    time_s: float = float("nan")


class NnMeter:
    """A random forest for each kind of kernel; a model is the sum of its kernels.

    Attributes:
        forests: by kind, ``Conv + Relu``, and by class, ``class conv``.
        rest_s: median time of all kernels, for those without a forest.
    """

    def __init__(self) -> None:
        self.forests: dict[str, Forest] = {}
        self.rest_s = 0.0

    def fit(self, kernels: Sequence[MeasuredKernel], seed: int = 0) -> None:
        """Fit a forest for every kind with enough kernels, and one for every class.

        Raises:
            PerfcError: no kernels.
        """
        if not kernels:
            raise PerfcError("no kernels to learn from")
        members: dict[str, list[MeasuredKernel]] = {}
        for kernel in kernels:
            members.setdefault(kernel.kind, []).append(kernel)
            members.setdefault(class_key(kernel.group), []).append(kernel)
        self.rest_s = float(np.median([k.time_s for k in kernels]))
        self.forests = {
            key: forest(group, seed)
            for key, group in members.items()
            if len(group) >= LEAST_KERNELS
        }

    def predict(self, kernels: Sequence[MeasuredKernel]) -> Array:
        """Return the seconds of each kernel, ``[kernels]``."""
        keys = [self._key(kernel) for kernel in kernels]
        seconds = np.full(len(kernels), self.rest_s)
        table = features(kernels)
        for key in set(keys) - {""}:
            of_key = np.array([k == key for k in keys])
            seconds[of_key] = np.exp(self.forests[key](table[of_key]))
        return seconds

    def _key(self, kernel: MeasuredKernel) -> str:
        """Return the name of the forest of a kernel: of its kind, else of its class; or empty."""
        keys = (kernel.kind, class_key(kernel.group))
        return next((key for key in keys if key in self.forests), "")


def class_key(group: str) -> str:
    """Return the name of the forest of a class."""
    return f"class {group}"


def forest(kernels: Sequence[MeasuredKernel], seed: int) -> Forest:
    """Return a random forest on the logarithm of the time."""
    return random_forest(
        features(kernels),
        np.log([max(k.time_s, 1e-9) for k in kernels]),
        FEATURES.columns,
        num_parallel_tree=100,
        max_depth=14,
        min_child_weight=1,
        seed=seed,
    )


def features(kernels: Iterable[MeasuredKernel]) -> Array:
    """Return ``[kernels, features]``."""
    rows = [configuration(kernel) for kernel in kernels]
    return np.log2(1 + np.array(rows, np.float64).reshape(len(rows), len(FEATURES)))


def configuration(kernel: MeasuredKernel) -> list[float]:
    """Return the extents, attributes, work and traffic."""
    operands = kernel.operands.split()
    # two operands, absent ones empty, and the first result
    texts = [*operands[:2], *[""] * (2 - len(operands[:2])), kernel.results.partition(" ")[0]]
    sizes = [extent for text in texts for extent in extents(text)]
    traits = [attribute(kernel.op, name) for name in ATTRIBUTES]
    return [*sizes, *traits, kernel.mac, kernel.read_bytes, kernel.write_bytes]


def extents(text: str) -> list[float]:
    """Return the extents of a type as the text form writes it; 0 where there is none.

    >>> extents("f32[2,3,5]w"), extents("")
    ([0.0, 2.0, 3.0, 5.0], [0.0, 0.0, 0.0, 0.0])
    """
    inside = re.search(r"\[([\d,]*)\]", text)
    numbers = [float(n) for n in inside[1].split(",") if n] if inside else []
    extra = len(numbers) - EXTENTS
    # leading axes are batches: their product does as much work
    if extra > 0:
        numbers = [float(np.prod(numbers[: extra + 1])), *numbers[extra + 1 :]]
    return [0.0] * (EXTENTS - len(numbers)) + numbers


def attribute(op: str, name: str) -> float:
    """Return the first number of an attribute; 0 where the operator has none.

    >>> attribute("conv {group=1, strides=[2, 2]}", "strides")
    2.0
    """
    match = re.search(rf"\b{name}=\[?(\d+)", op)
    return float(match[1]) if match else 0.0
