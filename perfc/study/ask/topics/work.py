"""Topics on work: operations, bytes, parameters and nodes."""

from __future__ import annotations

from perfc.view.report.units import Unit, quantity
from perfc.view.report.views import Views

from ..fact import ReportFact, Topic, cite, fact, shown


def flop(views: Views) -> ReportFact | None:
    """Return the floating-point operations."""
    total = cite(views, "summary.flop")
    mac = cite(views, "summary.mac")
    text = f"{shown(total)} per run: {shown(mac)}, two flop each, and other operations"
    return fact("flop", text, total, mac)


def mac(views: Views) -> ReportFact | None:
    """Return the multiply-accumulates."""
    total = cite(views, "summary.mac")
    return fact("mac", f"{shown(total)} per run", total)


def parameters(views: Views) -> ReportFact | None:
    """Return the number of parameters."""
    count = cite(views, "summary.parameters")
    stored = cite(views, "summary.weight_bytes")
    return fact("parameters", f"{shown(count)} parameters, {shown(stored)} stored", count, stored)


def traffic(views: Views) -> ReportFact | None:
    """Return the compulsory traffic."""
    read, write = cite(views, "summary.read_bytes"), cite(views, "summary.write_bytes")
    device = cite(views, "summary.device_bytes")
    text = (
        f"kernels read {shown(read)} and write {shown(write)}; {shown(device)} of it through device"
    )
    return fact("traffic", f"{text} memory", read, write, device)


def intensity(views: Views) -> ReportFact | None:
    """Return the arithmetic intensity."""
    ratio = cite(views, "summary.intensity_flop_per_byte", Unit.FLOP_PER_BYTE)
    return fact("intensity", f"{shown(ratio)} of compulsory traffic", ratio)


def formula(views: Views) -> ReportFact | None:
    """Return the operations as a formula over the symbols."""
    amount = views.summary.flop
    if amount.formula is None:
        return None
    total = cite(views, "summary.flop")
    return fact("formula", f"flop = {amount.formula}, here {shown(total)}", total)


def nodes(views: Views) -> ReportFact | None:
    """Return the nodes of the file and the executed ones."""
    file = cite(views, "coverage.nodes_in_file", Unit.COUNT)
    run = cite(views, "coverage.nodes_executed", Unit.COUNT)
    kernels = len(views.kernels)
    text = f"{shown(file)} nodes in the file; {shown(run)} are executed, in {kernels:,} kernels"
    return fact("nodes", text, file, run)


def coverage(views: Views) -> ReportFact | None:
    """Return whether every node has a known cost."""
    known = cite(views, "coverage.is_complete")
    opaque = views.coverage.opaque
    text = "every node has a known cost" if known.value else "some nodes have unknown cost"
    cited = [known, *(cite(views, f"coverage.opaque[{i}].op_type") for i in range(len(opaque)))]
    more = f": {', '.join(str(c.value) for c in cited[1:6])}" if opaque else ""
    return fact("coverage", text + more, *cited)


def achieved(views: Views) -> ReportFact | None:
    """Return the achieved rate at the predicted time."""
    time_s, total = views.verdict.time_s, views.summary.flop.value
    if not time_s or total is None:
        return None
    work, mid = cite(views, "summary.flop"), cite(views, "verdict.expected.mid", Unit.SECOND)
    rate = quantity(total / time_s, Unit.FLOP_PER_S)
    return fact("achieved rate", f"{rate}: {shown(work)} in {shown(mid)}", work, mid)


def summary(views: Views) -> ReportFact | None:
    """Return sizes and work of the model."""
    run = cite(views, "coverage.nodes_executed", Unit.COUNT)
    totals = [cite(views, f"summary.{name}") for name in ("flop", "mac", "parameters")]
    symbols = views.assumptions.symbols
    cited = [
        cite(views, f"assumptions.symbols[{i}].value", Unit.COUNT) for i in range(len(symbols))
    ]
    sizes = [f"{s.label} = {s.value}" for s in symbols]
    words = [f"{shown(c)}{name}" for c, name in zip(totals, ("", "", " parameters"), strict=True)]
    text = f"{shown(run)} executed nodes; {', '.join([*sizes, *words])}"
    return fact("summary", text, run, *cited, *totals)


TOPICS = (
    Topic(
        "summary",
        ("summarise", "summarize", "summary", "overview", "describe", "description"),
        summary,
    ),
    Topic(
        "flop",
        ("flop", "gflop", "tflop", "operation", "floating point operation", "how much work",
         "compute cost", "computation", "arithmetic work", "work"),
        flop,
        weak=("compute",),
    ),
    Topic(
        "mac",
        ("mac", "gmac", "multiply accumulate", "multiplication", "multiply add", "multiply"),
        mac,
        under=("flop",),
    ),
    Topic(
        "parameters",
        ("parameter", "param", "how many parameter", "parameter count", "number of parameter",
         "trainable parameter"),
        parameters,
    ),
    Topic(
        "traffic",
        ("traffic", "memory traffic", "byte moved", "byte read", "byte written", "data moved",
         "read and written", "data is moved",
         "moved", "byte move", "data movement", "memory access", "written"),
        traffic,
        weak=("how many byte", "byte", "read", "write", "reads and writes"),
        under=("memory",),
    ),
    Topic(
        "intensity",
        ("arithmetic intensity", "intensity", "flop per byte", "operational intensity",
         "operation per byte"),
        intensity,
        under=("flop", "traffic"),
        absent="not all bytes are known",
    ),
    Topic(
        "formula",
        ("formula", "symbolic", "scale with", "depend on the batch", "as a function of",
         "grow with", "formula of the flop"),
        formula,
        under=("flop", "sizes"),
        absent="the work has no closed form",
    ),
    Topic(
        "nodes",
        ("node", "how many node", "number of node", "onnx node", "how many operator",
         "graph size", "how many layer", "layer", "number of layer", "number of operator"),
        nodes,
        weak=("operator", "ops", "op"),
        under=("kernel count",),
    ),
    Topic(
        "coverage",
        ("coverage", "covered", "known cost", "is everything known", "cost of every node",
         "unknown operator", "opaque", "unsupported operator", "all operator known",
         "supported", "unsupported", "not supported", "not known", "without a known cost",
         "all operator supported", "anything missing", "complete"),
        coverage,
        under=("nodes",),
    ),
    Topic(
        "achieved rate",
        ("flop per second", "flop a second", "achieved flop", "tflop per second", "gflop/s",
         "flop/s", "tflop/s", "achieved", "achieved rate"),
        achieved,
        under=("flop", "throughput"),
        absent="nothing takes time",
    ),
)  # fmt: skip
