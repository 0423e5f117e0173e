"""How configurations say that weights are quantised, and how many bytes these take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc.errors import ModelError
from perfc.frontend.config import LanguageModel, precision_of, read_config
from perfc.frontend.config.facts import weight_bytes
from perfc.frontend.config.modules import checked, matches, names_of
from perfc.frontend.config.quantization import METHODS
from perfc.machine.parallel import Parallel

GIB = 1 << 30
LLAMA_8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_act": "silu",
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
LINEAR = 32 * (4096 * (4096 + 2 * 1024 + 4096) + 3 * 4096 * 14336)
"""Weights of the linear layers."""
REST = 2 * (2 * 128256 * 4096 + 65 * 4096)
"""Bytes of the embedding, the head and the normalisations."""


def model_of(quantization: object, folder: Path, **keys: object) -> LanguageModel:
    """The model of a configuration with this ``quantization_config``."""
    path = folder / "config.json"
    path.write_text(json.dumps({**LLAMA_8B, **keys, "quantization_config": quantization}))
    return read_config(str(path))


def held(model: LanguageModel, parallel: Parallel | None = None) -> int:
    """Bytes of its weights."""
    return weight_bytes(
        model, precision_of(model.dtype, model.quantization), parallel or Parallel()
    )


def schemed(bits: int, kind: str, *, has_activations: bool, **weights: object) -> dict[str, Any]:
    """One group of compressed-tensors."""
    scheme = {
        "targets": ["Linear"],
        "weights": {"num_bits": bits, "type": kind, **weights},
        "input_activations": {"num_bits": 8} if has_activations else None,
    }
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": scheme},
        "ignore": ["lm_head"],
    }


EIGHT: list[dict[str, Any]] = [
    {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]},
    {"quant_method": "fp8"},
    {"quant_method": "fp8", "weight_block_size": [128, 128]},
    {"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False},
    {"load_in_8bit": True},
    {"quant_method": "gptq", "bits": 8, "group_size": 128},
    {"quant_method": "eetq"},
    {"quant_method": "quanto", "weights": "int8"},
    {"quant_method": "quanto", "weights": "float8"},
    {"quant_method": "torchao", "quant_type": "int8_weight_only"},
    {
        "quant_method": "torchao",
        "quant_type": {"default": {"_type": "Float8WeightOnlyConfig", "_data": {}, "_version": 1}},
    },
    {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 8}}},
    {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]},
    {"quant_algo": "FP8", "exclude_modules": ["lm_head"]},
    schemed(8, "float", has_activations=True, strategy="channel"),
    schemed(8, "float", has_activations=False, strategy="tensor"),
    schemed(8, "int", has_activations=True, strategy="channel"),
    schemed(8, "int", has_activations=False, strategy="group", group_size=128),
    {
        "quant_method": "quark",
        "global_quant_config": {
            "weight": {"dtype": "fp8_e4m3"},
            "input_tensors": {"dtype": "fp8_e4m3"},
        },
        "exclude": ["lm_head"],
    },
]
FOUR: list[dict[str, Any]] = [
    {
        "quant_method": "bitsandbytes",
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": True,
    },
    {"quant_method": "gptq", "bits": 4, "group_size": 128},
    {"quant_method": "awq", "bits": 4},
    {"quant_method": "gptq", "bits": 4, "group_size": -1},
    {
        "quant_method": "torchao",
        "quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 128}}},
    },
    {
        "quant_method": "hqq",
        "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 128}},
    },
    {"quant_method": "quanto", "weights": "int4"},
    {"quant_method": "auto-round", "bits": 4, "group_size": 128},
    {"quant_method": "aqlm", "in_group_size": 8, "nbits_per_codebook": 16, "num_codebooks": 2},
    {"quant_method": "modelopt", "quant_algo": "W4A16_AWQ", "group_size": 128},
    schemed(4, "int", has_activations=False, strategy="group", group_size=128),
]


@pytest.mark.parametrize("config", EIGHT, ids=lambda q: json.dumps(q)[:60])
def test_eight_bits_are_counted_as_eight(config: dict[str, Any], tmp_path: Path) -> None:
    assert held(model_of(config, tmp_path)) == pytest.approx(LINEAR + REST, rel=0.03)
    assert held(model_of(config, tmp_path)) / GIB == pytest.approx(8.5, abs=0.25)


@pytest.mark.parametrize("config", FOUR, ids=lambda q: json.dumps(q)[:60])
def test_four_bits_are_counted_as_four(config: dict[str, Any], tmp_path: Path) -> None:
    assert held(model_of(config, tmp_path)) / GIB == pytest.approx(5.3, abs=0.15)


@pytest.mark.parametrize(
    ("config", "bits"),
    [
        # 16-bit scales and packed zero points of each group of 128, or a scale for 64, 32, 16
        ({"quant_method": "gptq", "bits": 2, "group_size": 128}, 2 + (16 + 2) / 128),
        ({"quant_method": "gptq", "bits": 3, "group_size": 128}, 3 + (16 + 3) / 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, 4 + (16 + 4) / 32),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4 + 32 / 64),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4 + 8 / 16),
        (schemed(4, "float", has_activations=True, group_size=16), 4 + 8 / 16),
        (schemed(4, "float", has_activations=True, group_size=32), 4 + 8 / 32),
        (
            {
                "quant_method": "aqlm",
                "in_group_size": 8,
                "nbits_per_codebook": 16,
                "num_codebooks": 1,
            },
            2 + (16 + 2) / 128,
        ),
    ],
)
def test_scales_take_their_bits(config: dict[str, Any], bits: float, tmp_path: Path) -> None:
    assert held(model_of(config, tmp_path)) == pytest.approx(LINEAR * bits / 8 + REST, rel=1e-3)


@pytest.mark.parametrize(
    "listed",
    [
        {"modules_to_not_convert": ["self_attn"]},
        {
            "modules_to_not_convert": [
                f"model.layers.{n}.self_attn.{p}_proj" for n in range(32) for p in "qkvo"
            ]
        },
    ],
)
def test_modules_that_are_not_converted_stay_in_16_bits(
    listed: dict[str, Any], tmp_path: Path
) -> None:
    attention = 32 * 4096 * (2 * 4096 + 2 * 1024)
    want = LINEAR + attention + REST
    model = model_of({"quant_method": "fbgemm_fp8", **listed}, tmp_path)
    assert held(model) == pytest.approx(want, rel=1e-3)


def test_ignored_patterns_stay_in_16_bits(tmp_path: Path) -> None:
    attention = 32 * 4096 * (2 * 4096 + 2 * 1024)
    for pattern in ("re:.*self_attn.*", "re:model\\.layers\\.\\d+\\.self_attn\\.(q|k|v|o)_proj"):
        config = schemed(8, "float", has_activations=True) | {"ignore": ["lm_head", pattern]}
        assert held(model_of(config, tmp_path)) == pytest.approx(
            LINEAR + attention + REST, rel=1e-3
        )
    config = {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["model.layers.0*"]}
    model = model_of(config, tmp_path)
    assert held(model) == pytest.approx(LINEAR * 33 / 32 + REST, rel=1e-3)


def test_modules_of_another_type_have_theirs(tmp_path: Path) -> None:
    mlp = 32 * 3 * 4096 * 14336
    groups = {
        "group_0": {
            "targets": ["re:.*mlp.*"],
            "weights": {"num_bits": 4, "type": "int", "group_size": 128},
        },
        "group_1": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "int", "strategy": "channel"},
            "input_activations": {"num_bits": 8},
        },
    }
    mixed = {"quant_method": "compressed-tensors", "config_groups": groups}
    four = 4 + (16 + 4) / 128
    assert held(model_of(mixed, tmp_path)) == pytest.approx(
        mlp * four / 8 + LINEAR - mlp + REST, rel=2e-3
    )
    dynamic = {"-:.*self_attn.*": {}, "+:.*down_proj.*": {"bits": 8}}
    gptq = {"quant_method": "gptq", "bits": 4, "dynamic": dynamic}
    want = (LINEAR - mlp) * 2 + mlp * (2 / 3 * four + 1 / 3 * (8 + (16 + 8) / 128)) / 8 + REST
    assert held(model_of(gptq, tmp_path)) == pytest.approx(want, rel=2e-3)
    listed = {
        f"model.layers.{n}.mlp.{p}_proj": {"quant_algo": "FP8"}
        for n in range(32)
        for p in ("gate", "up", "down")
    }
    algorithms = {"quant_algo": "MIXED_PRECISION", "quantized_layers": listed}
    assert held(model_of(algorithms, tmp_path)) == pytest.approx(2 * LINEAR - mlp + REST, rel=1e-3)


def test_a_rank_of_llama_405b_holds_what_vllm_prints(tmp_path: Path) -> None:
    """57.75 GiB of each of eight ranks; attention and two MLPs stay in 16 bits."""
    kept = [f"model.layers.{n}.self_attn.{p}_proj" for n in range(126) for p in "qkvo"]
    kept += [f"model.layers.{n}.mlp.{p}_proj" for n in (0, 125) for p in ("gate", "up", "down")]
    quantization = {
        "quant_method": "fbgemm_fp8",
        "activation_scale_ub": 1200.0,
        "modules_to_not_convert": [*kept, "lm_head"],
    }
    # as first published, with 16 heads of keys
    model = model_of(
        quantization,
        tmp_path,
        hidden_size=16384,
        intermediate_size=53248,
        num_hidden_layers=126,
        num_attention_heads=128,
        num_key_value_heads=16,
    )
    assert held(model, Parallel(8)) / GIB == pytest.approx(57.75, abs=0.1)


def test_methods_are_known_or_refused(tmp_path: Path) -> None:
    for config in ({"quant_method": "nonsense9"}, {"quant_method": "exl2", "bits": 4}):
        with pytest.raises(
            ModelError, match=f"no quantisation method {config['quant_method']!r}"
        ) as e:
            model_of(config, tmp_path)
        assert e.value.hint == f"known: {', '.join(sorted(METHODS))}"
    assert model_of({}, tmp_path).quantization is None
    assert model_of(None, tmp_path).quantization is None


@pytest.mark.parametrize(
    "config",
    [
        {"quant_method": 7},
        {"bits": 4},
        [1],
        "gptq",
        {"quant_method": "gptq", "bits": 5},
        {"quant_method": "gptq", "bits": -4},
        {"quant_method": "gptq", "bits": 0},
        {"quant_method": "gptq", "bits": "four"},
        {"quant_method": "gptq", "bits": 4.5},
        {"quant_method": "gptq", "bits": [4]},
        {"quant_method": "gptq", "group_size": -2},
        {"quant_method": "gptq", "group_size": 1 << 50},
        {"quant_method": "gptq", "group_size": "x"},
        {"quant_method": "fp8", "modules_to_not_convert": "lm_head"},
        {"quant_method": "fp8", "modules_to_not_convert": [1]},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": 3}}},
        {"quant_method": "compressed-tensors", "config_groups": {"g": 3}},
        schemed(5, "int", has_activations=False),
        schemed(8, "complex", has_activations=False),
        {"quant_method": "modelopt"},
        {"quant_method": "modelopt", "quant_algo": "FP7"},
        {"quant_method": "torchao", "quant_type": {"default": {"_type": "Nonsense"}}},
        {"quant_method": "aqlm", "in_group_size": 0},
        schemed(8, "int", has_activations=False) | {"ignore": ["re:(a+)+$"]},
        schemed(8, "int", has_activations=False) | {"ignore": ["re:(?!x).*"]},
        schemed(8, "int", has_activations=False) | {"ignore": ["x" * 1000]},
    ],
    ids=lambda q: json.dumps(q)[:60],
)
def test_what_is_no_quantisation_is_one_line(config: object, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        model_of(config, tmp_path)
    assert "\n" not in str(error.value)


def test_patterns_name_modules() -> None:
    layer, names = names_of("decoder.3.0.attention.qkv")
    for pattern in (
        "model.layers.3.self_attn.q_proj",
        "model.layers.3",
        "self_attn",
        "re:.*self_attn.*",
        "re:.*(q|k|v)_proj$",
        "*self_attn*",
        "model.layers.3*",
        "transformer.h.3.attn.c_attn",
        "re:model\\.layers\\.[0-9]+\\.self_attn",
        "model.layers.*.self_attn",
        "language_model.model.layers.3.self_attn.k_proj.weight",
        "re:.*mlp.*|.*self_attn.*",
    ):
        assert matches(checked(pattern, "here"), layer, names), pattern
    for pattern in (
        "model.layers.2.self_attn.q_proj",
        "lm_head",
        "re:.*lm_head",
        "model.layers.33*",
        "re:.*(q|k|v)_pro$",
        "attn.c",
        "gate",
        "re:.*mlp.*",
    ):
        assert not matches(checked(pattern, "here"), layer, names), pattern
    assert names_of("decoder.embedding") == (0, ())


def test_modelopt_says_it_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
    config = {
        "producer": {"name": "modelopt", "version": "0.29.0"},
        "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]},
    }
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(config))
    assert held(read_config(str(tmp_path))) == pytest.approx(LINEAR + REST, rel=1e-3)


@pytest.mark.parametrize("name", ["float13", "bool", "torch.int3"])
def test_an_element_type_is_one_that_weights_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no element type"):
        model_of(None, tmp_path, torch_dtype=name)


def test_a_router_chooses_among_experts_that_there_are(tmp_path: Path) -> None:
    keys = {"model_type": "mixtral", "num_local_experts": 8, "architectures": []}
    with pytest.raises(ModelError, match="99 experts of 8 are chosen"):
        model_of(None, tmp_path, num_experts_per_tok=99, **keys)
