"""A training step of a convolutional network from its kernels, as published steps taught.

``T = Σ factor · kernel``: no convolution was timed alone on tensor cores of these cards, and no
gradient of one anywhere. Steps with everything around them were published. A kernel has the factors
of all parts that it is of. They are the same on all cards; what a card is like, the kernels'
estimates know.
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
from perfc.ir.graph import Phase
from perfc.ir.op import Kind
from perfc.ir.problem.window import SlidingWindow
from perfc.ir.record import record
from perfc.passes.runtimes import Layout

from ..estimate.estimate import Predictor
from ..estimate.interval import Interval
from ..features.distance import SAME_CHIP, coordinates, distance, place
from ..features.sheet import Sheet
from ..intervals.conformal import Band
from .run_table import precision, stored_element

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.ir.graph import Module
    from perfc.machine import Machine
    from perfc.passes.fusion.kernel import Kernel

    from ..estimators import Execution
    from .prediction import PredictionTable

FILE = Path(__file__).with_suffix(".toml")
PRODUCTS = frozenset({Kind.MATMUL, Kind.ATTENTION})
SPREAD_OF = "f16"
"""Element type whose rates tell how far machines are apart."""
VECTOR = "f32"
"""The precision whose products run on the vector units."""
UNMEASURED = Band(*constants_next_to(__file__)["unmeasured_step"].numbers)
"""Interval of the logarithm of measured over predicted time on a GPU without fitted steps."""
VOLUME = 3
"""Axes of a convolution that libraries filter directly: Winograd's transforms are of two."""


class KernelTrait(Enum):
    """What kernels of a step have in common."""

    VECTOR = "convolution_vector"
    """A convolution on vector units."""
    FIRST = "convolution_channels_first"
    """On matrix units, feature maps channels first: libraries transpose around it."""
    LAST = "convolution_channels_last"
    """On matrix units, channels last."""
    BACKWARD = "convolution_backward"
    """A gradient of a convolution."""
    VOLUME = "convolution_volume"
    """Of three axes on vector units."""
    DEPTHWISE = "convolution_depthwise"
    OTHER_VECTOR = "other_f32"
    """Neither convolution nor product, without narrow products."""
    OTHER_MATRIX = "other_narrow"
    """The same beside products on matrix units."""


@record
class StepLaw:
    """What steps take.

    Args:
        factors: by part; 1 of one that is not there.
        band: logarithm of a step over what is said that nine in ten unseen architectures are
            within.
        measured: machines and precisions of the steps.
        steps: how many taught it.
        architectures: of how many networks.
    """

    factors: Mapping[KernelTrait, float]
    band: Band
    measured: tuple[tuple[str, str], ...]
    steps: int
    architectures: int

    def factor(self, parts: tuple[KernelTrait, ...]) -> float:
        """Of a kernel of these parts."""
        return math.prod(self.factors.get(part, 1.0) for part in parts)

    def knows(self, machine: Machine, stored: str) -> bool:
        """Whether steps of such a chip in that precision taught it."""
        here = coordinates(Sheet(machine), SPREAD_OF)
        targets = [target for target, known in self.measured if known == stored]
        return any(distance(here, place(t, SPREAD_OF)) <= SAME_CHIP for t in targets)


@cache
def law() -> StepLaw:
    """The law that ships. Made by ``lab/perfc_lab/fits/published_steps.py``."""
    return read(FILE.read_text(encoding="utf-8"))


def read(text: str) -> StepLaw:
    """A law as `as_toml` writes it."""
    data = tomllib.loads(text)
    factors = {KernelTrait(name): float(value) for name, value in data["factors"].items()}
    measured = tuple((str(t), str(p)) for t, p in data["measured"])
    band = Band(float(data["low"]), float(data["high"]))
    return StepLaw(factors, band, measured, int(data["steps"]), int(data["architectures"]))


def as_toml(found: StepLaw) -> str:
    """The file of a law."""
    measured = ", ".join(f'["{target}", "{stored}"]' for target, stored in found.measured)
    factors = "\n".join(
        f"{p.value} = {found.factors[p]:.4g}" for p in KernelTrait if p in found.factors
    )
    return (
        "# Steps of convolutional networks; written by lab/perfc_lab/fits/published_steps.py.\n"
        f"low = {found.band.low:.4g}\nhigh = {found.band.high:.4g}\n"
        f"measured = [{measured}]\nsteps = {found.steps}\narchitectures = {found.architectures}\n\n"
        f"[factors]\n{factors}\n"
    )


