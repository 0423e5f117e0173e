"""Topics on limits: what limits a run, utilization, and possible changes."""

from __future__ import annotations

from perfc.view.report.amounts import title
from perfc.view.report.memory_sections.remedies import Remedy
from perfc.view.report.units import Unit, quantity, share
from perfc.view.report.views import Views

from ..fact import ReportFact, Topic, cite, fact, listed

MOST_REMEDIES = 4


def limits(views: Views) -> ReportFact | None:
    """Return shares of the time by limit."""
    shares = views.verdict.limits
    cited = [
        cite(views, f"verdict.limits[{i}].{name}", unit)
        for i in range(len(shares))
        for name, unit in (("share", Unit.SHARE), ("title", Unit.NONE))
    ]
    words = [f"{limit.title} {share(limit.share)}" for limit in shares]
    return fact("limits", f"limited by {listed(words)}", *cited)


def busy(views: Views) -> ReportFact | None:
    """Return the utilization of each unit and memory level."""
    ceilings = views.pressure
    cited = [cite(views, f"pressure[{i}].share", Unit.SHARE) for i in range(len(ceilings))]
    words = [f"{ceiling.title} {share(ceiling.share)}" for ceiling in ceilings]
    text = f"utilization during the run, at measured rates: {listed(words)}"
    return fact("utilization", text, *cited)


def remedies(views: Views) -> ReportFact | None:
    """Return the analyzed changes, largest saving first."""
    useful = views.bottlenecks.remedies[:MOST_REMEDIES]
    facts = [remedy(views, i) for i in range(len(useful))]
    cited = [c for f in facts for c in f.citations]
    return fact("remedies", "; ".join(f.text for f in facts), *cited)


def remedy(views: Views, index: int) -> ReportFact:
    """Return one change and the run with it."""
    change = views.bottlenecks.remedies[index]
    path = f"bottlenecks.remedies[{index}]"
    time = cite(views, f"{path}.time_s", Unit.SECOND)
    saved = cite(views, f"{path}.saving_s", Unit.SECOND)
    items = cite(views, f"{path}.items", Unit.COUNT)
    return ReportFact("remedies", words(views, change), (time, saved, items))


def words(views: Views, change: Remedy) -> str:
    """Describe a change: ``half precision (--dtype f16): 1.43 ms, 31 % less``."""
    how = f" ({change.option})" if change.option else ""
    text = f"{change.name}{how}: {quantity(change.time_s, Unit.SECOND)}"
    less = change.saving_s / views.verdict.time_s if views.verdict.time_s else 0.0
    more = f" for {change.items} × the work" if change.items > 1 else ""
    return f"{text}{more}, {share(less)} less for the same work"


def lifted(views: Views) -> ReportFact | None:
    """Return the time saved if one ceiling were twice as fast."""
    ceilings = views.bottlenecks.ceilings
    cited = [
        cite(views, f"bottlenecks.ceilings[{i}].saving_doubled_s", Unit.SECOND)
        for i in range(len(ceilings))
    ]
    parts = [
        f"2× faster {title(ceiling.ceiling)} saves "
        f"{quantity(ceiling.saving_doubled_s, Unit.SECOND)}"
        for ceiling in ceilings
    ]
    return fact("ceilings", "; ".join(parts), *cited)


TOPICS = (
    Topic(
        "limits",
        (
            "limit", "limited", "limiting", "bottleneck", "bound", "bound by", "memory bound",
            "compute bound", "bandwidth bound", "what hold it up|back", "launch bound",
            "memory or compute bound", "compute or memory bound", "hold the run up", "hold it up",
            "limited by", "limiting factor", "host bound", "cpu bound", "where does the time go",
            "time go", "what is it waiting for", "bandwidth limited", "constrain",
            "memory limited", "compute limited", "latency bound", "time go to",
            "why is it slow", "not faster", "stop it from", "stop it from being faster",
            "keep it from", "prevent it from",
            "stopping it", "why so slow", "why is it so slow", ),
        limits,
        weak=("time spent on",),
        under=("predicted time", "memory", "headroom", "launches", "lower bound"),
        absent="no kernel takes time",
    ),
    Topic(
        "utilisation",
        (
            "utilisation", "utilization", "busy", "how busy", "utilised", "utilized", "occupied",
            "mfu", "of peak flop", "percent of peak", "percentage of peak", "share of peak",
            "of the peak", "how well is the gpu used", "well used", "saturated", "used well",
            "idle",
            "utilise", "utilize",
        ),
        busy,
        under=("limits", "throughput"),
        absent="no kernel takes time",
    ),
    Topic(
        "remedies",
        (
            "what would help", "help", "optimise", "optimize", "optimisation", "optimization",
            "speed up", "speed it up", "make it faster", "make this faster", "faster", "improve",
            "accelerate", "reduce the latency", "reduce latency", "reduce inference latency|time",
            "reduce the inference latency|time",
            "decrease latency|time", "decrease the latency|time", "should i use", "what can i do",
            "recommend",
            "recommendation", "advice", "suggest", "suggestion", "get it faster", "tune", "cut",
            "make the model faster", "lower the latency", "quicker", "reduce the time",
            "run faster", "what should i change", "next step", "lower latency", "what to change",
            "speedup", "make it run faster", "get faster", "remedy", "save the most", "save most",
            "quantize", "quantise", "quantizing", "quantising",
        ),
        remedies,
        weak=("save", "saving", "low hanging fruit", "benefit", "gain", "bring", "worth"),
        under=("predicted time", "limits", "training step", "precision", "runtime", "sizes"),
        absent="no analyzed change saves time",
    ),
    Topic(
        "ceilings",
        ("twice as fast", "twice the bandwidth", "more bandwidth", "faster memory", "twice as much",
         "ceiling", "double the bandwidth", "doubling the bandwidth|compute|rate",
         "doubling the memory bandwidth",
            "double the memory bandwidth", "a faster gpu", "if memory were faster",
         "twice the compute", "doubled"),
        lifted,
        under=("remedies", "memory", "predicted time", "bandwidth"),
        absent="no kernel takes time",
    ),
)  # fmt: skip
