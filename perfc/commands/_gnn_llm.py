"""``perfc train gnn-llm`` and ``perfc eval gnn-llm``: graphs and language models together."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.errors import ParseError
from perfc.plain_text import say

from ._board_options import board_options
from ._examples import examples
from ._options import graphs_option
from ._output import written_by

LARGE = ("llama-3-8b", "mistral-7b-v0.1")
LARGE_TARGETS = ("rtx4090", "a100-sxm4-40gb")
PROMPT_TOKENS, ANSWER_TOKENS = 32, 8
"""Of a question with a graph's token, and of a latency, in a vocabulary as Llama's."""


@click.command(
    "gnn-llm",
    epilog=examples(
        "train gnn-llm --graphs graphs --stage 0 --stage 1 --stage 2 -o stages",
        "train gnn-llm --graphs graphs --stage 3 --dataset timm -o stages",
    ),
)
@graphs_option
@click.option(
    "--stage", "stages", multiple=True, type=click.IntRange(0, 3),
    help="0 a small decoder from text, 1 graphs, 2 graphs and text, 3 latency; all by default.",
)  # fmt: skip
@click.option(
    "--preset", type=click.Choice(["paper", "cpu", "smoke"]), default="cpu", show_default=True,
    help="Sizes and lengths: the thesis's, or those of half an hour of a core.",
)  # fmt: skip
@click.option(
    "--language-model", type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of a causal language model, as transformers saves it; else stage 0 makes one.",
)  # fmt: skip
@click.option(
    "--readout", type=click.Choice(["numbers", "sums", "mean"]), default="numbers",
    show_default=True,
    help="Tokens of a graph: one for each number; one of its mean and sums; one of its mean.",
)  # fmt: skip
@click.option("--limit-s", type=click.FloatRange(0.1), help="Longest of each stage.")
@click.option("--seed", default=0, show_default=True)
@click.option("--dataset", default="timm", show_default=True, help="Rows of stage 3.")
@click.option("--split", default="random", show_default=True, help="What stage 3 leaves to test.")
@click.option("--mode", default="", help="Rows of one way of running: eager, compiled, training …")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("stages"),
    show_default=True, help="Folder of the stages.",
)  # fmt: skip
def train_command(
    graphs: Path,
    stages: tuple[int, ...],
    preset: str,
    language_model: Path | None,
    readout: str,
    limit_s: float | None,
    seed: int,
    dataset: str,
    split: str,
    mode: str,
    output: Path,
) -> None:
    """Train a graph encoder and a language model together, after Chapter 7 of the thesis.

    An interrupted stage goes on from its checkpoint. Stage 3 writes weights and a card, which
    `perfc predict --weights` reads beside the folder of the stages.
    """
    from perfc.analyzers.papers.gnn_llm.extra import need_extra

    need_extra()
    from perfc.analyzers.graph.datasets.unlabelled import unlabelled_graphs
    from perfc.analyzers.papers.gnn_llm.command import Wanted, train

    from ._graph import chosen_protocols
    from ._training import telling

    pool = unlabelled_graphs(graphs)
    if pool is None:
        hint = "perfc data build graphs --unlabelled 20000"
        raise ParseError("no graphs that nobody measured", where="--graphs", hint=hint)
    protocol = chosen_protocols([split])[0]
    with telling() as to:
        wanted = Wanted(
            graphs, pool, output, preset, language_model, readout, limit_s, seed, dataset,
            protocol, mode,
        )  # fmt: skip
        for line in train(wanted, stages or (0, 1, 2, 3), to.say):
            say(line)


@click.command(
    "gnn-llm",
    epilog=examples(
        "eval gnn-llm --graphs graphs --stages stages -o gnn_llm",
        "eval gnn-llm --graphs graphs --stages stages --seed 0 --limit-s 60",
    ),
)
@graphs_option
@click.option(
    "--stages", type=click.Path(path_type=Path, file_okay=False), required=True,
    help="Folder of stages 0 to 2, as `perfc train gnn-llm` writes it.",
)  # fmt: skip
@click.option("--limit-s", type=click.FloatRange(0.1), help="Longest of each training.")
@click.option("--table", "keys", multiple=True, help="One of the tables; repeated for several.")
@click.option(
    "--known", type=click.Path(path_type=Path, dir_okay=False),
    help="JSON lines of results from before, which are not trained again; takes new ones.",
)  # fmt: skip
@click.option("--no-plots", is_flag=True, help="Write no charts, which need vl-convert-python.")
@board_options("gnn_llm", processes=1, content="the page and its charts")
@click.pass_context
def eval_command(
    ctx: click.Context,
    graphs: Path,
    stages: Path,
    limit_s: float | None,
    seeds: tuple[int, ...],
    keys: tuple[str, ...],
    known: Path | None,
    no_plots: bool,
    processes: int,
    page_only: bool,
    output: Path,
    results: Path | None,
) -> None:
    """Tables of the thesis's Chapter 7, graphs with language models, beside its own numbers.

    Sizes are those of the preset that the stages were trained with. An interrupted run goes on with
    what is not in the folder yet.
    """
    from perfc.analyzers.papers.gnn_llm.extra import need_extra

    need_extra()
    from perfc.analyzers.graph.datasets.unlabelled import unlabelled_graphs
    from perfc.analyzers.papers.gnn_llm.command import chosen_tables, evaluate, opened
    from perfc.analyzers.tables.architectures import SEEDS

    pool = unlabelled_graphs(graphs)
    if pool is None:
        hint = "perfc data build graphs --unlabelled 20000"
        raise ParseError("no graphs that nobody measured", where="--graphs", hint=hint)
    place = results or output / "results"
    board = opened(
        chosen_tables(keys), seeds or SEEDS, graphs, place, stages, limit_s, known, not no_plots
    )
    path = evaluate(
        board, 0 if page_only else processes, output, written_by(ctx), pool, large_models(), known,
        lambda line: say(line, is_error=True),
    )  # fmt: skip
    say(str(path))


def large_models() -> list[str]:
    """How long the thesis's language models take for an answer, from their operations."""
    from perfc.serving import llm

    found = []
    for name in LARGE:
        for target in LARGE_TARGETS:
            report = llm(
                name, target, isl=PROMPT_TOKENS, osl=ANSWER_TOKENS, concurrency=1, dtype="bf16"
            )
            if report.latencies is not None:
                asked = f"--isl {PROMPT_TOKENS} --osl {ANSWER_TOKENS} --dtype bf16"
                found.append(
                    f"`perfc llm {name} -t {target} {asked}` predicts "
                    f"{report.latencies.end_to_end.mean:.3f} s an answer; nobody measured it."
                )
    return found
