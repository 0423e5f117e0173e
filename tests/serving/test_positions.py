"""Sequences longer than a model has positions for: refused by a pass, said by a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.errors import ModelError, PerfcError
from perfc.frontend.config import read_config
from perfc.serving import llm

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
}


def context_of(folder: Path, **keys: object) -> int:
    """Positions of a configuration."""
    path = folder / "config.json"
    path.write_text(json.dumps({**LLAMA, **keys}))
    return read_config(str(path)).context


@pytest.mark.parametrize(
    ("scaling", "tokens"),
    [
        (None, 2048),
        ({"rope_type": "linear", "factor": 4.0}, 8192),
        ({"type": "dynamic", "factor": 2}, 4096),
        ({"rope_type": "llama3", "factor": 8.0}, 2048),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}, 4096),
        ({"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 1024}, 2048),
        ({"rope_type": "longrope", "short_factor": [1.0]}, 2048),
    ],
)
def test_scaled_rotary_embeddings_have_more_positions(
    scaling: dict[str, Any] | None, tokens: int, tmp_path: Path
) -> None:
    assert context_of(tmp_path, rope_scaling=scaling) == tokens
    assert context_of(tmp_path, rope_parameters=scaling) == tokens


@pytest.mark.parametrize("factor", [0, -1.0, "x", True, 1e300])
def test_a_factor_is_a_number_of_one_or_more(factor: object, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'factor' is"):
        context_of(tmp_path, rope_scaling={"rope_type": "linear", "factor": factor})


def test_models_without_positions_have_any() -> None:
    assert [read_config(n).context for n in ("mpt-7b", "mamba-130m", "t5-small")] == [0, 0, 0]
    assert read_config("opt-6.7b").context == 2048
    assert read_config("gpt2").context == 1024


def test_a_pass_beyond_positions_is_refused() -> None:
    with pytest.raises(PerfcError, match=r"seq=1025 is outside 1\.\.1024"):
        perfc.analyze("gpt2", dims={"seq": 1025})
    assert perfc.analyze("gpt2", dims={"seq": 1024}).env["seq"] == 1024


def test_a_server_says_that_requests_are_beyond_positions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "opt-6.7b has 2,048 positions, and sequences have 4,096 tokens"
    assert words in llm("opt-6.7b", "h100", isl=2048, osl=2048).notes
    within = llm("opt-6.7b", "h100", isl=1024, osl=1024)
    assert not [n for n in within.notes if "positions" in n]
    sizes = ["--isl", "2044", "--osl", "8", "--dtype", "half"]
    cli.run(["llm", "search", "opt-6.7b", "-t", "h100", *sizes])
    assert words.replace("4,096", "2,052") in " ".join(capsys.readouterr().out.split())


def test_the_longest_sequence_has_to_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """As for vLLM's option; an L4 has no memory for all positions of the model."""
    most = llm("llama-3.1-8b", "l4").memory.largest_context
    assert 20_000 < most < 131_072
    auto = llm("llama-3.1-8b", "l4", max_model_len="auto")
    assert f"--max-model-len auto is {most:,} tokens" in auto.notes
    assert llm("llama-3.1-8b", "l4", max_model_len=most).fits
    long = llm("llama-3.1-8b", "l4", max_model_len=131_072)
    assert not long.fits
    assert f"a sequence of 131,072 tokens does not fit, one of {most:,} does" in long.notes
    assert cli.run(["llm", "llama-3.1-8b", "-t", "l4", "--max-model-len", "131072"]) == 1
    assert "there is no memory for the longest sequence" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("131073", "'131073' tokens"),
        ("0", "'0' tokens"),
        ("-5", "'-5'"),
        ("long", "'long' tokens"),
        ("100", "100 tokens, and a request has 2,304"),
    ],
)
def test_wrong_longest_sequences_are_refused(given: str, message: str) -> None:
    with pytest.raises(PerfcError, match=message):
        llm("llama-3.1-8b", "h100", max_model_len=given)
