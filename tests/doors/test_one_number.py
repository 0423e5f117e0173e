"""One question has one answer: every command and Python call gives the same number."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import perfc
from perfc.machine import load_machine, partition_of
from tests.doors.questions import (
    Ends,
    Question,
    analyzed,
    answer,
    check_of,
    drawn,
    ends,
    interval,
    rounded,
)

FULL = 300
"""Number of questions of the long test."""
PAYLOAD = '<script type="application/json" id="data">'
"""Start of the data of an HTML report."""


def of_python(q: Question) -> Ends:
    total = perfc.analyze(q.model, **q.values()).prediction.total
    return total.low_s, total.time_s, total.high_s


def of_sweep(q: Question) -> Ends:
    (point,) = answer("sweep", q.model, *q.words(batch=False), "--batch", str(q.batch))["points"]
    return ends(point)


def of_compare(q: Question) -> Ends:
    rows = answer("compare", q.model, *q.words(target=False), "-t", f"{q.target},a30")["rows"]
    return next(ends(r) for r in rows if r["target"] == load_machine(q.target).name)


def of_python_compare(q: Question) -> Ends:
    rows = perfc.compare(q.model, [q.target, "a30"], **q.values(target=False)).rows
    row = next(r.verdict for r in rows if r.verdict.target == load_machine(q.target).name)
    return row.expected.low, row.expected.mid, row.expected.high


def of_fit(q: Question) -> Ends:
    choices = answer("fit", q.model, *q.words(), codes=(0, 1))["choices"]
    return next(ends(c) for c in choices if c["title"] == "as given")


def of_cost(q: Question) -> Ends:
    items = answer("compare", q.model, *q.words())["rows"][0]["items_per_run"]
    row = answer("compare", q.model, *q.words(), "--items", str(4 * items))["rows"][0]
    low, mid, high = interval(row["time_s"])
    return low / row["runs"], mid / row["runs"], high / row["runs"]


def of_predict(q: Question) -> Ends:
    row = answer("analyze", "-q", q.model, *q.words())
    return row["low"], row["value"], row["high"]


def of_python_predict(q: Question) -> Ends:
    result = perfc.predict(q.model, **q.values())
    return result.low, result.value, result.high


def of_trace(q: Question) -> Ends:
    events = answer("analyze", q.model, *q.words(), "--output-format", "trace")["traceEvents"]
    (whole,) = (e for e in events if e["ph"] == "X" and e["name"] == "run")
    assert whole["dur"] == pytest.approx(whole["args"]["time_s"] * 1e6, abs=1e-4)
    return ends(whole["args"])


def of_check(q: Question) -> Ends:
    with TemporaryDirectory() as folder:
        (result,) = answer(*check_of(q, Path(folder)))["results"]
    time = next(f for f in result["figures"] if f["metric"] == "time")
    return time["low"], time["value"], time["high"]


DOORS: Mapping[str, Callable[[Question], Ends]] = {
    name.removeprefix("of_"): door
    for name, door in list(globals().items())
    if name.startswith("of_")
}
"""Ways to the time of a run, by name."""


def differences(q: Question) -> Iterator[str]:
    """Yield each answer that differs from that of ``perfc analyze``."""
    report = analyzed(q)
    expected = interval(report["verdict"]["expected"])
    for name, door in DOORS.items():
        if (given := rounded(door(q))) != rounded(expected):
            yield f"{name}: {given} instead of {rounded(expected)}: {q}"
    yield from differing_kernels(q, report)
    yield from differing_remedies(q, report)
    yield from differing_reviews(q, report)
    yield from differing_slices(q, report)
    yield from differing_memory(q, report)


def differing_memory(q: Question, report: Any) -> Iterator[str]:
    """Yield commands whose device memory differs from that of the first screen."""
    names, sized = ("weight_bytes", "activation_bytes", "context_bytes"), ("--batch", str(q.batch))
    expected = sum(report["verdict"]["memory"][name] for name in names)
    (point,) = answer("sweep", q.model, *q.words(batch=False), *sized)["points"]
    choices = answer("fit", q.model, *q.words(), codes=(0, 1))["choices"]
    given = {
        "full": report["memory"]["device"]["total_bytes"],
        "fit": choices[0]["memory"]["total_bytes"],
        "compare": answer("compare", q.model, *q.words())["rows"][0]["memory_bytes"],
        "sweep": point["memory_bytes"],
    }
    for name, nbytes in given.items():
        if nbytes != expected:
            yield f"memory of {name}: {nbytes:,} instead of {expected:,}: {q}"


def differing_kernels(q: Question, report: Any) -> Iterator[str]:
    """Yield kernels whose time differs between the report and other pages of it."""
    rows = report["kernels"]
    index = max(range(len(rows)), key=lambda i: rows[i]["predicted"]["time_s"])
    kernel = rows[index]["predicted"]
    explained = answer("explain", q.model, f"kernel:{index}", *q.words())["prediction"]
    time = interval(explained["prediction"]["time"])
    if rounded(time) != rounded(ends(kernel)):
        yield f"explain: {time} instead of {ends(kernel)}: kernel {index}, {q}"
    fixed_s, kernels_s = (report["prediction"][k]["value"] for k in ("fixed_s", "kernels_s"))
    if (
        math.fsum([*(r["predicted"]["time_s"] for r in rows), fixed_s])
        != (report["prediction"]["time_s"]["value"])
    ):
        yield f"kernels do not add up: {q}"
    named: dict[str, list[float]] = {}
    for row in rows:  # both gradients of a product have its name
        named.setdefault(row["anchor"], []).append(row["predicted"]["time_s"])
    for row in answer("diff", q.model, q.model, *q.words())["kernels"]:
        if row["launches_old"] == 1 and row["time_s_old"] not in named[row["node"]]:
            yield f"diff: {row['time_s_old']} instead of {named[row['node']]}: {row['node']}, {q}"
    page = answer("analyze", q.model, *q.words(), suffix="html")
    payload = json.loads(page.partition(PAYLOAD)[2].partition("</script>")[0])["reports"][0]
    if (payload["time_s"], payload["kernels_s"]) != (
        report["verdict"]["expected"]["mid"],
        kernels_s,
    ):
        yield f"html: {payload['time_s']}, kernels {payload['kernels_s']}: {q}"
    yield from differing_nodes(q, kernels_s, report)


def differing_nodes(q: Question, kernels_s: float, report: Any) -> Iterator[str]:
    """Yield times that ``roofline`` and ``annotate`` give to the kernels, where they differ."""
    drawn_rows = answer("roofline", q.target, q.model, *q.words(target=False))["kernels"]
    named: dict[tuple[str, ...], list[float]] = {}
    for row in report["kernels"]:
        named.setdefault(tuple(row["nodes"]), []).append(row["predicted"]["time_s"])
    for row in drawn_rows:
        if row["time_s"] not in named[tuple(row["nodes"])]:
            yield f"roofline: {row['time_s']} is no time of {row['nodes'][0]}: {q}"
    if q.train:
        return
    page = answer("analyze", q.model, *q.words(), suffix="onnx")
    properties = (p for node in page.graph.node for p in node.metadata_props)
    total_s = sum(float(p.value) for p in properties if p.key == "perfc.predicted_s")
    if total_s != pytest.approx(kernels_s, rel=1e-5):
        yield f"annotate: {total_s} instead of {kernels_s}: {q}"


def differing_remedies(q: Question, report: Any) -> Iterator[str]:
    """Yield changes whose printed time differs from the analysis of the changed run."""
    for remedy in report["bottlenecks"]["remedies"]:
        option = remedy["option"].split()
        if not option or option[0] not in ("--batch", "--dtype", "--runtime"):
            continue
        words, (flag, value) = q.words(), option
        at = words.index(flag) if flag in words else len(words)
        words[at : at + 2] = [flag, value]
        then = answer("analyze", q.model, *words)["verdict"]["expected"]["mid"]
        if then != pytest.approx(remedy["time_s"], rel=1e-12):
            yield f"remedy {remedy['option']}: {remedy['time_s']} instead of {then}: {q}"


def differing_reviews(q: Question, report: Any) -> Iterator[str]:
    """Yield times of ``lint`` and ``diff`` that differ from the report's."""
    expected = report["verdict"]["expected"]["mid"]
    (file,) = answer("lint", q.model, *q.words(), "--exit-zero")["files"]
    totals = answer("diff", q.model, q.model, *q.words())["totals"]
    time = next(row for row in totals if row["metric"] == "time")
    for name, value in (("lint", file["time_s"]), ("diff", time["old"]), ("diff", time["new"])):
        if value != expected:
            yield f"{name}: {value} instead of {expected}: {q}"


