"""Topics on time: prediction, interval, confidence, lower bound and throughput."""

from __future__ import annotations

from perfc.view.report.units import INTERVAL, Unit, quantity, span
from perfc.view.report.views import Views

from ..fact import Citation, ReportFact, Topic, cite, fact, shown


def expected(views: Views) -> ReportFact | None:
    """Return the predicted time with its interval."""
    v = views.verdict
    mid, low, high = (cite(views, f"verdict.expected.{n}", Unit.SECOND) for n in MIDDLE_AND_ENDS)
    ends = span(v.expected.low, v.expected.high, Unit.SECOND)
    text = f"a run takes {shown(mid)} (predicted); {INTERVAL} {ends}"
    return fact("predicted time", text, mid, low, high)


MIDDLE_AND_ENDS = ("mid", "low", "high")


def spread(views: Views) -> ReportFact | None:
    """Return the prediction interval."""
    v = views.verdict
    low, high = (cite(views, f"verdict.expected.{n}", Unit.SECOND) for n in ("low", "high"))
    text = f"{INTERVAL} of a run: {span(v.expected.low, v.expected.high, Unit.SECOND)}"
    return fact("prediction interval", text, low, high)


def sure(views: Views) -> ReportFact | None:
    """Return the confidence and its reason."""
    if views.verdict.confidence is None:
        return None
    grade, reason = (cite(views, f"verdict.confidence.{n}") for n in ("grade", "reason"))
    return fact("confidence", f"confidence is {grade.value}: {reason.value}", grade, reason)


def floor(views: Views) -> ReportFact | None:
    """Return the lower bound of the time."""
    least = cite(views, "verdict.floor_s", Unit.SECOND)
    return fact(
        "lower bound", f"no run on {views.verdict.machine} can be faster than {shown(least)}", least
    )


def headroom(views: Views) -> ReportFact | None:
    """Return the ratio of predicted time and lower bound."""
    v = views.verdict
    if v.floor_s <= 0:
        return None
    mid = cite(views, "verdict.expected.mid", Unit.SECOND)
    least = cite(views, "verdict.floor_s", Unit.SECOND)
    text = f"the predicted time is {v.time_s / v.floor_s:.1f} × the lower bound"
    return fact("headroom", f"{text}, {shown(mid)} against {shown(least)}", mid, least)


def throughput(views: Views) -> ReportFact | None:
    """Return the throughput."""
    done = views.verdict.throughput
    per_s = cite(views, "verdict.throughput.per_s", Unit.NONE)
    item = cite(views, "verdict.throughput.item")
    per_run = cite(views, "verdict.throughput.per_run", Unit.COUNT)
    text = f"{done.per_s:,.0f} {item.value}/s at the predicted time, {shown(per_run)} per run"
    return fact("throughput", text, per_s, item, per_run)


def each(views: Views) -> ReportFact | None:
    """Return the predicted time per image, token or run."""
    done = views.verdict.throughput
    if not done.per_run:
        return None
    mid = cite(views, "verdict.expected.mid", Unit.SECOND)
    per_run = cite(views, "verdict.throughput.per_run", Unit.COUNT)
    time = quantity(views.verdict.time_s / done.per_run, Unit.SECOND)
    one = done.item.value.removesuffix("s")
    text = f"{time} per {one}: {done.per_run:,} {done.item.value} in a run of {shown(mid)}"
    return fact("time per item", text, mid, per_run)


def sustained(views: Views) -> ReportFact | None:
    """Return the time at measured rates."""
    time = cite(views, "summary.roofline_time_s")
    kernels = cite(views, "summary.sustained_s")
    gap = cite(views, "summary.launch_gap_s")
    text = f"{shown(time)} at measured rates: kernels {shown(kernels)}"
    return fact("time at measured rates", f"{text}, launch gaps {shown(gap)}", time, kernels, gap)


def launching(views: Views) -> ReportFact | None:
    """Return the overhead of launches and of the host."""
    if views.prediction is None:
        return None
    launches = cite(views, "summary.launches", Unit.COUNT)
    wait, host = (cite(views, f"prediction.{n}") for n in ("wait_s", "host_s"))
    each_s = cite(views, "assumptions.launch_s", Unit.SECOND)
    parts = [f"{shown(launches)} launches"]
    if each_s.value is not None:
        origin = views.assumptions.launch_origin
        parts[0] += f" of {shown(each_s)} each on the device ({origin})"
    parts.append(f"kernels wait {shown(wait)} for launches, the host adds {shown(host)}")
    limits = [i for i, limit in enumerate(views.verdict.limits) if limit.key in ("launch", "host")]
    shares = [cite(views, f"verdict.limits[{i}].share", Unit.SHARE) for i in limits]
    for i, part in zip(limits, shares, strict=True):
        parts.append(f"{views.verdict.limits[i].title}: {shown(part)} of the time")
    return fact("launches", "; ".join(parts), launches, wait, host, each_s, *shares)


