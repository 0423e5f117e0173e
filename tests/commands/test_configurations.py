"""A configuration is run by a serving engine in every command, unless another runtime is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfc import Report, analyze, cli, llm

MODEL, SERVING_DEFAULT = "llama-3.2-1b", "vllm"
BUDGET = '[[budget]]\nmodel = "*.json"\ntarget = "h100"\nflop = { fail = "+5%" }\n'


def said(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    capsys.readouterr()
    assert cli.run([*args, "--target", "h100"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("named", "meant"), [((), SERVING_DEFAULT), (("--runtime", "ort"), "ort")])
def test_commands_mean_an_engine_unless_another_is_named(
    named: tuple[str, ...], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = json.loads(said(capsys, "analyze", MODEL, "--output-format", "json", *named))
    assert one["assumptions"]["runtime"] == meant
    several = json.loads(said(capsys, "compare", MODEL, "--output-format", "json", *named))
    assert [row["runtime"] for row in several["rows"]] == [meant]
    usual = said(
        capsys, "sweep", MODEL, "--batch", "2", "--output-format", "csv", "--no-predict", *named
    )
    stated = said(
        capsys,
        "sweep",
        MODEL,
        "--batch",
        "2",
        "--output-format",
        "csv",
        "--no-predict",
        "--runtime",
        meant,
    )
    assert usual == stated
    for command in (("explain", MODEL, "layers.5.1.mlp.down"), ("diff", MODEL, "llama-3.2-3b")):
        assert said(capsys, *command, *named) == said(capsys, *command, "--runtime", meant)


def test_a_project_names_the_runtime_of_its_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = Path(cli.__file__).parent / "frontend/config/configs"
    monkeypatch.chdir(tmp_path)
    Path("small.json").write_text((shipped / f"{MODEL}.json").read_text())
    Path("perfc.toml").write_text(BUDGET)
    assert cli.run(["check", "--write-baseline"]) == 0
    assert f'runtime = "{SERVING_DEFAULT}"' in Path("perfc.lock").read_text()
    assert cli.run(["check"]) == 0
    Path("perfc.toml").write_text('[deployment]\nruntime = "transformers"\n' + BUDGET)
    result = json.loads(said(capsys, "analyze", "small.json", "--output-format", "json"))
    assert result["assumptions"]["runtime"] == "transformers"


def test_a_program_means_the_same() -> None:
    assert analyze(MODEL, "h100").deployment.runtime == SERVING_DEFAULT
    report = analyze(MODEL, "h100", runtime="ort")
    assert report.deployment.runtime == "ort"
    assert report.with_(runtime=SERVING_DEFAULT).deployment.runtime == SERVING_DEFAULT


def test_under_autocast_parameters_of_a_configuration_are_f32() -> None:
    """As trainers load them; products run in the type that is asked for."""
    published = analyze(MODEL, "h100", seq=64)
    cast = analyze(MODEL, "h100", dtype="amp-bf16", seq=64)
    assert stored(published) == {"bf16"}
    assert stored(cast) == {"f32"}
    times = {
        report.prediction.total.time_s
        for report in (cast, published.with_(dtype="amp-bf16"), cast.with_("h100"))
    }
    assert len(times) == 1
    assert times.pop() > published.prediction.total.time_s
    assert cast.with_(dtype="").prediction.total == published.prediction.total


def test_an_engine_runs_f16_where_a_gpu_has_no_bf16() -> None:
    """vLLM: "Bfloat16 is only supported on GPUs with compute capability of at least 8.0"."""
    turing, ampere = analyze(MODEL, "t4", seq=64), analyze(MODEL, "a100", seq=64)
    assert (turing.dtype, stored(turing)) == ("f16", {"f16"})
    assert (ampere.dtype, stored(ampere)) == ("", {"bf16"})
    assert ampere.with_("t4").prediction.total == turing.prediction.total
    assert turing.with_("a100").prediction.total == ampere.prediction.total
    stated = analyze(MODEL, "t4", seq=64, dtype="bf16")
    assert stored(stated) == {"bf16"}
    # transformers runs bf16; LlamaRotaryEmbedding computes angles in f32 on purpose, from a buffer
    # of inverse frequencies, and norms widen activations: of what is stored the buffer alone is f32
    modules = analyze(MODEL, "t4", seq=64, runtime="transformers")
    assert stored(modules) == {"bf16", "f32"}
    typed = {v.name: str(v.type) for v in modules.module.graph.weights}
    wide = {name for name, type_ in typed.items() if type_.startswith("f32[") and "," in type_}
    assert wide == {"rotary.64.inverse_frequencies"}
    assert stated.prediction.total.floor_s > 2 * turing.prediction.total.floor_s


def test_a_server_runs_f16_where_a_gpu_has_no_bf16() -> None:
    told = llm(MODEL, "v100", isl=256, osl=16)
    assert told.notes[0] == "v100-sxm2-32gb has no bf16: computed in f16"
    assert told.cache == "f16"
    assert told.latencies == llm(MODEL, "v100", isl=256, osl=16, dtype="f16").latencies
    assert not [n for n in llm(MODEL, "a100", isl=256, osl=16).notes if "bf16" in n]
    waits = llm(MODEL, "v100", isl=256, osl=16, runtime="transformers")
    assert waits.cache == "bf16"


def stored(report: Report) -> set[str]:
    """Return the types of weights and buffers, vectors and scalars left out."""
    types = (str(v.type).partition("[") for v in report.module.graph.weights)
    return {dtype for dtype, _, shape in types if "," in shape}
