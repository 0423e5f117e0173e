"""Tables of TraPPM (Panner Selvam and Brorsson, NeurIPS 2023 workshop; thesis, Chapter 5).

Numbers of a `PublishedLine` are the paper's, by column: MAPE as a share, RMSE in milliseconds.
"""

from __future__ import annotations

from dataclasses import replace

from perfc.analyzers.graph.rows import Quantity

from ....training.graphs.protocols import GraphProtocol
from ..published import PaperTable, PublishedColumn, PublishedLine, PublishedMetric, RowSelection

NAME = "trappm"
# lines of Tables 5.3 and 5.4: MAPE and RMSE of step times
STEP_TIMES = (
    PublishedLine("TraPPM", "trappm", (0.0951, 23.23)),
    PublishedLine("NNLQP", "nnlqp", (0.1447, 37.02)),
    PublishedLine("MLP", "static-mlp", (1.3407, 188.36)),
    PublishedLine("GBoost", "gboost", (0.1698, 54.54)),
)
# lines of the tables of memory: MAPE
MEMORIES = (
    PublishedLine("TraPPM", "trappm", (0.0492,)),
    PublishedLine("NNLQP", "nnlqp", (0.0829,)),
    PublishedLine("MLP", "static-mlp", (0.8501,)),
    PublishedLine("GBoost", "gboost", (0.1610,)),
)
FAMILIES = {
    "convnext": (0.0809, 0.0950, 0.6492, 0.1615),
    "densenet": (0.0669, 0.1841, 1.0445, 0.1408),
    "efficientnet": (0.0681, 0.0945, 0.4918, 0.1536),
    "mnasnet": (0.0798, 0.1859, 1.0686, 0.1449),
    "mobilenet": (0.0920, 0.1466, 1.1648, 0.2579),
    "poolformer": (0.1302, 0.1323, 1.6675, 0.1459),
    "resnet": (0.1126, 0.2545, 1.9295, 0.2413),
    "swin": (0.0901, 0.0889, 0.6008, 0.1568),
    "vgg": (0.1074, 0.1320, 0.6991, 0.1589),
    "visformer": (0.1479, 0.1861, 4.3733, 0.1399),
    "vit": (0.0706, 0.0915, 1.0584, 0.1660),
}
"""MAPE of step times in the order of `STEP_TIMES` (Table 5.3)."""
# fields by position: key, paper, place in the paper, title, rows, columns, lines, way of holding
# out
TABLES = (
    PaperTable(
        "trappm-table-5-3",
        NAME,
        "Table 5.3",
        "step time by family",
        RowSelection.STEPS,
        (),
        # the trainings of Table 5.4, so that lines are equal; published numbers are those of
        # `FAMILIES`
        tuple(replace(line, published=()) for line in STEP_TIMES),
        GraphProtocol.WITHIN_FAMILIES,
        note="The trainings of Table 5.4; families with less than five tested rows are bare.",
        families=FAMILIES,
    ),
    PaperTable(
        "trappm-table-5-4",
        NAME,
        "Table 5.4, page 69",
        "step time against the baselines",
        RowSelection.STEPS,
        (PublishedColumn("MAPE"), PublishedColumn("RMSE in ms", metric=PublishedMetric.RMSE)),
        STEP_TIMES,
        GraphProtocol.WITHIN_FAMILIES,
        note="70 : 30 within each family, as Section 5.5.4; the paper's rows are 7,536 steps on an "
        "A100.",
    ),
    PaperTable(
        "trappm-memory",
        NAME,
        "Table 5.4, memory",
        "memory against the baselines",
        RowSelection.MEMORY,
        (PublishedColumn("MAPE"),),
        MEMORIES,
        GraphProtocol.WITHIN_FAMILIES,
        quantity=Quantity.MEMORY,
        note="MLPs of GPUMemNet, whose memory is mostly the driver's; the paper's rows are "
        "networks of eleven families. For research alone.",
    ),
    PaperTable(
        "trappm-initialisation",
        NAME,
        "Section 5.5.9, page 70",
        "what the auto-encoder learned from",
        RowSelection.STEPS,
        (PublishedColumn("MAPE"),),
        (
            PublishedLine("a pool that nobody measured", "trappm"),
            PublishedLine("graphs of the rows alone", "trappm:supervised"),
            PublishedLine("nothing, weights as initialised", "trappm:random"),
            PublishedLine("no embedding", "trappm:without-embedding"),
        ),
        GraphProtocol.WITHIN_FAMILIES,
        note="The paper states losses alone: 682 with, 105,000 without training the encoder.",
        has_embeddings=True,
    ),
    PaperTable(
        "trappm-table-5-5",
        NAME,
        "Table 5.5, page 72",
        "few rows of another machine, with and without what was learned on the first",
        RowSelection.MACHINES,
        (PublishedColumn("MAPE"),),
        (
            PublishedLine("with transfer", "trappm", (0.1913,)),
            PublishedLine("without", "trappm:scratch", (0.2824,)),
        ),
        GraphProtocol.TRANSFER,
        samples=128,
        note="128 rows of each machine in turn, the other trained on; the paper has 543 rows of a "
        "V100.",
    ),
    PaperTable(
        "trappm-power",
        NAME,
        "Section 5.6.1, page 71",
        "step time and power on one embedding",
        RowSelection.ENERGY,
        (PublishedColumn("step time"), PublishedColumn("power", "power_w")),
        (PublishedLine("TraPPM", "trappm", (None, 0.0501)),),
        note="The paper's power is that of an A100.",
    ),
    PaperTable(
        "trappm-released-table-5-4",
        NAME,
        "Table 5.4, page 69",
        "step time against the baselines, the authors' rows",
        RowSelection.TRAPPM,
        (PublishedColumn("MAPE"), PublishedColumn("RMSE in ms", metric=PublishedMetric.RMSE)),
        STEP_TIMES,
        GraphProtocol.WITHIN_FAMILIES,
    ),
    PaperTable(
        "trappm-released-memory",
        NAME,
        "Table 5.4, memory",
        "memory against the baselines, the authors' rows",
        RowSelection.TRAPPM,
        (PublishedColumn("MAPE"),),
        MEMORIES,
        GraphProtocol.WITHIN_FAMILIES,
        quantity=Quantity.MEMORY,
    ),
)
