"""``perfc train gnn-llm`` and ``perfc eval gnn-llm``: graphs and language models together.

They reproduce Chapter 7 of K. Panner Selvam's thesis (PhD-FSTM-2025-034, University of Luxembourg)
by `perfc_lab.papers.gnn_llm.command`. `lab_options` adds options that ``_table.toml`` declares.
"""

from __future__ import annotations

from pathlib import Path

import click

from perfc.commands.shared.listing import examples
from perfc.common.plain_text import say
from perfc.errors import ParseError
from perfc_lab.commands._table import lab_options

from ._board_options import board_options, complain, folder_option, graphs_option, written_by

LARGE = ("llama-3-8b", "mistral-7b-v0.1")
"""Language models of the thesis, which are not run here."""
LARGE_TARGETS = ("rtx4090", "a100-sxm4-40gb")
"""Machines for which the time of an answer by these models is predicted."""
PROMPT_TOKENS, ANSWER_TOKENS = 32, 8
"""Lengths of the prompt and of the answer in tokens of Llama's vocabulary.

The prompt is a question and one token for the graph; the answer is the digits of a latency.
`large_models` passes them to `perfc llm`, and prints them in its command.
"""


def _pool(graphs: Path) -> Path:
    """Return the path of the unlabelled graphs, which nobody measured, in a folder of data sets.

    Raises:
        ParseError: `perfc data build` has not built them.
    """
    from perfc_lab.datasets.unlabelled import unlabelled_graphs

    pool = unlabelled_graphs(graphs)
    if pool is None:
        hint = "perfc data build graphs --unlabelled 20000"
        raise ParseError("no graphs that nobody measured", where="--graphs", hint=hint)
    return pool


@click.command(
    "gnn-llm",
    epilog=examples(
        "train gnn-llm --graphs graphs --stage 0 --stage 1 --stage 2 -o stages",
        "train gnn-llm --graphs graphs --stage 3 --dataset timm -o stages",
    ),
)
@graphs_option
@lab_options("gnn_llm-train_command")
@folder_option("stages", "Output folder for the stages.")
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
    """Train a graph encoder with a language model, as in Chapter 7 of the thesis.

    An interrupted stage resumes from its checkpoint. Stage 3 writes weights and a card, which
    `perfc analyze --predictor` reads together with the folder of the stages.
    """
    from perfc_lab.papers.gnn_llm.extra import need_extra

    need_extra()
    from perfc_lab.commands._protocols import chosen_protocols
    from perfc_lab.papers.gnn_llm.command import Wanted, train

    from ._training import telling

    pool = _pool(graphs)
    protocol = chosen_protocols([split])[0]
    with telling() as to:
        wanted = Wanted(
            graphs=graphs,
            pool=pool,
            folder=output,
            preset=preset,
            language_model=language_model,
            readout=readout,
            limit_s=limit_s,
            seed=seed,
            dataset=dataset,
            protocol=protocol,
            mode=mode,
        )
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
@lab_options("gnn_llm-eval_command")
@board_options("gnn_llm", processes=1)
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
    """Reproduce the tables of the thesis's Chapter 7 (graphs with language models).

    Sizes are those of the preset that the stages were trained with. An interrupted run resumes
    with what is missing from the folder.
    """
    from perfc_lab.papers.gnn_llm.extra import need_extra

    need_extra()
    from perfc_lab.papers.gnn_llm.command import chosen_tables, evaluate, opened
    from perfc_lab.tables.architectures import SEEDS

    pool = _pool(graphs)
    place = results or output / "results"
    board = opened(
        chosen_tables(keys),
        seeds or SEEDS,
        graphs=graphs,
        folder=place,
        stages=stages,
        limit_s=limit_s,
        known=known,
        has_charts=not no_plots,
    )
    path = evaluate(
        board,
        processes=0 if page_only else processes,
        output=output,
        origin=written_by(ctx),
        pool=pool,
        large=large_models(),
        known=known,
        say=complain,
    )
    say(str(path))


def large_models() -> list[str]:
    """Return answer latencies of the thesis's language models, from their operations."""
    from perfc.serving import llm

    lines = []
    for name in LARGE:
        for target in LARGE_TARGETS:
            report = llm(
                name, target, isl=PROMPT_TOKENS, osl=ANSWER_TOKENS, concurrency=1, dtype="bf16"
            )
            if report.latencies is not None:
                options = f"--isl {PROMPT_TOKENS} --osl {ANSWER_TOKENS} --dtype bf16"
                lines.append(
                    f"`perfc llm {name} -t {target} {options}` predicts "
                    f"{report.latencies.end_to_end.mean:.3f} s an answer; nobody measured it."
                )
    return lines
