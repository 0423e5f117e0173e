"""Towers of images: what is read of them, how many tokens they give, what they compute."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfc.errors import ModelError, ParseError
from perfc.frontend.config import (
    LanguageModel,
    Parallel,
    ServingPrecision,
    WeightFormat,
    lower_images,
    read_config,
    with_images,
)
from perfc.frontend.config.facts import parameters
from perfc.ir.ops.attention.ragged_attention import RaggedAttention
from perfc.ir.symbolic.evaluate import evaluate
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost

PIXTRAL = {
    "architectures": ["Mistral3ForConditionalGeneration"],
    "model_type": "mistral3",
    "spatial_merge_size": 2,
    "text_config": {
        "model_type": "mistral",
        "vocab_size": 131072,
        "hidden_size": 5120,
        "head_dim": 128,
        "intermediate_size": 32768,
        "num_hidden_layers": 40,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "hidden_act": "silu",
        "max_position_embeddings": 131072,
        "sliding_window": None,
    },
    "vision_config": {
        "model_type": "pixtral",
        "head_dim": 64,
        "hidden_act": "silu",
        "hidden_size": 1024,
        "image_size": 1540,
        "intermediate_size": 4096,
        "num_attention_heads": 16,
        "num_hidden_layers": 24,
        "patch_size": 14,
    },
}


def of(tree: dict[str, object], folder: Path) -> LanguageModel:
    path = folder / "config.json"
    path.write_text(json.dumps(tree))
    return read_config(path)


def macs(model: LanguageModel, images: int, parallel: Parallel | None = None) -> float:
    am = Analyses()
    module = am.apply(Shapes(), lower_images(model, ServingPrecision(), parallel or Parallel()))
    costs = am.get(Cost(), module).nodes.values()
    return sum(evaluate(c.work.mac, {"batch": images}) for c in costs)


@pytest.mark.parametrize(
    ("name", "edge", "tokens"),
    [
        # one size: 4,096 patches averaged by 16
        ("gemma-3-4b-it", 0, 256),
        ("gemma-3-4b-it", 100, 256),
        # squares of 28 pixels
        ("qwen2.5-vl-7b", 448, 256),
        ("qwen2.5-vl-7b", 100, 16),
        ("qwen2.5-vl-7b", 8000, 128 * 128),
        # tiles of 336 pixels with 144 tokens; several have a copy of the whole beside them
        ("llama-4-scout-17b-16e", 336, 144),
        ("llama-4-scout-17b-16e", 448, 5 * 144),
        ("llama-4-scout-17b-16e", 673, 10 * 144),
        ("llama-4-scout-17b-16e", 9000, 17 * 144),
    ],
)
def test_an_image_becomes_as_many_tokens_as_processors_make_of_it(
    name: str, edge: int, tokens: int
) -> None:
    model = with_images(read_config(name), edge)
    assert model.tower is not None
    assert model.tower.tokens == tokens


@pytest.mark.parametrize("name", ["gemma-3-4b-it", "llama-4-scout-17b-16e", "qwen2.5-vl-7b"])
def test_a_tower_divides_but_for_its_patches_and_its_projector(name: str) -> None:
    model = read_config(name)
    alone, quarter = macs(model, 1), macs(model, 1, Parallel(tensor=4))
    assert macs(model, 3) == 3 * alone
    assert alone / 4 < quarter < alone / 3.2


def test_windows_see_no_more_than_themselves() -> None:
    """Of 32 layers 4 attend to all 1,024 patches, 28 to windows of 64."""
    module = Analyses().apply(
        Shapes(), lower_images(with_images(read_config("qwen2.5-vl-7b"), 448))
    )
    found = [
        evaluate(cost.mac, {"batch": 2})
        for node in module.graph.nodes
        if isinstance(node.op, RaggedAttention)
        and (cost := node.op.work(node.inputs, tuple([v.type for v in node.results]))) is not None
    ]
    whole = 2 * 16 * 1024 * 1024 * 2 * 80
    assert found == [whole if i % 8 == 7 else whole // 16 for i in range(32)]


def test_a_tower_stays_in_halves_where_the_rest_is_quantised() -> None:
    model = read_config("gemma-3-4b-it")
    plain, quantised = (
        lower_images(model, ServingPrecision(weights))
        for weights in (WeightFormat.HALF, WeightFormat.F8)
    )
    assert [v.type for v in plain.graph.weights] == [v.type for v in quantised.graph.weights]


def test_pixtral_is_as_large_as_its_card_says(tmp_path: Path) -> None:
    """Mistral Small 3.1: 24B; its tower beside a language model of 23.6B."""
    model = of(PIXTRAL, tmp_path)
    assert model.tower is not None
    tower = parameters(model).resident - parameters(read_config("mistral-small-24b")).resident
    assert tower == pytest.approx(0.44e9, rel=0.01)
    # a processor makes no edge longer than 1,540 pixels, 55 tokens along it
    enlarged = with_images(model, 4000).tower
    assert enlarged is not None
    assert enlarged.tokens == 55 * 55


def test_towers_that_nobody_describes_are_left_out_and_said_to_be(tmp_path: Path) -> None:
    model = of({**PIXTRAL, "vision_config": {"model_type": "other", "hidden_size": 64}}, tmp_path)
    assert model.tower is None
    assert model.left_out == ("the tower of images",)
    with pytest.raises(ModelError, match="reads no images"):
        with_images(model, 448)
    with pytest.raises(ModelError, match="reads no images"):
        lower_images(model)


@pytest.mark.parametrize("name", ["Gemma3", "Qwen2_5_VL", "Llama4"])
def test_what_names_no_family_of_its_text_is_one_line(name: str, tmp_path: Path) -> None:
    text = {k: v for k, v in PIXTRAL["text_config"].items() if k != "model_type"}  # type: ignore[attr-defined]
    tree = {"architectures": [f"{name}ForConditionalGeneration"], "text_config": text}
    with pytest.raises(ModelError, match="model_type"):
        of(tree, tmp_path)


@pytest.mark.parametrize("edge", [-1, 1 << 20])
def test_sizes_that_are_none_are_one_line(edge: int) -> None:
    with pytest.raises(ParseError, match="images of"):
        with_images(read_config("gemma-3-4b-it"), edge)


@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads", "intermediate_size"])
def test_a_tower_without_a_width_is_one_line(key: str, tmp_path: Path) -> None:
    vision = {k: v for k, v in PIXTRAL["vision_config"].items() if k != key}  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match=key):
        of({**PIXTRAL, "vision_config": vision}, tmp_path)
