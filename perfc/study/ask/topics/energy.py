"""Energy and power of the board."""

from __future__ import annotations

from perfc.view.report.units import INTERVAL, Unit, quantity, span
from perfc.view.report.views import Views

from ..fact import ReportFact, Topic, cite, fact, shown

UNKNOWN = "no power model is fitted for this machine"


def energy(views: Views) -> ReportFact | None:
    """Return the energy of a run."""
    joules = views.verdict.energy
    if joules is None:
        return None
    mid, low, high = (
        cite(views, f"verdict.energy.{n}", Unit.JOULE) for n in ("mid", "low", "high")
    )
    ends = span(joules.low, joules.high, Unit.JOULE)
    text = f"a run takes {shown(mid)}, board only; {INTERVAL} {ends}"
    return fact("energy", text, mid, low, high)


def each(views: Views) -> ReportFact | None:
    """Return the energy per image, token or run."""
    joules, done = views.verdict.energy, views.verdict.throughput
    if joules is None or not done.per_run:
        return None
    mid = cite(views, "verdict.energy.mid", Unit.JOULE)
    per_run = cite(views, "verdict.throughput.per_run", Unit.COUNT)
    joules_each = quantity(joules.mid / done.per_run, Unit.JOULE)
    one = done.item.value.removesuffix("s")
    text = f"{joules_each} per {one}: {done.per_run:,} {done.item.value} in a run of {shown(mid)}"
    return fact("energy per item", text, mid, per_run)


def power(views: Views) -> ReportFact | None:
    """Return the mean power of a run."""
    if views.prediction is None:
        return None
    mean = cite(views, "prediction.power_w")
    return fact("power", f"the board draws {shown(mean)} on average during a run", mean)


TOPICS = (
    Topic(
        "energy per item",
        (
            "energy per image|token|sample|item", "joule per image|token|sample|item",
            "energy of an image", "energy of one image|token", "energy for one image|token",
            "energy of each image|token", "energy does one image|token",
        ),
        each,
        under=("energy", "time per item"),
        absent=UNKNOWN,
    ),
    Topic(
        "energy",
        ("energy", "joule", "how much energy", "energy per run", "energy consumption",
         "energy use", "cost in energy", "energy cost", "energy usage", "consume"),
        energy,
        absent=UNKNOWN,
    ),
    Topic(
        "power",
        ("power", "watt", "power draw", "draw", "power consumption", "power usage", "power use",
         "electricity"),
        power,
        under=("energy",),
        absent=UNKNOWN,
    ),
)  # fmt: skip
