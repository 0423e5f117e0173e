"""Modules of the IR that a description becomes: steps, precision, parallelism."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import perfc
from perfc.errors import ModelError, ParseError
from perfc.frontend.config import (
    ForwardStep,
    LanguageModel,
    Parallel,
    ServingPrecision,
    WeightFormat,
    lower,
    precision_of,
    read_config,
    weight_format,
)
from perfc.frontend.config.facts import (
    cache_bytes,
    parameters,
    state_bytes,
    weight_bytes,
)
from perfc.ir.graph import Module, Node
from perfc.ir.graphs.verify import verify
from perfc.ir.op import Kind
from perfc.ir.problem import Attention, Collective, Exchange, Experts, MixedAttention, Product
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost, CostTable
from perfc.passes.roofline.parameters import Parameters, Role

SIZES = {
    "batch": 2,
    "seq": 96,
    "past": 160,
    "decodes": 3,
    "context": 160,
    "target": 4,
    "source": 96,
}
GOLDEN = Path(__file__).parent / "small.pir"


def costs(module: Module) -> CostTable:
    am = Analyses()
    return am.get(Cost(), am.apply(Shapes(), module))


def macs(module: Module, sizes: Mapping[str, int] = SIZES) -> int:
    return int(evaluate(costs(module).work.mac, {**SIZES, **sizes}))


def kernels(module: Module, runtime: str = "vllm") -> tuple[Kernel, ...]:
    am = Analyses()
    return am.get(Fuse(runtime), am.apply(Shapes(), module)).kernels


def attentions(module: Module) -> list[tuple[Node, object]]:
    found = costs(module).nodes.items()
    return [(n, c.problem) for n, c in found if n.op.mnemonic == "ragged_attention"]


@pytest.fixture(scope="module")
def llama() -> LanguageModel:
    return read_config("llama-3.2-1b")


def test_the_module_of_a_small_model_is_as_it_was() -> None:
    model = read_config(Path(__file__).parent / "small.json")
    text = print_module(lower(model, ForwardStep.MIXED))
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("step", ForwardStep)
def test_every_step_verifies_and_is_counted_exactly(step: ForwardStep) -> None:
    for name in ("llama-3.2-1b", "deepseek-v2-lite", "gpt-oss-20b", "qwen3-next-80b-a3b"):
        module = lower(read_config(name), step)
        verify(module)
        table = costs(module)
        assert all(c.tier.value == "exact" for c in table.nodes.values())


def test_steps_do_the_work_of_their_tokens(llama: LanguageModel) -> None:
    steps = {step: macs(lower(llama, step)) for step in ForwardStep}
    prefill, extend = steps[ForwardStep.PREFILL], steps[ForwardStep.EXTEND]
    decode, mixed = steps[ForwardStep.DECODE], steps[ForwardStep.MIXED]
    assert extend > prefill
    # training has the scores of every token, a prompt those of its last one
    rows, (head,) = SIZES["batch"] * (SIZES["seq"] - 1), llama.stacks[0].heads
    more = rows * head.width * llama.stacks[0].hidden
    assert steps[ForwardStep.TRAINING] == prefill + more
    # a mixed pass does what both of its parts do
    assert mixed == extend + decode
    whole = macs(lower(llama, ForwardStep.DECODE, new_tokens=4))
    assert whole > 3.9 * decode


def test_prompts_without_a_past_extend_nothing(llama: LanguageModel) -> None:
    extended = macs(lower(llama, ForwardStep.EXTEND), {"past": 0})
    assert extended == macs(lower(llama, ForwardStep.PREFILL))


def test_attention_states_both_groups_of_a_mixed_pass(llama: LanguageModel) -> None:
    (_, problem), *_ = attentions(lower(llama, ForwardStep.MIXED))
    assert isinstance(problem, MixedAttention)
    sizes = [[int(evaluate(d, SIZES)) for d in part[:7]] for part in problem]
    assert sizes == [[2, 32, 8, 96, 256, 64, 64], [3, 32, 8, 1, 161, 64, 64]]
    (_, alone), *_ = attentions(lower(llama, ForwardStep.DECODE))
    assert alone == problem.decode
    assert isinstance(alone, Attention)


def test_windows_and_chunks_bound_what_is_read() -> None:
    gemma, scout = read_config("gemma-3-1b"), read_config("llama-4-scout")
    env = {"decodes": 1, "context": 100_000}
    held = [
        int(evaluate(node.inputs[6].type.shape[2], env))  # type: ignore[union-attr, index]
        for node, _ in attentions(lower(gemma, ForwardStep.DECODE))
    ]
    assert held[:6] == [511] * 5 + [100_000]
    chunks = [p for _, p in attentions(lower(scout, ForwardStep.DECODE))]
    assert isinstance(chunks[0], Attention)
    assert int(evaluate(chunks[0].kv_len, env)) == 100_000 % 8192 + 1
    prompts = [p for _, p in attentions(lower(scout, ForwardStep.PREFILL))]
    assert isinstance(prompts[0], Attention)
    # a prompt of two chunks is two sequences of one
    sizes = [int(evaluate(d, {"batch": 1, "seq": 16384})) for d in prompts[0][:5]]
    assert sizes == [2, 40, 8, 8192, 8192]


def test_latents_are_expanded_for_prompts_and_absorbed_for_tokens() -> None:
    model = read_config("deepseek-v3")
    (_, prefill), *_ = attentions(lower(model, ForwardStep.PREFILL))
    (_, decode), *_ = attentions(lower(model, ForwardStep.DECODE))
    assert isinstance(prefill, Attention)
    assert isinstance(decode, Attention)
    assert (prefill.kv_heads, prefill.head_dim, prefill.value_dim) == (128, 192, 128)
    assert (decode.kv_heads, decode.head_dim, decode.value_dim) == (1, 576, 512)
    stored = Analyses().get(Parameters(), lower(model, ForwardStep.DECODE))
    assert stored.count(Role.PARAMETER) == parameters(model).resident


def test_what_is_added_to_caches_is_written_and_kept(llama: LanguageModel) -> None:
    module = lower(llama, ForwardStep.DECODE)
    names = [v.name for v in module.graph.outputs]
    assert len(names) == 1 + 2 * 16
    found = costs(module).nodes.items()
    traffic = next(c.traffic for n, c in found if n.op.mnemonic == "ragged_attention")
    assert evaluate(traffic.write_bytes, SIZES) == 3 * 2 * (2048 + 2 * 512)


@pytest.mark.parametrize("name", ["llama-3.2-1b", "gpt-oss-20b", "deepseek-v2-lite", "mpt-7b"])
def test_caches_are_as_long_as_their_inputs(name: str) -> None:
    model = read_config(name)
    module = lower(model, ForwardStep.DECODE, ServingPrecision(cache=DType.F8E4M3FN))
    inputs = [v.type for v in module.graph.inputs if "cache" in v.name]
    sizes = [
        evaluate(t.nbytes or 0, {"decodes": 1, "context": 160})
        for t in inputs
        if isinstance(t, TensorType)
    ]
    assert sum(sizes) == cache_bytes(model, 160, ServingPrecision(cache=DType.F8E4M3FN))


def test_published_sizes_of_caches_and_states() -> None:
    half = ServingPrecision()
    # DeepSeek-V3's report states 70 kB a token; Llama 3.1 8B has 128 KiB
    assert cache_bytes(read_config("deepseek-v3"), 1, half) == 70_272
    assert cache_bytes(read_config("llama-3.1-8b"), 1, half) == 131_072
    sixteen = Parallel(tensor=16)
    assert cache_bytes(read_config("llama-3.1-8b"), 1, half, sixteen) == 131_072 // 8
    states = state_bytes(read_config("mamba-codestral-7b"), half)
    assert states == 64 * (4 * 8192 * 128 + 2 * 3 * (8192 + 2 * 8 * 128))


def test_active_parameters_leave_out_experts_that_are_not_chosen() -> None:
    found = parameters(read_config("mixtral-8x7b"))
    expert = 3 * 4096 * 14336
    assert found.resident - found.active == 32 * 6 * expert


@pytest.mark.parametrize("weights", WeightFormat)
def test_formats_of_weights_have_the_types_that_engines_multiply_in(
    weights: WeightFormat, llama: LanguageModel
) -> None:
    module = lower(llama, ForwardStep.DECODE, ServingPrecision(weights))
    made = kernels(module)
    products = {k.anchor.name: k for k in made if k.kind is Kind.MATMUL}
    inner = products["layers.0.1.mlp.down"]
    assert inner.mac_dtype is (weights.multiplied or DType.BF16)
    assert products["layers.head"].mac_dtype is DType.BF16
    problem = inner.problem
    assert isinstance(problem, Product)
    widened = weights.bits < 16 and weights.multiplied is None
    # blocks of GGML hold their scales
    stored = weights.ggml.bits_per_weight if weights.ggml is not None else weights.bits
    assert problem.weight_bits == (stored if widened else 0)
    assert problem.scale_block == weights.block
    whole = weight_bytes(llama, ServingPrecision())
    embedding = 2 * 128256 * 2048
    angles = 2 * 2 * 131_072 * 32
    inside = (whole - embedding - angles) * stored / 16 + angles
    assert weight_bytes(llama, ServingPrecision(weights)) - embedding == pytest.approx(
        inside, rel=0.15
    )


@pytest.mark.parametrize("weights", WeightFormat)
def test_experts_take_the_format_of_weights(weights: WeightFormat) -> None:
    module = lower(read_config("qwen3-30b-a3b"), ForwardStep.DECODE, ServingPrecision(weights))
    found = [c.problem for c in costs(module).nodes.values() if isinstance(c.problem, Experts)]
    assert len(found) == 48
    one = found[0]
    assert (one.hidden, one.inner, one.chosen, one.experts, one.matrices) == (2048, 768, 8, 128, 3)
    assert one.scale_block == weights.block


def test_experts_of_four_bits_may_multiply_in_eight() -> None:
    model = read_config("gpt-oss-20b")
    macs = {
        form: {
            c.work.dtype
            for c in costs(
                lower(model, ForwardStep.DECODE, ServingPrecision(experts=form))
            ).nodes.values()
            if isinstance(c.problem, Experts)
        }
        for form in (WeightFormat.MXFP4, WeightFormat.MXFP4_F8)
    }
    assert macs[WeightFormat.MXFP4_F8] == {DType.F8E4M3FN}
    assert DType.F8E4M3FN not in macs[WeightFormat.MXFP4]


def test_the_published_precision_is_that_of_the_configuration() -> None:
    stored = read_config("gpt-oss-20b").quantization
    oss = precision_of("bfloat16", stored)
    assert (oss.weights, oss.of_experts) == (WeightFormat.HALF, WeightFormat.MXFP4)
    assert precision_of("bfloat16", stored, "mxfp4") == oss
    narrow = precision_of("bfloat16", stored, "mxfp4-f8")
    assert (narrow.weights, narrow.of_experts) == (WeightFormat.HALF, WeightFormat.MXFP4_F8)
    assert (
        precision_of("bfloat16", read_config("kimi-k2").quantization).weights
        is WeightFormat.F8_BLOCK
    )
    assert precision_of("float16", None, "fp8", "fp8").cached is DType.F8E4M3FN
    assert precision_of("float16", None).half is DType.F16
    assert weight_format("AWQ") is WeightFormat.I4
    with pytest.raises(ParseError, match="no format of weights 'fp7'"):
        weight_format("fp7")


def test_tensor_parallelism_divides_products_and_adds_sums(llama: LanguageModel) -> None:
    alone = macs(lower(llama, ForwardStep.PREFILL))
    module = lower(llama, ForwardStep.PREFILL, parallel=Parallel(tensor=4))
    assert macs(module) * 4 == alone
    sums = [c.problem for c in costs(module).nodes.values() if isinstance(c.problem, Collective)]
    # the embedding, and each attention and MLP
    assert len(sums) == 1 + 2 * 16
    first = sums[0]
    assert (first.exchange, first.ranks, first.nodes) == (Exchange.ALL_REDUCE, 4, 1)
    assert evaluate(first.nbytes, SIZES) == 2 * 96 * 2048 * 2


def test_heads_of_keys_are_copied_where_there_are_fewer_than_ranks(llama: LanguageModel) -> None:
    _, problem = attentions(lower(llama, ForwardStep.DECODE, parallel=Parallel(tensor=16)))[0]
    assert isinstance(problem, Attention)
    assert (problem.heads, problem.kv_heads) == (2, 1)


def test_expert_parallelism_divides_experts_whole() -> None:
    model = read_config("mixtral-8x7b")
    sliced = lower(model, ForwardStep.DECODE, parallel=Parallel(tensor=8))
    whole = lower(model, ForwardStep.DECODE, parallel=Parallel(tensor=8, expert=8))
    sizes = {"decodes": 64, "context": 100}
    assert macs(sliced, sizes) == macs(whole, sizes)
    problems = [c.problem for c in costs(whole).nodes.values() if isinstance(c.problem, Experts)]
    assert (problems[0].inner, problems[0].experts, problems[0].ranks) == (14336, 8, 8)
    spread = Parallel(tensor=1, expert=8, attention_data=8)
    apart = costs(lower(model, ForwardStep.DECODE, parallel=spread)).nodes.values()
    exchanged = [c.problem.exchange for c in apart if isinstance(c.problem, Collective)]
    assert set(exchanged) == {Exchange.ALL_GATHER, Exchange.REDUCE_SCATTER}


def test_ranks_with_sequences_of_their_own_may_share_every_expert() -> None:
    model, sizes = read_config("mixtral-8x7b"), {"decodes": 64, "context": 100}
    parted, whole = (
        lower(model, ForwardStep.DECODE, parallel=Parallel(2, expert=ep, attention_data=4))
        for ep in (1, 8)
    )
    assert macs(parted, sizes) == macs(whole, sizes)
    problems = [c.problem for c in costs(parted).nodes.values() if isinstance(c.problem, Experts)]
    assert (problems[0].inner, problems[0].experts, problems[0].ranks) == (14336 // 8, 8, 1)
    exchanged = {
        c.problem.exchange
        for c in costs(parted).nodes.values()
        if isinstance(c.problem, Collective)
    }
    assert exchanged == {Exchange.ALL_GATHER, Exchange.REDUCE_SCATTER, Exchange.ALL_REDUCE}


def test_experts_that_ranks_do_not_divide_have_copies_on_some() -> None:
    model = read_config("deepseek-v3")
    problems = []
    for ranks in (16, 20, 32):
        spread = Parallel(tensor=1, expert=ranks, attention_data=ranks)
        nodes = costs(lower(model, ForwardStep.DECODE, parallel=spread)).nodes.values()
        problems.append(next(c.problem for c in nodes if isinstance(c.problem, Experts)))
    assert [p.experts for p in problems] == [256, 260, 256]
    assert [p.ranks for p in problems] == [16, 20, 32]
    fewer = Parallel(tensor=1, expert=9, attention_data=9)
    with pytest.raises(ModelError, match="8 experts do not divide among 9 ranks"):
        lower(read_config("mixtral-8x7b"), ForwardStep.DECODE, parallel=fewer)


def test_stages_of_a_pipeline_are_the_whole_model(llama: LanguageModel) -> None:
    two = Parallel(pipeline=3)
    stages = [lower(llama, ForwardStep.PREFILL, parallel=two, stage=i) for i in range(3)]
    assert sum(macs(s) for s in stages) == macs(lower(llama, ForwardStep.PREFILL))
    assert sum(cache_bytes(llama, 64, ServingPrecision(), two, i) for i in range(3)) == cache_bytes(
        llama, 64, ServingPrecision()
    )


@pytest.mark.parametrize(
    ("name", "step", "parallel", "message"),
    [
        ("bert-base", ForwardStep.DECODE, Parallel(), "no decode step: nothing is generated"),
        ("t5-small", ForwardStep.PREFILL, Parallel(pipeline=2), "only a decoder alone is divided"),
        ("llama-3.2-3b", ForwardStep.PREFILL, Parallel(tensor=5), "24 heads do not divide among 5"),
        (
            "llama-3.2-1b",
            ForwardStep.PREFILL,
            Parallel(pipeline=17),
            "no stage 0 of 17 over 16 layers",
        ),
        (
            "mixtral-8x7b",
            ForwardStep.PREFILL,
            Parallel(attention_data=3),
            "14336 inner columns do not",
        ),
    ],
)
def test_what_cannot_be_is_one_line(
    name: str, step: ForwardStep, parallel: Parallel, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        lower(read_config(name), step, parallel=parallel)


@pytest.mark.parametrize(
    "parallel", [Parallel(tensor=0), Parallel(tensor=4, expert=3), Parallel(tensor=4, nodes=3)]
)
def test_degrees_that_do_not_go_together_are_refused(
    parallel: Parallel, llama: LanguageModel
) -> None:
    with pytest.raises(ParseError):
        lower(llama, parallel=parallel)


def test_layers_alike_are_one_kernel_to_predict(llama: LanguageModel) -> None:
    made = kernels(lower(llama, ForwardStep.DECODE))
    # nine a layer; the embedding, the first normalisation and the head
    assert len(made) == 9 * 16 + 3
    assert len({k.identity for k in made}) < 16


@pytest.mark.parametrize(
    ("runtime", "label"),
    [
        ("vllm", "add + rms_norm + quantize_linear"),
        ("sglang", "add + rms_norm"),
        ("trtllm", "all_reduce + add + rms_norm + quantize_linear"),
        ("llamacpp", "rms_norm"),
    ],
)
def test_serving_runtimes_fuse_sums_with_norms(
    runtime: str, label: str, llama: LanguageModel
) -> None:
    tensor = Parallel(tensor=2 if runtime == "trtllm" else 1)
    module = lower(llama, ForwardStep.DECODE, ServingPrecision(WeightFormat.F8), tensor)
    norms = [k for k in kernels(module, runtime) if "rms_norm" in k.label]
    fused = [k for k in norms if k.label == label]
    assert len(fused) > 30
    # a sum over ranks stays one, whatever joins it
    assert isinstance(fused[0].problem, Collective) is (runtime == "trtllm")


def test_the_floor_of_weights_counts_the_experts_that_a_token_touches() -> None:
    model = read_config("mixtral-8x7b")
    report = perfc.analyze(
        lower(model, ForwardStep.DECODE), "h100", dims={"decodes": 1}, runtime="vllm"
    )
    device = report.machine.level("device")
    assert device is not None
    streamed = report.roofline.weight_floor_s * device.bandwidth.value
    assert 0.9 < streamed / (2 * parameters(model).active) < 1


def test_a_step_is_predicted_at_any_sizes_from_one_module(llama: LanguageModel) -> None:
    module = lower(llama, ForwardStep.MIXED, parallel=Parallel(tensor=2))
    sizes = {"batch": 1, "seq": 512, "past": 512, "decodes": 16, "context": 1024}
    report = perfc.analyze(module, "h100", dims=sizes, runtime="vllm")
    time_s = report.prediction.total.time.mid
    assert report.roofline.floor_s <= time_s
    more = report.with_(dims={**sizes, "decodes": 64})
    assert more.prediction.total.time.mid > time_s
    classes = {k.predictor for k in report.prediction.kernels}
    assert "" not in classes


def test_usual_sizes_are_no_longer_than_the_positions_of_a_model() -> None:
    for name, length in (("bert-base", 512), ("gpt2", 1024), ("qwen3-8b", 2048)):
        assert lower(read_config(name)).defaults() == {"batch": 1, "seq": length}
    assert lower(read_config("gpt2"), ForwardStep.DECODE).defaults()["context"] == 512
    assert lower(read_config("clip-vit-base-32")).defaults() == {"batch": 1, "seq": 77}


@pytest.mark.parametrize("name", ["llama-4-scout", "whisper-tiny", "clip-vit-base-32"])
def test_the_text_of_a_module_is_read_back(name: str) -> None:
    module = lower(read_config(name))
    text = print_module(module)
    assert print_module(parse_module(text)) == text
