"""Configurations as modules of transformers run them: an operator for each kernel of PyTorch."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import perfc
from perfc.analyzers.estimators.laws.indexing import merged
from perfc.analyzers.estimators.laws.laws import Subjects
from perfc.api import Report
from perfc.errors import PerfcError
from perfc.frontend.config import code_of

QWEN = {
    "model_type": "qwen2",
    "architectures": ["Qwen2Model"],
    "hidden_act": "silu",
    "hidden_size": 64,
    "intermediate_size": 176,
    "max_position_embeddings": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "torch_dtype": "bfloat16",
    "vocab_size": 256,
}

NORM = """\
norm.f32: cast
norm.square: pow
norm.mean: reduce_mean
norm.raised: add
norm.root: sqrt reciprocal
norm.normed: mul
norm.narrow: cast
norm: mul
"""
ROTARY = """\
{what}_rotary.negative: neg
{what}_rotary.turned: concat
{what}_rotary.cos: mul
{what}_rotary.sin: mul
{what}_rotary: add
"""
LAYER = f"""\
{NORM}\
query: gemm
key: gemm
value: gemm
{ROTARY.format(what="q")}\
{ROTARY.format(what="k")}\
attention: attention
output: gemm
residual: add
{NORM}\
gate: gemm
up: gemm
activation: swish
gated: mul
down: gemm
residual: add
"""
"""Kernels of one layer of a published trace without the copies that depend on the version."""
REPEATED = ("k_rotary.repeated", "v.repeated")
CACHED = ("k_rotary.cached", "v.cached")


def report(tmp_path: Path, runtime: str = "transformers", **keywords: str) -> Report:
    """Return the analysis of a small model of grouped heads."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN), encoding="utf-8")
    version = keywords.get("version", "")
    sizes = {"batch": 8, "seq": 128}
    return perfc.analyze(path, "h100", runtime=runtime, runtime_version=version, dims=sizes)


def layer(result: Report) -> Counter[str]:
    """Return the kernels of the second layer, as lines of text."""
    lines: list[str] = []
    for kernel in result.kernels.kernels:
        name = kernel.anchor.results[0].name
        if not name.startswith("layers.1."):
            continue
        name = name.removeprefix("layers.1.").partition(".")[2]
        for part in ("attention.", "mlp."):
            name = name.removeprefix(part)
        views = ("transpose", "reshape", "split", "expand")
        operators = [n.op.mnemonic for n in kernel.nodes if n.op.mnemonic not in views]
        lines.append(f"{name}: {' '.join(operators)}")
    return Counter(lines)


@pytest.mark.parametrize(
    ("version", "copies"),
    [
        ("4.47", REPEATED),
        ("4.52", (*REPEATED, "q_rotary.copied", "joined")),
        ("4.57", CACHED),
        ("", CACHED),
    ],
)
def test_a_layer_has_the_kernels_of_a_trace(
    tmp_path: Path, version: str, copies: tuple[str, ...]
) -> None:
    wanted = Counter([*LAYER.splitlines(), *(f"{name}: contiguous" for name in copies)])
    result = layer(report(tmp_path, version=version))
    assert result - wanted == wanted - result == Counter()


def test_engines_keep_their_kernels_and_pytorch_has_those_of_modules(tmp_path: Path) -> None:
    counts = {n: len(report(tmp_path, n).kernels.kernels) for n in ("vllm", "eager", "cudagraph")}
    assert counts["vllm"] < counts["eager"] / 3
    assert counts["eager"] == counts["cudagraph"]


def test_versions_of_the_library_are_those_of_its_runtime_alone(tmp_path: Path) -> None:
    assert [code_of(v).widens_scores for v in ((4, 45), (4, 46))] == [True, False]
    assert report(tmp_path, "eager").deployment.module_code == code_of(None)
    with pytest.raises(PerfcError, match="were not measured separately"):
        report(tmp_path, "vllm", version="4.52")


def test_kernels_on_strided_operands_compute_addresses(tmp_path: Path) -> None:
    result = report(tmp_path)
    subjects = Subjects(result.execution)
    computed = {
        k.anchor.results[0].name.removeprefix("layers.1.0."): subjects.hardness(k)[0]
        for k in result.kernels.kernels
    }
    # heads inside of positions; cosines and weights that are broadcast
    assert computed["attention.q_rotary.negative"] == computed["attention.q_rotary.cos"] == 1
    assert computed["norm.normed"] == 1
    assert computed["norm.square"] == computed["residual"] == 0
    assert merged((4, 8, 2), [(16, 2, 1), (2, 8, 1)]) == 3
