"""``perfc ask``: answer questions about a model from its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.deployment import DeploymentOptions, model_options
from ..shared.examples import examples
from ..shared.help import grouped_command
from ..shared.output import emit, format_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.api import Report
    from perfc.study.ask.answer import Answer
    from perfc.view.report.views import Views

FINDINGS = 1
DOCUMENT = ("ask", "perfc.study.ask.answer:Answers")
"""JSON document of the command, and the type that defines its schema."""


@grouped_command(
    "ask",
    epilog=examples(
        'ask model.onnx "how long does it take?" -t a100',
        'ask model.onnx "what limits it?" "does it fit?" -t l4 --batch 8',
    ),
)
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("questions", metavar="[QUESTION]...", nargs=-1)
@click.option(
    "--adapter", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Adapter from `perfc train gnn-llm` that phrases the answer.",
)  # fmt: skip
@format_options("text", "json")
@model_options
def command(
    options: DeploymentOptions,
    model: str,
    questions: tuple[str, ...],
    adapter: Path | None,
    form: str,
    output: Path | None,
) -> int:
    """Answer QUESTIONs about MODEL from its report, citing the field of each number.

    Without a QUESTION every fact is listed. Questions about another machine, precision, runtime or
    size run an analysis; batch sizes, prices and other machines are those of `perfc fit`, `cost`
    and `compare`. Other questions are refused with exit code 1. No language model is needed.
    """
    from perfc.common.plain_text import say
    from perfc.study.ask.answer import Answers, AnswerSource, every_fact
    from perfc.study.ask.text import render_json, render_text
    from perfc.study.ask.what_if import ask
    from perfc.study.expenses import Prices
    from perfc.view.report.views import collect

    report = options.report(model)
    views = collect(report)
    prices = Prices.read(options.file)
    said = [ask(report, views, q, prices) for q in questions] or [every_fact(views)]
    if adapter is not None:
        said = in_words_of(adapter, report, views, said)
        if not any(answer.source is AnswerSource.ADAPTER for answer in said):
            note = "the adapter wrote no number that the report holds; the report answers"
            say(f"note: {note}", is_error=True)
    answers = Answers(views.verdict.model, views.verdict.target, tuple(said))
    emit(render_json(answers) if form == "json" else render_text(answers), output)
    return 0 if answers.is_answered else FINDINGS


def in_words_of(
    folder: Path, report: Report, views: Views, answers: Sequence[Answer]
) -> list[Answer]:
    """Return answers worded by a trained writer, whose code another distribution has.

    Raises:
        MissingExtraError: it is not installed.
    """
    from importlib import import_module

    from perfc.common import plugins
    from perfc.errors import MissingExtraError

    module = next(plugins.modules(plugins.WRITERS), None)
    if module is None:
        raise MissingExtraError("--adapter needs perfc-lab", hint=plugins.LAB_HINT)
    writers = import_module(module)
    writer = writers.opened(folder, report)
    return [writers.worded(answer, views, writer) for answer in answers]
