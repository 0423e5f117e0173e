"""Tables 7.1 to 7.8 and Figure 7.3 of the thesis, and the predictors and rows that repeat them.

`perfc eval gnn-llm` trains the predictor of each line on timm's rows, or on those of NAS-Bench-201.
"""

from __future__ import annotations

from ...training.graphs.protocols import GraphProtocol
from ..reproduction.published import (
    PaperTable,
    PublishedColumn,
    PublishedLine,
    PublishedMetric,
    RowSelection,
)

NAME = "thesis, Chapter 7"
PREFIX = "gnn-llm-"
"""Prefix of the keys of tables, which the command line leaves out."""
COUNTS = (8, 16, 32, 64, 128, 256, 512)
"""Numbers of rows of a new machine or family that the points of a curve are trained with."""
NEW_MACHINE, NEW_OF_CELLS = "rtx-pro-6000-max-q", "rtx2080ti"
"""New machines, whose other rows are tested: of timm's rows, and of NAS-Bench-201's cells."""
TESTED = 240
"""Maximum tested rows of a table, as each costs an answer of the language model."""
ACC = PublishedMetric.WITHIN_10
COLUMNS = (
    PublishedColumn("MAPE"),
    PublishedColumn("Acc(10)", metric=ACC),
    PublishedColumn("τ", metric=PublishedMetric.TAU),
    PublishedColumn("failed answers", metric=PublishedMetric.FAILURES),
    PublishedColumn("time", metric=PublishedMetric.PROCESSOR),
)
# predictors of the lines of several tables
GIN, PHYSICS = "gnn-llm:without-llm", "physics-residual"
OURS, NEITHER = "gnn-llm", "gnn-llm:neither-pretrained"
SHORT_NOTE = (
    "The thesis has AlexNet's family at 90 : 10, as its JSON is short; here timm's families of few "
    "operators, 70 : 15 : 15 by architecture."
)
PLATFORMS_NOTE = (
    "The thesis has nine platforms of NNLQP, whose latencies are not in its repository; here three "
    "GPUs by way of running."
)
# column of a curve that the thesis has numbers for
_AT_32 = COUNTS.index(32)


def _at_32(value: float | None) -> tuple[float | None, ...]:
    """Return the published values of a curve's columns, of which that at 32 rows is the last."""
    return () if value is None else (*[None] * _AT_32, value)


def _few_rows(
    ours: str, neither: str, thesis: float | None, nnlqp: float | None, nf: float | None
) -> tuple[PublishedLine, ...]:
    """Return the lines of a curve, with published numbers at 32 rows; None without one.

    ``thesis``, ``nnlqp`` and ``nf`` are the numbers of the thesis's model, of NNLQP and of GNN-NF.
    """
    return (
        PublishedLine(ours, OURS, _at_32(thesis)),
        PublishedLine(neither, NEITHER),
        PublishedLine("its GIN without the LLM", GIN),
        PublishedLine("GNN baseline (NNLQP)", "nnlqp", _at_32(nnlqp)),
        PublishedLine("GNN-NF", "gnn-nf", _at_32(nf)),
        PublishedLine("perfc's physics residual", PHYSICS),
    )


def _curve(
    key: str,
    name: str,
    title: str,
    protocol: GraphProtocol,
    metric: PublishedMetric,
    lines: tuple[PublishedLine, ...],
    note: str,
    rows: RowSelection = RowSelection.ANSWERS,
) -> PaperTable:
    """Return a table with a column per number of rows of a new machine or family."""
    machine = NEW_MACHINE if rows is RowSelection.ANSWERS else NEW_OF_CELLS
    # a new family is tested on all machines
    machines = (machine,) if protocol is GraphProtocol.TRANSFER else ()
    return PaperTable(
        key,
        NAME,
        name,
        title,
        rows,
        tuple(PublishedColumn(f"{count}", f"{count} rows", metric) for count in COUNTS),
        lines,
        protocol,
        note=note,
        curve=COUNTS,
        machines=machines,
        most_tested=TESTED,
    )


