"""Questions are answered from the report's fields, or refused."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc import cli
from perfc.api import Report, analyze
from perfc.study import ask as questions
from perfc.study.ask.answer import Answer, AnswerSource, every_fact
from perfc.study.ask.fact import Citation
from perfc.study.ask.topics import topics
from perfc.study.expenses import Prices
from perfc.view.report.formats.json_form import tree
from perfc.view.report.views import Views, collect
from perfc_lab.papers.gnn_llm.answers import worded

MODELS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "resnet50": ("a100", {"dims": {"batch": 8}}),
    "bert-base": ("l4", {"dims": {"batch": 4, "seq": 128}}),
    "gpt2": ("h100", {"runtime": "eager", "dtype": "bf16"}),
}
HERE = Path(__file__).parent
MODEL = "examples/models/resnet50.onnx.gz"


def rows(name: str) -> list[tuple[str, str, str]]:
    """Of a file: model, question, and the field that must be cited or part of the reason."""
    text = (HERE / name).read_text(encoding="utf-8")
    return [(m, q, told) for m, q, told in (line.split(" | ", 2) for line in text.splitlines())]


@cache
def analyzed(model: str) -> Report:
    target, how = MODELS[model]
    return analyze(f"examples/models/{model}.onnx.gz", target, **how)


@cache
def views(model: str) -> Views:
    return collect(analyzed(model))


def ask(model: str, question: str) -> Answer:
    return questions.ask(analyzed(model), views(model), question, Prices())


@cache
def written(model: str, command: str) -> dict[str, Any]:
    """The JSON of a command on a model."""
    name, *options = command.split()
    document = io.StringIO()
    with redirect_stdout(document):
        call = [name, f"examples/models/{model}.onnx.gz", *options, "--output-format", "json"]
        assert cli.run(call) == 0
    values: dict[str, Any] = json.loads(document.getvalue())
    return values


@cache
def report(model: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(tree(views(model))))
    return document


def resolved(path: str, document: dict[str, Any]) -> Any:
    """The value of a path, which is JMESPath of the few forms that answers use."""
    call = re.fullmatch(r"(sum|length)\(kernels(?:\[\?(.*)\])?((?:\.\w+)*)\)", path)
    if call is None:
        return at(path, document)
    chosen = [k for k in document["kernels"] if call[2] is None or meets(call[2], k)]
    values = [at(call[3].lstrip("."), k) if call[3] else k for k in chosen]
    return len(values) if call[1] == "length" else sum(values)


def at(path: str, value: Any) -> Any:
    for name, index, quoted in re.findall(r"(\w+)|\[(\d+)\]|\"([^\"]*)\"", path):
        value = value[int(index)] if index else value[name or quoted]
    return value


def meets(condition: str, kernel: dict[str, Any]) -> bool:
    """Whether a kernel is of a condition: comparisons with literals, joined by and, or or."""
    if " && " in condition:
        return all(meets(part.strip("()"), kernel) for part in condition.split(" && "))
    if " || " in condition:
        return any(meets(part, kernel) for part in condition.split(" || "))
    held = re.fullmatch(r"contains\(split\(label, ' \+ '\), '(\w+)'\)", condition)
    if held:
        return held[1] in kernel["label"].split(" + ")
    begins = re.fullmatch(r"starts_with\(title, '(.*)'\)", condition)
    if begins:
        return str(kernel["title"]).startswith(begins[1])
    field, wanted = condition.split("==")
    return str(at(field, kernel)) == wanted.strip("`'")


@pytest.mark.parametrize(("model", "question", "field"), rows("answered.txt"))
def test_the_right_field_is_cited_with_its_value(model: str, question: str, field: str) -> None:
    answer = ask(model, question)
    assert answer.is_answered, answer.reason
    cited = [c for fact in answer.facts for c in fact.citations]
    assert field in [c.path for c in cited], [c.path for c in cited]
    for citation in cited:
        value = resolved(citation.path, report(model))
        expected = pytest.approx(value) if isinstance(value, float) else value
        assert citation.value == expected, citation.path


@pytest.mark.parametrize(("model", "question", "door"), rows("what_if.txt"))
def test_other_settings_and_commands_have_their_numbers(
    model: str, question: str, door: str
) -> None:
    command, field = door.split(" | ")
    answer = ask(model, question)
    assert answer.is_answered, answer.reason
    cited = [c for fact in answer.facts for c in fact.citations]
    assert field in [c.path for c in cited], [c.path for c in cited]
    for citation in cited:
        value = resolved(citation.path, written(model, command))
        expected = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
        assert citation.value == expected, citation.path


def test_settings_that_no_analysis_has_are_one_line() -> None:
    answer = ask("gpt2", "How fast is it with a sequence length of 999999999?")
    assert not answer.is_answered
    assert answer.reason.startswith("with --seq 999999999: ")
    assert "\n" not in answer.reason
    assert answer.hint


@pytest.mark.parametrize(("model", "question", "reason"), rows("refused.txt"))
def test_what_the_report_does_not_hold_is_refused(model: str, question: str, reason: str) -> None:
    answer = ask(model, question)
    assert not answer.is_answered, answer.text
    assert answer.facts == ()
    assert reason in answer.reason
    assert answer.hint


def test_numbers_of_a_sentence_are_those_of_its_fields() -> None:
    answer = ask("resnet50", "How long does it take and how much memory does it need?")
    assert [fact.topic for fact in answer.facts] == ["predicted time", "memory"]
    v = views("resnet50").verdict
    assert f"{v.expected.mid * 1e3:.2f} ms" in answer.text
    assert f"{v.memory.weight_bytes / 2**20:.1f} MiB" in answer.text


@pytest.mark.parametrize("model", MODELS)
def test_every_fact_resolves_in_the_json(model: str) -> None:
    answer = every_fact(views(model))
    assert len(answer.facts) >= 40
    for fact in answer.facts:
        assert fact.citations, fact.topic
        for citation in fact.citations:
            value = resolved(citation.path, report(model))
            if isinstance(value, float):
                assert citation.value == pytest.approx(value), citation.path
            else:
                assert citation.value == value, citation.path


def test_topics_are_told_apart() -> None:
    names = [topic.name for topic in topics()]
    assert len(names) == len(set(names))
    assert {general for topic in topics() for general in topic.under} <= set(names)
    phrases = [phrase for topic in topics() for phrase in topic.phrases]
    assert sorted({p for p in phrases if phrases.count(p) > 1}) == []


@given(st.text(max_size=200))
def test_no_question_breaks_it(question: str) -> None:
    answer = ask("resnet50", question)
    assert answer.is_answered == bool(answer.facts)
    assert bool(answer.reason) != answer.is_answered


def test_a_long_question_ends() -> None:
    assert not ask("resnet50", "how long " * 100_000 + "is the poem").reason.count("\n")


def test_the_command_says_answers_and_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    how = ["-t", "a100", "--batch", "8"]
    assert cli.run(["ask", MODEL, "how long does it take?", *how]) == 0
    out = capsys.readouterr().out
    assert out.startswith("a run takes 1.84 ms (predicted)")
    assert "\n  verdict.expected.mid = 0.00184419 s\n" in out
    assert cli.run(["ask", MODEL, "is it accurate?", "does it fit?", *how]) == 1
    out = capsys.readouterr().out
    assert "> is it accurate?\nno answer: " in out
    assert "it fits: " in out


def test_json_holds_values_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["ask", MODEL, "what is the latency?", "who made it?", "-t", "a100", "--batch", "8"]
    assert cli.run([*call, "--output-format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "perfc-ask/1"
    answered, refused = document["answers"]
    assert answered["facts"][0]["citations"][0] == {
        "path": "verdict.expected.mid",
        "value": pytest.approx(views("resnet50").verdict.expected.mid),
        "unit": "s",
    }
    assert (refused["is_answered"], refused["facts"]) == (False, [])


def test_an_adapter_prints_no_number_that_the_report_does_not_hold() -> None:
    told = ask("resnet50", "Summarise the graph")
    written = (
        "The graph contains 175 nodes and 190 edges. The batch size is 8. The graph has "
        "65.7 GFLOPs, 26.5 million parameters, and 32.7 billion MACs. It takes 99 ms."
    )
    answer = worded(told, views("resnet50"), lambda _: written)
    assert answer.source is AnswerSource.ADAPTER
    assert answer.text == "175 nodes; batch size is 8; 65.7 GFLOPs; 32.7 billion MACs"
    paths = [c.path for c in answer.facts[0].citations]
    assert paths == [
        "coverage.nodes_executed", "assumptions.symbols[0].value", "summary.flop.value",
        "summary.mac.value",
    ]  # fmt: skip
    for wrong in (
        "",
        "The batch size is 9, 65.8 GFLOPs",
        "1e9 parameters",
        "8",
        "x175 nodes",
        "-175 nodes",
    ):
        assert worded(told, views("resnet50"), lambda _, w=wrong: w) == told  # type: ignore[misc]


def test_an_adapter_states_no_more_than_was_asked_and_no_refusal() -> None:
    v = views("resnet50")
    told = worded(ask("resnet50", "How many MACs?"), v, lambda _: "175 nodes and 32.7 billion MACs")
    assert told.text == "32.7 billion MACs"
    refused = ask("resnet50", "How accurate is it?")
    assert worded(refused, v, lambda _: "76.1 % of 65.7 GFLOPs") == refused


def test_a_citation_is_written_with_its_unit() -> None:
    mid = next(c for c in every_fact(views("gpt2")).facts[0].citations)
    assert isinstance(mid, Citation)
    assert mid.text.startswith(f"{mid.path} = ")
