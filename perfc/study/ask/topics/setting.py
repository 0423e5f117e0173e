"""Topics on the setting: machine, runtime, precision, sizes and model file."""

from __future__ import annotations

from perfc.view.report.sections.assumptions import which_products
from perfc.view.report.units import Unit, quantity
from perfc.view.report.views import Views

from ..fact import Citation, ReportFact, Topic, cite, fact, listed


def machine(views: Views) -> ReportFact | None:
    """Return the target."""
    name, title = cite(views, "verdict.target"), cite(views, "verdict.machine")
    return fact("machine", f"the report is for {title.value}, target {name.value}", name, title)


def runtime(views: Views) -> ReportFact | None:
    """Return the runtime."""
    name = cite(views, "assumptions.runtime")
    title = cite(views, "assumptions.runtime_title")
    return fact("runtime", f"runtime: {title.value} ({name.value})", name, title)


def precision(views: Views) -> ReportFact | None:
    """Return the element types of products."""
    requested, tf32 = cite(views, "assumptions.dtype"), cite(views, "assumptions.tf32")
    types = sorted({row.dtype for row in views.kernels if row.mac.value})
    which = which_products(tf32.value)
    allowed = "may" if tf32.value else "may not"
    text = f"matrix products use {listed(types) or 'no type'}; f32 {which} {allowed} use TF32"
    origin = "the model's own precision"
    if requested.value:
        origin = f"requested precision: {requested.value}"
    return fact("precision", f"{text}; {origin}", requested, tf32)


def sizes(views: Views) -> ReportFact | None:
    """Return the values of the symbols and the items per run."""
    symbols = views.assumptions.symbols
    cited = [
        cite(views, f"assumptions.symbols[{i}].value", Unit.COUNT) for i in range(len(symbols))
    ]
    words = [f"{s.label} = {s.value} ({s.origin})" for s in symbols]
    per_run = cite(views, "verdict.throughput.per_run", Unit.COUNT)
    item = views.verdict.throughput.item.value
    one_run = f"{per_run.value:,} {item} per run"
    return fact("sizes", "; ".join([*words, one_run]), per_run, *cited)


def rates(views: Views) -> ReportFact | None:
    """Return the rates that times are computed from."""
    used = views.assumptions.rates
    cited, words = [], []
    for i, rate in enumerate(used):
        unit = Unit.FLOP_PER_S if rate.dtype else Unit.BYTE_PER_S
        cited.append(cite(views, f"assumptions.rates[{i}].sustained_per_s", unit))
        kind = f" {rate.dtype}" if rate.dtype else ""
        number = quantity(rate.sustained_per_s, unit)
        words.append(f"{rate.ceiling}{kind} {number} ({rate.sustained_origin})")
    return fact("rates", f"times are based on {listed(words)}", *cited)


def bandwidth(views: Views) -> ReportFact | None:
    """Return the bandwidth of device memory."""
    for i, rate in enumerate(views.assumptions.rates):
        if rate.ceiling == "device":
            names = ("sustained_per_s", "floor_per_s")
            used, best = (
                cite(views, f"assumptions.rates[{i}].{n}", Unit.BYTE_PER_S) for n in names
            )
            text = (
                f"device memory: {quantity(rate.sustained_per_s, Unit.BYTE_PER_S)} "
                f"({rate.sustained_origin}), peak {quantity(rate.floor_per_s, Unit.BYTE_PER_S)}"
            )
            return fact("bandwidth", text, used, best)
    return None


def sources(views: Views) -> ReportFact | None:
    """Return the sources of the target's numbers."""
    documents = views.assumptions.target_sources
    cited = [cite(views, f"assumptions.target_sources[{i}].title") for i in range(len(documents))]
    words = [f"{s.title} ({s.origin}, {s.date})" for s in documents]
    return fact("sources", f"sources of the machine's numbers: {'; '.join(words)}", *cited)


def file(views: Views) -> ReportFact | None:
    """Return the model file, its producer and versions."""
    a = views.assumptions
    path, producer = cite(views, "assumptions.path"), cite(views, "assumptions.producer")
    opsets = [
        Citation(f'assumptions.opsets."{domain}"', version, Unit.COUNT)
        for domain, version in a.opsets.items()
    ]
    versions = ", ".join(f"{domain or 'ai.onnx'} {n}" for domain, n in a.opsets.items())
    text = f"{a.path or a.graph}, by {a.producer or 'an unknown producer'}, opset {versions}"
    return fact("file", text, path, producer, *opsets)


def left_out(views: Views) -> ReportFact | None:
    """Return the effects that are not modeled."""
    key = "left out"
    words = views.assumptions.memory_model.get(key)
    cited = Citation(f'assumptions.memory_model."{key}"', words, Unit.NONE)
    return fact("left out", f"not modeled: {words}", cited)


TOPICS = (
    Topic(
        "machine",
        ("which target", "target", "accelerator",
         "which|what gpu|machine|hardware|device|card is|was assumed|used|it|this|that|analysed",
         "which|what gpu|machine|hardware|device|card does it run|use|assume",
         "which|what gpu|machine|hardware|device|card do|did you assume|use"),
        machine,
    ),
    Topic(
        "runtime",
        ("runtime is assumed|used", "runtime assumed|used", "which framework", "what framework",
         "framework", "engine", "backend",
         "which runtime", "what runtime", "which backend", "whose kernel"),
        runtime,
        under=("kernel count",),
    ),
    Topic(
        "precision",
        ("precision", "dtype", "data type", "element type", "number format", "which precision",
         "quantised", "quantized", "numeric type"),
        precision,
    ),
    Topic(
        "sizes",
        ("batch", "batch size", "which batch", "what batch", "sequence length", "seq", "symbol",
         "extent", "input size", "dimension", "assumed size", "sequence", "context length"),
        sizes,
        weak=("image", "token", "sample", "frame", "example"),
    ),
    Topic(
        "rates",
        ("peak rate", "rate", "peak flop", "peak compute", "peak performance", "which rate",
         "rated", "ceiling rate"),
        rates,
        under=("activations", "flop"),
    ),
    Topic(
        "bandwidth",
        ("bandwidth", "memory bandwidth", "hbm bandwidth", "dram bandwidth"),
        bandwidth,
        under=("memory", "rates"),
        absent="the target file has no device memory",
    ),
    Topic(
        "sources",
        ("source", "datasheet", "data sheet", "which document", "where are the rate from"),
        sources,
        under=("rates", "machine"),
        absent="the target file names no sources",
    ),
    Topic(
        "file",
        ("opset", "producer", "ir version", "which model", "which file", "exported", "exporter",
         "what model", "which exporter", "which tool", "what tool", "what file"),
        file,
        absent="the model was given in memory",
    ),
    Topic(
        "left out",
        ("left out", "not counted", "leave out", "not included", "ignored", "neglected",
         "not modelled", "not modeled", "ignore"),
        left_out,
        under=("predicted time",),
        absent="the report does not say",
    ),
)  # fmt: skip
