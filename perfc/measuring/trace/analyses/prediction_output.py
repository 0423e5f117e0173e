"""The gap between a trace and a prediction as sections of a document, and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from perfc.view.report.formats.document import (
    Amount,
    Column,
    Fact,
    Facts,
    Note,
    Part,
    Section,
    excerpt,
    tabulate,
)
from perfc.view.report.units import Unit, plural, quantity, share
from perfc.view.result import Records

from ..classes import abbreviated
from .prediction import KernelGap, PredictionGap


def gap_records(gap: PredictionGap) -> Records:
    """Return one row per kernel, in base units."""
    names = [f.name for f in fields(KernelGap)]
    header = ["class" if n == "class_name" else n for n in names]
    return header, [[getattr(k, n) for n in names] for k in gap.kernels]


NOT_PREDICTED = "launches without a predicted kernel less predicted kernels without a launch"
"""Legend of the time of what ran otherwise than predicted."""
NUMBERS = (
    Column("kernels", "kernels", Unit.COUNT, "predicted launches"),
    Column("launches", "launches", Unit.COUNT),
    Column("predicted_s", "predicted", Unit.SECOND),
    Column("measured_s", "measured", Unit.SECOND),
    Column("launches_s", "not as predicted", Unit.SECOND, NOT_PREDICTED),
    Column("speed_s", "slower", Unit.SECOND, "matched launches, slower than predicted"),
)
"""Columns that classes and kernels share."""
# also a column of kernels, as a spare one
CLASS = Column("class_name", "class", is_name=True, cell=lambda k: abbreviated(k.class_name))
NAMES = (
    Column("kernel", is_name=True, cell=lambda k: abbreviated(k.kernel)),
    Column("node", is_spare=True, cell=lambda k: abbreviated(k.node)),
    replace(CLASS, is_name=False, is_spare=True),
)
"""First columns of kernels."""


def gap_sections(gap: PredictionGap, top: int | None) -> Iterator[Section]:
    """Yield the causes of the gap, the classes and the kernels."""
    parts: list[Part] = [Facts(tuple(causes(gap)))]
    if gap.dtype and gap.traced_dtype and gap.dtype != gap.traced_dtype:
        text = f"products are {gap.traced_dtype} in the trace and {gap.dtype} in the prediction"
        parts.append(Note(f"{text}: --dtype"))
    yield Section("gap", f"prediction: {gap.model}", tuple(parts))
    yield Section(
        "predicted-classes", "prediction by class", (tabulate((CLASS, *NUMBERS), gap.classes),)
    )
    columns, what = (*NAMES, *NUMBERS), "kernel with a smaller gap"
    kernels = tuple(excerpt(columns, gap.kernels[:top], len(gap.kernels), what))
    yield Section("predicted-kernels", "prediction by kernel", kernels)


def causes(gap: PredictionGap) -> Iterator[Fact]:
    """Yield the totals, the three causes and what is aligned."""

    def fact(name: str, time_s: float, text: str) -> Fact:
        return Fact(name, Amount(time_s, Unit.SECOND), text)

    def time(time_s: float) -> str:
        return quantity(time_s, Unit.SECOND)

    predicted, measured = f"kernels {time(gap.predicted_kernel_s)}", f"kernels {time(gap.kernel_s)}"
    # with a time line the times are those of runs, of which kernels are a part
    if gap.host_s is not None:
        predicted += f", idle {time(gap.predicted_s - gap.predicted_kernel_s)}"
        measured += f", idle {time(gap.measured_s - gap.kernel_s)}"
    how = ", ".join(filter(None, (gap.target, gap.runtime, gap.dtype)))
    yield fact("predicted", gap.predicted_s, f"{predicted}; {how}")
    yield fact("measured", gap.measured_s, measured)
    yield fact("gap", gap.gap_s, "the sum of the rows below")
    text = f"{time(gap.extra_s)} of launches without a predicted kernel"
    if gap.missing:
        text += f", less {plural(gap.missing, 'kernel')} of {time(gap.missing_s)} without a launch"
    yield fact("not as predicted", gap.launches_s, text)
    yield fact("slower", gap.speed_s, "matched launches, slower than predicted")
    if gap.host_s is not None:
        yield fact("host", gap.host_s, "idle time of the device that was not predicted")
    text = f"{gap.aligned:,} of {plural(gap.launches, 'launch', 'launches')}, "
    text += f"{share(gap.aligned_s / gap.kernel_s)} of their time"
    yield Fact("aligned", Amount(gap.aligned / gap.launches, Unit.SHARE), text)
