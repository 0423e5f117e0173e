"""Time of a training step of a convolutional network from its kernels, fitted to published steps.

``T = Σ factor · kernel``. Single convolutions were not measured on tensor cores of these GPUs, and
gradients of convolutions on no GPU, but whole steps were published. The factor of a kernel is the
product of the factors of its traits. Factors are the same on all GPUs; estimates of kernels depend
on the GPU.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to
from perfc.ir import Kind, Module, Phase, record
from perfc.ir.problem.window import SlidingWindow
from perfc.passes.runtimes import Layout

from ..estimate.interval import Interval
from ..features.distance import SAME_CHIP, coordinates, distance, place
from ..features.sheet import Sheet
from ..intervals.conformal import Band
from .run_table import precision, stored_element

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.machine import Machine
    from perfc.passes.fusion.kernel import Kernel

    from ..estimators import Execution
    from .prediction import PredictionTable

FILE = Path(__file__).with_suffix(".toml")
"""The shipped fit."""
PRODUCTS = frozenset({Kind.MATMUL, Kind.ATTENTION})
"""Kinds of kernels without traits, whose factor is 1."""
DISTANCE_DTYPE = "f16"
"""Element type whose rates define the distance of machines."""
VECTOR = "f32"
"""The precision whose products run on the vector units."""
UNMEASURED = Band(*constants_next_to(__file__)["unmeasured_step"].numbers)
"""Interval of the logarithm of measured over predicted time on a GPU without fitted steps."""
VOLUME = 3
"""Number of axes of a convolution from which on libraries have no Winograd transforms: 3D."""


class KernelTrait(Enum):
    """Traits of kernels of a step, each with a fitted factor."""

    VECTOR = "convolution_vector"
    """A convolution on vector units."""
    FIRST = "convolution_channels_first"
    """A convolution on matrix units with channels first: libraries transpose around it."""
    LAST = "convolution_channels_last"
    """A convolution on matrix units with channels last."""
    BACKWARD = "convolution_backward"
    """A gradient of a convolution."""
    VOLUME = "convolution_volume"
    """A convolution over three axes on vector units."""
    DEPTHWISE = "convolution_depthwise"
    """A convolution with one channel per group."""
    OTHER_VECTOR = "other_f32"
    """Neither convolution nor product, in an f32 step."""
    OTHER_MATRIX = "other_narrow"
    """Neither convolution nor product, in a step whose products run on matrix units."""


@record
class StepLaw:
    """Fit of whole training steps.

    Args:
        factors: factor of each trait; 1 for a missing one.
        band: 90 % interval of ``log(measured / predicted)`` on held-out architectures.
        measured: machines and precisions of the steps.
        steps: number of fitted steps.
        architectures: number of networks among them.
    """

    factors: Mapping[KernelTrait, float]
    band: Band
    measured: tuple[tuple[str, str], ...]
    steps: int
    architectures: int

    def factor(self, traits: tuple[KernelTrait, ...]) -> float:
        """Return the factor of a kernel with these traits."""
        return math.prod(self.factors.get(trait, 1.0) for trait in traits)

    def knows(self, machine: Machine, stored: str) -> bool:
        """Return True if steps on this chip in that precision were fitted."""
        here = coordinates(Sheet(machine), DISTANCE_DTYPE)
        targets = [target for target, known in self.measured if known == stored]
        return any(distance(here, place(t, DISTANCE_DTYPE)) <= SAME_CHIP for t in targets)


@cache
def law() -> StepLaw:
    """Return the shipped fit, written by ``lab/perfc_lab/fits/published_steps.py``."""
    return read(FILE.read_text(encoding="utf-8"))


def read(text: str) -> StepLaw:
    """Return the fit in the text of its file."""
    data = tomllib.loads(text)
    factors = {KernelTrait(name): float(value) for name, value in data["factors"].items()}
    measured = tuple((str(t), str(p)) for t, p in data["measured"])
    band = Band(float(data["low"]), float(data["high"]))
    return StepLaw(factors, band, measured, int(data["steps"]), int(data["architectures"]))


def traits_of(kernel: Kernel, stored: str, layout: Layout) -> tuple[KernelTrait, ...]:
    """Return the traits of a kernel; () for products and attention.

    Args:
        kernel: kernel of a step.
        stored: precision of the run, as `run_table.precision` names it.
        layout: layout of feature maps.
    """
    is_vector = stored == VECTOR
    phase = kernel.anchor.loc.phase
    if kernel.kind in PRODUCTS:
        return ()
    if kernel.kind is not Kind.CONV:
        return (KernelTrait.OTHER_VECTOR if is_vector else KernelTrait.OTHER_MATRIX,)
    # the layout matters on matrix units only
    narrow = KernelTrait.LAST if layout is Layout.CHANNELS_LAST else KernelTrait.FIRST
    traits = [KernelTrait.VECTOR if is_vector else narrow]
    if phase is Phase.BACKWARD:
        traits.append(KernelTrait.BACKWARD)
    problem = kernel.problem
    if isinstance(problem, SlidingWindow):
        if is_vector and len(problem.extents) == VOLUME:
            traits.append(KernelTrait.VOLUME)
        if problem.is_depthwise:
            traits.append(KernelTrait.DEPTHWISE)
    return tuple(traits)


def sums_s(
    execution: Execution, table: PredictionTable, stored: str, layout: Layout
) -> dict[tuple[KernelTrait, ...], float]:
    """Return the sum of the kernels' estimates by their traits, in seconds."""
    sums: dict[tuple[KernelTrait, ...], float] = {}
    for bound, estimate in zip(execution.bounds.kernels, table.launched, strict=True):
        traits = traits_of(bound.kernel, stored, layout)
        sums[traits] = sums.get(traits, 0.0) + estimate.time_s
    return sums


