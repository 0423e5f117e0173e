"""Chapter 6 of the thesis: trees for language models."""

from __future__ import annotations

from . import Seed, faithful, ours

TREES = "lab/docs/accuracy/trees.md"
SEED = Seed(
    "Thesis, Chapter 6 (trees for language models)",
    (
        faithful("Table 6.3", "features of model, run and machine", "lab/perfc_lab/trees"),
        faithful("Section 6.5.2", "GraphSAGE baseline", "lab/perfc_lab/papers/llm_sage.py"),
        ours(
            "Table 6.4",
            "nine models measured on H100, A100 and V100",
            "published serving rows of others",
            TREES,
        ),
        faithful("Table 6.6", "ablation of the features", TREES),
        faithful("Figure 6.7", "speed of trees against the graph network", TREES),
        faithful(
            "Eq. 6.1", "carbon", "lab/perfc_lab/trees/board.py", "perfc/study/expenses/bill.py"
        ),
        ours(
            "Table 6.5",
            "trees against the graph network: throughput, memory, energy",
            "on those rows; the thesis's numbers stand beside",
            TREES,
        ),
        ours(
            "Section 6.3.4, Figure 6.6",
            "memory, throughput and energy by the format of the weights",
            "served models and Qwen2.5 in place of LLaMA 7B; energy by format has no rows",
            TREES,
        ),
        ours(
            "Figures 6.1, 6.4 and 6.5",
            "throughput, memory and energy by batch and length of encoders",
            "perfc sweep and perfc llm predict them; no fetched table measures encoders so",
            "perfc/commands/analysis/sweep.py",
            "perfc/commands/workloads/llm.py",
        ),
    ),
)
