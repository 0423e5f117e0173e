"""Tables of DIPPM (Panner Selvam and Brorsson, Euro-Par 2023; thesis, Chapter 4).

Numbers of a `PublishedLine` are mean absolute percentage errors of the paper, as shares.
"""

from __future__ import annotations

from perfc.analyzers.graph.rows import Quantity

from ..published import PaperTable, PublishedColumn, PublishedLine, RowSelection

NAME = "dippm"
# graph layers of Table 4.4, each as a variant of PMGNS, DIPPM's network, as perfc has it
AFTER_TEN_EPOCHS = (
    PublishedLine("GAT", "pmgns:gat", (0.367,), epochs=10),
    PublishedLine("GCN", "pmgns:gcn", (0.175,), epochs=10),
    PublishedLine("GIN", "pmgns:gin", (0.382,), epochs=10),
    PublishedLine("MLP", "pmgns:mlp", (0.366,), epochs=10),
    PublishedLine("GraphSAGE", "pmgns", (0.160,), epochs=10),
)
# fields by position: key, paper, place in the paper, title, rows, columns, lines, way of holding
# out
TABLES = (
    PaperTable(
        "dippm-table-4-4",
        NAME,
        "Table 4.4, page 48",
        "graph layers after ten epochs",
        RowSelection.RUNS,
        (PublishedColumn("test"),),
        AFTER_TEN_EPOCHS,
        note="The paper averages memory, latency and energy of 10,508 graphs on an A100; here it "
        "is the time of a few hundred. Ten epochs of them are a twentieth of its updates.",
    ),
    PaperTable(
        "dippm-500-epochs",
        NAME,
        "Section 4.4.3, page 48",
        "after 500 epochs, as long as there is time",
        RowSelection.RUNS,
        (PublishedColumn("test"),),
        (PublishedLine("GraphSAGE", "pmgns", (0.019,)),),
    ),
    PaperTable(
        "dippm-energy",
        NAME,
        "Figure 4.4, page 49",
        "latency and energy learned at once",
        RowSelection.ENERGY,
        (PublishedColumn("latency"), PublishedColumn("energy", "energy_j")),
        (PublishedLine("three outputs", "pmgns"), PublishedLine("one output", "pmgns:single")),
        note="EC-NAS has time and energy of training steps, no memory.",
    ),
    PaperTable(
        "dippm-memory",
        NAME,
        "Figure 4.4 c, page 49",
        "memory",
        RowSelection.MEMORY,
        (PublishedColumn("memory"),),
        (PublishedLine("GraphSAGE", "pmgns"),),
        quantity=Quantity.MEMORY,
        note="MLPs of GPUMemNet in training, for research alone.",
    ),
    PaperTable(
        "dippm-released-table-4-4",
        NAME,
        "Table 4.4, page 48",
        "graph layers after ten epochs, the authors' rows",
        RowSelection.DIPPM,
        (PublishedColumn("test"),),
        AFTER_TEN_EPOCHS,
        note="The paper averages memory, latency and energy; here it is the latency.",
    ),
    PaperTable(
        "dippm-released-500-epochs",
        NAME,
        "Section 4.4.3, page 48",
        "after 500 epochs, as long as there is time, the authors' rows",
        RowSelection.DIPPM,
        (PublishedColumn("test"),),
        (PublishedLine("GraphSAGE", "pmgns", (0.019,)),),
    ),
)
