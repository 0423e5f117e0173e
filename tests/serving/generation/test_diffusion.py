"""Diffusion models from their configurations: parts, calls, times, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.errors import MissingExtraError, ModelError, ParseError
from perfc.frontend.diffusion import PartRole, Picture, export, read_pipeline, shipped
from perfc.frontend.diffusion.decoders import decoder_of, latent_of
from perfc.frontend.diffusion.denoisers import denoiser_of
from perfc.frontend.diffusion.export import inputs_of
from perfc.frontend.diffusion.pipeline import DiffusionPipeline, Latent
from perfc.machine import load_machine
from perfc.serving.generation import GenerationReport, diffusion
from perfc.serving.generation.law import Law, law
from perfc.serving.generation.views import document
from perfc.view.report.formats import text

DATA = Path(__file__).parents[2] / "data" / "diffusion"
TINY = DATA / "tiny-pixart"
EDGE = 16
"""Pixels along an edge of what the tiny pipeline makes."""


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiffusionPipeline:
    """A tiny pipeline whose graphs, exported from diffusers, lie in the cache already."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = read_pipeline(TINY)
    latent = latent_of(found, Picture(EDGE, EDGE))
    with monkeypatch.context() as patch:
        patch.setattr(export, "exported", lambda p, _: (DATA / f"{p.name}.onnx").read_bytes())
        for role in (PartRole.DENOISER, PartRole.DECODER):
            export.module_of(found.part(role), latent, found.tokens)
    return found


def made(pipeline: DiffusionPipeline, target: str = "h100", **asked: object) -> GenerationReport:
    return diffusion(pipeline, target, height=EDGE, width=EDGE, **asked)  # type: ignore[arg-type]


def test_parts_are_called_as_diffusers_calls_them(pipeline: DiffusionPipeline) -> None:
    report = made(pipeline, batch=3, steps=7)
    calls = {part.name: (part.calls, part.batch) for part in report.parts}
    assert calls == {"text_encoder": (2, 3), "transformer": (7, 6), "vae": (3, 1)}
    plain = {p.name: (p.calls, p.batch) for p in made(pipeline, steps=7, is_guided=False).parts}
    assert plain == {"text_encoder": (1, 1), "transformer": (7, 1), "vae": (1, 1)}
    assert report.time_s == pytest.approx(sum(p.time_s for p in report.parts))
    assert report.floor_s <= report.low_s <= report.time_s <= report.high_s
    assert report.pictures_per_s == pytest.approx(3 / report.time_s)
    assert all(p.floor_s <= p.time_s for p in report.parts)


def test_more_steps_pictures_and_slower_machines_take_longer(pipeline: DiffusionPipeline) -> None:
    once = made(pipeline, steps=4)
    denoiser = {p.name: p for p in once.parts}["transformer"]
    longer = {p.name: p for p in made(pipeline, steps=8).parts}["transformer"]
    assert longer.time_s == pytest.approx(2 * denoiser.time_s)
    assert made(pipeline, steps=4, batch=64).time_s > once.time_s
    assert made(pipeline, "t4", steps=4).floor_s > once.floor_s


def test_weights_are_those_of_diffusers(pipeline: DiffusionPipeline) -> None:
    weights = {p.name: p.weight_bytes for p in made(pipeline).parts}
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("diffusers")
    for role in (PartRole.DENOISER, PartRole.DECODER):
        part = pipeline.part(role)
        with torch.device("meta"):
            module = getattr(library, part.class_name).from_config(dict(part.config))
        used = module if role is PartRole.DENOISER else module.decoder
        stored = 2 * sum(p.numel() for p in used.parameters())
        assert stored <= weights[part.name] <= 1.2 * stored + 20_000


def test_a_law_takes_the_longer_of_kernels_and_launches() -> None:
    h100, h200, a100 = map(load_machine, ("h100", "h200", "a100"))
    told = Law({"sm9": 2.0, "sm10": 8.0}, [h100.name], 1e-5, 0.1, 0.5, 1.0, 0.2, 0.6, 9, 3)
    assert told.call_s(1e-3, 4e-4, 10, h100) == told.call_s(1e-3, 4e-4, 10, h200) == 1.4e-3
    assert told.call_s(1e-3, 4e-4, 1000, h100) == 1e-2
    assert told.call_s(1e-3, 4e-4, 10, a100) == 1e-3
    assert [told.is_known(m) for m in (h100, h200, a100)] == [True, False, False]
    assert told.reach(a100) > told.reach(h100) > 1.0
    ours, other = (told.energy_of([1.0, 3.0], 2, m) for m in (h100, a100))
    assert ours is not None
    assert other is not None
    assert ours.energy_j == other.energy_j == 2.0
    assert other.low_j < ours.low_j < 2.0 < ours.high_j < other.high_j
    assert told.energy_of([1.0, None], 2, h100) is None


def test_a_machine_without_generations_is_wide_and_says_so(pipeline: DiffusionPipeline) -> None:
    known, other = made(pipeline), made(pipeline, "a100")
    assert other.high_s / other.low_s > known.high_s / known.low_s
    assert any("no generation was measured on a100" in note for note in other.notes)
    assert not any("no generation" in note for note in known.notes)
    assert all(str(law().rows) in report.notes[0] for report in (known, other))


def test_gpus_without_bf16_compute_in_f16(pipeline: DiffusionPipeline) -> None:
    turing, ampere = made(pipeline, "t4"), made(pipeline, "a100")
    assert turing.notes[0] == "t4 has no bf16: computed in f16"
    assert not [note for note in ampere.notes if "bf16" in note]
    # tensor cores do 65 Tflop/s in f16, all else 8.1
    assert ampere.floor_s < turing.floor_s < 8 * ampere.floor_s


