"""Estimator of kernel times by laws: one fit per class, valid on any machine through its rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to
from perfc.ir import Kind, Node, Value, record
from perfc.ir.ops.movement.slice import Concat
from perfc.passes.inference.placement import Extents, contiguous
from perfc.passes.inference.strides import Strides, StrideTable
from perfc.passes.runtimes import Framework

from ...estimate.estimate import Estimate, Predictor
from ...estimate.interval import Interval
from ...features.sheet import Sheet
from .. import predictor
from ..candidate_times import distance_to
from ..estimator import Estimator, Execution
from ..selection import INSIDE, weighted
from .indexing import hardness
from .law import KernelLaw, Nearness, intervals_of, law_of
from .resource import KernelResources
from .resources import UNALIGNED, resources_of

if TYPE_CHECKING:
    from perfc.passes.fusion.kernel import Kernel
    from perfc.passes.roofline.roofline import KernelBound

    from .processor_laws import ProcessorSubjects

_FITTED = constants_next_to(__file__)
ROUGH, NEAR, FEW = _FITTED["rough_law"].numbers
"""A law is rough if its median error is above ``ROUGH`` or if it has fewer than ``FEW`` rows. Then
a forest with rows of a machine within the distance ``NEAR`` has precedence."""
ELSEWHERE, OTHER_VENDOR = _FITTED["widths_elsewhere"].numbers
"""Logarithmic widths of intervals on machines without rows, of NVIDIA and of other vendors,
relative to those of machines with rows."""


@record
class LawReason:
    """Why a law gives a kernel its time.

    Args:
        name: class and element type.
        law: the fitted law of both.
        terms: nonzero times in seconds of each resource by itself in one launch, by name.
    """

    name: str
    law: KernelLaw
    terms: tuple[tuple[str, float], ...]


class Laws(Estimator):
    """Estimates kernels of the classes whose laws are more accurate than their forests."""

    predictor = Predictor.LAW

    def estimate(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Return the times of kernels of classes with laws."""
        subjects = subjects_of(execution)
        # each distinct kernel once, by the first index that has its key
        keys = {i: subjects.key(i) for i in wanted}
        first = {key: i for i, key in reversed(keys.items())}
        followed = subjects.followed(first.values())
        per_launch = intervals_of([*followed.values()])
        times = {
            i: estimated(execution.bounds.kernels[i], subject.name, subjects.nearness(law), time)
            for (i, (law, subject)), time in zip(followed.items(), per_launch, strict=True)
        }
        return {i: times[first[key]] for i, key in keys.items() if first[key] in times}

    def why(self, execution: Execution, index: int) -> LawReason | None:
        """Return the law of a kernel and the time of each resource."""
        pair = subjects_of(execution).followed([index]).get(index)
        if pair is None:
            return None
        law, subject = pair
        parts = law.parts_s(subject).items()
        terms = tuple((resource.value, time_s) for resource, time_s in parts if time_s)
        return LawReason(f"{subject.name}, {subject.dtype}", law, terms)


def subjects_of(execution: Execution) -> Subjects | ProcessorSubjects:
    """Return the kernels of a run as the laws of its kind of machine see them."""
    if execution.machine.kind != "cpu":
        return Subjects(execution)
    from .processor_laws import ProcessorSubjects

    return ProcessorSubjects(execution)


def estimated(bound: KernelBound, name: str, nearness: Nearness, once: Interval) -> Estimate:
    """Return the estimate of all launches of a kernel from the interval of one launch."""
    time, floor_s = once.widened(nearness.width) * bound.launches, bound.floor_s
    return Estimate.bounded(
        floor_s,
        time,
        Predictor.LAW,
        name,
        is_measured=nearness.is_measured,
        is_own=nearness.is_own,
    )


