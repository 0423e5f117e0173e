"""Images in served prompts: tokens, memory and time of the tower that reads them."""

from __future__ import annotations

import pytest

from perfc.errors import ModelError, ParseError
from perfc.frontend.config import LanguageModel, precision_of, read_config, with_images
from perfc.machine import load_machine
from perfc.machine.parallel import ALONE
from perfc.serving import llm
from perfc.serving.cost.images import AT_ONCE, ImagedCost
from perfc.serving.engine import Engine
from perfc.serving.simulation.scheduler import Chunk
from tests.laws.networks import printed

NAME = "gemma-3-4b-it"
OPTIONS = {"isl": 128, "osl": 8, "concurrency": 2, "has_parts": True}


def engine(model: LanguageModel, images: int) -> Engine:
    half = precision_of(model.dtype, model.quantization)
    return Engine.of(model, load_machine("h100"), half, ALONE, "vllm", images=images)


def test_images_are_tokens_weights_and_time() -> None:
    plain, seen = llm(NAME, "h100", **OPTIONS), llm(NAME, "h100", images=2, **OPTIONS)  # type: ignore[arg-type]
    assert seen.images is not None
    assert (seen.images.count, seen.images.edge, seen.images.tokens) == (2, 896, 256)
    assert seen.load.isl == plain.load.isl + 2 * 256
    # SigLIP's 417 million parameters and the projector's three, in 16 bits
    more = seen.memory.weight_bytes - plain.memory.weight_bytes
    assert more == pytest.approx(2 * 420e6, rel=0.01)
    prompt, decode = seen.steps
    assert next(p for p in prompt.parts if p.what == "encoder").time_s > 5e-3
    assert "encoder" not in {p.what for p in decode.parts}
    assert prompt.time_s > prompt.floor_s > 2 * plain.steps[0].floor_s
    assert "the tower of images is not counted" in plain.notes
    assert not any("tower" in note for note in seen.notes)


def test_only_the_first_chunk_of_a_prompt_has_its_images() -> None:
    cost = engine(read_config(NAME), 1).cost
    assert isinstance(cost, ImagedCost)
    first, later = (cost.parts("time_s", [Chunk(512, at)], 0, 0.0) for at in (0, 512))
    language = cost.language
    assert later == language.parts("time_s", [Chunk(512, 512)], 0, 0.0)
    alone = language.parts("time_s", [Chunk(512, 0)], 0, 0.0)
    assert first.kernels == alone.kernels + cost.tower.at("time_s", 1).kernels
    assert cost.parts("time_s", (), 4, 512.0) == language.parts("time_s", (), 4, 512.0)


def test_many_images_pass_in_turns() -> None:
    cost = engine(read_config(NAME), 1).cost
    assert isinstance(cost, ImagedCost)
    one, turn = (cost.tower.at("time_s", n).kernels for n in (1, AT_ONCE))
    assert one < turn < AT_ONCE * one
    assert cost.tower.at("time_s", 2 * AT_ONCE + 1).kernels == pytest.approx(2 * turn + one)
    assert cost.tower.at("floor_s", 7).kernels < cost.tower.at("time_s", 7).kernels


def test_a_request_waits_for_the_kernels_of_the_tower_too() -> None:
    model = read_config(NAME)
    begun, later = (Chunk(64, 0),), (Chunk(64, 64),)
    seeing, blind = engine(model, 1).cost, engine(model, 0).cost
    assert seeing.launches(begun, 0) > blind.launches(begun, 0) + 27 * 5
    assert seeing.launches(later, 0) == blind.launches(later, 0)


def test_larger_images_are_more_tokens() -> None:
    small, large = (
        llm("qwen2.5-vl-7b", "h100", images=1, image_size=edge, isl=64, osl=4)
        for edge in (224, 896)
    )
    assert small.images is not None
    assert large.images is not None
    assert (small.images.tokens, large.images.tokens) == (64, 1024)
    assert small.latencies is not None
    assert large.latencies is not None
    assert large.latencies.ttft.mean > small.latencies.ttft.mean


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"image_size": 448}, "no images to size"),
        ({"images": -1}, "-1 images"),
        ({"images": 1 << 20}, "images in a prompt"),
        ({"images": 1, "trace": "requests.jsonl"}, "states its tokens"),
        ({"images": 1, "image_size": 1 << 20}, "images of"),
    ],
)
def test_numbers_that_are_none_are_one_line(options: dict[str, object], says: str) -> None:
    with pytest.raises(ParseError, match=says):
        llm(NAME, "h100", **options)  # type: ignore[arg-type]


def test_models_without_a_tower_read_no_images() -> None:
    with pytest.raises(ModelError, match="reads no images"):
        llm("llama-3.2-1b", "h100", images=1)
    with pytest.raises(ModelError, match="reads no images"):
        with_images(read_config("llama-3.2-1b"))


def test_an_encoder_runs_once_and_its_keys_are_cached() -> None:
    """Whisper large: keys and values of 1,500 tokens in 32 layers, 234 MiB a request."""
    load = {"osl": 100, "concurrency": 1, "requests": 2}
    sound = llm("whisper-large-v3", "h100", **load)
    held = 2 * 32 * 1500 * 1280 * 2
    assert f"1,500 tokens of a request once: keys of {held / (1 << 20):.0f} MiB" in sound.notes[0]
    cached = sound.memory.kv_bytes_per_token * 112 + held
    assert sound.memory.largest_concurrency == sound.memory.pool_bytes // cached
    assert sound.memory.weight_bytes == pytest.approx(2 * sound.parameters, rel=0.01)
    bart = llm("bart-large", "h100", **load)
    assert [r.steps[0].tokens for r in (sound, bart)] == [4, 1]
    short, long = (llm("t5-large", "h100", isl=n, **load) for n in (128, 4096))
    assert long.steps[0].floor_s > 4 * short.steps[0].floor_s
    assert long.memory.largest_concurrency < short.memory.largest_concurrency
    for report in (sound, bart, short, long):
        assert report.latencies is not None
        assert report.latencies.ttft.mean > report.steps[0].time_s > 5 * report.steps[1].time_s
        assert all(part.time_s >= 0 for part in report.first_token)


def test_exchanges_of_a_tower_on_two_gpus_pass_in_turns_too() -> None:
    spans = []
    for images in (AT_ONCE, 2 * AT_ONCE):
        words = ("--tp", "2", "--images", str(images), "--token-budget", "65536", "--isl", "128")
        shown = printed("llm", NAME, "-t", "h100", *words, "--concurrency", "1", code=None)
        (parts,) = (s["parts"] for s in shown["steps"] if s["tokens"])
        spans += [part["time_s"] for part in parts if part["what"] == "encoder"]
    assert spans[1] == pytest.approx(2 * spans[0], rel=0.01)
