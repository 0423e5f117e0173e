"""Level 4, slices: which part of an A100 one inference needs, section 3.4.4 and table 4.5.

    python examples/mtd/slices.py [--timm]

The dissertation chooses by the share of the time in which the GPU works, DIPPM by memory alone, and
`perfc mig` by memory and time together. Table 4.5's memory goes through DIPPM's rule again, beside
the profile that the dissertation names. With ``--timm`` (needs timm and PyTorch) its networks are
analyzed too: the measured memory is that of a forward pass that records gradients, outside of
``torch.no_grad()``, so everything that a backward pass would read stays allocated.
"""

from __future__ import annotations

import statistics
import sys
from functools import cache

import network
import tables
import thesis

import perfc
from perfc.deployment import Deployment
from perfc.ir import Phase
from perfc.machine.mig import mig_profile
from perfc.passes.memory.allocators import replay
from perfc.passes.memory.allocators.by_framework import allocator_of
from perfc.study.comparison.rows import ModelSetting
from perfc.study.comparison.slices import Holding, slicing
from perfc.view.report.memory_sections.footprint import table_of

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
            s.holding.value,
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
    enough = sum(s.holding is not Holding.SLOW for s in found.slices)
    tables.say(
        f"{enough} of {len(found.slices)} slices hold it: kernels are a millisecond of a call of "
        "37 ms, the rest is the framework's. Every rule but use by our reading takes the smallest: "
        "that use is of kernels and their launches without the framework's time."
    )


def _name(megabytes: float) -> str:
    found = mig_profile(megabytes * 1e6)
    return found.name if found else "none"


@cache
def timm_report(model: str, optimizer: str) -> perfc.api.Report:
    """Return the analysis of one of Table 4.5's networks, a training step with an optimizer."""
    import timm

    network = timm.create_model(thesis.TIMM_NAMES[model], pretrained=False).eval()
    target = thesis.TARGETS["A100"]
    return perfc.analyze(network, target, input=(3, 224, 224), runtime="eager", train=optimizer)


def reserved_mb(row: thesis.Dippm, *, is_recording: bool) -> float:
    """Return what PyTorch's allocator reserves for a forward pass, in MB, without the context.

    Args:
        row: the network and its batch.
        is_recording: whether gradients are recorded; the tensors of a training step that are alive
            before its loss stay.
    """
    report = timm_report(row.model, "sgd" if is_recording else "")
    table, sizes = table_of(report), {**report.env, "batch": row.batch}
    steps = max(i for i, phase in enumerate(table.phases, 1) if phase is Phase.FORWARD)
    events = [event for event in table.events(sizes) if event[0] < steps]
    return replay(events, allocator_of(report.kernels.runtime)(None), steps).reserved_bytes / 1e6


def networks() -> None:
    """Print Table 4.5 with our memory; the rest of a process is that of the other networks' rows.

    That rest is the context, libraries and workspaces of the dissertation's software, which is not
    known; no row is scored with a rest that it took part in.
    """
    ours = {row: reserved_mb(row, is_recording=True) for row in thesis.DIPPM}
    rows, errors, right = [], list[float](), 0
    for row, live_mb in ours.items():
        rest_mb = statistics.fmean(
            other.measured_mb - mb for other, mb in ours.items() if other.model != row.model
        )
        both_mb, measured_mb = live_mb + rest_mb, row.measured_mb
        errors.append(abs(both_mb / measured_mb - 1))
        right += _name(both_mb) == row.profile
        error = f"{100 * (both_mb / measured_mb - 1):+.1f} %"
        without = f"{reserved_mb(row, is_recording=False):.0f}"
        name = f"{row.model} {row.batch}"
        numbers = [f"{mb:.0f}" for mb in (live_mb, rest_mb, both_mb)]
        rows.append(
            (name, row.profile, without, *numbers, f"{measured_mb:.0f}", error, _name(both_mb))
        )
    header = ["model, batch", "thesis", "no_grad MB", "recording", "rest", "both", "measured"]
    tables.show("Table 4.5 by our memory", [*header, "error", "slice"], rows)
    mean = 100 * statistics.fmean(errors)
    tables.say(
        f"slice right {right} of {len(rows)}, memory {mean:.1f} % off on average. The table has "
        "1652 MB for convnext_base at batch 4, and 61 % of 5 GB, which is taken."
    )


if __name__ == "__main__":
    main()
    if "--timm" in sys.argv[1:]:
        networks()
