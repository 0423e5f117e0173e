"""Chapter 7 of the thesis: graphs and language models together."""

from __future__ import annotations

from . import Seed, faithful, missing

SEED = Seed(
    "Thesis, Chapter 7 (graphs and language models)",
    (
        faithful(
            "Section 7.5.2",
            "GNN-NF and NNLQP, its baselines",
            "analyzers/papers/gnn_nf.py",
            "analyzers/papers/nnlqp.py",
        ),
        missing(
            "Section 7.4.3",
            "three stages: GraphMAE, graph-text adaptation, fine-tuning",
            "not built",
        ),
        missing("Tables 7.1 to 7.6, Figure 7.3", "its experiments", "not built"),
    ),
)
