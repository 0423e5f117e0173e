"""A whole training from the predicted time of its step (TraPPM; thesis, Section 5.6.4)."""

from __future__ import annotations

from perfc.ir.record import frozen

HOUR_S = 3600.0


@frozen
class TrainingRun:
    """Time and price of a number of equal steps on one machine.

    What it leaves out: reading data, validation, checkpoints, and a first step that compiles.

    Args:
        step_s: predicted time of one step.
        steps: epochs times steps of an epoch.
        hourly_price: of the machine, in any currency; None where it is not known.

    >>> run = TrainingRun(0.350, 200_000, 2.934)
    >>> f"{run.time_s / HOUR_S:.2f} h, {run.price:.2f}"
    '19.44 h, 57.05'
    """

    step_s: float
    steps: int
    hourly_price: float | None = None

    @property
    def time_s(self) -> float:
        """Of all steps."""
        return self.step_s * self.steps

    @property
    def price(self) -> float | None:
        """Of all steps; None where no price is known."""
        return None if self.hourly_price is None else self.time_s / HOUR_S * self.hourly_price
