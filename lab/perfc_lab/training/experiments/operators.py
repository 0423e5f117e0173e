"""Experiments on kernels of serving frameworks, in recorded graphs or under profilers.

Each constant that is an `OperatorExperiment` is trained by `perfc train op` and scored by `perfc
eval op`. Numbers of recipes were chosen on held-out rows; lab/notes/serving_kernels.md and
lab/notes/products.md have the errors of others. A slice may have a goal of its mean error, and the
published figure that the goal is taken from.
"""

from __future__ import annotations

from typing import Any

from ..calibration.calibrate import Calibrating
from ..evaluate import RowSlice, everything
from ..fit import Recipe
from . import OperatorExperiment
from .slices import (
    BF16,
    CAUSAL,
    OF_INTEL,
    OF_NVIDIA,
    REPLAYED,
    both,
    of_20_us,
    of_eight_bits,
    of_short_heads,
    where,
    without,
    without_goals,
)

ABSOLUTE = "reg:absoluteerror"
"""Loss of classes with outliers, which a squared error would follow."""
DRAWN: dict[str, Any] = {"columns": 1.0, "node_columns": 0.5, "subsample": 0.5}
"""Shares of features and rows that each tree of a round sees; the mean of the round's trees counts
(`parallel_trees`), so that their noise averages out."""
# calibration of intervals by two folds, not by four as is the default
TWO_TURNS = Calibrating(turns=2)
ALL = RowSlice("all", everything)

# attention of prompts and encoders, and of single tokens over a cache

# recipe of attention of prompts and of single tokens
BY_HEADS = Recipe(
    trees=150,
    depth=10,
    learning_rate=0.15,
    **DRAWN,
    parallel_trees=3,
    max_rows=400_000,
    left_out={"max_rows": 60_000, "trees": 100, "learning_rate": 0.2, "depth": 8},
)
PROMPTS, ENCODERS = RowSlice("prompts", CAUSAL), RowSlice("encoders", without(CAUSAL))
PREFILL = OperatorExperiment(
    "attention_prefill",
    "Attention of prompts and encoders, most in recorded graphs",
    "attention_prefill",
    ("aic_attention", "llmservingsim_attention"),
    ("heads", "kv_heads", "head_dim"),
    BY_HEADS,
    calibrating=Calibrating(turns=3),
    shapes=(
        RowSlice("prompts", CAUSAL, 0.10),
        RowSlice("prompts, fp8", both(CAUSAL, where(dtype="f8e4m3")), 0.10),
        RowSlice("encoders", without(CAUSAL), 0.10),
    ),
    machines=(PROMPTS, ENCODERS),
)
DECODE = OperatorExperiment(
    "attention_decode",
    "Attention of single tokens over a cache, most in recorded graphs",
    "attention_decode",
    ("aic_attention", "llmservingsim_attention"),
    ("heads", "kv_heads", "head_dim"),
    BY_HEADS,
    calibrating=Calibrating(turns=3),
    shapes=(
        RowSlice("all", everything, 0.10),
        RowSlice("cache of 8 bits", where(cache_bits=8), 0.10),
    ),
    machines=(ALL,),
)
MIXED_ON = where("rtx-pro-6000-server")
"""Mask of the machine that mixed batches of several models were measured on."""
MIXED = OperatorExperiment(
    "mixed_attention",
    "Attention of prompts mixed with single tokens, under a profiler",
    "mixed_attention",
    ("llmservingsim_attention",),
    ("heads", "kv_heads"),
    Recipe(
        trees=150,
        depth=12,
        leaves=128,
        learning_rate=0.15,
        least_weight=10.0,
        **DRAWN,
        parallel_trees=4,
        objective=ABSOLUTE,
        max_rows=60_000,
        cells=3_000,
        left_out={"max_rows": 30_000, "trees": 80, "learning_rate": 0.2},
    ),
    calibrating=Calibrating(turns=4),
    every_fold=True,
    whole=("model",),
    shapes=(
        RowSlice("machine measured with other heads", MIXED_ON, 0.06, "sum of both halves 41 %"),
        ALL,
    ),
    groups=(
        RowSlice("machine measured with other models", MIXED_ON, 0.06, "sum of both halves 41 %"),
        ALL,
    ),
    machines=(ALL,),
)

# latent attention: prompts over expanded keys, single tokens over latents, and absorbed products

