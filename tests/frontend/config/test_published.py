"""Parameters, caches and products of shipped configurations against transformers' own models.

The file of what transformers has is written by ``benchmarks/llm_configs.py --golden``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.llm_configs import ours, theirs
from perfc.frontend.config import read_config, shipped
from perfc.frontend.config.facts import parameters

ROOT = Path(__file__).parents[3]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "llm_configs.json").read_text(encoding="utf-8"))
PUBLISHED = {
    "llama-3.1-405b": 405_853_388_800,
    "llama-2-70b": 68_976_648_192,
    "falcon-180b": 179_522_565_120,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2.5-72b": 72_706_203_648,
    "gemma-2-27b": 27_227_128_320,
    "gpt-oss-120b": 116_829_156_672,
    "phi-3.5-moe": 41_873_153_344,
    "opt-66b": 65_719_701_504,
    "bloom-176b": 176_247_271_424,
    "gpt-neox-20b": 20_554_567_680,
    "jamba-v0.1": 51_570_323_328,
    "flan-t5-xxl": 11_135_332_352,
    "flan-t5-xl": 2_849_757_184,
    "mt5-base": 582_401_280,
    "whisper-large-v3": 1_543_490_560,
    "bert-large": 335_174_458,
    "vit-large-16": 304_326_632,
    "clip-vit-large-14": 427_616_513,
    "mamba-2.8b": 2_768_345_600,
}
"""Numbers that model cards state, which transformers did not make."""


def test_every_shipped_configuration_is_in_the_file() -> None:
    assert sorted(GOLDEN) == sorted(shipped())
    assert len(GOLDEN) >= 60


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_a_configuration_has_what_transformers_has(name: str) -> None:
    found = ours(name)
    for key, value in GOLDEN[name].items():
        if value is None:
            continue
        if key in ("parameters", "cache_bytes"):
            assert found[key] == value, key
        else:
            assert found[key] == pytest.approx(value, rel=1e-3), key


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_parameters_are_those_of_the_model_card(name: str) -> None:
    assert parameters(read_config(name)).resident == PUBLISHED[name]


@pytest.mark.parametrize("name", ["qwen3-0.6b", "gpt2", "t5-small"])
def test_the_file_is_what_transformers_says_today(name: str) -> None:
    pytest.importorskip("transformers", minversion="5.0")
    assert theirs(name) == GOLDEN[name]
