"""Kernels: nodes that run as one launch."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from perfc.ir import Dim, DType, Kind, Node, TensorType, Traffic, Value, Work, entity
from perfc.ir.problem import Backward, Problem, SlidingWindow
from perfc.ir.problem.window import MOST_GAIN

if TYPE_CHECKING:
    from ..roofline.cost import Tier

HOST = frozenset({Kind.SHAPE, Kind.CONTAINER})
"""Kinds that launch nothing on the device."""
MOST_AXES = 3
"""Maximum axes of a window, for a result of unknown rank: cuDNN and PyTorch have up to three."""


class Helper(Enum):
    """Purpose of a launch that a runtime inserts around the operators of a model."""

    LAYOUT = "layout"
    """Writes a feature map in another order of axes."""
    WEIGHT_LAYOUT = "weight layout"
    """Writes filters in another order of axes, on every call."""
    CAST = "cast"
    BIAS = "bias"
    """Adds a convolution's bias to its result."""
    STATISTICS = "statistics"
    """Casts, and computes 1/sqrt(variance), before a batch normalization."""
    FILL = "fill"
    """Writes zeros before a kernel that accumulates, or around a padded tensor."""
    COPY = "copy"
    """Copies a view that strides cannot express."""
    SUMS = "partial sums"
    """Adds the results of divided work."""

    @property
    def is_dispatched(self) -> bool:
        """Return True if a framework dispatches it like an operator, not a library inside one."""
        return self in {Helper.CAST, Helper.BIAS, Helper.COPY}

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class ConvAlgorithm(Enum):
    """Choice of the kernel of a convolution."""

    TUNED = "tuned"
    """The fastest of several kernels that were timed."""
    HEURISTIC = "heuristic"
    """The first kernel that the library's heuristic proposes."""
    DIRECT = "direct"
    """A loop over outputs without matrix units, as for groups of few channels."""
    DIRECT_LAST = "direct, channels last"
    """The same for feature maps whose channels are the densest axis."""
    PRODUCT = "product"
    """One matrix product for all images, which reads the feature map in its order in memory."""
    PLANES = "product of planes"
    """A matrix product for each image, of a feature map whose channels come before its pixels."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@entity
class Kernel:
    """Nodes that run as one kernel launch.

    Args:
        nodes: nodes in execution order, views included.
        anchor: the node that gives the kernel its name and kind.
        work: operations of one launch.
        traffic: bytes of one launch, without values that stay inside the kernel.
        reads: values from outside, stored tensors included, views resolved to their sources.
        writes: values that are read outside.
        repeat: launches in one run.
        tier: certainty of the least certain node's cost.
        identity: number shared by duplicate kernels, which differ in names and position only.
        folded: nodes merged into stored tensors before running; they add no work and no traffic.
        pattern: name of the pattern that matched, such as ``attention``; "" if none.
        read_parts: bytes of each of ``reads`` that are read.
        problem: named extents of the computation; None if unknown.
        helper: why a runtime inserted it; None for operators of the model.
        algorithm: how a convolution's kernel was chosen; None for others, or if unknown.
    """

    nodes: tuple[Node, ...]
    anchor: Node
    work: Work
    traffic: Traffic
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]
    repeat: Dim
    tier: Tier
    identity: int
    folded: tuple[Node, ...] = ()
    pattern: str = ""
    read_parts: tuple[Dim, ...] = ()
    problem: Problem | None = None
    helper: Helper | None = None
    algorithm: ConvAlgorithm | None = None

    def divided(self, count: Dim, **changed: Any) -> Kernel:
        """Return the average of ``count`` launches that share the work, with fields ``changed``."""
        work, traffic = self.work, self.traffic
        # launches may differ in size, as an optimizer's over parts of a list: all get the mean
        per_launch = {
            name: getattr(work, name) // count for name in ("mac", "alu", "sfu", "integer")
        }
        nbytes = traffic.read_bytes // count, traffic.write_bytes // count
        return replace(
            self,
            work=replace(work, **per_launch),
            traffic=Traffic(*nbytes, traffic.is_bound),
            repeat=self.repeat * count,
            read_parts=tuple([part // count for part in self.read_parts]),
            **changed,
        )

    @property
    def kind(self) -> Kind:
        """Return the kind of the anchor; attention if the whole kernel is attention."""
        return Kind.ATTENTION if self.pattern == "attention" else self.anchor.op.kind

    @property
    def times(self) -> float:
        """Return the time of a backward kernel as a multiple of its forward kernel."""
        return self.problem.times if isinstance(self.problem, Backward) else 1.0

    @property
    def winograd_gain(self) -> float:
        """Return the factor by which minimal filtering can reduce its products, 1 or above.

        A convolution with an unknown window, as in a gradient, has the largest factor.
        """
        if isinstance(self.problem, SlidingWindow):
            return self.problem.winograd_gain
        if self.kind is not Kind.CONV:
            return 1.0
        type_ = self.anchor.results[0].type if self.anchor.results else None
        # one factor for each axis but batch and channels
        shape = type_.shape if isinstance(type_, TensorType) else None
        return MOST_GAIN ** (MOST_AXES if shape is None else max(len(shape) - 2, 0))

    @property
    def label(self) -> str:
        """Return the operators in order without views: ``Conv + Relu``."""
        names: list[str] = []
        for n in self.nodes:
            name = n.loc.op_type or n.op.mnemonic
            if (n.op.kind is not Kind.VIEW or len(self.nodes) == 1) and (
                not names or names[-1] != name
            ):
                names.append(name)
        # of a long chain the first two and the last are named
        if len(names) > 4:
            names = [*names[:2], f"… {len(names) - 3} more", names[-1]]
        return " + ".join(names)

    @property
    def mac_dtype(self) -> DType:
        """Return the element type of the multiply–accumulates."""
        if self.work.dtype is not None:
            return self.work.dtype
        # a kernel without products has the type of its first operand
        for v in self.anchor.inputs:
            if v is not None and isinstance(v.type, TensorType):
                return v.type.dtype
        return DType.F32


@entity
class Alternative:
    """Kernels of a side of a branch that is not in a table, as only data decides which side runs.

    They would replace the kernels at positions from ``first`` up to, and without, ``last``.
    ``alternatives`` are those of branches inside this side, at positions of its ``kernels``.
    """

    first: int
    last: int
    kernels: tuple[Kernel, ...]
    alternatives: tuple[Alternative, ...] = ()
