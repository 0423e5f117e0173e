"""What a step holds beside weights and caches."""

from __future__ import annotations

import pytest

from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.serving.cost.memory import MemoryDemand
from perfc.serving.engine import Engine
from perfc.serving.output.serving_page import memory
from perfc.serving.output.views import document
from perfc.serving.service import llm

TOKENS = 8192


def demand(config: str, runtime: str = "vllm", sequences: int = 1) -> MemoryDemand:
    model = read_config(config)
    precision = precision_of(model.dtype, model.quantization)
    engine = Engine.of(model, load_machine("h200"), precision, Parallel(), runtime)
    return engine.cost.demand(2 * TOKENS, TOKENS, sequences)


def test_rows_that_caches_take_are_not_held_twice() -> None:
    hidden, inner, vocab = 3584, 18944, 152064
    # gate, up and their product, and what is added to them; the scores of one token
    elements = TOKENS * (3 * inner + hidden) + vocab
    found = demand("qwen2.5-7b").activation_bytes
    assert found == pytest.approx(2 * elements, rel=0.01)


def test_python_refers_to_two_tensors_longer_than_needed() -> None:
    more = demand("qwen2.5-7b", "transformers").activation_bytes
    more -= demand("qwen2.5-7b").activation_bytes
    assert more == pytest.approx(2 * 2 * 3584 * TOKENS, rel=0.01)


def test_states_of_sequences_are_in_the_pool_alone() -> None:
    few, many = (demand("mamba-2.8b", sequences=n) for n in (1, 256))
    assert many.state_bytes > 5120 * 16 * 2 * 64
    assert many.activation_bytes < few.activation_bytes + 16 * many.state_bytes


def test_a_pool_of_states_counts_users_and_no_tokens() -> None:
    report = llm("mamba-2.8b", "h200", isl=512, osl=32)
    text = str(document(report))
    assert "pool of states" in text
    assert "tokens of 0 B" not in text
    assert report.memory.kv_tokens == 0
    assert memory(report.memory)[3][0] == "pool of states"


@pytest.mark.parametrize(("model", "has_keys"), [("mamba-2.8b", False), ("bamba-9b", True)])
def test_scans_are_states_and_not_attention(model: str, has_keys: bool) -> None:
    report = llm(model, "h200", isl=512, osl=32, has_parts=True)
    for step in report.steps:
        shares = {part.what for part in step.parts}
        assert "states" in shares
        assert ("attention" in shares) is has_keys
