"""Time and price of a training run from its predicted step (TraPPM; thesis, Section 5.6.4)."""

from __future__ import annotations

from perfc.ir import frozen

HOUR_S = 3600.0


@frozen
class TrainingRun:
    """Time and price of a number of equal steps on one machine.

    Left out: reading data, validation, checkpoints, and a first step that compiles.

    Args:
        step_s: predicted time of one step.
        steps: epochs times steps per epoch.
        hourly_price: price per hour of the machine, in any currency; None if unknown.

    >>> run = TrainingRun(0.350, 200_000, 2.934)
    >>> f"{run.time_s / HOUR_S:.2f} h, {run.price:.2f}"
    '19.44 h, 57.05'
    """

    step_s: float
    steps: int
    hourly_price: float | None = None

    @property
    def time_s(self) -> float:
        """Return the time of all steps in seconds."""
        return self.step_s * self.steps

    @property
    def price(self) -> float | None:
        """Return the price of all steps; None without an hourly price."""
        return None if self.hourly_price is None else self.time_s / HOUR_S * self.hourly_price