class Subjects:
    """Kernels of one run as laws see them.

    Args:
        execution: kernels on a machine.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution, self.bounds = execution, execution.bounds
        self.sheet, self.folder = Sheet(execution.machine), execution.folder
        self.classes = predictor.known_classes(self.folder)
        self.learned = dict[tuple[str, str], bool]()  # cache of `is_learned`, by class and type
        table = execution.kernels.runtime
        self.strides: StrideTable | None = None
        # strides matter where each operator has its kernel, which indexes tensors as PyTorch lays
        # them out; a runtime with epilogues is a compiler, which chooses layouts itself
        is_eager = table.framework is Framework.TORCH and not table.epilogue
        if execution.module is not None and is_eager:
            self.strides = execution.analyses.get(Strides(table.name), execution.module)
        # `once` returns one dictionary for all estimates of these kernels: a cache of `hardness`
        self.known = execution.kernels.once("addressing", {}, dict[Node, tuple[float, float]])

    def of(self, indices: Iterable[int]) -> list[KernelResources | None]:
        """Return the class and the resources of one launch per kernel; None without a class."""
        bounds = self.bounds
        kernels = [(bounds.kernels[i], bounds.at(i)) for i in indices]
        return resources_of([(b, at, *self.hardness(b.kernel)) for b, at in kernels], self.sheet)

    def key(self, index: int) -> tuple[object, ...]:
        """Return a key of kernels with equal resources."""
        # `firsts` has the index of the first kernel with equal counts
        first, kernel = self.bounds.firsts[index], self.bounds.kernels[index].kernel
        return (first,) if self.strides is None else (first, self.hardness(kernel))

    def followed(self, indices: Iterable[int]) -> dict[int, tuple[KernelLaw, KernelResources]]:
        """Return the law and the resources of one launch of the kernels that have a law."""
        wanted = [*indices]
        subjects = zip(wanted, self.of(wanted), strict=True)
        return {i: (law, s) for i, s in subjects if s and (law := self.law(i, s))}

    def nearness(self, law: KernelLaw) -> Nearness:
        """Return how near the rows of a law are to this machine: all rows are of NVIDIA GPUs."""
        is_own = self.sheet.name in law.machines
        is_near = is_own or self.sheet.machine.vendor == "NVIDIA"
        return Nearness(1.0 if is_own else ELSEWHERE if is_near else OTHER_VENDOR, is_near, is_own)

    def law(self, index: int, subject: KernelResources) -> KernelLaw | None:
        """Return the law of a kernel; None if it has none, or if its forest is more accurate."""
        law = law_of(subject)
        # the class UNALIGNED never counts as rough: vectors cannot load the rows of its products,
        # and forests have no feature that says so
        is_rough = (
            law is not None and (law.error > ROUGH or law.rows < FEW) and subject.name != UNALIGNED
        )
        if law and is_rough and self.sheet.name not in law.machines and self.is_learned(index):
            return None
        return law

    def is_learned(self, index: int) -> bool:
        """Return True if a forest was trained on such kernels of a machine near this one."""
        bound, machine = self.bounds.kernels[index], self.sheet.machine
        row = self.execution.lowered(index)
        if row is None:
            return False
        key = weighted(row, machine, self.classes, tf32=bound.tf32)
        if key is None:
            return False
        if key not in self.learned:
            class_name, dtype = key
            card, _ = predictor.fitting(class_name, dtype, INSIDE, machine.name, self.folder)
            is_near = distance_to(card, dtype, self.sheet) <= NEAR
            self.learned[key] = dtype in card.dtypes and is_near
        return self.learned[key]

    def hardness(self, kernel: Kernel) -> tuple[float, float]:
        """Return `addressing` of a kernel's operator, each number 1 or 0.

        Both are 0 for kernels other than elementwise ones and copies, or if strides are unknown.
        """
        node = kernel.anchor
        if self.strides is None or node.op.kind not in (Kind.ELEMENTWISE, Kind.MOVEMENT):
            return 0.0, 0.0
        if node not in self.known:
            self.known[node] = addressing(node, self.strides)
        return self.known[node]


def addressing(node: Node, strides: StrideTable) -> tuple[float, float]:
    """Return 1 if addresses are computed per element, else 0, and 1 if an operand is read across.

    Addresses are computed if axes of operands and result do not merge; an operand is read across if
    its densest axis is not that of the result (`indexing.hardness`).
    """
    operands = [v for v in node.inputs if v is not None and strides.shapes.get(v)]
    if isinstance(node.op, Concat):
        # contiguous operands are copied as blocks; others need addresses, never across
        return float(any(strides.of(v) != contiguous(strides.shapes[v]) for v in operands)), 0.0
    shape = strides.shapes.get(node.results[0], ()) if node.results else ()
    # a scalar or unknown result: the first operand gives the iteration space
    shape = shape or (strides.shapes[operands[0]] if operands else ())
    if not shape or not operands or any(_outside(v, shape, strides) for v in operands):
        return 0.0, 0.0
    tensors = [v for v in (node.results[0], *operands) if v in strides.shapes]
    return hardness(shape, [(strides.shapes[v], strides.of(v)) for v in tensors])


def _outside(v: Value, shape: Extents, strides: StrideTable) -> bool:
    """Return True if an operand does not broadcast to the result."""
    extents = strides.shapes[v]
    return len(extents) > len(shape) or any(
        a not in (1, b) for a, b in zip(reversed(extents), reversed(shape), strict=False)
    )
