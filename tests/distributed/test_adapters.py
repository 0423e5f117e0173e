"""Training of low-rank adapters alone: memory and time, with frozen weights of 16 or 4 bits."""

from __future__ import annotations

import pytest

from perfc import cli
from perfc.distributed.costs.memory import MemoryParts
from perfc.distributed.service import plan
from perfc.distributed.step import DividedStepCost
from perfc.errors import ParseError

MODEL, LAYERS = "llama-3.2-1b", 16
HIDDEN, INNER, KEYS, VOCAB = 2048, 8192, 512, 128_256
LINEAR = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEYS + 3 * HIDDEN * INNER
NORMS = 2 * HIDDEN * LAYERS + HIDDEN


def step(rank: int = 0, dtype: str = "", **more: object) -> DividedStepCost:
    options = {"batch": 4, "seq": 512, "micro_batch": 1, "checkpointing": "none", **more}
    view = plan(MODEL, 1, "h100", lora_rank=rank, dtype=dtype, **options)  # type: ignore[arg-type]
    assert view.best is not None
    return view.best


def memory(rank: int = 0, dtype: str = "") -> MemoryParts:
    return step(rank, dtype).memory


@pytest.mark.parametrize("rank", [8, 16])
def test_only_adapters_have_gradients_and_states(rank: int) -> None:
    # q, k, v, o, gate, up and down: an A as wide as the input and a B as wide as the output
    pairs = (2 * (HIDDEN + HIDDEN) + 2 * (HIDDEN + KEYS) + 3 * (HIDDEN + INNER)) * LAYERS
    held = memory(rank)
    assert held.gradients == 4 * rank * pairs
    assert held.optimizer == 12 * rank * pairs
    frozen = 2 * (LINEAR * LAYERS + NORMS + VOCAB * HIDDEN)
    assert held.parameters == frozen + 2 * rank * pairs


@pytest.mark.parametrize(("dtype", "bits"), [("nf4", 4.5), ("nf4-nested", 4.125)])
def test_frozen_weights_may_have_four_bits(dtype: str, bits: float) -> None:
    half, narrow = memory(16), memory(16, dtype)
    assert half.parameters - narrow.parameters == LINEAR * LAYERS * (16 - bits) / 8
    assert (half.gradients, half.optimizer) == (narrow.gradients, narrow.optimizer)
    assert half.activations == narrow.activations


def test_gradients_of_frozen_weights_take_no_time_and_widening_takes_some() -> None:
    whole, half, narrow = step(), step(16), step(16, "nf4")
    assert half.model_flop < whole.model_flop
    assert half.floor_s < whole.floor_s
    assert half.time_s < narrow.time_s
    # codes are read and 16 bits written before both passes of each micro-batch
    moved = LINEAR * LAYERS * (4.5 + 16) / 8
    extra_s = narrow.parts_s["computation"] - half.parts_s["computation"]
    assert extra_s == pytest.approx(4 * 2 * moved / 3e12, rel=0.25)


def test_sharded_frozen_weights_are_divided_and_gathered() -> None:
    more = {"batch": 8, "seq": 512, "micro_batch": 1, "checkpointing": "none"}
    each = [
        plan(
            MODEL, 8, "dgx-h100", lora_rank=16, dtype="nf4", parallel={"dp": 8, "zero": z}, **more
        ).best  # type: ignore[arg-type]
        for z in (1, 3)
    ]
    assert each[0] is not None
    assert each[1] is not None
    # the adapters' share is their master copy
    assert 0.97 < each[1].memory.parameters / (each[0].memory.parameters / 8) < 1.0
    assert each[1].exchanged_s["sharded parameters"] > 0


def test_wrong_requests_are_one_line() -> None:
    with pytest.raises(ParseError, match="weights in nf4 cannot be trained"):
        step(0, "nf4")
    with pytest.raises(ParseError, match="--lora-rank"):
        plan("examples/models/resnet50.onnx.gz", 1, "h100", lora_rank=8)


def test_the_command_takes_a_rank(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["plan", MODEL, "-t", "h100", "--gpus", "1", "--global-batch", "1", "--seq", "64"]
    assert cli.run([*args, "--micro-batch", "1", "--lora-rank", "16", "--dtype", "nf4"]) == 0
    assert "adapters of rank 16 alone" in capsys.readouterr().out
