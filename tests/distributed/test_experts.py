"""A token goes through as many experts wherever they are: model FLOP and bounds of every family."""

from __future__ import annotations

import pytest

from perfc.analyzers.runs.run_law import RunLaw
from perfc.distributed.service import work_of
from perfc.distributed.step import peak_flop_per_s, step_cost
from perfc.distributed.training import Training
from perfc.frontend.config import ServingPrecision, read_config
from perfc.frontend.config.lowering.parts import layer_part
from perfc.frontend.config.model import Experts, LanguageModel, Layer, mixers
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType
from perfc.machine import load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost

from .shipped_models import shipped_models

TARGET, SEQ = "dgx-h100", 256
TRAINING = Training(seq=SEQ, batch=192, micro_batch=3)
"""Of one size of micro-batch, where a power of two is estimated together with others."""
DEVICES = 64
DIVIDED = (
    Parallel(data=64),
    Parallel(data=64, expert=2, zero=3),
    Parallel(data=64, expert=64, zero=1),
    Parallel(tensor=2, data=32, expert=8, zero=2),
    Parallel(pipeline=2, data=16, context=2, expert=16),
)


def experts_of(model: LanguageModel) -> list[Experts]:
    return [
        m for s in model.stacks for x in set(s.layers) for m in mixers(x) if isinstance(m, Experts)
    ]


def families() -> list[str]:
    """Return the smallest shipped mixture of each family that a step is made of."""
    best: dict[str, tuple[int, str]] = {}
    for name, model in shipped_models().items():
        if len(model.stacks) == 1 and experts_of(model):
            size = len(model.stacks[0].layers), name
            best[model.family] = min(best.get(model.family, size), size)
    return sorted(name for _, name in best.values())


def mac(model: LanguageModel, layer: Layer, groups: int) -> int:
    """Return the multiply-accumulates of a layer's forward pass on one of some groups of ranks."""
    module = layer_part(model, layer, ServingPrecision(half=DType.BF16), expert_groups=groups)
    am = Analyses()
    work = am.get(Cost(), am.apply(Sizes(()), module)).work
    return int(evaluate(work.floor_mac, {"batch": 1, "seq": 64, "past": 0}))


@pytest.mark.parametrize("name", families())
def test_a_layer_has_the_products_of_the_experts_of_a_token(name: str) -> None:
    model = read_config(name)
    layer = next(
        x for x in model.stacks[0].layers if any(isinstance(m, Experts) for m in mixers(x))
    )
    count = next(m.count for m in mixers(layer) if isinstance(m, Experts))
    degrees = {1, 2, *(d for d in (count // 2, count) if count % d == 0)}
    assert len({mac(model, layer, groups) for groups in degrees}) == 1


@pytest.mark.parametrize("name", ["mixtral-8x7b", "gpt-oss-20b", "deepseek-v2-lite"])
def test_flop_and_bounds_are_those_of_the_experts_of_a_token(name: str) -> None:
    work = work_of(name, TARGET)
    count = min(e.count for e in experts_of(read_config(name)))
    parallel = [p for p in DIVIDED if count % (p.expert // p.tensor or 1) == 0]
    costs = [step_cost(work, p, TRAINING, law=RunLaw()) for p in parallel]
    assert len(costs) > 2
    flop, peak = costs[0].model_flop, DEVICES * peak_flop_per_s(load_machine(TARGET))
    for cost in costs:
        assert (cost.gpus, cost.model_flop) == (DEVICES, flop)
        assert cost.mfu == pytest.approx(flop / cost.time_s / peak)
        # the highest clock gives 8.2 % more than the data sheet's
        assert cost.floor_s * 1.082 * peak >= flop
    alone, *by_experts = [c for c in costs if c.parallel.tensor == c.parallel.pipeline == 1]
    # gradients of fewer experts are written, and as many products computed
    assert all(cost.floor_s <= alone.floor_s for cost in by_experts)


def test_experts_of_few_ranks_process_the_rows_of_other_ranks() -> None:
    """Mixtral, two experts a token: with one expert on each of eight ranks as many products."""
    work = work_of("mixtral-8x7b", TARGET)
    four, eight = (work.parts(Parallel(data=8, expert=n), 3, SEQ).layers[0] for n in (4, 8))
    assert (eight.mac, eight.saved_bytes) == (four.mac, four.saved_bytes)
    assert eight.expert_parameters * 2 == four.expert_parameters
    assert eight.parameters == four.parameters
    assert eight.forward_s == pytest.approx(four.forward_s, rel=0.2)
