"""Kernel class of fused mixture-of-experts layers: routed tokens times weights of their experts.

Times depend on how many experts get a token, and how many the busiest rank gets; both are computed
at `NODES` quantiles of the distribution of tokens over experts.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from enum import IntEnum
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from perfc.ir import bits_of, entity

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, KernelClass, of_products
from .attention import kernel_features

NODES = 24
"""Number of quantiles of the tokens of an expert that represent all experts."""
DEVIATES = np.array([NormalDist().inv_cdf((11 * i % NODES + 0.5) / NODES) for i in range(NODES)])
"""Normal deviates, one per quantile, in an order that is not correlated with that of the quantiles:
11 and `NODES` are coprime, so that each deviate occurs once."""
UNITS = (8, 16, 64, 128)
"""Heights of tiles of a product, in tokens."""
TOKENS_OF_PROMPTS = 1024
"""Tokens of a step from which on most belong to prompts: few steps have as many sequences, each
with one token (``lab/notes/serving_kernels.md``)."""
SKEW_OF_PROMPTS = 1.01
"""Exponent of the power law by which tokens of prompts choose experts, as tokens of one text prefer
the same experts: the lower of the two exponents with which AIConfigurator drew its rows."""
LAUNCHES = 4
"""Least number of launches: sorting of tokens, two products and the sum over experts."""
NORM = 2.0
"""Order of the norm that joins the times of traffic and of products. An order of 1 would add them,
a large one take the longer; they overlap in part."""


class ExpertsKernel(IntEnum):
    """Families of fused experts, as the column ``kernel`` numbers them."""

    UNKNOWN = 0
    CUTLASS = 1
    """Grouped products of CUTLASS, as TensorRT-LLM and FlashInfer have them."""
    TENSORRT_LLM = 2
    """TensorRT-LLM's generated kernels for Blackwell, whichever framework calls them."""
    TRITON = 3
    """Kernels written in Triton."""
    MARLIN = 4
    """Products of half-precision tokens with weights of four bits."""
    DEEP_GEMM = 5
    """DeepGEMM's kernels, with scales by blocks."""
    LOW_LATENCY = 6
    """TensorRT-LLM's kernels for few tokens."""
    ONE_API = 7
    """Intel's kernels."""
    UNTUNED_CUTLASS = 8
    """CUTLASS's kernels on Hopper if none was tuned: FlashInfer takes the first of its tactics."""


