"""DIPPM, Euro-Par 2023, and Chapter 4 of the thesis."""

from __future__ import annotations

from . import Seed, faithful, missing, ours

PMGNS, MIG = "lab/perfc_lab/papers/pmgns.py", "perfc/machine/mig.py"
TABLES = "lab/perfc_lab/papers/reproduction/tables/dippm.py"
SEED = Seed(
    "DIPPM (Euro-Par 2023; thesis, Chapter 4)",
    (
        faithful(
            "Algorithm 1, Section 4.3.2",
            "node features of 32 numbers: operator, attributes, output shape",
            PMGNS,
        ),
        ours(
            "Section 4.3.1",
            "graphs from Relay",
            "operators are those of perfc's canonical IR: "
            "bias additions are folded, shape arithmetic is gone",
            "analyzers/graph/encode.py",
        ),
        ours(
            "Section 4.3.2",
            "sizes as raw numbers",
            "read by their logarithm, as they span nine orders of magnitude",
            "lab/perfc_lab/papers/networks/node_features.py",
        ),
        faithful("Eq. 4.1", "static features: MACs, batch, convolutions, dense, ReLU", PMGNS),
        ours(
            "Section 4.3.2",
            "edges chain the nodes of the program in order",
            "edges are those of the data flow",
            PMGNS,
        ),
        faithful(
            "Figure 4.2",
            "three GraphSAGE blocks of two layers, three dense layers, three "
            "outputs; 3.45 M parameters",
            PMGNS,
        ),
        ours(
            "Section 4.3.4",
            "one network for one A100",
            "the head reads the machine's data sheet and the way of running",
            "lab/perfc_lab/papers/networks/row_features.py",
        ),
        faithful(
            "Table 4.3", "512 wide, dropout 0.05, Adam at 2.754e-5, Huber; under --faithful", PMGNS
        ),
        ours(
            "Section 4.3.4",
            "sum over nodes, plain GraphSAGE",
            "without --faithful results are "
            "divided by their norm and sums counted in hundreds; the rate is 1e-3 on a cosine",
            PMGNS,
            "lab/perfc_lab/papers/networks/summed.py",
        ),
        ours(
            "Section 4.4",
            "size of a mini-batch, which is not stated",
            "about 8,192 operators",
            "lab/perfc_lab/papers/networks/batches.py",
        ),
        faithful(
            "Section 4.4.3", "70 : 15 : 15 at random", "lab/perfc_lab/tables/architectures.py"
        ),
        faithful("Table 4.4", "GAT, GCN, GIN, MLP and GraphSAGE after ten epochs", TABLES),
        faithful("Eq. 4.2", "the slice that holds a predicted memory", MIG),
        ours(
            "Table 4.5",
            "slices of seen, half seen and unseen models",
            "the rule is applied to the paper's predicted and measured memory; no fetched table "
            "has memory of inference on a GPU to predict anew",
            "examples/mtd/slices.py",
            MIG,
        ),
        ours(
            "Figure 4.3",
            "memory on each slice",
            "predicted: one footprint, time and fit for every slice; measuring needs an A100 that "
            "is divided",
            "perfc/commands/analysis/mig.py",
            "perfc/study/comparison/slices.py",
        ),
        ours(
            "Figure 4.4",
            "predicted against measured latency, energy and memory",
            "time and energy of EC-NAS's steps, memory of GPUMemNet's MLPs: no fetched table has "
            "all three, or memory of inference",
            "lab/perfc_lab/papers/reproduction/charts.py",
            TABLES,
        ),
        faithful("Figure 4.5", "one call gives memory, energy, latency and slice", PMGNS),
        missing(
            "Table 4.2",
            "10,508 graphs of ten families on an A100",
            "not published as a table that perfc fetches",
        ),
    ),
)
