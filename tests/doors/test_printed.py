"""Printed times of one question have the digits of the JSON report, on every page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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