LATENT_SLICES = (
    RowSlice("prompts", both(REPLAYED, of_short_heads), 0.10),
    RowSlice("single tokens", both(REPLAYED, without(of_short_heads)), 0.10),
    RowSlice("called one by one", without(REPLAYED)),
)
LATENT = OperatorExperiment(
    "latent_attention",
    "Latent attention (MLA), most in recorded graphs",
    "latent_attention",
    ("aic_mla",),
    ("batch", "query_len", "kv_len"),
    Recipe(
        trees=130,
        depth=12,
        leaves=160,
        learning_rate=0.16,
        least_weight=8.0,
        **DRAWN,
        parallel_trees=4,
        objective=ABSOLUTE,
        max_rows=60_000,
        cells=3_000,
        left_out={"max_rows": 30_000, "trees": 120, "learning_rate": 0.2, "leaves": 150},
    ),
    calibrating=TWO_TURNS,
    tested_rows=12_000,
    whole=("heads",),
    parts=4,
    shapes=LATENT_SLICES,
    groups=LATENT_SLICES,
    machines=without_goals(LATENT_SLICES),
)
# slices of absorbed products
BY_BITS = (
    RowSlice("all", everything, 0.10),
    RowSlice("16 bits", without(of_eight_bits), 0.10),
    RowSlice("8 bits", of_eight_bits, 0.10),
)
BATCHED = OperatorExperiment(
    "batched_matmul",
    "Absorbed products of latent attention, in recorded graphs",
    "batched_matmul",
    ("aic_mla_bmm",),
    ("batch", "m"),
    Recipe(
        trees=80,
        depth=12,
        leaves=80,
        learning_rate=0.16,
        least_weight=4.0,
        **DRAWN,
        parallel_trees=4,
        objective=ABSOLUTE,
        cells=1_500,
        left_out={"trees": 60, "learning_rate": 0.2, "leaves": 64},
    ),
    calibrating=TWO_TURNS,
    every_fold=True,
    whole=("batch",),
    parts=6,
    shapes=BY_BITS,
    groups=BY_BITS,
    machines=without_goals(BY_BITS),
)

# gated delta nets and Mamba-2: the scan and the convolution before it

# slices of scans and convolutions
BY_TOKENS = (
    ALL,
    RowSlice("prompts", without(where(query_len=1)), 0.10),
    RowSlice("single tokens", where(query_len=1), 0.10),
)
LINEAR = OperatorExperiment(
    "linear_attention",
    "Gated delta nets and Mamba-2, in recorded graphs",
    "linear_attention",
    ("aic_state_space",),
    ("heads", "key_heads"),
    Recipe(
        trees=120,
        depth=12,
        leaves=128,
        learning_rate=0.15,
        least_weight=6.0,
        **DRAWN,
        parallel_trees=4,
        objective=ABSOLUTE,
        cells=2_000,
        left_out={"max_rows": 25_000, "trees": 70, "learning_rate": 0.2, "leaves": 96},
    ),
    calibrating=TWO_TURNS,
    whole=("model",),
    shapes=BY_TOKENS,
    groups=BY_TOKENS,
    machines=without_goals(BY_TOKENS),
)
CAUSAL_CONVOLUTION = OperatorExperiment(
    "causal_convolution",
    "Causal convolutions before states, in recorded graphs",
    "causal_convolution",
    ("aic_state_space",),
    ("channels",),
    Recipe(
        trees=100,
        depth=12,
        leaves=60,
        learning_rate=0.15,
        least_weight=6.0,
        **DRAWN,
        parallel_trees=4,
        objective=ABSOLUTE,
        cells=2_000,
        left_out={"max_rows": 25_000, "trees": 60, "learning_rate": 0.2, "leaves": 50},
    ),
    calibrating=TWO_TURNS,
    whole=("model",),
    shapes=BY_TOKENS,
    groups=BY_TOKENS,
    machines=without_goals(BY_TOKENS),
)

# fused experts, seven ways to quantize

