"""Models whose configuration says the kind of each layer by letters."""

from __future__ import annotations

import pytest

from perfc.errors import ModelError
from perfc.frontend.checkpoints.json_file import loaded
from perfc.frontend.checkpoints.sources import located
from perfc.frontend.config import LanguageModel
from perfc.frontend.config.mixers import Attention, Experts, Mamba2, Mlp
from perfc.frontend.config.model import mixers
from perfc.frontend.config.reader import described

PATH, _ = located("nemotron-h-8b")


def model(**keys: object) -> LanguageModel:
    return described({**loaded(PATH), **keys}, "m", "m")


def kinds(pattern: str, **keys: object) -> list[object]:
    found = model(hybrid_override_pattern=pattern, num_hidden_layers=len(pattern), **keys).decoder
    assert found is not None
    return [m for layer in found.layers for m in mixers(layer)]


EXPERTS = {
    "n_routed_experts": 16,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 96,
    "moe_shared_expert_intermediate_size": 192,
}


def test_letters_are_mixers() -> None:
    assert [type(m) for m in kinds("M*-M")] == [Mamba2, Attention, Mlp, Mamba2]
    attention = kinds("M*-M")[1]
    assert isinstance(attention, Attention)
    assert attention.rotary_dim == 0, "positions are told by the states"


def test_experts_of_letters_are_chosen_with_a_bias_and_not_gated() -> None:
    (experts,) = kinds("E", **EXPERTS)
    assert isinstance(experts, Experts)
    assert (experts.count, experts.chosen, experts.inner) == (16, 3, 96)
    assert (experts.is_gated, experts.is_choice_biased) == (False, True)
    assert experts.shared is not None
    assert (experts.shared.inner, experts.shared.is_gated) == (192, False)
    (alike,) = kinds("E", **{k: v for k, v in EXPERTS.items() if "shared" not in k})
    assert isinstance(alike, Experts)
    assert alike.shared is not None
    assert alike.shared.inner == 96, "as wide as the others where nobody says"


@pytest.mark.parametrize(("pattern", "named"), [("MX", "'X'"), ("", "'nothing'")])
def test_other_letters_are_refused(pattern: str, named: str) -> None:
    with pytest.raises(ModelError, match=f"no layer {named} in the family"):
        model(hybrid_override_pattern=pattern, num_hidden_layers=2)


def test_kinds_may_be_written_out() -> None:
    found = model(
        hybrid_override_pattern="", layers_block_type=["linear_attention", "full_attention", "mlp"]
    ).decoder
    assert found is not None
    assert [type(m) for layer in found.layers for m in mixers(layer)] == [Mamba2, Attention, Mlp]
