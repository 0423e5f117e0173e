"""Levels 2 and 5, energy: power of the board in training, table 3.2, and the carbon of a training.

    python examples/mtd/energy.py

The energy of a step's kernels is `perfc`'s; while the host keeps the board waiting, it draws what
an idle one does. The mean power over the measured epoch stands beside the measured one.
"""

from __future__ import annotations

import tables
import thesis

from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.machine import load_machine
from perfc.study.comparison.amounts import figure, mass
from perfc.study.expenses import Bill, region_named
from perfc.study.expenses.regions import J_PER_KWH

REGION = "europe-west4"
"""Near the machine of the measurements, in the table of regions."""


def main() -> None:
    """Print powers, and energy and carbon of ten trainings."""
    rows, bills = [], []
    for gpu, batch, precision in tables.pairs():
        measured = thesis.TRAINING[gpu, batch, precision]
        table = tables.step(gpu, batch, precision).prediction
        assert table.energy is not None
        steps = thesis.TIME_STEPS / batch
        kernels_j, busy_s = table.energy.energy_j * steps, table.total.time.mid * steps
        idle = idle_w(load_machine(thesis.TARGETS[gpu]), power_model())
        busy_s = min(busy_s, measured.epoch_s)
        epoch_j = min(kernels_j, table.energy.power_w * busy_s)
        epoch_j += idle * (measured.epoch_s - busy_s)
        power = epoch_j / measured.epoch_s
        rows.append(
            (
                f"{gpu} {precision} {batch}", f"{table.energy.power_w:.0f}", f"{idle:.0f}",
                f"{busy_s:.1f}", f"{measured.epoch_s:.1f}", f"{power:.0f}",
                f"{measured.power_w:.0f}", f"{100 * (power / measured.power_w - 1):+.0f} %",
            )
        )  # fmt: skip
        if batch == 64 and precision == "mixed":
            runs = thesis.EPOCHS * thesis.RUNS
            bill = Bill.of(
                Interval.exactly(measured.epoch_s),
                Interval.exactly(measured.power_w * measured.epoch_s),
                region_named(REGION), None, runs=runs,
            )  # fmt: skip
            assert bill.board_j is not None
            assert bill.energy_j is not None
            assert bill.carbon_g is not None
            bills.append(
                (
                    f"{gpu} {precision} {batch}", figure(bill.board_j.mid / J_PER_KWH),
                    figure(bill.energy_j.mid / J_PER_KWH), mass(bill.carbon_g.mid),
                )
            )  # fmt: skip
    header = ["GPU, precision, batch", "busy W", "idle W", "busy s", "epoch s", "our W", "thesis W"]
    tables.show("Mean power over an epoch (table 3.2)", [*header, "error"], rows)
    header = ["GPU, precision, batch", "board kWh", "centre kWh", "CO2"]
    tables.show(f"Ten trainings of 70 epochs in {REGION}, from measured power", header, bills)
    tables.say(
        "On the V100 in single precision kernels fill the epoch, and the powers agree. Where the "
        "host holds the epoch up they do not: our step is not as busy as the measured one on the "
        "V100 and busier on the A100, and the power between kernels is that of an idle board."
    )


if __name__ == "__main__":
    main()
