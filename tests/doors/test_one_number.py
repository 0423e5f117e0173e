"""One question has one answer: every command and Python call gives the same number."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import perfc
from perfc.cli import run
from perfc.machine import load_machine

MODELS = Path(__file__).parents[2] / "examples" / "models"
NETWORKS = {
    "resnet50": {}, "vit-b16": {}, "swin-t": {}, "bert-base": {"seq": 128}, "gpt2": {"seq": 64},
}  # fmt: skip
"""Models with the sizes that they need beside the batch."""
TARGETS = (
    "a100", "h100", "t4", "l4", "v100", "rtx4090", "b200", "a10g", "l40s", "h200", "rtx3090",
    "rtx5090", "mi300x", "jetson-agx-orin-64gb",
)  # fmt: skip
RUNTIMES = ("ort", "eager", "tensorrt", "inductor", "cudagraph", "torchscript")
DTYPES = ("", "f16", "tf32")
FULL = 300
"""Number of questions of the long test."""
PAYLOAD = '<script type="application/json" id="data">'
"""Start of the data of an HTML report."""
Ends = tuple[float, float, float]
"""Lower end, predicted value and upper end."""


@dataclass(frozen=True)
class Question:
    """A model, and how it is run.

    Args:
        network: name of an example model.
        batch: its batch.
        target: machine.
        runtime: software that runs it.
        dtype: what-if precision; "" for that of the model.
    """

    network: str
    batch: int
    target: str
    runtime: str
    dtype: str

    @property
    def model(self) -> str:
        """Path of the model."""
        return str(MODELS / f"{self.network}.onnx.gz")

    def words(self, *, batch: bool = True, target: bool = True) -> list[str]:
        """Return the options of a command line."""
        sizes = {**NETWORKS[self.network], **({"batch": self.batch} if batch else {})}
        given = {**sizes, "runtime": self.runtime, **({"target": self.target} if target else {})}
        given |= {"dtype": self.dtype} if self.dtype else {}
        return [word for name, value in given.items() for word in (f"--{name}", str(value))]

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of a Python call."""
        given = {"batch": self.batch, "runtime": self.runtime, **NETWORKS[self.network]}
        return given | ({"dtype": self.dtype} if self.dtype else {})


def drawn(count: int, seed: int) -> Iterator[Question]:
    """Yield random questions."""
    r = random.Random(seed)
    for _ in range(count):
        yield Question(
            r.choice(tuple(NETWORKS)), r.choice((1, 2, 8, 32)), r.choice(TARGETS),
            r.choice(RUNTIMES), r.choice(DTYPES),
        )  # fmt: skip


def answer(*words: str, codes: tuple[int, ...] = (0,), suffix: str = "json") -> Any:
    """Run a command line in this process and return the JSON that it writes."""
    with TemporaryDirectory() as folder:
        path, errors = Path(folder) / f"answer.{suffix}", StringIO()
        with redirect_stdout(StringIO()), redirect_stderr(errors):
            code = run([*words, "-o", str(path)])
        assert code in codes, (words, errors.getvalue())
        return json.loads(path.read_text()) if suffix == "json" else path.read_text()


def rounded(times_s: Ends) -> Ends:
    """Return times to twelve digits: sums in another order differ in the last ones."""
    low, mid, high = (float(f"{x:.12g}") for x in times_s)
    return low, mid, high


def ends(row: Mapping[str, Any]) -> Ends:
    """Return the interval of a row."""
    return row["low_s"], row["time_s"], row["high_s"]


def interval(row: Mapping[str, float]) -> Ends:
    """Return the ends of an interval."""
    return row["low"], row["mid"], row["high"]


@cache
def analyzed(q: Question) -> Any:
    """Return the JSON report of a question, the answer that every other one must equal."""
    return answer("analyze", q.model, *q.words())


def of_python(q: Question) -> Ends:
    total = perfc.analyze(q.model, q.target, **q.keywords()).prediction.total
    return total.low_s, total.time_s, total.high_s


def of_sweep(q: Question) -> Ends:
    (point,) = answer("sweep", q.model, *q.words(batch=False), "--batch", str(q.batch))["points"]
    return ends(point)


def of_compare(q: Question) -> Ends:
    rows = answer("compare", q.model, *q.words(target=False), "-t", f"{q.target},a30")["rows"]
    return next(ends(r) for r in rows if r["target"] == load_machine(q.target).name)


def of_python_compare(q: Question) -> Ends:
    rows = perfc.compare(q.model, [q.target, "a30"], **q.keywords()).to_dict()["rows"]
    return next(ends(r) for r in rows if r["target"] == load_machine(q.target).name)


