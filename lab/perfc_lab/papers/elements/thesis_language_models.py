"""Chapter 7 of the thesis and its two short papers: graphs and language models together."""

from __future__ import annotations

from . import Seed, faithful, missing, ours

ROOM = "lab/perfc_lab/papers/gnn_llm"
MAE, NETWORK, PROJECTION = f"{ROOM}/graph_mae.py", f"{ROOM}/network.py", f"{ROOM}/projection.py"
MODEL, ALIGNMENT, TUNING = f"{ROOM}/language_model.py", f"{ROOM}/alignment.py", f"{ROOM}/tuning.py"
WORDS, NUMBERS, TABLES = f"{ROOM}/descriptions.py", f"{ROOM}/numbers.py", f"{ROOM}/tables.py"
PRESETS, FEATURES, COUNTS = f"{ROOM}/presets.py", f"{ROOM}/features.py", f"{ROOM}/counts.py"
FEW = "lab/perfc_lab/papers/reproduction/few_rows.py"
PROTOCOLS = "lab/perfc_lab/training/graphs/protocols.py"
ROWS = (
    "NNLQP's latencies are not in its repository; rows of timm, three GPUs in eight ways of running"
)
SEED = Seed(
    "Thesis, Chapter 7 (graphs and language models)",
    (
        faithful("Eq. 7.3, page 101", "operator, attributes, output shape: 44", FEATURES),
        ours(
            "Eqs. 7.2 and 7.4, pages 99 and 101",
            "(A + εI) MLP(H)",
            "A + (1 + ε)I, ε learned from 0, as Xu et al. have it: a small ε alone would forget a "
            "node's own features",
            MAE,
        ),
        faithful("Eq. 7.5, page 102", "readout: the mean over operators", NETWORK),
        ours(
            "Eq. 7.5, page 102",
            "the mean is all that is projected",
            "a mean does not know how many operators there are: numbers of the same features have "
            "tokens of their own, as logarithms and digits; variant mean is as in the source",
            COUNTS,
            PROJECTION,
        ),
        faithful("Eq. 7.6, page 102", "MLP_proj, a token wider than the readout", PROJECTION),
        faithful("Eq. 7.7, page 102", "[<graph>, GraphToken, </graph>, Q], tags as text", NETWORK),
        faithful("Section 7.4.1, page 101", "high-level text, semi-structured JSON", WORDS),
        faithful(
            "Section 7.4.3, page 102",
            "stage 1, GraphMAE: mask of half, learned mask vector, re-mask, GIN decoder, SCE",
            MAE,
        ),
        faithful(
            "Table 7.7, page 113",
            "1,024 hidden units, 5 layers, 5e-4, mask 0.5, replace 0.1, alpha 2, batch 128, "
            "BatchNorm, PReLU, Adam, input dropout 0.2, 500 epochs, no schedule (preset paper)",
            MAE,
            PRESETS,
        ),
        missing("Table 7.7, page 113", "attention dropout 0.1", "GIN has no attention to drop"),
        ours(
            "Section 7.4.4, page 104",
            "20,000 graphs of ten families of NNLQP",
            "20,000 drawn networks of ten families and NAS cells; graphs of model files are left "
            "out, as rows are measured on them",
            "lab/perfc_lab/datasets/unlabelled.py",
            FEATURES,
        ),
        faithful(
            "Section 7.4.3, page 103",
            "stage 2: encoder frozen, projection and LoRA, cross entropy of the next word",
            ALIGNMENT,
        ),
        ours(
            "Section 7.4.3, page 103",
            "LoRA alone moves the language model in stage 2",
            "the small decoder, which knows little beforehand, moves as a whole in preset cpu; "
            "models that are given have LoRA alone",
            f"{ROOM}/checkpoints.py",
        ),
        ours(
            "Section 7.4.3, page 103",
            "pairs are summaries of graphs",
            "where numbers have tokens, summaries of no graph and rooflines of data sheets are "
            "practised too",
            f"{ROOM}/lessons.py",
        ),
        ours(
            "Section 7.7.3, page 112",
            "summaries with totals and a line for each layer",
            "numbers of three digits take the word that suits them; the eight kinds of most FLOP "
            "have a line",
            WORDS,
            NUMBERS,
        ),
        faithful("Section 7.4.3, page 104", "stage 3: all parts learn", TUNING),
        faithful(
            "Sections 7.5.1 and 7.5.2, pages 105 and 107",
            "Adam, 1e-3 for the GNN, 1e-4 for the LLM, 10 epochs, LoRA rank 8 (preset paper)",
            PRESETS,
        ),
        ours(
            "Section 7.5.1, page 105",
            "1e-5 for the LLM in Tables 7.2, 7.3 and 7.6",
            "1e-4 in all tables, as in the sections after it",
            PRESETS,
        ),
        ours(
            "Table 7.3, page 106",
            "which layers LoRA is on is not said",
            "queries and values: the table grows by 0.42 million weights a rank, as these do in "
            "Llama-3-8B; all linear layers in preset cpu",
            NETWORK,
        ),
        faithful("Section 7.4.4, page 105", "latency as text of the language model", NUMBERS),
        ours(
            "Section 7.4.4, page 105",
            "answers that are no number are not spoken of",
            "counted, stated in every table, and replaced by the usual time",
            NUMBERS,
            TUNING,
        ),
        faithful("Section 7.7.2, page 112", "MAPE", "lab/perfc_lab/training/graphs/bench.py"),
        ours(
            "Section 7.7.2, page 112",
            "Acc(δ), whose pos(z) is 1 if z <= 0",
            "misprinted; share of rows within δ, as the words say",
            "lab/perfc_lab/training/graphs/bench.py",
        ),
        ours(
            "Section 7.5.1, page 105",
            "Llama-3-8B",
            "any causal model of a local folder, in 4 bits on a GPU; the tables here have a "
            "decoder of 3.5 million weights that learned from text on graphs",
            MODEL,
        ),
        ours("Table 7.2, page 105", "text, JSON, graph on AlexNet's family", "families of timm "
             "with few operators; the same time for each", TABLES),
        ours("Table 7.3, page 106", "ranks 8 to 128", "the same rows", TABLES),
        ours("Table 7.4, page 107", "baselines on nine platforms", ROWS, TABLES),
        faithful(
            "Section 7.5.2, page 107",
            "GNN-NF and NNLQP, its baselines",
            "lab/perfc_lab/papers/gnn_nf.py",
            "lab/perfc_lab/papers/nnlqp.py",
        ),
        faithful(
            "Section 7.5.2, page 108",
            "sentence encoders: MiniLM, mpnet, distilroberta",
            "lab/perfc_lab/papers/sentence_encoder.py",
        ),
        ours("Table 7.5, page 108", "pre-training 2 × 2", ROWS, TABLES),
        ours(
            "Figure 7.3, page 110",
            "new hardware, three further epochs, 32 samples up",
            "8 to 512 rows of an RTX PRO 6000; in preset cpu up to 20 passes; all predictors "
            "then take the median of what is left",
            TABLES,
            FEW,
        ),
        ours(
            "Table 7.1, page 98",
            "Vision transformers, 32 samples",
            "8 to 512 rows, transformers of all families left out",
            PROTOCOLS,
            TABLES,
        ),
        ours(
            "Table 7.6 and Section 7.7.5, page 112",
            "a token for each hidden unit",
            "a token for each number that a summary states",
            PROJECTION,
        ),
        ours("Table 7.8, page 114", "errors by platform", ROWS, TABLES),
        missing(
            "KDD Ph.D. Consortium paper",
            "5.4 points on ten platforms",
            "the thesis has 8.8 points on nine; its numbers stand in the tables",
        ),
    ),
)  # fmt: skip
