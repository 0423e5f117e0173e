"""TraPPM, NeurIPS 2023 workshop, and Chapter 5 of the thesis."""

from __future__ import annotations

from . import Seed, faithful, ours

TRAPPM, AUTO = "lab/perfc_lab/papers/trappm.py", "lab/perfc_lab/papers/graph_autoencoder.py"
TABLES = "lab/perfc_lab/papers/reproduction/tables/trappm.py"
POOL = "lab/perfc_lab/datasets/unlabelled.py"
SEED = Seed(
    "TraPPM (NeurIPS 2023 workshop; thesis, Chapter 5)",
    (
        faithful("Figure 5.1", "113 numbers a node", TRAPPM, "lab/perfc_lab/papers/operators.py"),
        faithful(
            "Section 5.4.2",
            "auto-encoder of four SAGE layers, batch normalisation, dropout 0.5, inner product",
            AUTO,
        ),
        faithful("Section 5.4.2", "L_BCE over edges and drawn pairs without one", AUTO),
        ours(
            "Section 5.4.2",
            "log(1 - s) + e",
            "taken as the logarithm of the other sigmoid, whose digits survive large products",
            AUTO,
        ),
        faithful("Section 5.5.3", "Adam at 5e-4, 400 epochs", AUTO),
        ours(
            "Section 5.5.2.1",
            "25,053 graphs of timm that nobody measured",
            "20,000 by default: "
            "networks drawn from ten families, cells of NAS-Bench-101 and -201, model files",
            POOL,
        ),
        faithful(
            "Section 5.4.3",
            "V = E_GAE + E_GNN + F_s, 1,030 numbers; a regressor for each quantity",
            TRAPPM,
            "lab/perfc_lab/papers/static_features.py",
        ),
        ours(
            "Section 5.4.3",
            "plain sums and GraphSAGE",
            "without --faithful results are divided by "
            "their norm, sums counted in hundreds, the rate on a cosine",
            TRAPPM,
            "lab/perfc_lab/papers/nnlqp.py",
        ),
        faithful("Eq. 5.1 and 5.2", "MAPE and RMSE", "lab/perfc_lab/training/graphs/bench.py"),
        faithful(
            "Section 5.5.4",
            "70 : 30 within each family; Adam at 1e-3, squared error, 100 epochs",
            "lab/perfc_lab/tables/architectures.py",
            TRAPPM,
        ),
        ours(
            "Section 5.5.4",
            "five seeds, no validation",
            "three seeds; a seventh of the "
            "architectures trained on chooses the epoch and calibrates intervals",
            TABLES,
        ),
        faithful(
            "Section 5.5.5.1",
            "GBoost: six features, depth 50, 2,000 trees, the grid",
            "lab/perfc_lab/papers/gboost.py",
        ),
        faithful("Section 5.5.5.2", "MLP on static features", "lab/perfc_lab/papers/static_mlp.py"),
        ours(
            "Section 5.5.5.3",
            "NNLQP on TraPPM's node features",
            "NNLQP's own 44 numbers",
            "lab/perfc_lab/papers/nnlqp.py",
        ),
        ours(
            "Table 5.2",
            "memory by family",
            "one mean over GPUMemNet's MLPs; no fetched table has memory of other networks' steps",
            TABLES,
            "lab/perfc_lab/datasets/gpumemnet.py",
        ),
        faithful("Table 5.3", "step time by family", TABLES),
        faithful("Table 5.4", "step time against three baselines", TABLES),
        faithful("Table 5.5", "few rows of a second GPU, with and without transfer", TABLES),
        faithful(
            "Figure 5.4",
            "t-SNE of the summed embeddings",
            "lab/perfc_lab/papers/reproduction/neighbours.py",
        ),
        faithful(
            "Figures 5.5 and 5.7", "loss by epoch", "lab/perfc_lab/papers/reproduction/charts.py"
        ),
        faithful(
            "Figure 5.6",
            "predicted against measured",
            "lab/perfc_lab/papers/reproduction/charts.py",
        ),
        faithful("Section 5.5.9", "auto-encoder as it was initialised", TRAPPM, TABLES),
        ours(
            "Section 5.6.1",
            "power on the same embedding",
            "rows of EC-NAS, a Quadro RTX 6000",
            TRAPPM,
            TABLES,
        ),
        faithful("Figure 5.8", "one call gives ms, MB and W, of what rows have", TRAPPM),
        faithful(
            "Section 5.6.4", "hours and price of a training", "perfc/commands/analysis/predict.py"
        ),
    ),
)