HARDWARE_NOTE = (
    "The machine is one that was not trained on; columns are rows of it that are seen. The thesis "
    "states 70 % and 29 % of two platforms, of which the higher stands here."
)
FAMILY_NOTE = (
    "Vision transformers; no time of anything built like them is trained on. Half of their "
    "architectures are tested, rows that are seen are of the other half."
)
CELLS_NOTE = (
    "NAS-Bench-201's networks, whose machine that was not trained on is the one Turing beside "
    "Pascal. The thesis has none of these rows."
)
# labels of two lines: GNN and LLM pre-trained, and neither
HARDWARE_NAMES = ("GNN + LLM, both pre-trained", "GNN + LLM, neither")
FAMILY_NAMES = ("GNN + LLM (Llama-3-8B in the thesis)", "GNN + LLM, neither pre-trained")
# fields by position: key, paper, place in it, title, rows, columns, lines. Numbers of a line are
# those of the thesis, MAPE and Acc(10) as shares; it has none of a line without numbers
TABLES = (
    PaperTable(
        "gnn-llm-representations",
        NAME,
        "Table 7.2, page 105",
        "text, JSON or the graph",
        RowSelection.SHORT,
        COLUMNS,
        (
            PublishedLine("text", "gnn-llm:text", (0.4142, 0.2250)),
            PublishedLine("JSON", "gnn-llm:json", (0.1355, 0.4980)),
            PublishedLine("graph as tokens", OURS, (0.1261, 0.5283)),
        ),
        note=f"{SHORT_NOTE} All have the same processor time, where the thesis has ten epochs.",
    ),
    PaperTable(
        "gnn-llm-ranks",
        NAME,
        "Table 7.3, page 106",
        "rank of LoRA",
        RowSelection.SHORT,
        COLUMNS,
        (
            PublishedLine("8", OURS, (0.1261, 0.5283)),
            PublishedLine("16", "gnn-llm:rank-16", (0.1274, 0.5150)),
            PublishedLine("32", "gnn-llm:rank-32", (0.1263, 0.5450)),
            PublishedLine("64", "gnn-llm:rank-64", (0.1343, 0.4950)),
            PublishedLine("128", "gnn-llm:rank-128", (0.1386, 0.4450)),
        ),
        note=f"{SHORT_NOTE} Weights are those that learn: 24, 26, 33, 47 and 74 M in the thesis.",
    ),
    PaperTable(
        "gnn-llm-projection",
        NAME,
        "Table 7.6, page 112",
        "one token or several",
        RowSelection.SHORT,
        COLUMNS,
        (
            PublishedLine("one token: the mean", "gnn-llm:mean", (0.1261, 0.5283)),
            PublishedLine("one token: the mean and sums", "gnn-llm:sums"),
            PublishedLine("a token for each number", OURS, (0.1366, 0.4850)),
        ),
        note=SHORT_NOTE,
    ),
    PaperTable(
        "gnn-llm-pretraining",
        NAME,
        "Table 7.5, page 108",
        "what is learned beforehand",
        RowSelection.PLATFORMS,
        COLUMNS,
        (
            PublishedLine("LLM + GNN", NEITHER, (0.1471, 0.4927)),
            PublishedLine("LLM + GNN_PRE", "gnn-llm:gnn-pretrained", (0.2002, 0.3658)),
            PublishedLine("LLM_PRE + GNN", "gnn-llm:llm-pretrained", (0.1357, 0.5512)),
            PublishedLine("LLM_PRE + GNN_PRE", OURS, (0.1250, 0.5710)),
        ),
        most_tested=TESTED,
        note=PLATFORMS_NOTE,
    ),
    PaperTable(
        "gnn-llm-baselines",
        NAME,
        "Table 7.4, page 107",
        "baselines",
        RowSelection.PLATFORMS,
        COLUMNS,
        (
            PublishedLine("GNN baseline (NNLQP)", "nnlqp", (0.1296, 0.5172)),
            PublishedLine("GNN-NF", "gnn-nf", (0.1275, 0.5393)),
            PublishedLine("GNN-DistilRoberta", "sentence-encoder:distilroberta", (0.1602, 0.4097)),
            PublishedLine("GNN-MiniLM", "sentence-encoder", (0.1838, 0.3490)),
            PublishedLine("GNN-mpnet", "sentence-encoder:mpnet", (0.1612, 0.4037)),
            PublishedLine("GNN + LLM (Llama-3-8B in the thesis)", OURS, (0.1250, 0.5710)),
            PublishedLine("its GIN without the LLM", GIN),
            PublishedLine("perfc's physics residual", PHYSICS),
        ),
        most_tested=TESTED,
        note=f"{PLATFORMS_NOTE} With Mistral-7B the thesis has 11.89 % and 60.49 %.",
    ),
    PaperTable(
        "gnn-llm-platforms",
        NAME,
        "Table 7.8, page 114",
        "MAPE by platform",
        RowSelection.PLATFORMS,
        tuple(
            PublishedColumn(name, name)
            for name in (
                "eager, rtx3090",
                "channels last, rtx3090",
                "training, rtx3090",
                "eager, rtx4090",
                "channels last, rtx4090",
                "compiled, rtx4090",
                f"eager, {NEW_MACHINE}",
                f"compiled, {NEW_MACHINE}",
            )
        ),
        (
            PublishedLine("GNN baseline (NNLQP)", "nnlqp"),
            PublishedLine("GNN + LLM", OURS),
            PublishedLine("its GIN", GIN),
        ),
        most_tested=TESTED,
        note=f"{PLATFORMS_NOTE} Of the thesis's platforms the GNN has 7.1 to 26.2 %, Llama-3-8B "
        "6.2 to 26.9 %, Mistral-7B 5.4 to 28.3 %.",
    ),
    # the numbers of curves are those of `_few_rows`
    _curve(
        "gnn-llm-hardware-acc",
        "Figure 7.3, page 110",
        "Acc(10) on new hardware",
        GraphProtocol.TRANSFER,
        ACC,
        _few_rows(*HARDWARE_NAMES, 0.70, 0.0, 0.0),
        f"{HARDWARE_NOTE} Without pre-training up to 50 points less.",
    ),
    _curve(
        "gnn-llm-hardware-mape",
        "Figure 7.3, page 110",
        "MAPE of the same",
        GraphProtocol.TRANSFER,
        PublishedMetric.MAPE,
        _few_rows(*HARDWARE_NAMES, None, None, None),
        HARDWARE_NOTE,
    ),
    _curve(
        "gnn-llm-family-mape",
        "Table 7.1, page 98",
        "MAPE on a new family",
        GraphProtocol.NEW_FAMILY,
        PublishedMetric.MAPE,
        _few_rows(*FAMILY_NAMES, 0.0336, 0.2686, 0.2032),
        f"{FAMILY_NOTE} With Mistral-7B the thesis has 1.69 %.",
    ),
    _curve(
        "gnn-llm-family-acc",
        "Table 7.1, page 98",
        "Acc(10) on a new family",
        GraphProtocol.NEW_FAMILY,
        ACC,
        _few_rows(*FAMILY_NAMES, 0.9517, 0.0, 0.01),
        f"{FAMILY_NOTE} With Mistral-7B the thesis has 99.05 %.",
    ),
    _curve(
        "gnn-llm-cells-acc",
        "Figure 7.3, page 110",
        "Acc(10) of NAS cells on new hardware",
        GraphProtocol.TRANSFER,
        ACC,
        _few_rows(*HARDWARE_NAMES, None, None, None),
        CELLS_NOTE,
        RowSelection.CELLS,
    ),
    _curve(
        "gnn-llm-cells-mape",
        "Figure 7.3, page 110",
        "MAPE of the same",
        GraphProtocol.TRANSFER,
        PublishedMetric.MAPE,
        _few_rows(*HARDWARE_NAMES, None, None, None),
        CELLS_NOTE,
        RowSelection.CELLS,
    ),
)
"""Published tables in the order of evaluation: first those on few rows; tables that share trainings
follow each other."""