def test_what_does_not_fit_is_said(pipeline: DiffusionPipeline) -> None:
    report = replace(made(pipeline), fits=False)
    shown = text.render(document(report), 100)
    assert "does not fit" in shown
    assert "does not fit" not in text.render(document(made(pipeline)), 100)


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_command(
    form: str, pipeline: DiffusionPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["diffusion", str(TINY), "-t", "h100", "--size", f"{EDGE}x{EDGE}", "--steps", "3"]
    suffix = {"text": "txt", "json": "json", "markdown": "md", "html": "html"}[form]
    output = tmp_path / f"page.{suffix}"
    more = [] if form == "text" else ["-o", str(output)]
    assert cli.run([*words, "--unguided", *more]) == 0
    shown = capsys.readouterr().out if form == "text" else output.read_text()
    assert "PixArtTransformer2DModel" in shown
    if form == "json":
        found = json.loads(shown)
        assert found["steps"] == 3
        assert found["is_guided"] is False
        assert [p["name"] for p in found["parts"]] == ["text_encoder", "transformer", "vae"]
        assert found["time_s"] == pytest.approx(sum(p["time_s"] for p in found["parts"]))


def test_a_pipeline_is_guided_as_it_ships(
    pipeline: DiffusionPipeline, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["diffusion", str(TINY), "-t", "h100", "--size", f"{EDGE}x{EDGE}", "--steps", "3"]
    assert cli.run([*words, "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_guided"] is True


def test_it_is_public() -> None:
    assert perfc.diffusion is diffusion


@pytest.mark.parametrize("name", shipped())
def test_shipped_pipelines_are_whole(name: str) -> None:
    pipeline = read_pipeline(name)
    latent = latent_of(pipeline, pipeline.picture)
    assert min(latent.channels, latent.frames, latent.height, latent.width) > 0
    denoiser, decoder = pipeline.part(PartRole.DENOISER), pipeline.part(PartRole.DECODER)
    inputs = denoiser_of(denoiser).inputs(denoiser, latent, pipeline.tokens)
    assert inputs[0].name == "hidden_states"
    assert len({tensor.name for tensor in inputs}) == len(inputs)
    assert decoder_of(decoder).inputs(latent)[0].shape[0] == latent.channels


@pytest.mark.parametrize(
    ("name", "latent"),
    [
        ("pixart-sigma-xl-2-1024", Latent(4, 1, 128, 128)),
        ("sana1.5-1.6b-1024", Latent(32, 1, 32, 32)),
        ("wan2.1-t2v-1.3b", Latent(16, 21, 60, 104)),
        ("cogvideox-2b", Latent(16, 13, 60, 90)),
        ("flux.1-dev", Latent(16, 1, 128, 128)),
    ],
)
def test_latents(name: str, latent: Latent) -> None:
    pipeline = read_pipeline(name)
    assert latent_of(pipeline, pipeline.picture) == latent


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"batch": 0}, "--batch"),
        ({"steps": 1 << 20}, "--steps"),
        ({"height": 1001}, "multiples of 8"),
        ({"width": 1 << 20}, "--size"),
        ({"frames": 1 << 20}, "--frames"),
    ],
)
def test_sizes_that_are_none_are_refused(asked: dict[str, int], words: str) -> None:
    with pytest.raises(ParseError) as error:
        diffusion("pixart-sigma-xl-2-1024", **asked)  # type: ignore[arg-type]
    assert words in str(error.value)


def test_a_name_that_is_none_gets_the_nearest() -> None:
    with pytest.raises(ModelError, match="pixart-sigma"):
        read_pipeline("pixart-sigma")


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("model_index.json", "", "not JSON"),
        ("model_index.json", "[]", "not an object of keys"),
        ("model_index.json", "{}", "without a denoiser"),
        ("model_index.json", "[" * 100_000, "nested deeper"),
        ("model_index.json", " " * ((1 << 20) + 1), "more than 1 MiB"),
        ("transformer/config.json", "nothing", "not JSON"),
        ("vae/config.json", None, "no such file"),
        ("transformer/config.json", '{"caption_channels": "x"}', "caption_channels"),
        ("vae/config.json", '{"latent_channels": 4}', "channels of its blocks"),
        ("transformer/config.json", '{"num_layers": 1000000}', "beyond what is built"),
        ("vae/config.json", '{"latent_channels": 99999999}', "beyond what is built"),
    ],
)
def test_folders_that_are_damaged_are_one_line(
    file: str, content: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(TINY, folder)
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    assert cli.run(["diffusion", str(folder)]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_classes_that_are_unknown_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(TINY, folder)
    index = json.loads((folder / "model_index.json").read_text())
    index["transformer"][1] = "Unheard"
    (folder / "model_index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match="Unheard"):
        diffusion(folder, height=EDGE, width=EDGE)


def test_without_diffusers_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(MissingExtraError, match="transformer needs diffusers") as error:
        diffusion(TINY, height=EDGE, width=EDGE)
    assert "pip install" in error.value.hint
    assert not list(tmp_path.rglob("diffusion/*"))


@pytest.mark.long
def test_exported_anew_it_is_the_same_graph(pipeline: DiffusionPipeline, tmp_path: Path) -> None:
    pytest.importorskip("diffusers")
    pytest.importorskip("onnxscript")
    from perfc.frontend import load

    latent = latent_of(pipeline, Picture(EDGE, EDGE))
    for role in (PartRole.DENOISER, PartRole.DECODER):
        part = pipeline.part(role)
        inputs = inputs_of(part, latent, pipeline.tokens)
        again, before = load(export.exported(part, inputs)), load(DATA / f"{part.name}.onnx")
        assert len(again.graph.nodes) == len(before.graph.nodes)
