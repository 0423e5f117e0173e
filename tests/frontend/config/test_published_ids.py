"""Published ids answer without a network: one table has their base, format and source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError
from perfc.frontend.checkpoints import hub, sources
from perfc.frontend.config import read_config
from perfc.frontend.config.facts import parameters


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize(
    ("name", "billion", "weights"),
    [
        ("deepseek-ai/DeepSeek-R1", 671, "f8-block"),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", 671, "nvfp4"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", 32.8, ""),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", 235, "f8-block"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", 480, ""),
        ("zai-org/GLM-4.6", 357, ""),
        ("zai-org/GLM-4.5-Air-FP8", 106.9, "f8"),
        ("nvidia/Llama-3.3-70B-Instruct-FP8", 70.6, "f8"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", 70.6, "f8"),
        ("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", 8.03, "i4"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", 7.62, "w8"),
        ("RedHatAI/Qwen2.5-7B-Instruct-quantized.w8a8", 7.62, "i8"),
        ("moonshotai/Kimi-K2-Thinking", 1027, "i4"),
        ("bert-base-uncased", 0.11, ""),
    ],
)
def test_a_published_id_has_its_size_and_format(name: str, billion: float, weights: str) -> None:
    model = read_config(name)
    assert model.name == name.rpartition("/")[2]
    assert parameters(model).resident / 1e9 == pytest.approx(billion, rel=0.02)
    assert (model.quantization.weights.value if model.quantization else "") == weights


def test_an_id_in_the_local_cache_is_read_from_there(tmp_path: Path) -> None:
    folder, revision = tmp_path / "models--zai-org--GLM-4.6", "0" * 40
    (folder / "snapshots" / revision).mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(revision, encoding="ascii")
    file = folder / "snapshots" / revision / hub.FILE
    source = Path(sources.CONFIGS) / "glm-4.5-air.json"
    file.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    assert parameters(read_config("zai-org/GLM-4.6")).resident < 120e9


def test_two_formats_of_one_base_are_two_sources() -> None:
    names = "Qwen/Qwen3-32B", "Qwen/Qwen3-32B-FP8", "Qwen/Qwen3-32B-AWQ"
    assert len({sources.read_source(name).digest for name in names}) == 3


def test_every_row_of_the_table_names_its_source_and_a_configuration() -> None:
    table = data_next_to(sources.__file__)
    for row in (*table["formats"], *table["names"]):
        assert row["source"]
        re.compile(row.get("name", "") + row.get("ending", ""))
    plain = {row["config"] for row in table["names"] if "\\" not in row["config"]}
    assert plain <= {*sources.shipped()}


@pytest.mark.parametrize("name", ["nobody/nothing-7b-fp8", "no-such-model-uncased"])
def test_an_unknown_id_says_which_file_to_give(name: str) -> None:
    with pytest.raises(ModelError) as raised:
        read_config(name)
    assert "config.json" in str(raised.value)