def is_convolutional(sums: Mapping[tuple[KernelTrait, ...], float]) -> bool:
    """Return True if convolutions take longer than products, the kernels without traits."""
    of_convolutions = {KernelTrait.VECTOR, KernelTrait.FIRST, KernelTrait.LAST}
    # each convolution has exactly one of these three traits
    convolutions_s = math.fsum(t for p, t in sums.items() if not of_convolutions.isdisjoint(p))
    return convolutions_s > sums.get((), 0.0)


def is_measured_here(table: PredictionTable) -> bool:
    """Return True if the user's measurements on this machine correct estimates of kernels.

    ``correction`` is the factor by which they do so, 1 without measurements. The law was fitted to
    estimates without corrections.
    """
    return any(k.correction != 1.0 for k in table.launched)


def factors(
    execution: Execution, table: PredictionTable, deployment: Deployment, source: Module
) -> list[float] | None:
    """Return the factor of each kernel of a step.

    None for networks, precisions and vendors that were not fitted.

    Args:
        execution: kernels of the step with their lower bounds.
        table: estimates of the kernels.
        deployment: deployment of the step.
        source: model as read.
    """
    fit = law()
    stored = precision(deployment, stored_element(source), execution.bounds)
    # the generation is the compute capability of CUDA; 0 for other vendors
    is_cuda = Sheet(execution.machine).generation > 0
    if stored not in {p for _, p in fit.measured} or not is_cuda or is_measured_here(table):
        return None
    # the published steps are of convolutional networks
    if not is_convolutional(sums_s(execution, table, stored, deployment.layout)):
        return None
    kernels = [bound.kernel for bound in execution.bounds.kernels]
    return [fit.factor(traits_of(k, stored, deployment.layout)) for k in kernels]


def step_time(
    execution: Execution, table: PredictionTable, deployment: Deployment, source: Module
) -> tuple[Interval, bool] | None:
    """Return the time of a step, and True if such steps on this chip were published.

    None for networks, precisions and vendors that were not fitted.

    Args:
        execution: kernels of the step with their lower bounds.
        table: estimates of the kernels.
        deployment: deployment of the step.
        source: model as read.
    """
    # the published steps were launched kernel by kernel, on one stream
    if not execution.kernels.runtime.is_dispatched or execution.kernels.runtime.streams > 1:
        return None
    kernel_factors = factors(execution, table, deployment, source)
    if kernel_factors is None:
        return None
    fit = law()
    stored = precision(deployment, stored_element(source), execution.bounds)
    band = fit.band if fit.knows(execution.machine, stored) else UNMEASURED
    kernels = enumerate(zip(table.launched, kernel_factors, strict=True))
    time_s = table.total_with(
        {i: max(factor * kernel.time_s, kernel.floor_s) for i, (kernel, factor) in kernels}
    )
    ends = (time_s * math.exp(end) for end in (band.low, 0.0, band.high))
    time = Interval(*ends).at_least(execution.bounds.floor_s)
    return time, band is fit.band
