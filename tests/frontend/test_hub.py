"""Ids of the Hugging Face hub: shipped, cached, downloaded, or one line that says how."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from perfc import cli
from perfc.errors import ModelError
from perfc.frontend.checkpoints import hub
from perfc.frontend.checkpoints.hub import is_hub_id, plain_names
from perfc.frontend.config import is_config, read_config, shipped

SMALL = {
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
NAME, REVISION = "someone/Some-Model-3B", "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache of the hub, whose library is not installed."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    return tmp_path / "home" / "hub"


def put(cache: Path, name: str = NAME, revision: str = REVISION) -> Path:
    folder = cache / f"models--{name.replace('/', '--')}"
    path = folder / "snapshots" / revision / "config.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(SMALL))
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(revision)
    return path


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("google/gemma-2-9b-it", "gemma-2-9b"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("google-bert/bert-base-uncased", "bert-base"),
        ("openai-community/gpt2", "gpt2"),
    ],
)
def test_networks_that_come_with_perfc_need_no_download(name: str, known: str) -> None:
    assert known in plain_names(name)
    assert is_config(name)
    assert read_config(name).stacks == read_config(known).stacks


def test_variants_of_other_networks_are_not_taken_for_them() -> None:
    for name in ("google-bert/bert-base-cased", "Qwen/Qwen3-30B-A3B-Instruct-2507"):
        assert not set(plain_names(name)) & set(shipped())


def test_the_local_cache_is_read(cache: Path, tmp_path: Path) -> None:
    put(cache, revision="f" * 40)
    path = put(cache)
    found = read_config(NAME)
    assert found.name == "Some-Model-3B"
    assert found.stacks == read_config(path).stacks
    arguments = ["llm", NAME, "-t", "h100", "--isl", "16", "--osl", "4"]
    assert cli.run(arguments) == 0
    assert cli.run(["analyze", NAME, "-t", "h100"]) == 0
    assert cli.run(["plan", NAME, "-t", "h100", "--gpus", "2"]) == 0


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"])
def test_the_cache_may_be_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    put(tmp_path / "other")
    with pytest.raises(ModelError):
        read_config(NAME)
    monkeypatch.setenv(variable, str(tmp_path / "other"))
    assert read_config(NAME).stacks[0].hidden == 64


def test_a_revision_cannot_leave_the_cache(cache: Path, tmp_path: Path) -> None:
    outside = tmp_path / "config.json"
    outside.write_text(json.dumps(SMALL))
    put(cache).unlink()
    (cache / f"models--{NAME.replace('/', '--')}" / "refs" / "main").write_text("../../../../..")
    with pytest.raises(ModelError, match="not in the local cache"):
        read_config(NAME)


def test_without_the_library_one_line_says_how() -> None:
    with pytest.raises(ModelError) as caught:
        read_config(NAME)
    said = str(caught.value)
    assert "pip install" in said
    assert "huggingface_hub" in said
    assert "config.json" in said
    assert "\n" not in said


def test_the_library_downloads_what_is_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ModuleType("huggingface_hub")
    calls: list[tuple[str, str]] = []

    def fetch(name: str, file: str, **_: object) -> str:
        calls.append((name, file))
        if name != NAME:
            raise OSError("404 Client Error\nmore")
        path = tmp_path / file
        path.write_text(json.dumps(SMALL))
        return str(path)

    library.hf_hub_download = fetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)
    monkeypatch.setattr(hub, "reachable", lambda: True)
    assert read_config(NAME).stacks[0].hidden == 64
    assert calls == [(NAME, "config.json")]
    with pytest.raises(ModelError, match="404 Client Error") as caught:
        read_config("nobody/no-model-at-all")
    assert "\n" not in str(caught.value)


def test_a_server_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("huggingface_hub")
    library.hf_hub_download = lambda *_, **__: pytest.fail("called")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)
    monkeypatch.setattr("urllib.request.getproxies", dict)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="no connection to the hub"):
        read_config(NAME)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        read_config(NAME)


def test_a_path_wins_over_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "Qwen" / "Qwen3-8B"
    assert is_hub_id("Qwen/Qwen3-8B")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(SMALL))
    assert not is_hub_id("Qwen/Qwen3-8B")
    assert read_config("Qwen/Qwen3-8B").stacks[0].hidden == 64
    # a file that is missing in a folder of that name is no id either
    assert not is_config("Qwen/resnet")
