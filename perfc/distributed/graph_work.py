"""A graph as a training step sees it: kernels in order, cut into parts that take equally long.

Copies of it run side by side, each with samples of its own; its products are not divided.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perfc.errors import ModelError
from perfc.machine import load_machine
from perfc.parallel import Parallel

from .parts import NO_EXCHANGE, PartCost, backward_times, part_of
from .work import Parts, Work

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.deployment import Deployment

PARTS = 16
"""Into which a graph is cut: as many steps has the exchange of its gradients."""


class GraphWork(Work):
    """A model that a file describes as a graph.

    Args:
        model: as `perfc.analyze` takes it.
        name: of it.
        deployment: how one copy runs.
    """

    def __init__(self, model: Any, name: str, deployment: Deployment) -> None:
        self.model, self.name, self.deployment = model, name, deployment
        self.target = str(load_machine(deployment.target).path)
        self.is_divisible = False
        self.known: dict[int, Parts] = {}

    @property
    def depth(self) -> int:
        """Parts."""
        return PARTS

    @cached_property
    def has_experts(self) -> bool:
        """Experts of a graph are not divided."""
        return False

    def routed(self, layer: int) -> int:
        """None."""
        return 0

    def kv_share(self, layer: int) -> float:
        """Sequences of a graph are not divided."""
        return 0.0

    def parts(self, parallel: Parallel, samples: int, seq: int) -> Parts:
        """Of one copy, for a micro-batch; ``seq`` is that of the deployment.

        Raises:
            ModelError: it is divided by more than samples.
        """
        if parallel.devices > parallel.data:
            hint = "a configuration (config.json) of a language model divides so"
            raise ModelError("a graph is divided by its samples alone", where=self.name, hint=hint)
        if samples not in self.known:
            self.known[samples] = self._parts(samples)
        return self.known[samples]

    def _parts(self, samples: int) -> Parts:
        from perfc.api import analyze

        how = self.deployment.at({"batch": samples})
        report = analyze(self.model, deployment=how, predictor="kernels")
        bound = report.roofline.kernels
        forward = report.prediction.kernels
        env = report.env
        back = backward_times(
            bound, [f.time_s for f in forward], [env] * len(bound), report.machine,
            report.execution,
        )  # fmt: skip
        rows = list(zip([1] * len(bound), bound, forward, back, strict=True))
        cuts = cuts_of([f.time_s for f in forward])
        made = [
            part_of([b.kernel for _, b, *_ in rows[i:j]], rows[i:j], env) for i, j in pairwise(cuts)
        ]
        return Parts(nothing(report), tuple(made), nothing(report))


def nothing(report: Report) -> PartCost:
    """A part without kernels."""
    return part_of([], [], report.env, (), NO_EXCHANGE)


def cuts_of(times_s: list[float]) -> list[int]:
    """Where parts begin that take about equally long, and the end.

    >>> cuts_of([1.0] * 32)[:4]
    [0, 2, 4, 6]
    """
    whole, cuts, sofar = sum(times_s), [0], 0.0
    for at, time_s in enumerate(times_s):
        if sofar >= whole * len(cuts) / PARTS:
            cuts.append(at)
        sofar += time_s
    return [*cuts, len(times_s)]