def differing_slices(q: Question, report: Any) -> Iterator[str]:
    """Yield rows of ``mig`` that differ from the analysis of the card or of a slice."""
    if partition_of(load_machine(q.target)) is None:
        return
    page = answer("mig", q.model, *q.words(), codes=(0, 1))
    expected = interval(report["verdict"]["expected"])
    if rounded(ends(page["card"])) != rounded(expected):
        yield f"mig: {ends(page['card'])} instead of {rounded(expected)}: {q}"
    one = page["slices"][q.batch % len(page["slices"])]
    on_slice = replace(q, target=f"{q.target}/{one['profile']}")
    expected = interval(analyzed(on_slice)["verdict"]["expected"])
    if rounded(ends(one["row"])) != rounded(expected):
        yield f"mig: {ends(one['row'])} instead of {rounded(expected)}: {on_slice}"


@pytest.mark.parametrize("question", [*drawn(1, 59), *drawn(1, 66)], ids=str)
def test_every_door_gives_the_same_number(question: Question) -> None:
    assert not list(differences(question))


@pytest.mark.long
@pytest.mark.parametrize("question", tuple(drawn(FULL, 59)), ids=str)
def test_every_door_gives_the_same_number_to_many_questions(question: Question) -> None:
    assert not list(differences(question))
