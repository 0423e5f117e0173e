"""Answers worded by a trained graph and language model; numbers are the report's or not printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import ModelError
from perfc.ir.graph import Basis
from perfc.study.ask.answer import Answer, AnswerSource
from perfc.study.ask.fact import Citation, ReportFact, cite
from perfc.view.report.units import Unit

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.view.report.views import Views

Writer = Callable[[str], str]
"""What a language model writes to a question on the model of the report."""
COUNT = r"[0-9]{1,9}(?:\.[0-9]{1,9})?(?: (?:thousand|million|billion|trillion|quadrillion))?"
STATED = re.compile(
    r"(?<![\w.-])(?:"
    rf"(?P<batch>batch size is (?P<batch_n>{COUNT}))\b|(?P<nodes>(?P<nodes_n>{COUNT}) nodes)"
    rf"|(?P<flop>(?P<flop_n>{COUNT} [kMGTP]?FLOPs))|(?P<mac>(?P<mac_n>{COUNT}) MACs)"
    rf"|(?P<parameters>(?P<parameters_n>{COUNT}) parameters)|(?P<time>(?P<time_n>{COUNT} ms)))"
)
"""Statements whose numbers a report holds; a model's other words are not facts."""
MOST_CHARACTERS = 20_000
"""Of an answer that is read."""


def opened(folder: Path, report: Report) -> Writer:
    """The writer of a folder, asked about the model of a report.

    Raises:
        PerfcError: the folder has no trained stages, or the batch of the model is not known.
        MissingExtraError: without PyTorch, transformers or peft.
    """
    from perfc.analyzers.graph.encode import encode_module
    from perfc.analyzers.whole_runs.estimate import batch_symbol
    from perfc_lab.papers.gnn_llm.extra import need_extra

    need_extra()
    from perfc_lab.papers.gnn_llm.writer import GraphWriter

    symbol = batch_symbol(report.source)
    if symbol is None:
        raise ModelError(
            "--adapter needs a model with a symbolic batch", where=report.path,
            hint="export it with a dynamic batch, or omit --adapter",
        )  # fmt: skip
    writer = GraphWriter(folder)
    fixed = {name: value for name, value in report.env.items() if name != symbol}
    graph = encode_module(report.source.name, report.source, (), fixed)
    batch = report.env[symbol]
    # the same for every question: it is asked once
    return lru_cache(1)(lambda question: writer.write(graph, batch, question))


def worded(answer: Answer, views: Views, writer: Writer) -> Answer:
    """The answer in the writer's words, where those state numbers that the report's answer has.

    It is asked for the summary that stage 2 taught it. Every statement is compared with the report
    to the digits that it has; one that the report does not hold is not printed. Where none is left
    the answer stays the report's.
    """
    from perfc_lab.papers.gnn_llm.descriptions import SUMMARISE

    if not answer.is_answered:
        return answer
    cited = {c.path for fact in answer.facts for c in fact.citations}
    held = [
        (text, citation)
        for text, citation in statements(writer(SUMMARISE)[:MOST_CHARACTERS], views)
        if citation.path in cited
    ]
    if not held:
        return answer
    text = "; ".join(dict.fromkeys(text for text, _ in held))
    citations = tuple(dict.fromkeys(citation for _, citation in held))
    facts = (ReportFact("adapter", text, citations),)
    return replace(answer, source=AnswerSource.ADAPTER, text=text, facts=facts)


def statements(written: str, views: Views) -> Iterator[tuple[str, Citation]]:
    """What a text states that the report holds, with the field."""
    from perfc_lab.papers.gnn_llm.numbers import count_of, flop_of, latency_text, significant

    known = {name: citation for name, citation in fields(views) if citation.value is not None}
    for statement in STATED.finditer(written):
        name = next(n for n in NAMES if statement[n] is not None)
        number = statement[f"{name}_n"]
        if name not in known:
            continue
        value = known[name].value
        assert isinstance(value, float | int)
        match name:
            case "time":
                is_held = value > 0 and number == latency_text(value)
            case "batch":
                is_held = count_of(number) == value
            case "flop":
                is_held = flop_of(number) == significant(round(value))
            case _:
                is_held = count_of(number) == significant(round(value))
        if is_held:
            yield statement[name], known[name]


NAMES = ("batch", "nodes", "flop", "mac", "parameters", "time")


def fields(views: Views) -> Iterator[tuple[str, Citation]]:
    """The fields that statements are compared with."""
    for i, symbol in enumerate(views.assumptions.symbols):
        if symbol.basis == Basis.BATCH.value:
            yield "batch", cite(views, f"assumptions.symbols[{i}].value", Unit.COUNT)
    yield "nodes", cite(views, "coverage.nodes_executed", Unit.COUNT)
    for name in ("flop", "mac", "parameters"):
        yield name, cite(views, f"summary.{name}")
    yield "time", cite(views, "verdict.expected.mid", Unit.SECOND)
