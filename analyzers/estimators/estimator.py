"""Interface of estimators of kernel times: kernels on a machine in, an `Estimate` of each out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.ir import Module, frozen
from perfc.passes.manager import Analyses

from ..artefacts import artefact
from ..estimate.estimate import Estimate, Predictor
from ..features.lowering import Lowered, lower

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.fusion.fuse import KernelTable
    from perfc.passes.roofline.roofline import RooflineTable


@frozen
class Execution:
    """Kernels of a run on a machine under a runtime, whose times an estimator predicts.

    Args:
        bounds: roofline of the kernels.
        kernels: the kernels, with their runtime.
        module: typed and canonical module of the kernels; None if unknown, then corrections fitted
            to whole steps are left out.
        folder: folder of the weights of the operator predictor.
        host_launch_s: host time of each launch; None if not given.
        framework: framework whose kernels run; empty if unknown.
        analyses: results of the passes over the module.
    """

    bounds: RooflineTable
    kernels: KernelTable
    module: Module | None = None
    folder: Path = artefact.SHIPPED
    host_launch_s: float | None = None
    framework: str = ""
    analyses: Analyses = field(default_factory=Analyses, compare=False)

    @property
    def machine(self) -> Machine:
        """Return the machine that the model runs on."""
        return self.bounds.machine

    @cached_property
    def _lowered(self) -> dict[int, Lowered | None]:
        """Return the cache of `lowered`, shared by all analyses of a kernel table."""
        empty_cache = dict[int, "Lowered | None"]
        # the kernel table keeps results by one environment (values of the symbols), but a roofline
        # may have several
        if self.bounds.envs:
            return empty_cache()
        return self.kernels.once("lowered", self.bounds.env, empty_cache)

    def lowered(self, index: int) -> Lowered | None:
        """Return a kernel as the operator predictor sees it, computed once for equal ones."""
        bounds, cache = self.bounds, self._lowered
        bound = bounds.kernels[index]
        # in several environments equal kernels differ in extents: `firsts` compares these as well
        key = bounds.firsts[index] if bounds.envs else bound.kernel.identity
        if key not in cache:
            cache[key] = lower(bound, bounds.at(index))
        return cache[key]

    @cached_property
    def indices(self) -> range:
        """Return the indices of all kernels, in the order of the roofline."""
        return range(len(self.bounds.kernels))


class Estimator(ABC):
    """Predicts times of kernels and gives the evidence for them."""

    predictor: ClassVar[Predictor]

    @abstractmethod
    def estimate(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Return estimates of the kernels ``wanted`` by index, without those it cannot predict.

        Raises:
            WeightsError: weights that are damaged or of another schema.
        """

    @abstractmethod
    def why(self, execution: Execution, index: int) -> object | None:
        """Return the evidence for a kernel's estimate; None if it cannot predict the kernel."""
