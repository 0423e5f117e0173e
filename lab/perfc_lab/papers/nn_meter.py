"""nn-Meter: the time of a model as a sum over its kernels, with a random forest per kind of kernel.

Zhang et al., "nn-Meter: Towards Accurate Latency Prediction of Deep-Learning Model Inference on
Diverse Edge Devices", MobiSys 2021, Sections 3 to 5. It is trained on measured kernels;
`kernel_forest` replaces it for data sets that have only whole models.
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
"""Number of extents of a tensor that are features; leading ones of a longer shape are
multiplied."""
# tensors and attributes of a kernel with features
TENSORS = ("first", "second", "result")
ATTRIBUTES = ("kernel_shape", "strides", "group")
AMOUNTS = ("mac", "read_bytes", "write_bytes")
FEATURES = Schema(
    "nn-Meter kernels",
    (*(f"{t}_{i}" for t in TENSORS for i in range(EXTENTS)), *ATTRIBUTES, *AMOUNTS),
)
"""Configuration of a kernel, its work and its traffic (Table 3 of the paper), as logarithms."""
LEAST_KERNELS = 30
"""Minimum measured kernels of a kind with a forest; rarer kinds use the forest of their class."""


@record
class MeasuredKernel:
    """A kernel and its measured time.

    Args:
        kind: operators that run as one kernel by the rules of kernel detection, ``Conv + Relu``.
        group: class of the kind, whose forest rare kinds use.
        op: main operator with its attributes.
        operands: types of the inputs, separated by blanks.
        results: types of the outputs, separated by blanks.
        mac: number of multiply-accumulates.
        read_bytes: compulsory traffic of reads.
        write_bytes: compulsory traffic of writes.
        time_s: measured time; NaN for a kernel to predict.
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
    """Random forests that predict the time of a kernel.

    Attributes:
        forests: forests by kind, ``Conv + Relu``, and by class, ``class conv``.
        rest_s: median time of all kernels, which is predicted for kernels without a forest.
    """

    def __init__(self) -> None:
        self.forests: dict[str, Forest] = {}
        self.rest_s = 0.0

    def fit(self, kernels: Sequence[MeasuredKernel], seed: int = 0) -> None:
        """Fit a forest for each kind and each class with at least `LEAST_KERNELS` kernels.

        Raises:
            PerfcError: there are no kernels.
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
        """Return the name of a kernel's forest, by kind or else by class; empty without one."""
        keys = (kernel.kind, class_key(kernel.group))
        return next((key for key in keys if key in self.forests), "")


def class_key(group: str) -> str:
    """Return the name of the forest of a class."""
    return f"class {group}"


def forest(kernels: Sequence[MeasuredKernel], seed: int) -> Forest:
    """Return a random forest that predicts the logarithm of the time."""
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
    """Return the features of all kernels, ``[kernels, features]``."""
    rows = [configuration(kernel) for kernel in kernels]
    return np.log2(1 + np.array(rows, np.float64).reshape(len(rows), len(FEATURES)))


def configuration(kernel: MeasuredKernel) -> list[float]:
    """Return the columns of `FEATURES` of a kernel, before the logarithm."""
    # an empty text for an operand that the kernel does not have
    first, second, *_ = *kernel.operands.split(), "", ""
    result = kernel.results.partition(" ")[0]
    sizes = [extent for text in (first, second, result) for extent in extents(text)]
    traits = [attribute(kernel.op, name) for name in ATTRIBUTES]
    return [*sizes, *traits, kernel.mac, kernel.read_bytes, kernel.write_bytes]


def extents(text: str) -> list[float]:
    """Return the `EXTENTS` extents of a type in perfc's text form, with zeros before fewer ones.

    >>> extents("f32[2,3,5]w"), extents("")
    ([0.0, 2.0, 3.0, 5.0], [0.0, 0.0, 0.0, 0.0])
    """
    inside = re.search(r"\[([\d,]*)\]", text)
    numbers = [float(n) for n in inside[1].split(",") if n] if inside else []
    extra = len(numbers) - EXTENTS
    # leading axes are batches: one axis of their product has the same work
    if extra > 0:
        numbers = [float(np.prod(numbers[: extra + 1])), *numbers[extra + 1 :]]
    return [0.0] * (EXTENTS - len(numbers)) + numbers


def attribute(op: str, name: str) -> float:
    """Return the first number of an attribute; 0 if the operator does not have the attribute.

    >>> attribute("conv {group=1, strides=[2, 2]}", "strides")
    2.0
    """
    match = re.search(rf"\b{name}=\[?(\d+)", op)
    return float(match[1]) if match else 0.0
