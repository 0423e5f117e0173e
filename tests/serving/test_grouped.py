"""Keys that heads of queries share: read once, or by old kernels once for each head; windows."""

from __future__ import annotations

import pytest

from perfc.frontend.config import LanguageModel, Parallel, precision_of, read_config
from perfc.frontend.config.mixers import Attention
from perfc.frontend.config.model import mixers
from perfc.machine import load_machine
from perfc.serving.engine import Engine
from perfc.serving.grouped import reads_keys_anew, ungrouped
from perfc.serving.host import HostLaw


def heads_of(model: LanguageModel) -> set[tuple[int, int]]:
    assert model.decoder is not None
    every = [m for layer in model.decoder.layers for m in mixers(layer)]
    return {(m.heads, m.kv_heads) for m in every if isinstance(m, Attention)}


def engine_of(name: str, version: str, cache: str = "") -> Engine:
    model = read_config(name)
    return Engine.of(
        model, load_machine("h100"), precision_of("float16", "", "f16", cache), Parallel(),
        "trtllm", version, law=HostLaw(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "runtime", "version", "is_anew"),
    [
        ("llama-2-70b", "trtllm", "0.6.1", True),
        ("llama-2-70b", "trtllm", "0.8.0", False),
        ("llama-3-8b", "trtllm", "0.10.0", True),
        ("llama-3-8b", "trtllm", "0.11.0", False),
        ("llama-3-8b", "trtllm", "", False),
        ("llama-3-8b", "vllm", "0.10.0", False),
        ("llama-2-7b", "trtllm", "0.6.1", False),
        ("mixtral-8x7b", "trtllm", "0.9.0", True),
    ],
)
def test_old_kernels_share_keys_in_groups_of_some_sizes(
    name: str, runtime: str, version: str, *, is_anew: bool
) -> None:
    assert reads_keys_anew(read_config(name), runtime, version) is is_anew


def test_each_head_of_queries_gets_keys_of_its_own() -> None:
    model = read_config("llama-3-8b")
    assert heads_of(model) == {(32, 8)}
    assert heads_of(ungrouped(model)) == {(32, 32)}


def test_keys_read_anew_take_longer_and_may_still_be_read_once() -> None:
    old, new = engine_of("llama-3-8b", "0.10.0").cost, engine_of("llama-3-8b", "0.11.0").cost
    at: tuple[tuple[()], int, float] = ((), 64, 4096.0)
    assert old.parts("time_s", *at).kernels > 1.3 * new.parts("time_s", *at).kernels
    assert old.parts("floor_s", *at) == new.parts("floor_s", *at)
    first, second = (engine_of("llama-3-8b", v) for v in ("0.10.0", "0.11.0"))
    assert first.memory(2048, 128) == second.memory(2048, 128), "they are kept once"


def test_what_is_multiplied_bounds_keys_that_are_read_anew() -> None:
    def seen_s(cache: str) -> float:
        (stage, _), *_ = engine_of("llama-3-8b", "0.10.0", cache).cost.stages
        return stage.decode_context.at("time_s", 64, 4096)

    (own, _), *_ = engine_of("llama-3-8b", "0.10.0").cost.stages
    assert own.ungrouped is not None
    wide_s = own.ungrouped.decode_context.at("time_s", 64, 4096)
    assert seen_s("") == pytest.approx(0.5 * wide_s), "sixteen bits: half of reading them"


def test_attention_in_a_window_reads_more_until_the_window_is_full() -> None:
    windowed = read_config("mistral-7b-v0.1")
    machine = load_machine("h100")
    cost = Engine.of(
        windowed, machine, precision_of("float16", "", "f16"), Parallel(), "vllm", law=HostLaw()
    ).cost

    def step_s(context: float) -> float:
        return cost.parts("time_s", (), 64, context).kernels

    assert step_s(256.0) < step_s(1024.0) < step_s(4096.0)
    assert step_s(8192.0) == pytest.approx(step_s(65536.0))