def of_fit(q: Question) -> Ends:
    choices = answer("fit", q.model, *q.words(), codes=(0, 1))["choices"]
    return next(ends(c) for c in choices if c["title"] == "as given")


def of_cost(q: Question) -> Ends:
    items = answer("compare", q.model, *q.words())["rows"][0]["items_per_run"]
    row = answer("cost", q.model, *q.words(), "--items", str(4 * items))["rows"][0]
    low, mid, high = interval(row["time_s"])
    return low / row["runs"], mid / row["runs"], high / row["runs"]


def of_ask(q: Question) -> Ends:
    (one,) = answer("ask", q.model, "how long does it take?", *q.words())["answers"]
    values = {c["path"]: c["value"] for fact in one["facts"] for c in fact["citations"]}
    low, mid, high = (values[f"verdict.expected.{end}"] for end in ("low", "mid", "high"))
    return low, mid, high


def of_html(q: Question) -> Ends:
    page = answer("analyze", q.model, *q.words(), suffix="html")
    payload = json.loads(page.partition(PAYLOAD)[2].partition("</script>")[0])
    time_s = payload["reports"][0]["time_s"]
    low, _, high = interval(analyzed(q)["verdict"]["expected"])
    return low, time_s, high


def of_predict(q: Question) -> Ends:
    # its default is autocast, that of the others the type of the model
    row = answer("predict", q.model, *q.words(), *(() if q.dtype else ("--dtype", "f32")))
    return row["low"], row["value"], row["high"]


DOORS: Mapping[str, Callable[[Question], Ends]] = {
    name.removeprefix("of_"): door for name, door in list(globals().items())
    if name.startswith("of_")
}  # fmt: skip
"""Ways to the time of a run, by name."""


def differences(q: Question) -> Iterator[str]:
    """Yield each answer that differs from that of ``perfc analyze``."""
    report = analyzed(q)
    expected = interval(report["verdict"]["expected"])
    for name, door in DOORS.items():
        if (given := rounded(door(q))) != rounded(expected):
            yield f"{name}: {given} instead of {rounded(expected)}: {q}"
    yield from of_kernels(q, report)
    yield from of_remedies(q, report)
    yield from of_reviews(q, report)


def of_kernels(q: Question, report: Any) -> Iterator[str]:
    """Yield kernels whose time differs between the report, ``explain`` and ``diff``."""
    rows = report["kernels"]
    index = max(range(len(rows)), key=lambda i: rows[i]["predicted"]["time_s"])
    kernel = rows[index]["predicted"]
    explained = answer("explain", q.model, f"kernel:{index}", *q.words())["prediction"]
    time = interval(explained["prediction"]["time"])
    if rounded(time) != rounded(ends(kernel)):
        yield f"explain: {time} instead of {ends(kernel)}: kernel {index}, {q}"
    outside_s = report["prediction"]["outside_kernels_s"]["value"]
    kernels_s = report["prediction"]["kernels_s"]["value"]
    if abs(kernels_s + outside_s - report["prediction"]["time_s"]["value"]) > 1e-12:
        yield f"kernels do not add up: {q}"
    named = {r["anchor"]: r["predicted"]["time_s"] for r in rows}
    for row in answer("diff", q.model, q.model, *q.words())["kernels"]:
        if row["launches_old"] == 1 and row["time_s_old"] != named[row["node"]]:
            yield f"diff: {row['time_s_old']} instead of {named[row['node']]}: {row['node']}, {q}"


def of_remedies(q: Question, report: Any) -> Iterator[str]:
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


def of_reviews(q: Question, report: Any) -> Iterator[str]:
    """Yield times of ``lint`` and ``diff`` that differ from the report's."""
    expected = report["verdict"]["expected"]["mid"]
    (file,) = answer("lint", q.model, *q.words(), "--exit-zero")["files"]
    totals = answer("diff", q.model, q.model, *q.words())["totals"]
    time = next(row for row in totals if row["metric"] == "time")
    for name, value in (("lint", file["time_s"]), ("diff", time["old"]), ("diff", time["new"])):
        if value != expected:
            yield f"{name}: {value} instead of {expected}: {q}"


@pytest.mark.parametrize("question", tuple(drawn(3, 58)), ids=str)
def test_every_door_gives_the_same_number(question: Question) -> None:
    assert not list(differences(question))


@pytest.mark.long
@pytest.mark.parametrize("question", tuple(drawn(FULL, 59)), ids=str)
def test_every_door_gives_the_same_number_to_many_questions(question: Question) -> None:
    assert not list(differences(question))
