"""Tables of PerfSeer (Zhao et al., 2025).

Numbers of a `PublishedLine` are mean absolute percentage errors of the paper, as shares.
"""

from __future__ import annotations

from perfc.analyzers.graph.rows import Quantity

from ..published import PaperTable, PublishedColumn, PublishedLine, RowSelection

NAME = "perfseer"
# columns: label, and slice of the tested rows
TIMES = (
    PublishedColumn("training time", "training, rtx3090"),
    PublishedColumn("inference time", "inference"),
)
TABLE_1 = (
    (0.5429, 0.9249),
    (0.4119, 0.5407),
    (0.2598, 0.3829),
    (0.2394, 0.3652),
    (0.2351, 0.2351),
    (0.2405, 0.2327),
    (0.2231, 0.2377),
    (0.0948, 0.1522),
    (0.0879, 0.1308),
    (0.0951, 0.1441),
    (0.0945, 0.1345),
    (0.0921, 0.1315),
)
"""MAPE of times of training and of inference, a pair for each line of Table 1."""
# lines of Table 1 as the paper abbreviates them: each adds a group of features to those above
GROUPS = (
    "Hp",
    "+ CI",
    "+ MAI",
    "+ ArI",
    "+ Prop",
    "+ Sz",
    "+ Sp",
    "+ Gp",
    "+ CI of the graph",
    "+ MAI of the graph",
    "+ ArI of the graph",
    "+ Bs",
)
# parts of SeerNet that Table 2 adds one by one
PARTS = (
    PublishedLine("neither", "seernet:plain", (0.0921, 0.1315)),
    PublishedLine("SynMM", "seernet:no-global-node", (0.0778, 0.1070)),
    PublishedLine("SynMM and GNPB", "seernet", (0.0671, 0.0891)),
)
SIZES = (
    (20_000, 0.0858, 0.1365),
    (10_000, 0.1005, 0.1449),
    (5_000, 0.1078, 0.1789),
    (2_000, 0.1233, 0.1925),
    (1_000, 0.1568, 0.2819),
)
"""Training rows, and MAPE in training and inference, of Table 3."""
SHARES = (0.75, 0.5, 0.25, 0.125, 0.0625)
"""Shares of the training architectures here that stand for the sizes of Table 3, in their order."""
# fields by position: key, paper, place in the paper, title, rows, columns, lines, way of holding
# out
TABLES = (
    PaperTable(
        "perfseer-table-1",
        NAME,
        "Table 1",
        "features, added group by group",
        RowSelection.BOTH,
        TIMES,
        (
            *(
                PublishedLine(label, f"seernet:table-1-{i}", published)
                for i, (label, published) in enumerate(zip(GROUPS, TABLE_1, strict=True), 1)
            ),
            PublishedLine("names of operators, one-hot", "seernet:one-hot"),
            PublishedLine("names of operators, frequency", "seernet:frequency"),
        ),
        note="Heads read the row's batch in every line here, so that the last line adds nothing. "
        "The paper's main claim is not reproduced, whatever the order: features of the whole graph "
        "take its error of training steps from 22.3 to 9.2%, ours from 16.8 to 15.3%.",
    ),
    PaperTable(
        "perfseer-table-2",
        NAME,
        "Table 2",
        "parts of the network",
        RowSelection.BOTH,
        TIMES,
        PARTS,
    ),
    PaperTable(
        "perfseer-figure-4",
        NAME,
        "Figure 4",
        "against the baselines",
        RowSelection.BOTH,
        TIMES,
        (
            PublishedLine("SeerNet", "seernet", (0.0671, 0.0891)),
            PublishedLine("MLP-Node", "mlp-node"),
            PublishedLine("PMGNS", "pmgns:single"),
            PublishedLine("Eagle-p", "brp-nas:pmgns"),
            PublishedLine("Eagle-s", "brp-nas"),
        ),
        note="The figure states means of six metrics: SeerNet 5.14 %, Eagle-p 74.43 %.",
    ),
    PaperTable(
        "perfseer-figure-6",
        NAME,
        "Figure 6",
        "several quantities at once",
        RowSelection.BOTH,
        TIMES,
        (
            PublishedLine("SeerNet", "seernet", (0.0671, 0.0891)),
            PublishedLine("SeerNet-Multi", "seernet-multi"),
            PublishedLine("SeerNet-Multi without PCGrad", "seernet-multi:without-pcgrad"),
            PublishedLine("PMGNS-Multi", "pmgns"),
        ),
        note="The figure states means of six metrics: 7.75, 15.85 and 50.5 % for the last three. "
        "Tasks here are the times of inference and of training.",
    ),
    PaperTable(
        "perfseer-figure-6-energy",
        NAME,
        "Figure 6",
        "time, energy and power at once",
        RowSelection.ENERGY,
        (
            PublishedColumn("training time"),
            PublishedColumn("energy", "energy_j"),
            PublishedColumn("power", "power_w"),
        ),
        (
            PublishedLine("SeerNet", "seernet"),
            PublishedLine("SeerNet-Multi", "seernet-multi"),
            PublishedLine("SeerNet-Multi without PCGrad", "seernet-multi:without-pcgrad"),
        ),
    ),
    PaperTable(
        "perfseer-figure-6-memory",
        NAME,
        "Figure 6",
        "memory and active multiprocessors at once",
        RowSelection.MEMORY,
        (PublishedColumn("memory"), PublishedColumn("SM utilisation", "sm_active")),
        (
            PublishedLine("SeerNet-Multi", "seernet-multi"),
            PublishedLine("SeerNet-Multi without PCGrad", "seernet-multi:without-pcgrad"),
            PublishedLine("PMGNS-Multi", "pmgns"),
            PublishedLine("SeerNet", "seernet"),
        ),
        quantity=Quantity.MEMORY,
        note="3,000 MLPs, for research alone: no weights of them ship. PMGNS has no output for "
        "multiprocessors.",
    ),
    PaperTable(
        "perfseer-figure-6-multiprocessors",
        NAME,
        "Figure 6",
        "active multiprocessors alone",
        RowSelection.MEMORY,
        (PublishedColumn("SM utilisation"),),
        (PublishedLine("SeerNet", "seernet"),),
        quantity=Quantity.SM_ACTIVE,
    ),
    PaperTable(
        "perfseer-table-3",
        NAME,
        "Table 3",
        "fewer architectures to learn from",
        RowSelection.BOTH,
        TIMES,
        tuple(
            PublishedLine(
                f"{share:.1%} of the architectures", "seernet", (training, inference), share
            )
            for share, (_, training, inference) in zip(SHARES, SIZES, strict=True)
        ),
        note="The paper's lines are 20,000, 10,000, 5,000, 2,000 and 1,000 samples.",
    ),
    PaperTable(
        "perfseer-released-table-2",
        NAME,
        "Table 2",
        "parts of the network, the authors' rows",
        RowSelection.PERFSEER,
        TIMES,
        PARTS,
    ),
)
