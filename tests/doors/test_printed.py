"""Printed times of one question have the digits of the JSON report, on every page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from perfc.view.report.units import Unit, quantity, span
from tests.doors.questions import Question, analyzed, answer, check_of, drawn, printed

FULL = 40
"""Number of questions of the long test."""


def differing_pages(q: Question, folder: Path) -> Iterator[str]:
    """Yield pages on which the predicted time or its interval is printed with other digits."""
    expected = analyzed(q)["verdict"]["expected"]
    time = quantity(expected["mid"], Unit.SECOND)
    ends = span(expected["low"], expected["high"], Unit.SECOND)
    report = ("analyze", q.model, *q.words())
    pages = {
        "screen": printed(*report),
        "full": printed(*report, "--full"),
        "quiet": printed(*report, "--quiet"),
        "markdown": answer(*report, "--output-format", "markdown", suffix="md"),
        "html": html.unescape(re.sub("<[^>]*>", " ", answer(*report, suffix="html"))),
    }
    for name, page in pages.items():
        given = page.partition('"time_s"')[0]
        if not re.search(rf"(?<![\d.]){re.escape(time)}", given):
            yield f"{name}: no {time}: {q}"
        if ends not in given and f"{ends.replace(' to', ' ms to', 1)}" not in given:
            yield f"{name}: no {ends}: {q}"
    checked = check_of(q, folder)
    (folder / "check.json").write_text(json.dumps(answer(*checked)))
    comment = printed("check", "--comment", str(folder / "check.json"), "--policy", "always")
    for name, page in (("check", printed(*checked)), ("comment", comment)):
        if time not in page:
            yield f"{name}: no {time}: {q}"


@pytest.mark.parametrize("question", tuple(drawn(1, 59)), ids=str)
def test_every_page_prints_the_same_digits(question: Question, tmp_path: Path) -> None:
    assert not list(differing_pages(question, tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("question", tuple(drawn(FULL, 60)), ids=str)
def test_every_page_prints_the_same_digits_to_many_questions(
    question: Question, tmp_path: Path
) -> None:
    assert not list(differing_pages(question, tmp_path))


RATIO = re.compile(r"([\d.]+) ?×(?! [\da-z]*-)")
"""A ratio; machines of a name follow their count."""


def test_no_page_prints_a_ratio_above_a_hundred_or_a_time_below_a_nanosecond(
    tmp_path: Path,
) -> None:
    tiny, big = (written(tmp_path / f"{size}.onnx", size) for size in (1, 2048))
    calls = [
        ("analyze", tiny, "-t", "b200"),
        ("analyze", tiny, "-t", "b200", "--full"),
        ("diff", tiny, big, "-t", "a100"),
        ("diff", big, tiny, "-t", "a100"),
        ("sweep", tiny, "--batch", "1:65536:*16", "-t", "a100"),
        ("llm", "llama-3.1-8b", "-t", "h100", "--rate", "0.001"),
        ("fit", tiny, "-t", "a100"),
    ]
    for call in calls:
        page = printed(*call)
        assert "<1 ns" in page or call[0] == "fit", page
        assert not re.search(r"\d ps\b|≥ <|[+-]<|\d{5} %", page), page
        assert all(float(times) <= 100 for times in RATIO.findall(page)), page


def written(path: Path, size: int) -> str:
    """Write a product with a square of weights."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    weights = [numpy_helper.from_array(np.ones((size, size), np.float32), "w")]
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name in "xy"
    )
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return str(path)
