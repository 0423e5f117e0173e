"""Values that no key of a configuration has, read or not, are refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.errors import ModelError
from perfc.frontend.config import read_config, shipped

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 32000,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 4,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e4,
    "use_cache": True,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "num_beams": 1,
    "n_group": 1,
}
COUNTS = [name for name in LLAMA if name.startswith(("num_", "n_", "max_")) or "_size" in name]
ODD: list[object] = [-4, 4.5, True, "x", float("nan"), float("inf"), 1e300, 10**400, 1 << 62]


def read(folder: Path, **keys: object) -> None:
    """Read a configuration with other keys."""
    path = folder / "config.json"
    path.write_text(json.dumps({**LLAMA, **keys}))
    read_config(str(path))


@pytest.mark.parametrize("value", ODD, ids=lambda v: str(v)[:12])
@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_a_whole_number(name: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        read(tmp_path, **{name: value})
    assert name in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rope_theta", [-1, 0, "x", True, float("nan")]),
        ("rms_norm_eps", [-1, 0, "x", True]),
        ("use_cache", [-4, "x", 4.5]),
        ("tie_word_embeddings", ["x", 4.5, 3]),
        ("hidden_act", ["", 3, True, "float13"]),
        ("torch_dtype", ["float13", 3, True]),
        ("max_position_embeddings", [0]),
        ("vocab_size", [0]),
        ("num_attention_heads", [0]),
        ("quantization_config", [3, "gptq", True]),
    ],
)
def test_other_keys_have_their_kinds(name: str, values: list[object], tmp_path: Path) -> None:
    for value in values:
        with pytest.raises(ModelError):
            read(tmp_path, **{name: value})


def test_configurations_that_come_with_perfc_pass() -> None:
    for name in shipped():
        read_config(name)


def test_a_number_too_long_to_convert_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digits = "9" * 5000
    (tmp_path / "config.json").write_text(f'{{"model_type": "llama", "hidden_size": {digits}}}')
    (tmp_path / "perfc.toml").write_text(f"[deployment]\nbatch = {digits}\n")
    for line in (
        ["analyze", str(tmp_path / "config.json")],
        ["analyze", "gpt2", "--config", str(tmp_path / "perfc.toml")],
        ["llm", "gpt2", "--isl", digits],
        ["explain", "gpt2", digits],
    ):
        assert cli.run(line) == 2
        said = capsys.readouterr().err
        assert "set_int_max_str_digits" not in said
        assert "bug in perfc" not in said
        assert len(said) < 600


@pytest.mark.parametrize("name", [["silu"], {"a": 1}])
def test_an_activation_is_a_name(tmp_path: Path, name: object) -> None:
    with pytest.raises(ModelError, match="no activation"):
        read(tmp_path, hidden_act=name)