def basis(views: Views) -> ReportFact | None:
    """Return the predictors and their training data."""
    if views.prediction is None:
        return None
    cited: list[Citation] = []
    if views.prediction.whole:
        cited.append(cite(views, "prediction.whole"))
    for i, share in enumerate(views.prediction.predictors):
        cited.append(cite(views, f"prediction.predictors[{i}].predictor"))
        cited.append(cite(views, f"prediction.predictors[{i}].kernels", Unit.COUNT))
        if share.classes:
            cited.append(cite(views, f"prediction.predictors[{i}].classes[0]"))
    notes = views.prediction.notes
    cited += [cite(views, f"prediction.notes[{i}]") for i in range(len(notes))]
    parts = [f"the run: {views.prediction.whole}"] if views.prediction.whole else []
    parts += [f"{p.kernels} kernels: {p.predictor}" for p in views.prediction.predictors]
    return fact("basis", "predictors: " + "; ".join([*parts, *notes]), *cited)


def step(views: Views) -> ReportFact | None:
    """Return the phases of a training step."""
    if views.verdict.step is None:
        return None
    phases = views.verdict.step.phases
    cited = [
        cite(views, f"verdict.step.phases[{i}].{name}", unit)
        for i in range(len(phases))
        for name, unit in (("time_s", Unit.SECOND), ("share", Unit.SHARE))
    ]
    words = [f"{p.phase} {quantity(p.time_s, Unit.SECOND)}" for p in phases]
    return fact("training step", f"a training step takes {', '.join(words)}", *cited)


TOPICS = (
    Topic(
        "predicted time",
        (
            "expected runtime", "per batch", "a batch take", "latency should i expect",
            "total runtime", "inference runtime",
            "how long", "latency", "inference time", "run time", "execution time", "expected time",
            "expected latency", "predicted time", "forward pass time", "time per run",
            "duration", "total time", "time of a run", "time of one run", "time for a run",
            "time of a pass", "time in total", "how much time", "what time",
        ),
        expected,
        weak=("time", "fast", "slow", "speed", "quick", "take", "expected", "predict",
              "prediction", "predicted", "performance", "perform", "runtime", "expect"),
    ),
    Topic(
        "prediction interval",
        (
            "range", "interval", "worst case", "best case", "error bar", "how wide", "spread",
            "nine in ten", "90 %", "prediction interval", "between what", "uncertainty", "at worst",
            "slow end", "fast end", "upper end", "lower end", "vary", "variation",
        ),
        spread,
        under=("predicted time",),
    ),
    Topic(
        "confidence",
        (
            "confidence", "confident", "trust", "uncertain", "reliable", "how sure", "sure",
            "certain",
            "grade", "confidence low|high|medium", "confidence so low|high", "grade low|high",
            "how accurate is the prediction|estimate|time", "believe", "rely on",
            "accurate is the prediction|estimate|time", "trustworthy", "how good is the estimate",
        ),
        sure,
        under=("predicted time",),
        absent="there is no prediction",
    ),
    Topic(
        "lower bound",
        (
            "at best", "floor", "lower bound", "lower limit", "fastest possible", "be beaten",
            "beat the floor", "minimum time",
            "theoretical", "ideal", "speed of light", "best possible", "physical limit",
            "roofline time", "roofline", "roofline bound|limit|model|floor|minimum",
            "minimum latency", "lowest possible", "fastest it can",
            "fastest", "no run is faster", "as fast as it gets", "ideal time",
        ),
        floor,
        under=("predicted time",),
    ),
    Topic(
        "headroom",
        (
            "headroom", "how far from", "gap to", "how close to",
            "close to the hardware limit|floor|limit", "how close are we to",
            "how close is it to", "room for improvement",
            "how much faster could", "times the floor", "away from the floor",
            "how efficient", "efficiency", "how much faster can",
        ),
        headroom,
        under=("predicted time", "lower bound", "remedies"),
        absent="the lower bound is zero",
    ),
    Topic(
        "throughput",
        (
            "throughput", "image per second", "token per second", "fps", "frame per second",
            "qps", "sample per second", "run per second", "per second", "a second",
            "inference per second", "image a second", "token a second", "sequence per second",
            "how many image", "how many token", "each second", "query per second", "/s",
        ),
        throughput,
        under=("predicted time",),
    ),
    Topic(
        "time per item",
        (
            "per image", "per token", "each image", "each token", "one image", "one token",
            "per sample", "a single image", "single token", "of an image", "per item",
            "for an image", "a token", "per example", "each sample",
        ),
        each,
        under=("predicted time",),
    ),
    Topic(
        "time at measured rates",
        ("measured rate", "sustained", "sustained time", "at measured rate"),
        sustained,
        under=("predicted time",),
    ),
    Topic(
        "launches",
        (
            "launch", "launch overhead", "host", "cpu overhead", "host overhead", "launch gap",
            "how many launch", "number of launch", "cuda launch", "kernel launch", "overhead",
            "host time", "driver overhead", "launching", "wait for their launch",
            "cpu slow it down", "slow it down",
        ),
        launching,
        under=("predicted time", "kernel count"),
        absent="there is no prediction",
    ),
    Topic(
        "basis",
        (
            "based on", "who predict", "which predictor", "what predictor", "how was it predicted",
            "learned from", "predictor", "where does the number|time|prediction come from",
            "rest on", "how was the time predicted", "how do you know", "based upon",
            "extrapolate", "extrapolating", "extrapolation", "how is the time predicted",
        ),
        basis,
        under=("predicted time",),
        absent="there is no prediction",
    ),
    Topic(
        "training step",
        ("training step", "backward", "backward pass", "step", "optimizer", "optimiser",
         "gradient", "training time", "training", "train"),
        step,
        under=("predicted time",),
        absent="the report is of inference; --train adamw makes one of a step",
    ),
)  # fmt: skip
