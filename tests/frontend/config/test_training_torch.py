"""Memory of training steps of configurations against PyTorch's own profiler."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

NAMES = ("bert", "gpt2", "llama", "qwen3", "mixtral", "t5", "vit")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_needs_what_the_profiler_sees(name: str, dtype: str) -> None:
    from benchmarks.step_memory import of_configuration

    assert abs(of_configuration(name, getattr(torch, dtype), batch=3, seq=96)) <= 0.05
