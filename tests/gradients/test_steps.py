"""Training steps of small models, executed: what is kept or repeated changes no gradient."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from perfc.errors import PassError
from perfc.ir.graph import Module, Phase
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module
from perfc.passes.manager import Analyses
from perfc.passes.memory.liveness import Liveness
from perfc.passes.memory.saved import Saved
from perfc.passes.roofline.cost import Cost
from perfc.passes.training.optimizer import names
from perfc.passes.training.train import Train
from tests.oracles import executed

LAYERS = 3


def model(batch: int = 4) -> Module:
    """A residual network of three blocks."""
    lines = ["perfir 1", "module @m", f"graph @main(%x: f32[{batch}, 8]) {{"]
    for i in range(LAYERS):
        lines.append(f"  %layer.{i}.up = weight : f32[8, 16]")
        lines.append(f"  %layer.{i}.down = weight : f32[16, 8]")
    lines.append("  %head.weight = weight : f32[8, 5]")
    value = "x"
    for i in range(LAYERS):
        lines += [
            f"  %a{i} = matmul(%{value}, %layer.{i}.up) : f32[{batch}, 16]",
            f"  %b{i} = gelu(%a{i}) : f32[{batch}, 16]",
            f"  %c{i} = matmul(%b{i}, %layer.{i}.down) : f32[{batch}, 8]",
            f"  %d{i} = add(%{value}, %c{i}) : f32[{batch}, 8]",
        ]
        value = f"d{i}"
    lines += [f"  %y = matmul(%{value}, %head.weight) : f32[{batch}, 5]", "  return %y", "}"]
    return parse_module("\n".join([*lines, ""]))


def trained(recipe: Train, module: Module | None = None) -> Module:
    return Analyses().apply(recipe, module or model())


def results(step: Module, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Loss and gradients, with stored tensors drawn by their names."""
    stored = {}
    for w in step.graph.weights:
        if w.known is None:
            seed = sum(map(ord, w.name))
            stored[w.name] = np.random.default_rng(seed).normal(size=w.type.shape).astype("f4") / 4
    return list(executed.run(step.graph, feeds, stored))


FEEDS = {
    "x": np.random.default_rng(0).normal(size=(4, 8)).astype("f4"),
    "labels": np.array([0, 3, 1, 4]),
}
PLAIN = Train(optimizer="")


