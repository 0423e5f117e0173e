"""Rates fitted to kernels that the machine ran under the runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfc.common.fitted import constants_next_to
from perfc.ir import record

from ..estimate.estimate import Estimate, Predictor
from ..estimate.interval import Interval
from .estimator import Estimator, Execution
from .fitted_rates import Ratios, of_machine
from .fitted_rates.classes import Term, classify
from .fitted_rates.subject import of_bound

UNKNOWN_RATIOS = Ratios(*constants_next_to(__file__)["unknown_ratios"].numbers)
"""Ratios for a class whose fit held out no kernel."""


@record
class TermTime:
    """A term of a fitted time: so many units at so many seconds each."""

    name: str
    amount: float
    second_per_unit: float
    time_s: float


class Fitted(Estimator):
    """Rates of the target file; launches are in them."""

    predictor = Predictor.FITTED

    def estimate(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Times by fitted rates, for kernels of classes that were measured."""
        bounds, runtime = execution.bounds, execution.kernels.runtime
        efficiencies = of_machine(execution.machine, runtime.name)
        if efficiencies is None:
            return {}
        times = efficiencies.kernels(bounds)
        result: dict[int, Estimate] = {}
        for i in wanted:
            fitted, floor_s = times[i], bounds.kernels[i].floor_s
            if fitted is not None:
                side = efficiencies.ratios.get(fitted.name, UNKNOWN_RATIOS)
                time_s = fitted.time_s
                time = Interval(time_s * side.low, time_s, time_s * side.high).at_least(floor_s)
                result[i] = Estimate(floor_s, time, self.predictor, fitted.name)
        return result

    def why(self, execution: Execution, index: int) -> tuple[TermTime, ...] | None:
        """The terms that a fitted time is the sum of, largest first; of one launch."""
        bound, env = execution.bounds.kernels[index], execution.bounds.env
        efficiencies = of_machine(execution.machine, execution.kernels.runtime.name)
        fitted = None if efficiencies is None else efficiencies.of(bound, env)
        if efficiencies is None or fitted is None:
            return None
        if bound.kernel.helper is not None:
            moved = bound.counts.read_bytes + bound.counts.write_bytes
            amounts: Mapping[Term, float] = {Term.LAUNCH: 1.0, Term.MOVED_BYTE: moved}
        else:
            amounts = classify(of_bound(bound, env)).terms
        rates = efficiencies.seconds[fitted.name]
        terms = [
            TermTime(t.value, amount, rates.get(t, 0.0), amount * rates.get(t, 0.0))
            for t, amount in amounts.items()
        ]
        return tuple(sorted((t for t in terms if t.time_s > 0), key=lambda t: -t.time_s))
