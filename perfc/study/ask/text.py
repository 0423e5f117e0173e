"""Text and JSON output of answers, schema ``perfc-ask/1``."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.view.report.formats.json_form import enveloped, strict

from .answer import SCHEMA, Answer, Answers, AnswerSource


def render_text(answers: Answers) -> str:
    """Return the answers as text, each fact with the fields of its numbers."""
    return "".join(f"{line}\n" for line in every_line(answers))


def every_line(answers: Answers) -> Iterator[str]:
    """Yield the lines of all answers; with several, questions come first."""
    for i, answer in enumerate(answers.answers):
        if len(answers.answers) > 1:
            yield from ([""] if i else [])
            yield f"> {answer.question}"
        yield from lines(answer)


def lines(answer: Answer) -> Iterator[str]:
    """Yield one line per fact and one indented line per field."""
    if not answer.is_answered:
        yield f"no answer: {answer.reason}"
        if answer.hint:
            yield f"  try: {answer.hint}"
        return
    if answer.source is AnswerSource.ADAPTER:
        yield answer.text
    for fact in answer.facts:
        if answer.source is AnswerSource.REPORT:
            yield fact.text
        yield from (f"  {citation.text}" for citation in fact.citations)


def render_json(answers: Answers) -> str:
    """Return the answers as JSON."""
    return strict(enveloped(SCHEMA, answers), indent=2) + "\n"
