"""Formats at the rate of the matrix unit that has them, and at their cost where none does."""

from __future__ import annotations

import pytest

from perfc.serving import ServingReport, llm


def served(target: str, **how: object) -> ServingReport:
    """A model of 8 billion parameters under 64 users."""
    return llm("llama-3.1-8b", target, concurrency=64, requests=64, **how)  # type: ignore[arg-type]


def rate(report: ServingReport) -> float:
    """Tokens a second."""
    assert report.throughput is not None
    return report.throughput.output_tokens_per_s


@pytest.mark.parametrize("target", ["mi355x", "mi350x", "b200", "rtx5090"])
def test_four_bits_are_multiplied_where_a_matrix_unit_does(target: str) -> None:
    four, eight = served(target, dtype="mxfp4"), served(target, dtype="fp8")
    assert four.weights == "mxfp4-a4"
    assert rate(four) > rate(eight)
    assert four.steps[0].floor_s < eight.steps[0].floor_s
    assert not [n for n in four.notes if "widened" in n]


def test_four_bits_are_widened_elsewhere() -> None:
    four = served("h100", dtype="mxfp4")
    assert four.weights == "mxfp4"
    assert "h100-sxm5-80gb has no f4e2m1: mxfp4 weights are widened" in four.notes


@pytest.mark.parametrize("target", ["a100", "rtx3090", "v100"])
def test_a_cache_of_8_bits_costs_its_conversion_where_no_unit_has_them(target: str) -> None:
    tp = {"tp": 2}
    half = served(target, parallel=tp)
    narrow = served(target, kv_dtype="fp8", parallel=tp)
    assert narrow.steps[-1].time_s > half.steps[-1].time_s
    assert narrow.steps[-1].floor_s <= half.steps[-1].floor_s
    assert [n for n in narrow.notes if "has no f8e4m3: cached keys and values are converted" in n]


def test_a_cache_of_8_bits_is_faster_where_units_have_them() -> None:
    half, narrow = served("h100"), served("h100", kv_dtype="fp8")
    assert rate(narrow) > rate(half)
    assert not [n for n in narrow.notes if "converted" in n]


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("nvfp4", 4.5), ("mxfp4", 4.25), ("mxfp4-a4", 4.25), ("f8-block", 8.0), ("f8", 8.0)],
)
@pytest.mark.parametrize("target", ["b200", "h100"])
def test_experts_store_their_scales(target: str, dtype: str, bits: float) -> None:
    """One of 8 bits for 16 or 32 weights of 4; tables and routers have 16 bits."""
    found = llm("mixtral-8x7b", target, dtype=dtype, requests=2)
    held = 8 * found.memory.weight_bytes / found.parameters
    assert held == pytest.approx(bits, rel=0.02)