class Experts(KernelClass):
    """``tokens`` through ``chosen`` of ``experts`` each; one of ``ranks`` is timed.

    ``hidden`` is the extent of a token, ``inner`` that inside an expert on this machine.
    ``matrices`` is 3 with a gate, else 2. ``skew`` is the exponent of the power law of choices, 0
    if all experts get equally many tokens; with a skew the timed rank is the busiest one.
    ``alone`` is 1 if each token chooses independently, as in small steps of different requests: at
    even odds, or at those of a skew. No measured row is of that kind.
    ``weight_bits`` and ``scale_block`` are those of ``matmul``; ``kernel`` is an `ExpertsKernel`.

    Leaves out: the router's product, experts that all tokens share, and exchange between ranks.
    """

    name = "experts"
    parameters = ("tokens", "hidden", "inner", "chosen", "experts")
    optional = {
        "ranks": 1,
        "matrices": 3,
        "weight_bits": 0,
        "scale_block": 0,
        "skew": 0,
        "kernel": 0,
        "alone": 0,
    }
    by_framework = ("kernel",)  # columns that the framework decides
    untuned = frozenset({(ExpertsKernel.UNTUNED_CUTLASS,)})  # timed without an engine's autotuner
    # columns by which frameworks choose a kernel
    chosen_by = ("weight_bits", "scale_block", "matrices")
    # types of rows, whose intervals are calibrated separately
    categories = ("half", "eight bits", "four bits", "narrow weights")

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the least work of a mean rank, with each operand read or written once.

        Weights are those of the experts that a single token chooses, as all tokens may choose the
        same ones.
        """
        # share of the tokens of which a rank needs a copy, at least
        share = np.minimum(rows["chosen"] / rows["ranks"], 1.0)
        mac = routed(rows) * expert_elements(rows)
        touched = np.minimum(rows["chosen"], rows["experts"]) / rows["ranks"]
        weights = touched * expert_elements(rows) * weight_bytes(rows, dtype)
        tokens = rows["tokens"] * share * rows["hidden"]
        # tokens may come in the type of the product; results have at least 16 bits
        narrowest = min(bits_of(dtype), 16) / 8
        return of_products(mac, mac, weights + tokens * narrowest, tokens * 2)

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of touched weights, of tiles on multiprocessors, and of the machine."""
        log = np.log2
        parts = work(rows, dtype, sheet)
        ones = np.ones_like(parts.compute_s)
        local = rows["experts"] / rows["ranks"]
        features = {
            "log_bound_s": log(np.maximum(parts.weights_s, parts.compute_s)),
            "log_intensity": log(parts.compute_s / parts.weights_s),
            "log_weights_s": log(parts.weights_s),
            "log_compute_s": log(parts.compute_s),
            "log_tokens_s": log(parts.tokens_s),
            "log_l2_share": log(parts.weight_bytes / max(sheet.l2_bytes, 1.0)),
            "log_resident": log(
                local * expert_elements(rows) * weight_bytes(rows, dtype) / sheet.device_bytes_per_s
            ),
            "touched_share": parts.touched / local,
            "log_touched": log(parts.touched),
            "log_load": log(parts.load / parts.touched),
            "log_tokens": log(rows["tokens"]),
            "log_routed": log(np.maximum(parts.load, 1e-3)),  # no logarithm of 0
            "log_local": log(local),
            "log_experts": log(rows["experts"]),
            "log_ranks": log(rows["ranks"]),
            "chosen": rows["chosen"],
            "log_hidden": log(rows["hidden"]),
            "log_inner": log(rows["inner"]),
            "beyond_inner": np.mod(rows["inner"], 128),  # columns of the last, partly filled tile
            "matrices": rows["matrices"],
            "skew": rows["skew"],
            "computed_bits": bits_of(dtype) * ones,
            "weight_bits": 8 * weight_bytes(rows, dtype),
            "scale_block": rows["scale_block"],
            "flop_per_joule": sheet.matrix_flop_per_s("bf16") / max(sheet.power_w, 1.0) * ones,
            "ridge": log(sheet.ridge_flop_per_byte(dtype)) * ones,
            "log_device": log(sheet.device_bytes_per_s) * ones,
            "log_l2": log(max(sheet.l2_bytes, 1.0)) * ones,
            "generation": sheet.generation * ones,
        }
        for height, tiles in zip(UNITS, parts.tiles, strict=True):
            # waves of the products into the experts (up, with the gate) and out of them (down), in
            # tiles 128 columns wide
            up = tiles * np.ceil(rows["inner"] * (rows["matrices"] - 1) / 128) / sheet.sm_count
            down = tiles * np.ceil(rows["hidden"] / 128) / sheet.sm_count
            features[f"log_tiles_{height}"] = log(tiles / parts.touched)
            features[f"log_waves_up_{height}"] = log(up)
            features[f"log_waves_down_{height}"] = log(down)
            features[f"fill_{height}"] = (up + down) / (np.ceil(up) + np.ceil(down))
        # one feature for CUTLASS, tuned or not: the framework is a feature that separates them
        is_untuned = rows["kernel"] == ExpertsKernel.UNTUNED_CUTLASS
        kernel = np.where(is_untuned, ExpertsKernel.CUTLASS, rows["kernel"])
        return features | kernel_features(kernel, ExpertsKernel)

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the norm of touched weights and padded products, plus tokens and launches."""
        parts = work(rows, dtype, sheet)
        # computed over needed products, in whole tiles of 16 tokens (UNITS[1]): at most 16, which
        # is one token in each tile; 1e-9 prevents a division by 0
        padded = parts.tiles[1] * UNITS[1] / np.maximum(parts.load, 1e-9)
        compute_s = parts.compute_s * np.maximum(np.minimum(padded, 16.0), 1.0)
        bound_s = (parts.weights_s**NORM + compute_s**NORM) ** (1 / NORM)
        return bound_s + parts.tokens_s + LAUNCHES * physics.latency_s(protocol, sheet)

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return the category of each kernel by the type of its products.

        Kernels that convert narrow weights to the type of the products are a separate category.
        """
        name = {16: "half", 8: "eight bits", 4: "four bits"}.get(bits_of(dtype), "half")
        index = np.full(len(rows["tokens"]), self.categories.index(name), np.intp)
        index[rows["weight_bits"] > 0] = self.categories.index("narrow weights")
        return index


