"""Write the page of `perfc eval gnn-llm`: tables of the thesis, Chapter 7, and verdicts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import Say
from perfc.analyzers.graph.store import write_file
from perfc.ir.record import record

from ...board import BoardTable, columns
from ..networks.train import one_thread
from ..reproduction.charts import write_curve
from ..reproduction.page import Done
from ..reproduction.page import board as tables_board
from ..reproduction.published import PaperTable
from ..reproduction.runs import Job, Preset, stored
from .alignment import alone
from .checkpoints import Stages
from .corpus import drawn_batch
from .features import GraphFeatures
from .presets import PAPER
from .projection import Readout
from .stages import adaptable
from .tables import GIN, NEITHER, OURS, PHYSICS, TABLES
from .tuning import LONGEST_LATENCY

# file of the page, and the folder of its charts
PAGE, CHARTS = "gnn_llm_tables.md", "gnn_llm"
TIMED_GRAPHS = 16
"""Number of graphs whose answers are timed; one more runs first, untimed, as it loads code and
weights."""
LONGEST_S = 0.5
"""Maximum processor time of an answer, in seconds, for the verdict "yes"."""
POINTS = 0.03
"""Minimum gain of Acc(10) for the verdict that pre-training helps: 3 percentage points."""
INTRODUCTION = (
    "Chapter 7 of the thesis on the rows that perfc can fetch. Each cell is the mean of the seeds "
    "with the deviation between them. *paper* is the thesis's own number, of its rows, machines "
    "and language model: lines are compared, not numbers. {model} Each training had at most "
    "{limit_s:,.0f} s of processor time after its graphs were read; seeds {seeds}; {done} of "
    "{all} trainings are there. *Failed answers* are no latency; the usual time of the rows "
    "trained on stands for them. An epoch of a network with a language model is {rows} rows."
)


@record
class LanguageModelTables:
    """Results that the page is made from.

    Args:
        tables: requested tables of the thesis.
        seeds: requested random seeds.
        graphs: folder of the data sets.
        folder: folder of the results of trainings.
        size: size of the trainings.
        stages: stages 0 to 2, which the trainings of language models begin from.
        has_charts: whether curves are drawn too.
    """

    tables: Sequence[PaperTable]
    seeds: Sequence[int]
    graphs: Path
    folder: Path
    size: Preset
    stages: Stages
    has_charts: bool = False

    @property
    def is_faithful(self) -> bool:
        """Return True if baselines are trained by the recipes of their papers.

        Their papers train as long as the preset `PAPER`; shorter presets compare baselines that are
        trained by perfc's shorter recipes.
        """
        return self.stages.card.preset == PAPER

    def results(self, table: PaperTable, name: str) -> list[Mapping[str, Any]]:
        """Return the stored results of a predictor in a table, one for each seed."""
        result = []
        for line in table.lines:
            if line.predictor == name:
                jobs = [
                    Job(table, line, s, self.graphs, self.size, self.is_faithful)
                    for s in self.seeds
                ]
                result += [r for r in (stored(self.folder, job) for job in jobs) if r is not None]
        return result

    def keys(self) -> frozenset[str]:
        """Return the keys, which are file names, of all trainings that the tables need."""
        return frozenset(
            Job(t, line, s, self.graphs, self.size, self.is_faithful).key
            for t in self.tables
            for line in t.lines
            for s in self.seeds
        )

    def done(self, table: PaperTable) -> list[Done]:
        """Return the lines of a table, each with its results of all seeds."""
        return [Done(line, tuple(self.results(table, line.predictor))) for line in table.lines]

    def table(self, key: str) -> PaperTable:
        """Return the table with a key, requested or not."""
        return next(t for t in TABLES if t.key == key)

    def figure(self, key: str, name: str, metric: str, part: str = "all rows") -> float | None:
        """Return a metric of a predictor on a slice, the mean over seeds; None without results."""
        rows = [r["slices"].get(part) for r in self.results(self.table(key), name)]
        numbers = [float(row[metric]) for row in rows if row is not None]
        return mean(numbers) if numbers else None


def write_page(
    board: LanguageModelTables,
    output: Path,
    origin: str,
    pool: Mapping[str, ModelGraph],
    large: Sequence[str],
    say: Say,
) -> Path:
    """Write the page into a folder, with a chart of each curve.

    Args:
        board: tables and the results of their trainings.
        output: folder of the page.
        origin: what wrote the page and when, in a sentence.
        pool: graphs that inference is timed on.
        large: lines on the inference time of language models that do not run here.
        say: gets a line on what is measured.
    """
    preset = board.stages.preset
    language_model = board.stages.card.language_model
    shape = preset.decoder
    model = (
        f"The language model is that of the folder {Path(language_model).name}."
        if language_model
        else f"The language model is a decoder of {shape.layers} layers, {shape.hidden} wide, that "
        "learned from text on graphs alone; the thesis has Llama-3-8B and Mistral-7B."
    )
    jobs = board.keys()
    finished = {k for k in jobs if (board.folder / f"{k}.json").is_file()}
    introduction = INTRODUCTION.format(
        model=model,
        limit_s=board.size.limit_s,
        seeds=", ".join(map(str, board.seeds)),
        done=len(finished),
        all=len(jobs),
        rows=preset.rows_per_epoch,
    )
    results = [(table, board.done(table)) for table in board.tables]
    curves = [(t, done) for t, done in results if t.curve and board.has_charts]
    charts = {t.key: write_curve(t, done, output / CHARTS) for t, done in curves}
    named = {key: [f"{CHARTS}/{name}" for name in names] for key, names in charts.items()}
    tables = tables_board(results, introduction, named, "Graphs and language models")
    times = _listed((*inference(board, pool, say), *large))
    every = (
        *tables.tables,
        BoardTable("verdicts", "Verdicts", before=_listed(verdicts(board))),
        summaries(board.stages),
        BoardTable("inference", "Inference", before=times),
    )
    path = output / PAGE
    write_file(path, replace(tables, tables=every).written("markdown", origin).encode())
    return path


def _listed(lines: Iterable[str]) -> tuple[str, ...]:
    """Return lines as one text, a bulleted list of Markdown."""
    return ("\n".join(f"- {line}" for line in lines),)


def verdicts(board: LanguageModelTables) -> Iterator[str]:
    """Yield a sentence for each claim of the thesis, with its outcome on these rows."""
    # key of a table, its rows in words, and the slice that is read
    for key, what, part in (
        ("gnn-llm-pretraining", "all platforms", "all rows"),
        ("gnn-llm-hardware-acc", "32 rows of new hardware", "32 rows"),
        ("gnn-llm-family-acc", "32 rows of a new family", "32 rows"),
    ):
        yield _gain(board, key, part, what)
    for key, what in (
        ("gnn-llm-hardware-mape", "new hardware"),
        ("gnn-llm-family-mape", "a new family"),
    ):
        ours = board.figure(key, OURS, "mape", "32 rows")
        for name, words in ((GIN, "its own GIN"), (PHYSICS, "the physics residual")):
            other = board.figure(key, name, "mape", "32 rows")
            yield _against(ours, other, what, words)


def _gain(board: LanguageModelTables, key: str, part: str, what: str) -> str:
    """Return the verdict on pre-training: Acc(10) with both networks pre-trained, or neither."""
    both = board.figure(key, OURS, "within_10", part)
    none = board.figure(key, NEITHER, "within_10", part)
    if both is None or none is None:
        return f"Pre-training, {what}: not trained yet."
    points = both - none
    answer = "yes" if points >= POINTS else "no"
    return (
        f"Pre-training both parts gains 3 points of Acc(10), {what}: **{answer}**, "
        f"{100 * points:+.1f} points ({both:.1%} against {none:.1%})."
    )


def _against(ours: float | None, other: float | None, what: str, words: str) -> str:
    """Return the verdict on two errors, of the language model and of another predictor."""
    if ours is None or other is None:
        return f"GNN + LLM against {words}, 32 rows of {what}: not trained yet."
    answer = "yes" if ours < other else "no"
    return (
        f"GNN + LLM has a better MAPE than {words} with 32 rows of {what}: **{answer}**, "
        f"{ours:.1%} against {other:.1%}."
    )


# a row is a readout, the name of a set of graphs, and a `SummaryFigure` as a mapping
SUMMARIES = columns(
    ("readout", 0),
    ("unseen graphs", 1),
    ("graphs", lambda r: r[2]["graphs"], "d"),
    ("fields", lambda r: r[2]["fields"], "d"),
    ("exact fields", lambda r: r[2]["exact"], ".1%"),
    ("exact summaries", lambda r: r[2]["whole"], ".1%"),
)


def summaries(stages: Stages) -> BoardTable:
    """Return the table of exact fields in the summaries of stage 2, by readout."""
    # the file also has a list of examples, which is no figure
    lines = [
        (readout.value, name, figure)
        for readout in Readout
        for name, figure in stages.summaries(readout).items()
        if isinstance(figure, dict)
    ]
    words = (
        "A field is exact if the summary states the three digits and the word that the graph has. "
        "Readouts: the *mean* of the thesis, with the *sums*, and a token for each of the "
        "*numbers*. Graphs of model files are of families that stages 1 and 2 never saw."
    )
    title = "Summaries of unseen graphs"
    if not lines:
        return BoardTable("summaries", title, before=("Stage 2 is not there.",))
    return BoardTable("summaries", title, SUMMARIES, lines, (words,))


def inference(
    board: LanguageModelTables, pool: Mapping[str, ModelGraph], say: Say
) -> Iterator[str]:
    """Yield a line on the time of one graph with the language model of the stages."""
    # measured once and stored, so that a page that is written again has the same number
    path = board.folder / "inference.json"
    if path.is_file():
        seconds = float(json.loads(path.read_text(encoding="utf-8"))["processor_s"])
    else:
        seconds = inference_s(board.stages, pool)
        write_file(path, (json.dumps({"processor_s": seconds}) + "\n").encode())
        say(f"inference: {seconds:.3f} s")
    answer = "yes" if seconds <= LONGEST_S else "no"
    yield (
        f"From a graph's arrays to the words, one graph at a time: {seconds:.3f} s of processor "
        f"time (mean of {TIMED_GRAPHS}); at most {LONGEST_S} s: **{answer}**."
    )


def inference_s(stages: Stages, pool: Mapping[str, ModelGraph]) -> float:
    """Return the mean processor time of an answer on a graph in seconds, features included.

    The first graph is not counted.
    """
    network = adaptable(stages, Readout.NUMBERS)
    network.eval()
    features = GraphFeatures(*stages.standards())
    question = network.model.ids(
        " Predict the inference time of DL model, batch 64, on rtx4090, f16, eager\n"
    )
    # graphs at equal steps through the pool, one more than counts
    names = sorted(pool)[:: max(len(pool) // (TIMED_GRAPHS + 1), 1)][: TIMED_GRAPHS + 1]
    spent = []
    with one_thread(), torch.no_grad():
        for name in names:
            graph = pool[name]
            start = time.process_time()
            batch = alone(features(graph, float(drawn_batch(name))))
            tokens, is_there = network.graph_tokens(batch)
            network.answers(tokens, is_there, [question], LONGEST_LATENCY)
            spent.append(time.process_time() - start)
    return mean(spent[1:] or spent)
