"""Answers as text, and as JSON of schema ``perfc-ask/1``."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.report.json_form import enveloped, strict

from .answer import SCHEMA, Answer, Answers, Source


def render_text(said: Answers) -> str:
    """The answers, each fact with the fields of the report that its numbers are from."""
    return "".join(f"{line}\n" for line in every_line(said))


def every_line(said: Answers) -> Iterator[str]:
    """Answers one below the other; several have their questions above."""
    for i, answer in enumerate(said.answers):
        if len(said.answers) > 1:
            yield from ([""] if i else [])
            yield f"> {answer.question}"
        yield from lines(answer)


def lines(answer: Answer) -> Iterator[str]:
    """One line for a fact, one indented for a field."""
    if not answer.is_answered:
        yield f"no answer: {answer.reason}"
        if answer.hint:
            yield f"  try: {answer.hint}"
        return
    if answer.source is Source.ADAPTER:
        yield answer.text
    for fact in answer.facts:
        if answer.source is Source.REPORT:
            yield fact.text
        yield from (f"  {citation.text}" for citation in fact.citations)


def render_json(said: Answers) -> str:
    """The answers as a document."""
    return strict(enveloped(SCHEMA, said), indent=2) + "\n"
