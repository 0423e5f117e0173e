"""Predict served models from kernel times, fitted host overhead and the scheduler.

`predictors` fits a `KernelSum` to training rows and lets trees correct it on others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from perfc.frontend.config import precision_of
from perfc.frontend.config.facts import cache_bytes, layers_of, parameters
from perfc.frontend.config.model import Attention, LatentAttention, mixers
from perfc.serving.host import LEARNED, HostModel
from perfc.serving.power import BoardPower, board_of

from ..serving import ServingQuantity
from ..serving.aic import UNSTATED
from ..serving.energy import Parts, parts_of, power_by_board
from ..serving.learn import LEAST_ROWS, fitted, of_other_hosts, predicted
from ..serving.replay import ReplayedNumber, model_of
from ..serving.scores import law_name
from ..splitting import grouped
from .rows import Target, TreeRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SMALLEST = 1e-12
"""Lower limit of times and shares before a logarithm or a division."""
SHARES = (
    "time of a token",
    "prompts",
    "exchanges",
    "host",
    "sequences",
    "active",
    "grouping",
    "caches",
)
"""Features of a row that follow from its sum, as `KernelSum.shares` describes them."""


@lru_cache(maxsize=256)
def active_share(name: str) -> float:
    """Return the share of a model's parameters that a token touches."""
    model = model_of(name)
    if model is None:
        return math.nan
    counts = parameters(model)
    # below 1 for models with experts
    return counts.active / counts.resident


@lru_cache(maxsize=256)
def grouping(name: str) -> float:
    """Return the query heads that share a key head, in the first layer with attention."""
    model = model_of(name)
    every = () if model is None else layers_of(model)
    for mixer in (m for layer in every for m in mixers(layer)):
        match mixer:
            case Attention():
                return mixer.heads / mixer.kv_heads
            case LatentAttention():
                # all query heads read the same latents
                return float(mixer.heads)
    return math.nan


@lru_cache(maxsize=4096)
def cache_share(name: str, context: int) -> float:
    """Return the bytes of one sequence's caches over those of the parameters that a token touches.

    Both are counted in 16 bits: the formats are separate features.
    """
    model = model_of(name)
    if model is None:
        return math.nan
    precision = precision_of(model.dtype, model.quantization, "bf16", "bf16")
    return cache_bytes(model, context, precision) / (2.0 * parameters(model).active)


class NoSum:
    """Stand-in for a sum, for trees without kernel times: every row is 1, all `SHARES` unknown."""

    def __call__(self, rows: Sequence[TreeRow]) -> Array:
        """Return zeros, the logarithms of 1, ``[rows]``."""
        import numpy as np

        return np.zeros(len(rows))

    def shares(self, rows: Sequence[TreeRow]) -> Array:
        """Return NaN, ``[rows, SHARES]``."""
        import numpy as np

        return np.full((len(rows), len(SHARES)), math.nan)


