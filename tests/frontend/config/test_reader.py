"""Configurations of language models: what is read, and what is refused in one line."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.errors import ModelError, PerfcError
from perfc.frontend import load
from perfc.frontend.checkpoints.json_file import loaded
from perfc.frontend.checkpoints.sources import located
from perfc.frontend.config import is_config, load_config, lower, read_config, reader, shipped
from perfc.frontend.config.model import Attention, Experts, mixers
from perfc.frontend.config.reader import families
from perfc.view.report import Grade

CONFIGS = Path(__file__).parents[3] / "perfc" / "frontend" / "config" / "configs"
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def exit_code(*arguments: str) -> int:
    return cli.run(list(arguments))


def written(folder: Path, **changed: object) -> Path:
    stated = {k: v for k, v in {**LLAMA, **changed}.items() if v != "left out"}
    path = folder / "config.json"
    path.write_text(json.dumps(stated))
    return path


def test_a_path_a_folder_and_a_name_are_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert read_config(path) == read_config(tmp_path)
    assert read_config(path).name == tmp_path.name
    assert read_config("Llama-3.1-8B").name == "llama-3.1-8b"
    assert is_config(tmp_path)
    assert is_config("gpt2")
    assert not is_config(b"{}")
    assert not is_config(tmp_path / "model.onnx")


def test_at_least_sixty_configurations_ship_and_every_family_is_among_them() -> None:
    assert len(shipped()) >= 60
    inside = [loaded(located(name)[0]).get("text_config") or {} for name in shipped()]
    found = {read_config(name).family for name in shipped()}
    found |= {str(config.get("model_type")) for config in inside} & set(families())
    same_plan = {
        "ministral",
        "camembert",
        "umt5",
        "qwen3_omni_moe",
        "qwen3_omni_moe_text",
        "step3p7",
    }
    assert found == set(families()) - same_plan


def test_a_wrapped_model_is_the_one_inside_and_says_what_is_left_out(tmp_path: Path) -> None:
    outer = {"model_type": "mistral3", "text_config": {**LLAMA, "model_type": "mistral"}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**outer, "vision_config": {}}))
    model = read_config(path)
    assert model.left_out == ("the tower of images",)
    path.write_text(json.dumps({**LLAMA, "model_type": "mistral"}))
    assert model.stacks == read_config(path).stacks


def test_layers_of_one_kind_are_one_object() -> None:
    layers = read_config("gemma-2-9b").stacks[0].layers
    assert len(layers) == 42
    assert len({id(layer) for layer in layers}) == 2
    windows = [m.window for layer in layers[:4] for m in mixers(layer) if isinstance(m, Attention)]
    assert windows == [4096, 0, 4096, 0]


def test_experts_lie_where_the_configuration_says() -> None:
    layers = read_config("deepseek-v3").stacks[0].layers
    routed = [any(isinstance(m, Experts) for m in mixers(layer)) for layer in layers]
    assert routed == [False] * 3 + [True] * 58


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model_type": "left out", "architectures": "left out"}, "neither 'model_type' nor"),
        ({"model_type": "left out", "architectures": "left out", "base_code": {}}, "of Paddle 3"),
        ({"hidden_size": "left out"}, "no 'hidden_size' in the configuration"),
        ({"hidden_size": -64}, "'hidden_size' is -64, not 1 to"),
        ({"hidden_size": 10**400}, "not 1 to"),
        ({"hidden_size": 1e400}, "not a whole number"),
        ({"hidden_size": True}, "'hidden_size' is True, not a whole number"),
        ({"hidden_size": "64"}, "'hidden_size' is '64', not a whole number"),
        ({"hidden_size": 66}, "66 does not divide into 4 heads"),
        ({"num_key_value_heads": 3}, "4 does not divide into 3 groups of key heads"),
        ({"num_hidden_layers": 2001}, "'num_hidden_layers' is 2001, not at most 2000"),
        ({"hidden_act": "sillu"}, "no activation 'sillu' (did you mean silu?)"),
        ({"attention_bias": 1}, "'attention_bias' is 1, not true or false"),
        (
            {"architectures": "LlamaForCausalLM"},
            "'architectures' is 'LlamaForCausalLM', not a list",
        ),
        ({"kv_lora_rank": 512}, "'kv_lora_rank' is no part of the family llama (it is of families"),
        ({"num_local_experts": 8}, "it is of families like llama4_text; set it to null"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    path = written(tmp_path, **changed)
    with pytest.raises(ModelError) as caught:
        read_config(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_an_unknown_family_is_read_like_the_nearest_and_says_what_is_left_out(
    tmp_path: Path,
) -> None:
    plain = read_config(written(tmp_path))
    path = written(tmp_path, model_type="lama", extra_rank=3)
    model = read_config(path)
    assert model.stacks == plain.stacks
    said = "lama, which has no reader here, is read like llama, without its keys extra_rank"
    assert model.assumption == said
    assert model.left_out == (said,)
    assert load_config(str(path), {}).origin.assumed == said
    report = perfc.analyze(path, "h100", dims={"batch": 1, "seq": 16})
    assert report.views.verdict.confidence is not None
    assert report.views.verdict.confidence.grade is Grade.LOW
    assert said in report.views.verdict.confidence.reason


def test_a_user_may_name_the_family_that_an_unknown_one_is_read_like(tmp_path: Path) -> None:
    path = written(tmp_path, model_type="lama", kv_lora_rank=8, num_experts=4)
    assert read_config(path, "qwen3").stacks != read_config(path, "llama").stacks
    assert "is read like llama, without its keys kv_lora_rank, num_experts" in (
        read_config(path, "llama").assumption
    )
    with pytest.raises(ModelError, match="--like: no family 'lamma'"):
        read_config(path, "lamma")


def test_caches_may_be_stated(tmp_path: Path) -> None:
    path = written(tmp_path)
    usual = perfc.llm(path, "h100", isl=16, osl=4)
    stated = perfc.llm(path, "h100", isl=16, osl=4, kv_bytes_per_token=4096)
    assert usual.memory.kv_bytes_per_token == 2 * 2 * 2 * 16 * 2
    assert stated.memory.kv_bytes_per_token == 4096
    assert stated.memory.kv_tokens < usual.memory.kv_tokens
    halves = perfc.llm(path, "h100", isl=16, osl=4, kv_bytes_per_token=4096, parallel={"tp": 2})
    assert halves.memory.kv_bytes_per_token == 2048


def test_keys_that_mean_nothing_here_are_passed_over(tmp_path: Path) -> None:
    plain = read_config(written(tmp_path))
    more = {"transformers_version": "4.1", "num_local_experts": None, "sliding_window": 0, "x": {}}
    assert read_config(written(tmp_path, **more)) == plain


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "holds a list, not an object"),
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "nested deeper than 32"),
        (b'{"a":' * 500_000, "more than 1 MiB"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nested deeper than 32"),
        (b'{"hidden_size": ' + b"9" * 9000 + b"}", "not JSON"),
        (b'{"model_type": "llama", "hidden_size": NaN}', "'hidden_size' is 'NaN'"),
    ],
    ids=range(8),
)
def test_hostile_files_are_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        read_config(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no configuration 'lama-3-8b' \(did you mean llama-3"):
        read_config("lama-3-8b")
    with pytest.raises(ModelError, match="no such file"):
        read_config(tmp_path / "absent.json")
    (tmp_path / "x.json").mkdir()
    with pytest.raises(ModelError, match="no such file"):
        read_config(tmp_path / "x.json")
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ModelError, match="not a regular file"):
        read_config(tmp_path)


def test_a_misspelled_name_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PerfcError, match=r"did you mean llama-3\.1-8b"):
        load("lama-3.1-8b")
    assert exit_code("analyze", "lama-3.1-8b") == 2
    assert "did you mean llama-3.1-8b" in capsys.readouterr().err


def test_commands_take_a_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(tmp_path))
    run = ["-t", "h100", "--batch", "2", "--seq", "32", "--runtime", "vllm"]
    assert exit_code("analyze", path, *run, "--view", "kernels") == 0
    assert "ragged_attention" in capsys.readouterr().out
    assert exit_code("explain", path, "layers.0.0.attention", "-t", "h100") == 0
    assert "num_heads = 4, kv_heads = 2" in capsys.readouterr().out
    assert exit_code("diff", path, path, "-t", "h100") == 0
    page = tmp_path / "page.html"
    assert exit_code("analyze", path, *run, "-o", str(page)) == 0
    assert page.stat().st_size > 10_000


def test_a_configuration_of_a_layer_less_model_is_still_a_model(tmp_path: Path) -> None:
    model = read_config(written(tmp_path, num_hidden_layers=0))
    assert len(lower(model).graph.nodes) == 4


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("t5-small", "num_decoder_layers"),
        ("whisper-tiny", "encoder_layers"),
        ("gemma-3-1b", "sliding_window_pattern"),
        ("qwen3-next-80b-a3b", "full_attention_interval"),
        ("smollm3-3b", "no_rope_layer_interval"),
        ("llama-3-8b", "num_hidden_layers"),
    ],
)
def test_no_number_makes_a_model_endless(tmp_path: Path, name: str, key: str) -> None:
    shown = Path(reader.HERE) / "configs" / f"{name}.json"
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(shown.read_text()), key: 10**9}))
    with pytest.raises(ModelError, match=f"'{key}' is 1000000000, not at most 2000"):
        read_config(path)


def test_a_module_knows_the_file_it_came_from(tmp_path: Path) -> None:
    """Else `perfc check` takes a changed configuration for the same model, and only warns."""
    path = tmp_path / "config.json"
    content = (CONFIGS / "gpt2.json").read_bytes()
    path.write_bytes(content)
    module = load_config(str(path), {})
    assert module.origin.path == str(path)
    assert module.origin.digest == hashlib.sha256(content).hexdigest()
    assert load_config("gpt2", {}).origin.digest == module.origin.digest
    path.write_bytes(content.replace(b'"n_layer": 12', b'"n_layer": 11'))
    assert path.read_bytes() != content
    changed = load_config(str(tmp_path), {})
    assert changed.origin.digest == hashlib.sha256(path.read_bytes()).hexdigest()
