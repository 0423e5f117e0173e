"""Chrome trace of the predicted run: the run, one slice per kernel, live bytes as a counter.

Format: the JSON array format of Chrome's trace events, which Perfetto and chrome://tracing read.
Source: Google, "Trace Event Format"; times are in microseconds. The phase of an event
("ph") is M for metadata, X for a slice with a duration, or C for a counter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfc.common.plain_text import printable
from perfc.common.version import __version__

from ..sections.kernels import KernelRow
from ..views import Views, headline
from .json_form import plain, strict

PROCESS, RUN, DEVICE, FLOOR = 1, 0, 1, 2
"""Identifiers of the process and its three tracks."""


def render(views: Views) -> str:
    """Return the trace: the whole run, and its kernels back to back in execution order.

    The run is longer or shorter than its kernels by its time outside them. Launches of one kernel
    in a loop are one slice; kernels do not overlap.
    """
    title = printable(headline(views))
    return written(title, [*tracks(views, title), whole(views), *slices(views)])


def written(title: str, events: Sequence[dict[str, object]]) -> str:
    """Return events as a document."""
    about = {"perfc": __version__, "title": title}
    return strict({"displayTimeUnit": "ns", "otherData": about, "traceEvents": events}) + "\n"


def named(process: int, words: str, track: int | None = None) -> Iterator[dict[str, object]]:
    """Yield the name of a process, or of one of its tracks; tracks are sorted by number."""
    event = {"ph": "M", "pid": process} | ({} if track is None else {"tid": track})
    yield {
        **event,
        "name": f"{'process' if track is None else 'thread'}_name",
        "args": {"name": words},
    }
    if track is not None:
        yield {**event, "name": "thread_sort_index", "args": {"sort_index": track}}


def tracks(views: Views, title: str) -> Iterator[dict[str, object]]:
    """Yield the names of the process and its tracks."""
    yield from named(PROCESS, title)
    is_predicted = views.prediction is not None
    for track, words in (
        (RUN, "run, predicted" if is_predicted else "run at measured rates"),
        (DEVICE, "kernels, predicted" if is_predicted else "kernels at measured rates"),
        (FLOOR, "lower bounds"),
    ):
        yield from named(PROCESS, words, track)


def whole(views: Views) -> dict[str, object]:
    """Return the slice of the whole run, as long as its predicted time."""
    run, floor_s = views.verdict.expected, views.verdict.floor_s
    facts = {"time_s": run.mid, "low_s": run.low, "high_s": run.high, "floor_s": floor_s}
    about = {"ph": "X", "pid": PROCESS, "tid": RUN, "name": "run", "ts": 0.0}
    return {**about, "dur": round(run.mid * 1e6, 4), "args": facts}


def slices(views: Views) -> Iterator[dict[str, object]]:
    """Yield each kernel, its lower bound from the same start, and the live bytes at its start."""
    live = dict(zip(views.memory.nodes, views.memory.live_bytes, strict=True))
    start_us = 0.0
    for row in views.kernels:
        time_us = row.time_s * 1e6
        about = {"ph": "X", "pid": PROCESS, "name": printable(row.label), "cat": row.kind}
        stamp = round(start_us, 4)  # to a tenth of a nanosecond
        yield {**about, "tid": DEVICE, "ts": stamp, "dur": round(time_us, 4), "args": facts(row)}
        yield {**about, "tid": FLOOR, "ts": stamp, "dur": round(row.floor_s * 1e6, 4)}
        # live bytes are those of a node: of a kernel's nodes the largest count
        alive = max((live[n] for n in row.nodes if n in live), default=None)
        if alive is not None:
            counter = {"ph": "C", "pid": PROCESS, "name": "live activation bytes", "ts": stamp}
            yield {**counter, "args": {"bytes": alive}}
        start_us += time_us


def facts(row: KernelRow) -> dict[str, object]:
    """Return the arguments of a slice, shown when it is selected."""
    arguments: dict[str, object] = {
        "kernel": row.index,
        "nodes": [printable(n) for n in row.nodes],
        "bound": row.bound,
        "dtype": row.dtype,
        "launches": row.launches,
        "floor_s": row.floor_s,
        "flop": row.flop.value,
        "read_bytes": row.read_bytes.value,
        "write_bytes": row.write_bytes.value,
        "intensity_flop_per_byte": row.intensity_flop_per_byte,
        "is_bound": row.is_bound,
    }
    if row.predicted is not None:
        arguments |= {"low_s": row.predicted.low_s, "high_s": row.predicted.high_s}
        arguments["predictor"] = row.predicted.predictor
    return {name: plain(value) for name, value in arguments.items()}
