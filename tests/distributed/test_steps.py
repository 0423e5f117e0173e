"""Steps of divided models: laws that hold whatever the machine, and what wrong degrees say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.analyzers.runs.run_law import RunLaw
from perfc.distributed.costs.both_passes import Waiter, both_passes
from perfc.distributed.costs.work import LanguageWork
from perfc.distributed.plan import divisions, pareto
from perfc.distributed.recipe import MIXED, recipe_of
from perfc.distributed.schedules import Stage, schedule_named, schedules
from perfc.distributed.service import work_of
from perfc.distributed.step import BUBBLE, COMPUTATION, RECOMPUTATION, step_cost
from perfc.distributed.training import CHECKPOINTINGS, Training
from perfc.errors import ModelError, ParseError, PerfcError
from perfc.frontend.config import precision_of, read_config
from perfc.frontend.config.lowering.parts import layer_part
from perfc.ir.graph import Phase
from perfc.ir.op import Kind
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.syntax.parse import parse_module
from perfc.ir.tensors.types import DType
from perfc.machine import load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.manager import Analyses
from perfc.passes.training.optimizer import names
from perfc.passes.training.train import Train

LAW = RunLaw(1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
SMALL = Training(seq=1024, batch=64)


def work(name: str = "llama-3.2-1b", target: str = "dgx-h100") -> LanguageWork:
    model = read_config(name)
    path = str(load_machine(target).path)
    return LanguageWork(model, precision_of("bfloat16", None), "cudagraph", path)


LLAMA, MOE = work(), work("olmoe-1b-7b")


@pytest.mark.parametrize("p", [2, 4, 8])
@pytest.mark.parametrize("m", [8, 32])
def test_the_bubble_is_p_less_one_of_m_and_p_less_one(p: int, m: int) -> None:
    stage = Stage(1.0, 1.0, 1.0, p, m, 1)
    for name in ("gpipe", "1f1b"):
        bubble = schedule_named(name).bubble_s(stage)
        assert bubble / (bubble + m * stage.whole_s) == pytest.approx((p - 1) / (m + p - 1))
    parts = replace(stage, virtual=4)
    assert schedule_named("interleaved").bubble_s(parts) == pytest.approx((p - 1) * 3.0 / 4)
    assert schedule_named("zero-bubble").bubble_s(stage) == pytest.approx((p - 1) * 1.0)
    assert schedule_named("zero-bubble").bubble_s(replace(stage, weight_s=2.0)) == 0.0


def test_every_schedule_keeps_no_more_than_all_micro_batches() -> None:
    stage = Stage(1.0, 1.0, 1.0, 8, 4, 2)
    assert {s.name for s in schedules().values()} == set(schedules())
    for schedule in schedules().values():
        assert 1 <= schedule.in_flight(stage) <= 4
    long = replace(stage, micro_batches=64)
    assert schedule_named("gpipe").in_flight(long) == 64
    assert schedule_named("1f1b").in_flight(long) == 8
    assert 8 < schedule_named("interleaved").in_flight(long) < 16


def test_a_pipeline_has_the_bubble_of_its_schedule() -> None:
    cost = step_cost(LLAMA, Parallel(1, 4, data=1), SMALL, law=LAW)
    assert cost.parts_s[BUBBLE] > 0
    even = cost.parts_s[BUBBLE] / cost.parts_s[COMPUTATION]
    # the last stage has the head of a large vocabulary, which none of the others waits for
    assert 0.4 * 3 / 64 < even <= 3 / 64
    assert sum(cost.parts_s.values()) == pytest.approx(cost.time_s)


def test_more_copies_never_compute_longer_and_links_never_help() -> None:
    costs = [step_cost(LLAMA, Parallel(data=n), SMALL, law=LAW) for n in (1, 2, 8, 64)]
    computed = [c.parts_s[COMPUTATION] for c in costs]
    assert computed == sorted(computed, reverse=True)
    rates = [c.tokens_per_s / c.gpus for c in costs]
    assert all(r <= rates[0] * 1.0001 for r in rates)
    for c in costs:
        assert c.floor_s <= c.low_s <= c.time_s <= c.high_s
        assert c.model_flop == pytest.approx(costs[0].model_flop)


def test_tensor_parallel_ranks_have_their_share() -> None:
    one, four = (step_cost(LLAMA, Parallel(n), SMALL, law=LAW) for n in (1, 4))
    assert four.memory.parameters == pytest.approx(one.memory.parameters / 4, rel=0.05)
    assert four.parts_s["tensor parallel"] > 0
    assert one.parts_s[COMPUTATION] / 6 < four.parts_s[COMPUTATION] < one.parts_s[COMPUTATION] / 2
    assert four.model_flop == pytest.approx(one.model_flop, rel=0.01)


def test_each_stage_of_zero_holds_less() -> None:
    memories = [step_cost(LLAMA, Parallel(data=8, zero=z), SMALL, law=LAW).memory for z in range(4)]
    totals = [m.total for m in memories]
    assert totals == sorted(totals, reverse=True)
    whole = memories[0]
    count = whole.parameters / 2
    assert whole.optimizer == pytest.approx(count * MIXED.state_bytes("adamw"))
    assert memories[1].optimizer == pytest.approx(whole.optimizer / 8)
    assert memories[1].gradients == whole.gradients
    assert memories[2].gradients == pytest.approx(whole.gradients / 8)
    assert memories[3].parameters == 0, "its share is the master copy"


def test_what_is_computed_again_is_not_kept() -> None:
    costs = [
        step_cost(LLAMA, Parallel(), replace(SMALL, checkpointing=c), law=LAW)
        for c in CHECKPOINTINGS
    ]
    kept = [c.memory.activations for c in costs]
    again = [c.parts_s.get(RECOMPUTATION, 0.0) for c in costs]
    assert kept == sorted(kept, reverse=True)
    assert again == sorted(again)
    assert again[0] == 0.0
    assert costs[2].model_flop == costs[0].model_flop


def test_overlapped_gradients_are_waited_for_no_longer() -> None:
    slow = work("llama-3.2-1b", "p4d")
    beside, after = (
        step_cost(slow, Parallel(data=64), replace(SMALL, overlap=o), law=LAW)
        for o in (True, False)
    )
    assert 0 < beside.parts_s["data parallel"] < after.parts_s["data parallel"]
    assert beside.exchanged_s["data parallel"] == after.exchanged_s["data parallel"]


def test_kernels_lose_time_to_exchanges_that_hide_beside_them() -> None:
    parallel, free = Parallel(data=8, zero=3), LAW
    taking = replace(LAW, contention=0.5)
    hidden, taken = (step_cost(LLAMA, parallel, SMALL, law=law) for law in (free, taking))
    exchanged_s = sum(hidden.exchanged_s.values())
    waited_s = sum([s for name, s in hidden.parts_s.items() if name in hidden.exchanged_s])
    assert waited_s < exchanged_s / 2, "most of it is hidden"
    lost_s = taken.time_s - hidden.time_s
    assert lost_s == pytest.approx((exchanged_s - waited_s) / 2, rel=1e-6)
    alone = [step_cost(LLAMA, Parallel(), SMALL, law=law).time_s for law in (free, taking)]
    assert alone[0] == alone[1]


def test_ranks_of_a_sequence_share_its_attention() -> None:
    long = Training(seq=16384, batch=8)
    one, four = (step_cost(LLAMA, Parallel(context=n), long, law=LAW) for n in (1, 4))
    assert four.model_flop == pytest.approx(one.model_flop, rel=0.01)
    assert four.memory.activations == pytest.approx(one.memory.activations / 4, rel=0.05)


@pytest.mark.parametrize(
    ("change", "pairs"),
    [
        ({}, 4096 * 4097 // 2),
        ({"window": 256}, 256 * 257 // 2 + (4096 - 256) * 256),
        ({"window": 1}, 4096),
        ({"chunk": 512}, 8 * 512 * 513 // 2),
        ({"is_causal": False}, 4096**2),
    ],
)
def test_model_flop_counts_the_pairs_that_masks_leave(change: dict[str, Any], pairs: int) -> None:
    """Attention in every second layer is changed, the other one stays causal and whole."""
    model = read_config("llama-3.2-1b")
    stack = model.stacks[0]
    first, mlp = stack.layers[0]
    branch = first.branches[0]
    changed = replace(branch, mixer=replace(branch.mixer, **change))
    layers = (stack.layers[0], (replace(first, branches=(changed,)), mlp))
    other = replace(model, stacks=(replace(stack, layers=layers),))
    path = str(load_machine("dgx-h100").path)
    long = Training(seq=4096, batch=1)
    work = LanguageWork(other, precision_of("bfloat16", None), "cudagraph", path)
    cost = step_cost(work, Parallel(), long, law=LAW)
    products = 4096 * (2 * 2048 * (2 * 2048 + 2 * 512 + 3 * 8192) + 128256 * 2048)
    assert cost.model_flop == 6 * (products + (pairs + 4096 * 4097 // 2) * 32 * 2 * 64)
    assert cost.mfu < 1
    assert cost.model_flop / 989.4e12 <= cost.floor_s * 1.001


def test_windows_never_take_the_utilisation_above_all_of_it(tmp_path: Path) -> None:
    stated = {
        "model_type": "mistral",
        "vocab_size": 32000,
        "hidden_size": 1024,
        "intermediate_size": 3584,
        "num_hidden_layers": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32768,
        "sliding_window": 1024,
    }
    (tmp_path / "config.json").write_text(json.dumps(stated))
    for seq in (16384, 32768):
        cost = step_cost(work(str(tmp_path), "h100"), Parallel(), Training(seq=seq, batch=1))
        assert 0.2 < cost.mfu < 0.6
    whole = 6 * 32768 * (4 * 1024 * (2 * 1024 + 2 * 256 + 3 * 3584) + 32000 * 1024)
    pairs = 4 * (1024 * 1025 // 2 + (32768 - 1024) * 1024) * 16 * 2 * 64
    assert cost.model_flop == whole + 6 * pairs


def test_experts_are_divided_among_copies() -> None:
    one, eight = (
        step_cost(MOE, Parallel(data=8, expert=n, zero=1), SMALL, law=LAW) for n in (1, 8)
    )
    assert eight.memory.parameters < one.memory.parameters / 3
    assert "expert parallel" in eight.parts_s
    assert "expert parallel" not in one.parts_s


def test_a_number_of_micro_batches_says_how_large_one_is() -> None:
    by_count = step_cost(LLAMA, Parallel(data=8, micro_batches=4), SMALL, law=LAW)
    by_size = step_cost(LLAMA, Parallel(data=8), replace(SMALL, micro_batch=2), law=LAW)
    assert by_count.micro_batches == by_size.micro_batches == 4
    assert by_count.time_s == by_size.time_s
    with pytest.raises(ParseError, match="--micro-batches: 64 samples do not divide into 3"):
        step_cost(LLAMA, Parallel(micro_batches=3), SMALL, law=LAW)


def test_frozen_parameters_have_no_gradients() -> None:
    whole, frozen = (
        step_cost(LLAMA, Parallel(data=8), replace(SMALL, is_frozen=f), law=LAW)
        for f in (False, True)
    )
    assert frozen.memory.gradients == frozen.memory.optimizer == 0.0
    assert frozen.parts_s[COMPUTATION] < whole.parts_s[COMPUTATION]
    assert "data parallel" not in frozen.parts_s


@pytest.mark.parametrize(
    ("parallel", "training", "kind", "said"),
    [
        (Parallel(schedule="dualpipe"), SMALL, ParseError, "no schedule 'dualpipe'"),
        (Parallel(pipeline=17), SMALL, ModelError, "16 layers are fewer than 17 stages"),
        (Parallel(pipeline=2, virtual_stages=2), SMALL, ParseError, "1f1b has no parts"),
        (Parallel(sequence=1), SMALL, ParseError, "needs ranks that share products"),
        (Parallel(tensor=5), SMALL, ModelError, "do not divide among 5 ranks"),
        (Parallel(data=3), SMALL, ParseError, "64 samples do not divide"),
        (Parallel(expert=2, data=2), SMALL, ModelError, "it has no experts"),
        (Parallel(context=3), SMALL, ModelError, "1024 tokens do not divide among 3"),
        (Parallel(nodes=2), SMALL, ParseError, "not divided so"),
        (Parallel(), replace(SMALL, optimizer="lion"), PerfcError, "no optimizer"),
    ],
)
def test_what_does_not_go_together_is_said(
    parallel: Parallel, training: Training, kind: type[PerfcError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        step_cost(LLAMA, parallel, training, law=LAW)


def test_ranks_of_experts_go_with_those_of_products() -> None:
    with pytest.raises(ParseError, match="cannot be divided among 3"):
        step_cost(MOE, Parallel(data=4, expert=3), SMALL, law=LAW)


@pytest.mark.parametrize("name", names())
def test_states_weigh_as_much_as_those_of_a_step(name: str) -> None:
    size = 512
    text = f"""\