RELATED = where("h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "gb200")
"""Mask of machines that share their chip with another, or nearly so."""
UNQUANTIZED = where(dtype="bf16", weight_bits=0)
QUANTIZED_EXPERTS = (RowSlice("16 bits", UNQUANTIZED), RowSlice("quantised", without(UNQUANTIZED)))
EXPERTS = OperatorExperiment(
    "experts",
    "Fused experts in recorded graphs",
    "experts",
    ("aic_moe",),
    ("hidden", "inner", "chosen", "experts", "ranks"),
    Recipe(
        trees=300,
        depth=16,
        leaves=300,
        learning_rate=0.15,
        least_weight=10.0,
        columns=0.5,
        objective=ABSOLUTE,
        cells=3_000,
        # for machines left out, two trees per round that see all features: most of the error of
        # such a forest is the noise of single trees
        left_out={
            "max_rows": 300_000,
            "trees": 120,
            "depth": 12,
            "leaves": 300,
            "parallel_trees": 2,
            "columns": 1.0,
            "node_columns": 0.35,
            "subsample": 0.5,
        },
    ),
    calibrating=TWO_TURNS,
    tested_rows=12_000,
    whole=("hidden", "chosen", "experts"),
    parts=30,
    shape_folds=10,
    shapes=(RowSlice("all", everything, 0.09), *QUANTIZED_EXPERTS),
    groups=(RowSlice("all", everything, 0.14), *QUANTIZED_EXPERTS),
    machines=(RowSlice("H100, H200, B200, GB200", RELATED, 0.12), ALL),
)

# matrix products, six ways to quantize

ANCHORED = "bf16 on A100, H100, H200, B200"
FULL = both(BF16, where("a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb"))
"""Mask of bf16 on the machines that others published figures of."""
PROFILED = RowSlice("half precision, under a profiler", without(REPLAYED))
QUANTIZED = tuple(
    RowSlice(
        name,
        both(REPLAYED, where(dtype=dtype, weight_bits=weight_bits, scale_block=scale_block)),
        0.08,
    )
    for name, dtype, weight_bits, scale_block in (
        ("fp8, per tensor", "f8e4m3", 0, 0),
        ("fp8, blocks of 128", "f8e4m3", 0, 128),
        ("nvfp4", "f4e2m1", 0, 16),
        ("f16, int8 weights", "f16", 8, 0),
        ("f16, int4 weights", "f16", 4, 0),
        ("int8 (SmoothQuant)", "i8", 0, 1),
    )
)
MATMUL = OperatorExperiment(
    "matmul",
    "Matrix product, most in recorded graphs",
    "matmul",
    ("aic_gemm", "vidur_mlp", "llmservingsim_layers", "deepbench"),
    ("n", "k"),
    Recipe(
        trees=600,
        depth=0,
        leaves=600,
        learning_rate=0.06,
        least_weight=1.0,
        subsample=0.7,
        objective=ABSOLUTE,
        max_rows=800_000,
        keep_small=True,
        left_out={
            "trees": 150,
            "depth": 7,
            "leaves": 0,
            "learning_rate": 0.12,
            "least_weight": 5.0,
            "subsample": 0.8,
            "columns": 0.5,
            "objective": "reg:squarederror",
            "max_rows": 60_000,
            "keep_small": 0,
        },
    ),
    calibrating=TWO_TURNS,
    shapes=(
        RowSlice(ANCHORED, FULL, 0.06, "constants 12–22 %; tables 7–15 %"),
        RowSlice("bf16", BF16),
        *QUANTIZED,
        RowSlice("all", REPLAYED),
        PROFILED,
    ),
    machines=(
        RowSlice(ANCHORED, FULL, 0.14, "spec roofline 44–57 %"),
        RowSlice("bf16, NVIDIA", both(BF16, OF_NVIDIA)),
        RowSlice("all, NVIDIA", OF_NVIDIA),
        RowSlice("all, Intel", OF_INTEL),
        PROFILED,
    ),
)

# collectives within one node, and everything that is computed token by token

# slices of collectives
BACK_TO_BACK = (RowSlice("back to back", REPLAYED), ALL)
COLLECTIVE = OperatorExperiment(
    "collective",
    "Collectives within one node",
    "collective",
    ("aic_comm",),
    ("operation", "ranks", "nbytes"),
    Recipe(trees=300, depth=6, least_weight=2.0, left_out={}),
    shapes=BACK_TO_BACK,
    machines=BACK_TO_BACK,
)
# slices of tokenwise kernels
LONG = (ALL, RowSlice("20 µs and more", of_20_us, 0.10))
TOKENWISE = OperatorExperiment(
    "tokenwise",
    "Norms, activations, rotations, look-ups of serving frameworks, under profilers",
    "tokenwise",
    ("vidur_mlp", "llmservingsim_layers"),
    ("tokens",),
    Recipe(
        trees=80,
        depth=10,
        leaves=40,
        learning_rate=0.16,
        least_weight=8.0,
        columns=1.0,
        balance=1.0,
        objective=ABSOLUTE,
        cells=1_500,
        left_out={"max_rows": 25_000, "trees": 50, "learning_rate": 0.2, "leaves": 30},
    ),
    calibrating=TWO_TURNS,
    whole=("model",),
    parts=5,
    shapes=LONG,
    groups=LONG,
    machines=without_goals(LONG),
)