def parts_of(kernel: Kernel, stored: str, layout: Layout) -> tuple[KernelTrait, ...]:
    """The parts that a kernel is of.

    Args:
        kernel: of a step.
        stored: precision of the run, as `run_table.precision` names it.
        layout: of feature maps.
    """
    is_vector = stored == VECTOR
    phase = kernel.anchor.loc.phase
    if kernel.kind in PRODUCTS:
        return ()
    if kernel.kind is not Kind.CONV:
        return (KernelTrait.OTHER_VECTOR if is_vector else KernelTrait.OTHER_MATRIX,)
    narrow = KernelTrait.LAST if layout is Layout.CHANNELS_LAST else KernelTrait.FIRST
    parts = [KernelTrait.VECTOR if is_vector else narrow]
    if phase is Phase.BACKWARD:
        parts.append(KernelTrait.BACKWARD)
    problem = kernel.problem
    if isinstance(problem, SlidingWindow):
        if is_vector and len(problem.extents) == VOLUME:
            parts.append(KernelTrait.VOLUME)
        if problem.is_depthwise:
            parts.append(KernelTrait.DEPTHWISE)
    return tuple(parts)


def sums_s(
    execution: Execution, table: PredictionTable, stored: str, layout: Layout
) -> dict[tuple[KernelTrait, ...], float]:
    """The kernels' estimates by what they have in common, in seconds."""
    found: dict[tuple[KernelTrait, ...], float] = {}
    for bound, estimate in zip(execution.bounds.kernels, table.kernels, strict=True):
        parts = parts_of(bound.kernel, stored, layout)
        found[parts] = found.get(parts, 0.0) + estimate.time_s
    return found


def is_convolutional(sums: Mapping[tuple[KernelTrait, ...], float]) -> bool:
    """Whether convolutions take longer than products."""
    of_convolutions = {KernelTrait.VECTOR, KernelTrait.FIRST, KernelTrait.LAST}
    convolutions_s = math.fsum(t for p, t in sums.items() if not of_convolutions.isdisjoint(p))
    return convolutions_s > sums.get((), 0.0)


def is_measured_here(table: PredictionTable) -> bool:
    """Whether kernels of this very machine speak, which the law knows nothing of."""
    return any(k.predictor is Predictor.FITTED or k.correction != 1.0 for k in table.kernels)


def factors(
    execution: Execution, table: PredictionTable, deployment: Deployment, source: Module
) -> list[float] | None:
    """Of each kernel of a step; None of other networks, precisions and makers of cards.

    Args:
        execution: its kernels.
        table: their estimates.
        deployment: how it is run.
        source: the model as read.
    """
    known = law()
    stored = precision(deployment, stored_element(source), execution.bounds)
    is_of_maker = Sheet(execution.machine).generation > 0
    if stored not in {p for _, p in known.measured} or not is_of_maker or is_measured_here(table):
        return None
    if not is_convolutional(sums_s(execution, table, stored, deployment.layout)):
        return None
    kernels = [bound.kernel for bound in execution.bounds.kernels]
    return [known.factor(parts_of(k, stored, deployment.layout)) for k in kernels]


def told(
    execution: Execution, table: PredictionTable, deployment: Deployment, source: Module
) -> tuple[Interval, bool] | None:
    """What a step takes, and whether such steps of the card were published.

    None of other networks, precisions and makers of cards.

    Args:
        execution: its kernels.
        table: their estimates.
        deployment: how it is run.
        source: the model as read.
    """
    if not execution.kernels.runtime.is_dispatched or execution.kernels.runtime.streams > 1:
        return None
    each = factors(execution, table, deployment, source)
    if each is None:
        return None
    known = law()
    stored = precision(deployment, stored_element(source), execution.bounds)
    band = known.band if known.knows(execution.machine, stored) else UNMEASURED
    kernels = zip(table.kernels, each, strict=True)
    time_s = table.total_of(math.fsum(factor * kernel.time_s for kernel, factor in kernels))
    ends = (time_s * math.exp(end) for end in (band.low, 0.0, band.high))
    time = Interval(*ends).at_least(execution.bounds.floor_s)
    return time, band is known.band
