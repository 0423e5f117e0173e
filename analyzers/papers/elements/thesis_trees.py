"""Chapter 6 of the thesis: trees for language models."""

from __future__ import annotations

from . import Seed, faithful, missing, ours

TREES = "docs/accuracy/trees.md"
SEED = Seed(
    "Thesis, Chapter 6 (trees for language models)",
    (
        faithful("Table 6.3", "features of model, run and machine", "perfc/serving/trees"),
        faithful("Section 6.5.2", "GraphSAGE baseline", "analyzers/papers/llm_sage.py"),
        ours(
            "Table 6.4",
            "nine models measured on H100, A100 and V100",
            "published serving rows of others",
            TREES,
        ),
        faithful("Table 6.6", "ablation of the features", TREES),
        faithful("Figure 6.7", "speed of trees against the graph network", TREES),
        faithful("Eq. 6.1", "carbon", "perfc/serving/trees"),
        missing("Section 6.3.4", "effects of quantisation on quality", "perfc judges no quality"),
    ),
)