@entity
class RankWork:
    """Work of the timed rank; arrays with one element per kernel.

    Args:
        touched: number of experts with a token.
        load: number of pairs of a token and an expert.
        tiles: number of whole tiles, for each height in `UNITS`.
        weight_bytes: bytes of the weights of touched experts.
        weights_s: time of these bytes from device memory.
        compute_s: time of the products.
        tokens_s: time of the tokens that are sorted, written between the products and summed.
    """

    touched: Array
    load: Array
    tiles: tuple[Array, ...]
    weight_bytes: Array
    weights_s: Array
    compute_s: Array
    tokens_s: Array


def choice_of(tokens: float, stated_skew: float | None) -> dict[str, float]:
    """Return the parameters ``skew`` and ``alone`` of how the tokens of a step choose experts.

    Tokens of one prompt choose similarly, with a skew. Smaller steps mix requests: each token
    chooses independently, with equal odds if no skew is given. With a given skew of 0, tokens
    choose independently with equal odds in every step. The rule follows measurements of
    TensorRT-LLM and InferenceX: lab/notes/serving_kernels.md.

    Args:
        tokens: number of tokens of the step.
        stated_skew: exponent of the power law of choices; None if it is not known.
    """
    of_prompts = tokens >= TOKENS_OF_PROMPTS
    skew = (SKEW_OF_PROMPTS if of_prompts else 0.0) if stated_skew is None else stated_skew
    return {"skew": skew, "alone": float(not (of_prompts and skew))}


def routed(rows: Columns) -> Array:
    """Return the number of pairs of token and expert on a rank, mean over ranks."""
    return rows["tokens"] * np.minimum(rows["chosen"], rows["experts"]) / rows["ranks"]


def expert_elements(rows: Columns) -> Array:
    """Return the number of weights of one expert on this machine."""
    return rows["matrices"] * rows["hidden"] * rows["inner"]


def weight_bytes(rows: Columns, dtype: str) -> Array:
    """Return the bytes of one weight."""
    return np.where(rows["weight_bits"] > 0, rows["weight_bits"], bits_of(dtype)) / 8


def work(rows: Columns, dtype: str, sheet: Sheet) -> RankWork:
    """Return touched experts, load, tiles and times of the timed rank."""
    # the first axis of these arrays are the quantiles of experts, the second the kernels; a mean
    # over quantiles times the experts of a rank is the sum over its experts
    share = popularity(rows)
    counts = tokens_of_experts(rows, share)
    local = rows["experts"] / rows["ranks"]
    touching, count_each = touching_tokens(rows, counts, share)
    # the timed rank has at least one expert with a token
    touched = np.maximum(local * touching.mean(axis=0), np.minimum(1.0, local))
    load = local * counts.mean(axis=0)
    tiles = tuple(
        np.maximum(local * (touching * np.ceil(count_each / unit)).mean(axis=0), touched)
        for unit in UNITS
    )
    nbytes = touched * expert_elements(rows) * weight_bytes(rows, dtype)
    compute_s = 2 * load * expert_elements(rows) / physics.matrix_flop_per_s(dtype, sheet)
    # elements of 16 bits (the factor 2): tokens in and out; per pair of token and expert, the token
    # twice and three rows of ``inner`` (both projections of a gate and their product)
    moved = 2 * (
        rows["tokens"] * rows["hidden"] * 2 + load * (2 * rows["hidden"] + 3 * rows["inner"])
    )
    beyond = physics.beyond_l2(moved, sheet)
    # half of the rated bandwidth of L2, as no copy reaches all of it
    rate = beyond * sheet.device_bytes_per_s + (1 - beyond) * sheet.l2_bytes_per_s / 2
    return RankWork(
        touched, load, tiles, nbytes, nbytes / sheet.device_bytes_per_s, compute_s, moved / rate
    )


def touching_tokens(rows: Columns, counts: Array, share: Array) -> tuple[Array, Array]:
    """Return the probability that an expert has a token, and the tokens of an expert with any.

    Both are ``[nodes, kernels]``, as are ``counts``, the mean tokens of an expert, and ``share``,
    its `popularity`.
    """
    # tokens that are spread as evenly as possible: an expert with a mean below 1 has one or none
    touching, count_each = np.minimum(counts, 1.0), counts
    is_alone = rows["alone"] > 0
    if is_alone.any():
        # 1 − (1 − odds)^tokens, exact for small odds; the logarithm needs odds below 1
        odds = np.minimum(rows["chosen"] / rows["experts"] * share, 1 - 1e-12)
        is_touched = -np.expm1(rows["tokens"] * np.log1p(-odds))
        touching = np.where(is_alone, is_touched, touching)
        count_each = np.where(is_alone, counts / touching, counts)
    return touching, np.maximum(count_each, 1.0)


