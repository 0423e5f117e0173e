"""Level 5, cloud cost: what training and inference cost at three vendors, table 3.4.

    python examples/mtd/cloud_cost.py

Ten trainings of 70 epochs. The dissertation's epochs give its own totals again; our kernel time
gives what the same training would cost if the GPU never waited for its host. Prices are those of
the table, of 2022.
"""

from __future__ import annotations

import distributed
import tables
import thesis
from inference import analyzed

HOUR_S = 3600.0


def hours(epoch_s: float) -> float:
    """Of all runs."""
    return epoch_s * thesis.EPOCHS * thesis.RUNS / HOUR_S


def main() -> None:
    """Print costs of training and inference."""
    rows = []
    for i in thesis.INSTANCES:
        used = min(i.gpus, 4)
        measured = hours(thesis.DISTRIBUTED_EPOCH_S[i.device, used])
        ideal = hours(distributed.busy_s(i.device, used))
        rows.append(
            (
                f"{i.cloud} {i.name}",
                f"{i.gpus} x {i.device}",
                f"{i.usd_per_hour:.2f}",
                f"{measured:.2f}",
                f"{i.total_usd:.2f}",
                f"{measured * i.usd_per_hour:.2f}",
                f"{ideal:.2f}",
                f"{ideal * i.usd_per_hour:.2f}",
            )
        )
    header = ["instance", "GPUs", "USD/h", "thesis h", "thesis USD", "again", "busy h", "busy USD"]
    tables.show(
        "Ten trainings of 70 epochs, mixed precision (table 3.4, section 3.4.5)", header, rows
    )
    price = next(
        i.usd_per_hour for i in thesis.INSTANCES if i.cloud == "GCP" and i.device == "A100"
    )
    wall = thesis.INFERENCE["A100", "mixed"].wall_s
    per_batch = {b: analyzed("A100", "mixed", b).roofline.time_s / b for b in (1, 64)}
    n = thesis.INFERENCES
    inferences = [
        ("c5.4xlarge, measured", f"{thesis.CPU_S:.2f} s", thesis.CPU_USD_PER_HOUR * thesis.CPU_S),
        ("GCP A100, measured", f"{1e3 * wall:.0f} ms", price * wall),
        *(
            (f"GCP A100, our kernels and launches, batch {b}", f"{1e6 * s:.0f} us", price * s)
            for b, s in per_batch.items()
        ),
    ]
    stated = {"c5.4xlarge, measured": "c5.4xlarge", "GCP A100, measured": "GCP A100"}
    shown = [
        (
            name,
            each,
            f"{thesis.INFERENCE_USD[stated[name]]:.3f}" if name in stated else "-",
            f"{usd_s * n / HOUR_S:.4f}",
        )
        for name, each, usd_s in inferences
    ]
    header = ["where", "one inference", "thesis USD", "again"]
    tables.show(f"{n:,} inferences (section 3.4.5)", header, shown)
    tables.say(
        "The column 'again' multiplies the dissertation's times and prices; the p4d row has eight "
        "GPUs and the time of four. What the GPU is paid for and does not use is the difference to "
        "'busy USD'."
    )


if __name__ == "__main__":
    main()
