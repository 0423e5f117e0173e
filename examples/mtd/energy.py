"""Levels 2 and 5, energy: power of the board in training, table 3.2, and the carbon of a training.

    python examples/mtd/energy.py

Kernels run as long as in `training.py` and draw what `perfc` says of each at its sustained time;
while the host keeps the board waiting, it draws what an idle one does. The mean power over the
measured epoch stands beside the measured one.
"""

from __future__ import annotations

import tables
import thesis

from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs.energy import energy_of, idle_w, power_model
from perfc.deployment.prices import region_named
from perfc.deployment.prices.regions import J_PER_KWH
from perfc.machine import load_machine
from perfc.study.comparison.amounts import figure, mass
from perfc.study.comparison.bill import Bill

REGION = "europe-west4"
"""Near the machine of the measurements, in the table of regions."""


def kernel_w(gpu: str, batch: int, precision: str) -> float:
    """Return the mean power in watts while a step's kernels run, each for its sustained time."""
    table = tables.step(gpu, batch, precision).roofline
    sheet = Sheet(table.machine)
    energies = [energy_of(k, Interval.exactly(k.time_s), 0.0, sheet) for k in table.kernels]
    return sum(e.energy_j for e in energies if e is not None) / table.time_s


def main() -> None:
    """Print powers, and energy and carbon of ten trainings."""
    rows, bills = [], []
    for gpu, batch, precision in tables.pairs():
        measured = thesis.TRAINING[gpu, batch, precision]
        machine = load_machine(thesis.TARGETS[gpu])
        busy_w, idle = kernel_w(gpu, batch, precision), idle_w(machine, power_model())
        busy_s = min(tables.busy_s(gpu, batch, precision), measured.epoch_s)
        shares = (busy_s / measured.epoch_s, measured.gpu_usage)
        powers = [idle + (busy_w - idle) * share for share in shares]
        rows.append(
            (
                f"{gpu} {precision} {batch}",
                f"{busy_w:.0f}",
                f"{idle:.0f}",
                f"{busy_s:.1f}",
                f"{measured.epoch_s:.1f}",
                f"{measured.power_w:.0f}",
                *(f"{w:.0f} {100 * (w / measured.power_w - 1):+.0f} %" for w in powers),
            )
        )
        if batch == 64 and precision == "mixed":
            runs = thesis.EPOCHS * thesis.RUNS
            bill = Bill.of(
                Interval.exactly(measured.epoch_s),
                Interval.exactly(measured.power_w * measured.epoch_s),
                region_named(REGION),
                None,
                runs=runs,
            )
            assert bill.board_j is not None
            assert bill.energy_j is not None
            assert bill.carbon_g is not None
            bills.append(
                (
                    f"{gpu} {precision} {batch}",
                    figure(bill.board_j.mid / J_PER_KWH),
                    figure(bill.energy_j.mid / J_PER_KWH),
                    mass(bill.carbon_g.mid),
                )
            )
    header = ["GPU, precision, batch", "busy W", "idle W", "busy s", "epoch s", "thesis W"]
    header += ["our W", "at its usage"]
    tables.show("Mean power over an epoch (table 3.2)", header, rows)
    header = ["GPU, precision, batch", "board kWh", "centre kWh", "CO2"]
    tables.show(f"Ten trainings of 70 epochs in {REGION}, from measured power", header, bills)
    tables.say(
        "On the V100 in single precision kernels fill the epoch, and the powers agree. In mixed "
        "precision its kernels are busy for more than twice our time: `conclusions.py` shows half "
        "precision convert layouts for 70 % of a convolution. With the measured usage in place of "
        "ours the V100 is within a fifth. The A100 stays above: by what an idle board draws, which "
        "is a fixed share of the limit where a target states none, and by its busy power."
    )


if __name__ == "__main__":
    main()
