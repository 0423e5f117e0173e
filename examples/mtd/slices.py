"""Level 4, slices: which part of an A100 one inference needs, section 3.4.4 and table 4.5.

    python examples/mtd/slices.py

The dissertation chooses by the share of the time in which the GPU works, DIPPM by memory alone, and
`perfc mig` by memory and time together. Table 4.5's memory goes through DIPPM's rule again, beside
the profile that the dissertation names.
"""

from __future__ import annotations

import network
import tables
import thesis

from perfc.deployment import Deployment
from perfc.machine.mig import mig_profile
from perfc.study.comparison.rows import ModelSetting
from perfc.study.comparison.slices import Holding, slicing

SLO_S = 0.037
"""The measured call on an A100 in mixed precision, table 3.3."""
MIB = 1 << 20


def main() -> None:
    """Print the slices of an A100, and DIPPM's table again."""
    how = Deployment(runtime="eager", dtype="f16", dims={"batch": 1})
    found = slicing(ModelSetting(network.PATH, how), thesis.TARGETS["A100"], slo_s=SLO_S)
    header = ["slice", "SMs", "fit", "expected ms", "floor ms", "memory MiB", "of GiB", "enough"]
    rows = [
        (
            s.profile.name,
            s.profile.sm_count,
            s.profile.instances,
            f"{1e3 * s.row.time_s:.2f}",
            f"{1e3 * s.row.verdict.floor_s:.2f}",
            f"{found.need_bytes / MIB:.0f}",
            f"{s.profile.capacity_bytes / (1 << 30):.1f}",
            s.holding(SLO_S).value,
        )
        for s in found.slices
    ]
    tables.show(f"A100, mixed, batch 1, within {1e3 * SLO_S:.0f} ms", header, rows)
    smallest = found.smallest
    used = thesis.INFERENCE["A100", "mixed"].gpu_utilisation
    chosen = [
        ("thesis, 3.4.4", "7_5GB", f"the GPU works {tables.percent(used)} of the call"),
        ("DIPPM, eq. 4.2", found.by_memory, "memory alone"),
        ("perfc mig", smallest.profile.name if smallest else "none", "memory and time"),
        ("by use, ours", found.by_use, f"kernels run {tables.percent(found.used)} of our time"),
    ]
    tables.show("The slice that each rule takes", ["rule", "slice", "by"], chosen)
    again = [
        (
            f"{r.model} {r.batch}",
            r.profile,
            r.predicted_mb,
            _name(r.predicted_mb),
            r.actual_mb,
            _name(r.actual_mb),
        )
        for r in thesis.DIPPM
    ]
    header = ["model, batch", "thesis", "predicted MB", "again", "actual MB", "by actual"]
    tables.show("DIPPM's profiles (table 4.5)", header, again)
    enough = sum(s.holding(SLO_S) is not Holding.SLOW for s in found.slices)
    tables.say(
        f"{enough} of {len(found.slices)} slices hold it: kernels are a millisecond of a call of "
        "37 ms, the rest is the framework's. Every rule but use by our reading takes the smallest: "
        "that use is of kernels and their launches without the framework's time."
    )


def _name(megabytes: int) -> str:
    found = mig_profile(megabytes * 1e6)
    return found.name if found else "none"


if __name__ == "__main__":
    main()