@pytest.mark.parametrize("policy", ["block", "selective", "optimal"])
def test_what_is_computed_again_gives_the_same_gradients(policy: str) -> None:
    again = trained(replace(PLAIN, checkpointing=policy, keep=0.4))
    phases = [n.loc.phase for n in again.graph.nodes]
    assert Phase.RECOMPUTE in phases
    for a, b in zip(results(trained(PLAIN), FEEDS), results(again, FEEDS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_checkpointing_keeps_less() -> None:
    def kept(policy: str) -> int:
        step = trained(replace(PLAIN, checkpointing=policy), model(512))
        return Analyses().get(Saved("eager"), step).bytes_at({})

    assert kept("block") < kept("selective") < kept("none")


def test_shares_of_the_optimal_policy_trade_bytes_for_work() -> None:
    found = []
    for keep in (0.9, 0.6, 0.3, 0.1):
        step = trained(replace(PLAIN, checkpointing="optimal", keep=keep), model(512))
        am = Analyses()
        nodes = sum(n.loc.phase is Phase.RECOMPUTE for n in step.graph.nodes)
        found.append((am.get(Saved("eager"), step).bytes_at({}), nodes))
    for (bytes_more, nodes_less), (bytes_less, nodes_more) in pairwise(found):
        assert bytes_less <= bytes_more
        assert nodes_more >= nodes_less


def test_gradients_of_a_later_batch_are_added_when_made() -> None:
    nodes = trained(replace(PLAIN, accumulate=2)).graph.nodes
    added = [i for i, n in enumerate(nodes) if n.name.startswith("accumulate.2")]
    assert len(added) == 2 * LAYERS + 1
    for i in added:
        assert nodes[i].inputs[1] in nodes[i - 1].results


def test_two_halves_accumulate_to_the_whole_batch() -> None:
    whole = results(trained(PLAIN), FEEDS)
    halves = trained(replace(PLAIN, accumulate=2), model(2))
    feeds = {
        "x": FEEDS["x"][:2],
        "x.batch2": FEEDS["x"][2:],
        "labels": FEEDS["labels"][:2],
        "labels.batch2": FEEDS["labels"][2:],
    }
    found = results(halves, feeds)
    for a, b in zip(whole[1:], found[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_factors_alone_are_trained_and_zero_ones_change_nothing() -> None:
    step = trained(replace(PLAIN, lora_rank=2, lora=("layer.*",)))
    grads = [v.name for v in step.graph.outputs[1:]]
    assert len(grads) == 4 * LAYERS
    assert not any(n.op.mnemonic == "gemm" for n in step.graph.nodes)
    factors = {w.name: w for w in step.graph.weights if "lora" in w.name}
    assert {str(w.type) for w in factors.values()} == {
        "f32[8, 2]",
        "f32[2, 16]",
        "f32[16, 2]",
        "f32[2, 8]",
    }


def test_frozen_parameters_have_no_gradient_and_end_the_backward_pass() -> None:
    whole = trained(PLAIN)
    part = trained(replace(PLAIN, freeze=("layer.0.*", "layer.1.*")))
    assert len(part.graph.outputs) == 1 + 3
    am = Analyses()
    assert am.get(Cost(), part).work.mac < am.get(Cost(), whole).work.mac
    held = am.get(Saved("eager"), part).values
    assert not any(v.name.startswith("a0") for v in held)


def test_nothing_left_to_train_is_said() -> None:
    with pytest.raises(PassError, match="nothing is left to train"):
        trained(Train(freeze=("*",)))
    with pytest.raises(PassError, match="no product has a matrix called other"):
        trained(Train(lora_rank=2, lora=("other",)))


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("how", ["foreach", "fused"])
def test_states_stay_where_they_are(name: str, how: str) -> None:
    step = trained(Train(name, implementation=how))
    live = Analyses().get(Liveness(), step)
    owned = {v.name for v in live.owner}
    over = [v for v in step.graph.outputs[1:] if v.name.endswith(".next")]
    assert over
    assert not owned & {v.name for v in over}
    assert print_module(parse_module(print_module(step))) == print_module(step)


def test_bytes_of_states_are_what_the_optimizer_keeps() -> None:
    parameters = sum(w.type.nbytes for w in model().graph.weights)
    kept = {}
    for name in ("sgd", "momentum", "adamw"):
        step = trained(Train(name))
        kept[name] = sum(w.type.nbytes for w in step.graph.weights if w.weight.is_state)
    assert kept == {"sgd": 0, "momentum": parameters, "adamw": 2 * parameters}


def test_an_operator_without_a_rule_is_named_with_its_node() -> None:
    text = """\
perfir 1
module @m
graph @main(%x: f32[4, 4]) {
  %w = weight : f32[4, 4]
  %a = matmul(%x, %w) : f32[4, 4]
  %b = det(%a) : f32[] loc("the/node", "Det")
  return %b
}
"""
    with pytest.raises(PassError, match="the/node: no gradient of det, an operator without a rule"):
        trained(Train(loss="mean"), parse_module(text))


def test_masks_and_integers_get_no_gradient() -> None:
    text = """\
perfir 1
module @m
graph @main(%x: f32[4, 4]) {
  %w = weight : f32[4, 4]
  %zero = weight {constant=true} : f32[] = 0.0
  %a = mul(%x, %w) : f32[4, 4]
  %m = greater(%a, %zero) : b1[4, 4]
  %b = where(%m, %a, %zero) : f32[4, 4]
  return %b
}
"""
    step = trained(Train("", loss="mean"), parse_module(text))
    assert [v.name for v in step.graph.outputs] == ["loss", "%a.grad"[1:]] or len(
        step.graph.outputs
    ) == 2
    backward = [n for n in step.graph.nodes if n.loc.phase is Phase.BACKWARD]
    assert "greater" not in {n.op.mnemonic for n in backward}