def popularity(rows: Columns) -> Array:
    """Return each expert's load over the mean, at `NODES` quantiles, ``[nodes, kernels]``.

    With a skew, loads follow a power law between 0.01 and 2 tokens. If there are more pairs of
    token and expert than experts, and tokens do not choose independently, it runs from 1 token to
    0.8 times all tokens.

    Source: AIConfigurator, ``docs/power_law``, by which the tokens of the measured rows were drawn.
    """
    pairs = rows["tokens"] * np.minimum(rows["chosen"], rows["experts"])
    position = ((np.arange(NODES) + 0.5) / NODES)[:, None]
    # the inverse of the distribution function x^(1 − skew) at the quantiles; a skew of exactly 1
    # has a logarithm in place of the power, to which 1.001 comes near
    power = 1 - np.where(rows["skew"] == 1, 1.001, rows["skew"])
    is_sparse = (pairs <= rows["experts"]) | (rows["alone"] > 0)
    least = np.where(is_sparse, 0.01, 1.0)
    # 1.001: above the least of 1, so that the power law has a range even for a single token
    most = np.where(is_sparse, 2.0, np.maximum(0.8 * rows["tokens"], 1.001))
    loads = ((most**power - least**power) * position + least**power) ** (1 / power)
    result: Array = np.where(rows["skew"] > 0, loads / loads.mean(axis=0), 1.0)
    return result


def tokens_of_experts(rows: Columns, share: Array) -> Array:
    """Return an expert's tokens on the timed rank at `NODES` quantiles, ``[nodes, kernels]``.

    With a skew the timed rank is the busiest one. The load of a rank is a sum of `popularity`
    (``share``) over its experts; the busiest has the expected maximum of as many sums as there are
    ranks. No expert has a token twice.
    """
    even = rows["tokens"] * np.minimum(rows["chosen"], rows["experts"]) / rows["experts"]
    local = np.maximum(rows["experts"] / rows["ranks"], 1.0)
    # the expected maximum of n normal variables is about √(2 ln n) deviations above the mean; the
    # mean of `local` experts has 1/√local of the deviation of one expert
    largest = np.sqrt(2 * np.log(np.maximum(rows["ranks"], 1.0)) / local)
    busiest = 1 + share.std(axis=0) * largest
    # tokens per expert if every token chooses as many experts of this rank as it can
    most_pairs = rows["tokens"] * np.minimum(rows["chosen"], local) / local
    busiest = np.clip(busiest, 1.0, np.maximum(most_pairs / even, 1.0))
    counts: Array = np.minimum(even * share * busiest, rows["tokens"])
    if (rows["alone"] > 0).any():
        counts = np.where(rows["alone"] > 0, drawn_alone(rows, even, share), counts)
    return counts


def drawn_alone(rows: Columns, even: Array, share: Array) -> Array:
    """Return the tokens of an expert, ``[nodes, kernels]``, if each token chooses independently.

    Numbers of tokens are then binomial. They are replaced by normal deviates of the same variance,
    clipped at 0 and scaled to the mean. Of several ranks the busiest is timed, which has the
    expected maximum.

    Args:
        rows: parameters of the kernels.
        even: mean tokens of an expert.
        share: `popularity`.
    """
    mean = even * share
    odds = np.minimum(rows["chosen"] / rows["experts"] * share, 1.0)
    variance = mean * (1 - odds)
    # one deviate for each quantile of popularity, not correlated with it (`DEVIATES`)
    counts = np.clip(mean + np.sqrt(variance) * DEVIATES[:, None], 0.0, rows["tokens"])
    local = np.maximum(rows["experts"] / rows["ranks"], 1.0)
    ranks = np.maximum(rows["ranks"], 1.0)
    # the number of tokens of a rank varies by each expert's draw and by the experts' popularity
    deviation = np.sqrt(variance.mean(axis=0) + mean.var(axis=0))
    busiest = 1 + np.sqrt(2 * np.log(ranks) / local) * deviation / even
    result: Array = counts / counts.mean(axis=0) * even * busiest
    return result