perfir 1
module @m
graph @main(%x: f32[4, {size}]) {{
  %w = weight : f32[{size}, {size}]
  %y = matmul(%x, %w) : f32[4, {size}]
  return %y
}}
"""
    step = Analyses().apply(Train(name, loss="mean"), parse_module(text))
    kept = [w.type.nbytes for w in step.graph.weights if w.weight.is_state]  # type: ignore[union-attr]
    each = sum(kept) / size**2
    assert MIXED.state_bytes(name) - MIXED.master_bytes == pytest.approx(each, abs=0.02)
    # gradient and weight in 16 bits, states in both directions
    assert MIXED.traffic_bytes(name) == 2.0 + 2.0 + 2 * MIXED.state_bytes(name)
    exact = recipe_of("f32")
    assert exact.state_bytes(name) == MIXED.state_bytes(name) - 4.0
    # gradient, states, and the weight read and written
    assert exact.traffic_bytes(name) == 4.0 + 2 * exact.state_bytes(name) + 8.0


def test_a_search_divides_by_powers_of_two_up_to_its_bounds() -> None:
    found = list(divisions(LLAMA, 64, 16384, {}))
    assert {p.tensor for p in found} == {1, 2, 4, 8}
    assert {p.context for p in found} == {1, 2, 4, 8, 16}
    assert {p.pipeline for p in found} == {1, 2, 4, 8, 16}
    assert all(p.devices == 64 for p in found)
    assert all(p.sequence == (p.tensor > 1) for p in found)
    assert {p.zero for p in found if p.data * p.context > 1 and p.pipeline == 1} == {0, 1, 2, 3}
    assert {p.zero for p in found if p.pipeline > 1} == {0, 1}
    assert {p.virtual_stages for p in found if p.schedule == "interleaved"} == {2, 4}
    assert all(p.virtual_stages * p.pipeline <= 16 for p in found)
    assert {p.schedule for p in found} == {"1f1b", "interleaved", "zero-bubble"}
    assert {p.context for p in divisions(LLAMA, 64, 16383, {})} == {1}
    experts = {(p.tensor, p.expert) for p in divisions(MOE, 8, 1024, {"zero": 1})}
    assert experts == {
        (1, 1),
        (1, 2),
        (1, 4),
        (1, 8),
        (2, 1),
        (2, 2),
        (2, 4),
        (2, 8),
        (4, 1),
        (4, 4),
        (4, 8),
        (8, 1),
        (8, 8),
    }
    given: dict[str, int | str] = {
        "tensor": 2,
        "pipeline": 2,
        "zero": 1,
        "schedule": "zero-bubble",
    }
    kept = list(divisions(LLAMA, 8, 1024, given))
    assert {(p.tensor, p.pipeline, p.data, p.zero) for p in kept} == {(2, 2, 2, 1)}
    assert {p.schedule for p in kept} == {"zero-bubble"}


def test_the_front_has_only_settings_that_no_other_beats() -> None:
    def cost(time_s: float, nbytes: float) -> Any:
        return SimpleNamespace(time_s=time_s, memory=SimpleNamespace(total=nbytes))

    found = pareto([cost(*at) for at in ((3, 1), (1, 5), (2, 5), (2, 4), (2, 3), (1, 6), (4, 1))])
    assert [(c.time_s, c.memory.total) for c in found] == [(1, 5), (2, 3), (3, 1)]


def test_memory_of_a_step_by_hand() -> None:
    cost = step_cost(LLAMA, Parallel(), replace(SMALL, micro_batch=2), law=LAW)
    m = cost.memory
    count = m.parameters / 2
    assert (m.gradients, m.optimizer) == (4 * count, 12 * count)
    held = m.parameters + m.gradients + m.optimizer + m.activations + m.working
    assert m.overhead == pytest.approx(int(0.6 * (1 << 30)) + 0.03 * held)
    two = step_cost(LLAMA, Parallel(data=2), replace(SMALL, micro_batch=2), law=LAW).memory
    assert two.overhead - m.overhead == pytest.approx(0.9 * (1 << 30))
    assert m.total == pytest.approx(held + m.overhead)
    # of the tied table there are two gradients at once
    assert m.working == 2 * 128256 * 2048
    # norms keep their operand, result and one number a row in 32 bits; attention its merged
    # product, rotated queries and keys, and its result; the MLP its gate and up, and their product
    norm, queries, keys = 2 * 2 * 2048 + 4, 2 * 2048, 2 * 512
    layer = 2 * norm + (queries + 2 * keys) + (queries + keys) + queries + 3 * 2 * 8192
    # logits in 16 bits, over which the loss writes their gradients
    kept = 16 * layer + norm + 2 * 128256
    assert m.activations == pytest.approx(2048 * kept, rel=1e-3)
    # of 16 layers queries, keys, values and output, an MLP with a gate, and the scores of words
    layer = 2048 * (2 * 2048 + 2 * 512 + 3 * 8192)
    products = 64 * 1024 * (16 * layer + 128256 * 2048)
    # 32 heads of 64 wide queries and values, half of the pairs and the diagonal
    pairs = 64 * 16 * (1024 * 1025 // 2) * 32 * 2 * 64
    assert cost.model_flop == 6 * (products + pairs)
    assert cost.mfu == pytest.approx(cost.model_flop / cost.time_s / 989.4e12, rel=1e-3)
    assert cost.tokens_per_s == pytest.approx(64 * 1024 / cost.time_s)


LAYERS = ("llama-3.2-1b", "olmoe-1b-7b", "gpt2", "mamba-130m", "bamba-9b", "deepseek-v2-lite")


@pytest.mark.parametrize("name", LAYERS)
def test_the_backward_pass_of_a_layer_is_its_graph(name: str) -> None:
    model, env = read_config(name), {"batch": 2, "seq": 256, "past": 0}
    for layer in dict.fromkeys(model.stacks[0].layers):
        passes = both_passes(layer_part(model, layer, precision_of("bfloat16", None)), "cudagraph")
        kernels = [k for k in passes.table.kernels if k.kind is Kind.MATMUL]
        macs = dict.fromkeys(Waiter, 0.0)
        for kernel, count, role in zip(
            passes.table.kernels, passes.counts, passes.roles, strict=True
        ):
            if kernel in kernels:
                macs[role] += count * evaluate(kernel.work.mac, env)
        # each product has one for what it reads and one for its parameters
        assert macs[Waiter.FORWARD] > 0
        assert macs[Waiter.INPUT] == macs[Waiter.WEIGHT] == macs[Waiter.FORWARD]


def test_products_of_the_backward_pass_have_the_format_of_the_forward_one() -> None:
    model = read_config("llama-3.2-1b")
    module = layer_part(model, model.stacks[0].layers[0], precision_of("bfloat16", None, "fp8"))
    kernels = both_passes(module, "cudagraph").table.kernels
    products = [k for k in kernels if k.kind is Kind.MATMUL]
    assert {k.mac_dtype for k in products} == {DType.F8E4M3FN}
    # of each gradient that is multiplied one copy in eight bits
    rounded = [k for k in kernels if k.kind is Kind.QUANTIZE]
    assert len([k for k in rounded if k.anchor.loc.phase is Phase.BACKWARD]) > 0


def test_experts_keep_their_rows_and_inner_layers() -> None:
    part = MOE.parts(Parallel(), 1, 256).layers[0]
    # OLMoE: 8 of 64 experts, 2,048 wide, 1,024 inside, with a gate; each element two bytes
    # and outside what both norms, all products and the attention read and give, and the scores
    inside = 256 * 8 * (2048 + 3 * 1024) * 2
    # operand and result of two norms, the merged product, rotated queries and keys, the result, and
    # scores; four norms keep one number a row in 32 bits
    outside = 256 * (2 * (4 + 3 + 2 + 1) * 2048 + 2 * 64 + 4 * 4)
    assert part.saved_bytes - inside == outside


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_layer_hands_on_its_tokens_and_nothing_that_others_hold(ranks: int) -> None:
    part = LLAMA.parts(Parallel(context=ranks), 1, 1024).layers[0]
    assert part.boundary_bytes == 1024 // ranks * 2048 * 2


@pytest.mark.parametrize("dtype", ["i4", "int8", "mxfp4"])
def test_a_format_that_nothing_is_trained_in_is_refused(dtype: str) -> None:
    with pytest.raises(ParseError, match="cannot be trained"):
        work_of("llama-3.2-1b", "dgx-h100", dtype=dtype)
    assert isinstance(work_of("llama-3.2-1b", "dgx-h100", dtype="fp8"), LanguageWork)
