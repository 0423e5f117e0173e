"""Device memory: what a run needs, and what the machine has."""

from __future__ import annotations

from perfc.view.report.units import Unit, quantity
from perfc.view.report.views import Views

from ..fact import ReportFact, Topic, cite, fact, listed, shown


def need(views: Views) -> ReportFact | None:
    """Return weights, activations and context against the capacity."""
    m = views.verdict.memory
    weights = cite(views, "verdict.memory.weight_bytes", Unit.BYTE)
    activations = cite(views, "verdict.memory.activation_bytes", Unit.BYTE)
    capacity = cite(views, "verdict.memory.capacity_bytes", Unit.BYTE)
    context = cite(views, "verdict.memory.context_bytes", Unit.BYTE)
    of = f" of {shown(capacity)}" if capacity.value is not None else ""
    least = "at least " if m.is_bound else ""
    text = (
        f"{least}{quantity(m.total_bytes, Unit.BYTE)}{of}: weights {shown(weights)}, "
        f"activations {shown(activations)}, context {shown(context)}"
    )
    return fact("memory", text, weights, activations, context, capacity)


def room(views: Views) -> ReportFact | None:
    """Return whether the run fits on the device, with allocator and driver."""
    device = views.memory.device
    if device is None or device.fits is None:
        return None
    fits = cite(views, "memory.device.fits")
    total = cite(views, "memory.device.total_bytes", Unit.BYTE)
    capacity = cite(views, "memory.device.capacity_bytes", Unit.BYTE)
    verdict = "it fits" if device.fits else "it does not fit"
    text = f"{verdict}: {shown(total)} of {shown(capacity)} on {views.verdict.machine}"
    return fact("fit", text, fits, total, capacity)


def footprint(views: Views) -> ReportFact | None:
    """Return the device memory of the process and its parts."""
    device = views.memory.device
    if device is None:
        return None
    names = ("total_bytes", "reserved_bytes", "live_bytes")
    total, reserved, live = (cite(views, f"memory.device.{n}", Unit.BYTE) for n in names)
    parts = [
        cite(views, f"memory.device.parts[{i}].nbytes", Unit.BYTE) for i in range(len(device.parts))
    ]
    words = [f"{p.name} {shown(c)}" for p, c in zip(device.parts, parts, strict=True)]
    text = (
        f"{shown(total)} as reported by the driver, {shown(reserved)} of it reserved by "
        f"{device.allocator}, {shown(live)} live: {listed(words)}"
    )
    return fact("footprint", text, total, reserved, live, *parts)


def weights(views: Views) -> ReportFact | None:
    """Return the size of the stored tensors."""
    stored = cite(views, "verdict.memory.weight_bytes", Unit.BYTE)
    return fact("weights", f"the weights take {shown(stored)}", stored)


def activations(views: Views) -> ReportFact | None:
    """Return the peak of live activations."""
    peak = cite(views, "summary.peak_activation_bytes", Unit.BYTE)
    node = cite(views, "summary.peak_node")
    where = f", while {node.value} runs" if node.value else ""
    text = f"activations take {shown(peak)} at their peak{where}"
    return fact("activations", text, peak, node)


def largest(views: Views) -> ReportFact | None:
    """Return the largest tensors that are live at the peak."""
    alive = views.memory.at_peak
    if not alive:
        return None
    cited = [cite(views, f"memory.at_peak[{i}].nbytes") for i in range(len(alive))]
    words = [f"{v.name} {v.type} {shown(c)}" for v, c in zip(alive, cited, strict=True)]
    return fact("largest tensors", f"live at the peak: {listed(words)}", *cited)


def capacity(views: Views) -> ReportFact | None:
    """Return the device memory of the machine."""
    has = cite(views, "verdict.memory.capacity_bytes", Unit.BYTE)
    return fact("capacity", f"{views.verdict.machine} has {shown(has)} of device memory", has)


TOPICS = (
    Topic(
        "memory",
        (
            "memory", "vram", "ram", "how much memory", "memory use", "memory usage",
            "peak memory use|usage|consumption|need", "peak memory",
            "memory consumption", "memory need", "memory requirement", "hbm", "gpu memory",
            "device memory", "memory does it need",
        ),
        need,
    ),
    Topic(
        "fit",
        (
            "fit", "fit in", "fit on", "fit into", "out of memory", "oom", "enough memory",
            "run out of memory", "fit in memory", "fit into memory", "fit in the memory",
            "large enough", "left over", "memory left", "memory is left", "vram left",
            "vram is left",
            "free memory", "memory is free",
        ),
        room,
        under=("memory", "capacity"),
        absent="the target does not say how much memory the machine has",
    ),
    Topic(
        "footprint",
        (
            "footprint", "memory footprint", "reserved", "allocator", "nvidia smi", "allocated",
            "memory made of", "where does the memory go", "memory breakdown", "workspace",
            "context take", "reserve",
        ),
        footprint,
        under=("memory",),
        absent="the target does not say what a device holds",
    ),
    Topic(
        "weights",
        ("weight", "size of the weight", "weight memory", "model size", "size of the model",
         "big is the model", "large is the model"),
        weights,
        under=("memory",),
    ),
    Topic(
        "activations",
        ("activation", "peak activation", "activation memory", "peak happen", "peak node",
         "where is the peak", "memory peak", "peak memory node", "memory highest", "peak"),
        activations,
        under=("memory",),
    ),
    Topic(
        "largest tensors",
        ("largest tensor", "biggest tensor", "alive at the peak", "largest activation",
         "biggest activation", "live at the peak", "which tensor"),
        largest,
        under=("memory", "activations"),
        absent="no tensor is live besides the weights",
    ),
    Topic(
        "capacity",
        ("capacity", "memory capacity", "memory does the gpu have", "memory has the gpu",
         "memory does the machine have", "memory is there", "memory does the device have",
         "memory does the card have", "available memory", "memory available"),
        capacity,
        under=("memory",),
        absent="the target does not say how much memory the machine has",
    ),
)  # fmt: skip