class KernelSum:
    """Host overhead by runtime and two energy parameters by board, fitted to rows.

    Rows are predicted from their kernel times with the fitted parameters.

    Args:
        train: rows to fit to; without tested rows when errors are measured.
        keeps_up: True if disaggregated prefill of unknown size is assumed to keep up with decode,
            so that no time to first token is added; False if it is one worker, for which decodes
            wait.
    """

    def __init__(self, train: Sequence[TreeRow], keeps_up: bool = False) -> None:
        self.keeps_up = keeps_up
        samples = [s for row in train for _, s in row.parts]
        # laws are of times; energies are fitted below, with these laws
        timed = [s for s in samples if s.quantity is not ServingQuantity.ENERGY_J]
        self.laws = {
            name: fitted(group, of_other_hosts(timed, law_name, name))
            for name, group in grouped(timed, law_name).items()
        }
        self.everywhere = fitted(timed) if timed else HostModel()
        energies = [r for r in train if r.target is Target.ENERGY]
        self.boards = self._energy(energies)
        self.boards_of = {
            is_eager: self._energy(group)
            for is_eager, group in grouped(energies, lambda row: row.served.is_eager).items()
            if len(group) >= LEAST_ROWS
        }
        """Power of boards, separately for hosts that launch every kernel and hosts that do not."""

    def law(self, sample: ReplayedNumber) -> HostModel:
        """Return the law of a sample's runtime, or that of all runtimes if it has none."""
        return self.laws.get(law_name(sample), self.everywhere)

    def __call__(self, rows: Sequence[TreeRow]) -> Array:
        """Return the logarithms of predicted values, ``[rows]``; NaN for rows without kernels."""
        import numpy as np

        # ``max`` returns a NaN that comes first
        return np.array([math.log(max(self.value(row), SMALLEST)) for row in rows])

    def value(self, row: TreeRow) -> float:
        """Return the value of one row, in its unit; NaN if no kernels are counted."""
        match row.target:
            case Target.MEMORY:
                return row.expected
            case Target.ENERGY:
                boards = self.boards_of.get(row.served.is_eager, self.boards)
                kernels_j, idle_j, _ = self.joules(row)
                return board_of(boards, row.machine).joules(kernels_j, idle_j)
            case Target.THROUGHPUT:
                if not row.parts:
                    return math.nan
                time_s = math.fsum(w * predicted(self.law(s), s) for w, s in self.timed(row))
                return row.tokens / max(time_s, SMALLEST)

    def timed(self, row: TreeRow) -> list[tuple[float, ReplayedNumber]]:
        """Return the terms of a row's time, each with its weight.

        No energies, and with ``keeps_up`` no time to first token of unknown prefill workers.
        """
        is_unknown = self.keeps_up and row.served.dataset == UNSTATED
        left_out = {ServingQuantity.ENERGY_J} | ({ServingQuantity.TTFT_S} if is_unknown else set())
        return [(w, s) for w, s in row.parts if s.quantity not in left_out]

    def joules(self, row: TreeRow) -> Parts:
        """Return the energy per token in joules: of kernels, of waiting boards, and as measured."""
        # rows of energy have two parts, see `rows.targets_of`
        (_, energy), (_, time) = row.parts
        law = self.law(time)
        # tokens of the measured run, to divide its energy by
        tokens = time.value * row.served.measured[ServingQuantity.TOKENS_PER_S]
        return parts_of(law, energy, predicted(law, time) / tokens)

    def _energy(self, rows: Sequence[TreeRow]) -> dict[str, BoardPower]:
        """Return the fitted power of each board, by the laws of hosts."""
        return power_by_board([(row.machine, self.joules(row)) for row in rows])

    def shares(self, rows: Sequence[TreeRow]) -> Array:
        """Return the features that a residual depends on, ``[rows, SHARES]``.

        In the order of `SHARES`: logarithm of the time per token; shares of prefill kernels,
        communication and host in that time; sequences per step; share of active parameters; query
        heads per key head; logarithm of cache bytes over weight bytes that a step reads.
        """
        import numpy as np

        return np.array([self._shares(row) for row in rows])

    def _shares(self, row: TreeRow) -> list[float]:
        """Return `shares` of one row."""
        timed, served = self.timed(row), row.served
        if not timed:
            return [math.nan] * len(SHARES)
        shares = dict.fromkeys(LEARNED, 0.0)
        counts, total = dict(shares), 0.0
        for weight, sample in timed:
            law = self.law(sample)
            total += weight * predicted(law, sample)
            for name, amount in zip(LEARNED, sample.amounts, strict=True):
                shares[name] += weight * getattr(law, name) * amount
                counts[name] += weight * amount
        time_s = max(total, SMALLEST)
        # the time of neither kernels nor communication is that of the host
        kernels, exchanges = shares["kernels"] + shares["prompts"], shares["exchanges"]
        sequences = counts["sequence_s"] / max(counts["step_s"], 1.0)
        # on average a sequence has generated half of its answer
        caches = sequences * cache_share(served.model, served.isl + served.osl // 2)
        return [
            math.log(time_s / max(row.tokens, 1.0)),
            shares["prompts"] / time_s,
            exchanges / time_s,
            1 - (kernels + exchanges) / time_s,
            sequences,
            active_share(served.model),
            grouping(served.model),
            math.log(max(caches, SMALLEST)),
        ]
