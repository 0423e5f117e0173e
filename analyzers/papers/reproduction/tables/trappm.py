"""TraPPM: Panner Selvam and Brorsson, NeurIPS 2023 workshop; thesis, Chapter 5."""

from __future__ import annotations

from ....training.graphs.protocols import Protocol
from ..published import Column, Line, Metric, PaperTable, Rows

NAME = "trappm"
TABLES = (
    PaperTable(
        "trappm-table-5-4",
        NAME,
        "Table 5.4, page 69",
        "step time against the baselines",
        Rows.STEPS,
        (Column("MAPE"), Column("RMSE in ms", metric=Metric.RMSE)),
        (
            Line("TraPPM", "trappm", (0.0951, 23.23)),
            Line("NNLQP", "nnlqp", (0.1447, 37.02)),
            Line("MLP", "static-mlp", (1.3407, 188.36)),
            Line("GBoost", "gboost", (0.1698, 54.54)),
        ),
        Protocol.WITHIN_FAMILIES,
        note="70 : 30 within each family, as Section 5.5.4; the paper's rows are 7,536 steps on an "
        "A100. Its memory (4.92 %) has no rows here.",
    ),
    PaperTable(
        "trappm-initialisation",
        NAME,
        "Section 5.5.9, page 70",
        "what the auto-encoder learned from",
        Rows.STEPS,
        (Column("MAPE"),),
        (
            Line("a pool that nobody measured", "trappm"),
            Line("graphs of the rows alone", "trappm:supervised"),
            Line("nothing, weights as initialised", "trappm:random"),
            Line("no embedding", "trappm:without-embedding"),
        ),
        Protocol.WITHIN_FAMILIES,
        note="The paper states losses alone: 682 with, 105,000 without training the encoder.",
    ),
    PaperTable(
        "trappm-table-5-5",
        NAME,
        "Table 5.5, page 72",
        "few rows of another machine, with and without what was learned on the first",
        Rows.MACHINES,
        (Column("MAPE"),),
        (Line("with transfer", "trappm", (0.1913,)), Line("without", "trappm:scratch", (0.2824,))),
        Protocol.TRANSFER,
        samples=128,
        note="128 rows of each machine in turn, the other trained on; the paper has 543 rows of a "
        "V100.",
    ),
    PaperTable(
        "trappm-power",
        NAME,
        "Section 5.6.1, page 71",
        "step time and power on one embedding",
        Rows.ENERGY,
        (Column("step time"), Column("power", "power_w")),
        (Line("TraPPM", "trappm", (None, 0.0501)),),
        note="The paper's power is that of an A100.",
    ),
)
