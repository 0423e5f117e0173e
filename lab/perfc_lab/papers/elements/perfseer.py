"""PerfSeer, 2025."""

from __future__ import annotations

from . import Seed, faithful, ours

GRAPH, BLOCK = "lab/perfc_lab/papers/perf_graph.py", "lab/perfc_lab/papers/seer_block.py"
NET, MULTI = "lab/perfc_lab/papers/seernet.py", "lab/perfc_lab/papers/seernet_multi.py"
TABLES = "lab/perfc_lab/papers/reproduction/tables/perfseer.py"
SEED = Seed(
    "PerfSeer (2025)",
    (
        faithful(
            "Section 3.1",
            "PerfGraph: 19 numbers a node, 5 an edge, 18 a graph, at the row's batch",
            GRAPH,
        ),
        ours("Section 3.1", "sizes as raw numbers", "read by their logarithm", GRAPH),
        faithful("Eq. 1", "the global node starts as a softmax of the nodes", BLOCK),
        faithful("Eqs. 2 to 4", "edges, aggregation at nodes, nodes", BLOCK),
        ours(
            "Eqs. 4 and 6",
            "sums of vectors of unstated width",
            "a linear map brings nodes, edges "
            "and graph to 256 first, which gives the stated 1.02 M parameters",
            BLOCK,
        ),
        faithful("Eqs. 5 to 8", "global node, SynMM, graph", BLOCK),
        faithful(
            "Section 4.1",
            "batch 128, 1e-3 halved after five epochs down to 1e-6, squared "
            "error, Adam, 500 epochs; under --faithful",
            NET,
        ),
        ours(
            "Section 4.1",
            "2 : 1 : 1",
            "70 : 15 : 15 by architecture, as every predictor here",
            "lab/perfc_lab/tables/architectures.py",
        ),
        ours("Section 4.1", "53,000 graphs on one GPU", "timm's rows of the RTX 3090", TABLES),
        faithful(
            "Section 3.2",
            "SeerNet-Multi: a head a metric, PCGrad",
            MULTI,
            "lab/perfc_lab/papers/networks/gradient_surgery.py",
        ),
        ours(
            "Section 3.2",
            "six metrics",
            "those that rows have: two times of timm; time, energy and power of EC-NAS; memory "
            "and active multiprocessors of GPUMemNet's MLPs",
            MULTI,
            "lab/perfc_lab/datasets/gpumemnet.py",
        ),
        ours(
            "Tables 1 to 3",
            "SM utilisation and memory",
            "of MLPs alone, in the tables of Figure 6; no fetched table has them of other networks",
            TABLES,
            "lab/perfc_lab/datasets/gpumemnet.py",
        ),
        faithful("Table 1", "twelve groups of features, and names of operators", GRAPH, TABLES),
        faithful("Table 2", "SynMM and the global node", TABLES),
        faithful(
            "Figure 4",
            "MLP-Node, PMGNS, Eagle-p, Eagle-s",
            TABLES,
            "lab/perfc_lab/papers/mlp_node.py",
            "lab/perfc_lab/papers/brp_nas.py",
        ),
        ours(
            "Figure 5",
            "nn-Meter's 13 families on phones and a VPU",
            "kernels of 205 models on a processor, which perfc measured itself",
            "lab/perfc_lab/papers/nn_meter.py",
        ),
        faithful("Figure 6", "SeerNet-Multi with and without PCGrad, PMGNS-Multi", TABLES),
        faithful("Table 3", "fewer samples", TABLES),
    ),
)
