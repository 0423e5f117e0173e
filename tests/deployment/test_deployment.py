"""Fields of a deployment: what is read of each, what is refused, and what does not go together."""

from __future__ import annotations

from typing import Any

import pytest

import perfc
from perfc.deployment import KEYS, Deployment, options_of
from perfc.deployment.fields import VERSION, Mode, with_axes
from perfc.errors import ParseError
from perfc.ir.op import Kind
from perfc.passes.runtimes import (
    DEFAULT,
    MAX_STREAMS,
    SERVING_DEFAULT,
    TRAINING_DEFAULT,
    Framework,
    Layout,
    Serving,
    Tf32,
    runtime,
    runtimes,
    tables,
)


def test_nothing_said_is_what_is_documented() -> None:
    usual = Deployment()
    assert (usual.target, usual.dtype, usual.tf32, usual.streams) == ("a100", "", None, 1)
    assert (usual.framework, usual.layout, usual.mode) == (
        Serving.ANY,
        Layout.CHANNELS_FIRST,
        Mode.INFERENCE,
    )
    assert (usual.runtime_version, usual.host_launch, usual.dims) == ("", None, {})
    assert (usual.table_name, usual.version) == (DEFAULT, None)
    assert usual.with_values({}) == usual


@pytest.mark.parametrize(
    ("name", "value", "field", "read"),
    [
        ("target", " t4 ", "target", "t4"),
        ("runtime", "ort", "runtime", "ort"),
        ("streams", "3", "streams", 3),
        ("streams", MAX_STREAMS, "streams", MAX_STREAMS),
        ("tf32", False, "tf32", Tf32.NONE),
        ("tf32", "convolutions", "tf32", Tf32.CONVOLUTIONS),
        ("tf32", None, "tf32", None),
        ("mode", "training", "mode", Mode.TRAINING),
        ("mode", Mode.TRAINING, "mode", Mode.TRAINING),
        ("dtype", "f16", "dtype", "f16"),
        ("host_launch", "30us", "host_launch", 3e-5),
        ("host_launch", None, "host_launch", None),
        ("dims", {"n": 3}, "dims", {"n": 3}),
        ("dims", None, "dims", {}),
        ("batch", 4, "dims", {"batch": 4}),
        ("seq", 5, "dims", {"seq": 5}),
        ("batch", None, "dims", {}),
    ],
)
def test_a_field_is_read_as_it_is_typed(name: str, value: Any, field: str, read: object) -> None:
    assert getattr(Deployment().with_values({name: value}), field) == read


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("target", " ", "--target: names no target (`perfc targets` lists them)"),
        ("target", 3, "--target: 3 is not a string"),
        ("streams", 0, f"--streams: no such number: '0' (1 to {MAX_STREAMS})"),
        ("streams", MAX_STREAMS + 1, "--streams: no such number: "),
        ("streams", True, "--streams: no such number: 'True'"),
        ("streams", "²", "--streams: no such number: '²'"),
        ("streams", "9" * 40, "--streams: no such number: "),
        ("tf32", 1, "--tf32: 1 is neither true nor false"),
        ("mode", "both", "--mode: no 'both' (there are inference, training)"),
        ("runtime_version", "2", "--runtime_version: '2' is no version (as in 2.9)"),
        ("runtime_version", "2.", "--runtime_version: '2.' is no version (as in 2.9)"),
        ("dims", [3], "--dims: [3] is not a table (as in { batch = 8 })"),
        ("host_launch", "soon", "--host_launch: 'soon' is no duration"),
        ("no_such", 1, "no 'no_such' (there are target, runtime, "),
    ],
)
def test_what_is_no_value_is_refused_with_its_place(name: str, value: Any, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        Deployment().with_values({name: value}, lambda field: f"--{field}")
    assert str(caught.value).startswith(said)


def test_streams_stand_behind_a_runtime_too() -> None:
    result = Deployment().with_values({"runtime": "ort:3"})
    assert (result.runtime, result.streams, result.table_name) == ("ort", 3, "ort:3")
    with pytest.raises(ParseError, match="no such number: 'x'"):
        Deployment().with_values({"runtime": "ort:x"})
    kept = result.with_values({"runtime": "tensorrt"})
    assert (kept.runtime, kept.streams) == ("tensorrt", 3)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.9", (2, 9)),
        ("2.9.1+cu126", (2, 9)),
        ("12.34", (12, 34)),
        ("", None),
        ("1234.5", None),
        ("2.9 ", None),
    ],
)
def test_a_version_is_its_major_and_minor_number(
    text: str, version: tuple[int, int] | None
) -> None:
    result = VERSION.fullmatch(text)
    assert (None if result is None else (int(result[1]), int(result[2]))) == version
    if version is not None:
        assert Deployment(runtime="eager").with_values({"runtime_version": text}).version == version


def test_fields_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ParseError, match="versions of paddle were not measured separately"):
        Deployment().with_values({"runtime": "paddle", "runtime_version": "1.2"})
    with pytest.raises(ParseError, match="tensorrt does not run channels-last"):
        Deployment().with_values({"runtime": "tensorrt", "layout": "channels-last"})
    eager = Deployment().with_values({"runtime": "eager", "layout": "channels-last"})
    assert eager.layout is Layout.CHANNELS_LAST
    Deployment().require_kernels()
    Deployment().with_values({"train": "adamw"}).require_kernels()
    with pytest.raises(ParseError, match="a training step needs an optimizer"):
        Deployment(mode=Mode.TRAINING).require_kernels("--mode")


def test_an_optimizer_makes_a_run_a_training_step() -> None:
    result = Deployment().with_values({"train": "adamw", "freeze": "a.*,b.*", "dtype": "amp-f16"})
    assert (result.mode, result.freeze) == (Mode.TRAINING, ("a.*", "b.*"))
    recipe = result.recipe
    assert recipe is not None
    assert (recipe.optimizer, recipe.loss_scaling, recipe.freeze) == ("adamw", True, result.freeze)
    assert Deployment().recipe is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("train", "adem", "no optimizer 'adem'"),
        ("loss", "hinge", "no loss 'hinge'"),
        ("accumulate", 0, "no such number: '0' (1 to 64)"),
        ("lora_rank", "-1", "no such number: '-1'"),
        ("keep", 2, "no share: '2' (0 to 1)"),
        ("dropout", 1, "no share: '1' (0 to 0.99)"),
        ("checkpointing", "all", "no 'all'"),
        ("freeze", 3, "3 is no list of patterns"),
        ("master_weights", 1, "1 is neither true nor false"),
    ],
)
def test_what_is_no_training_step_is_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        Deployment().with_values({name: value})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"lora_rank": 8}, "--lora_rank: only a training step has it (select an optimizer"),
        ({"checkpointing": "block"}, "--checkpointing: only a training step has it"),
        ({"accumulate": 2}, "--accumulate: only a training step has it"),
        ({"mode": "training", "loss": "mse"}, "--loss: only a training step has it"),
        ({"train": "sgd", "lora": "*q*"}, "--lora: requires a LoRA rank (--lora-rank"),
        ({"dropout": 0.1}, "--dropout: only a training step has it"),
        ({"train": "sgd", "keep": 0.2}, "--keep: only optimal checkpointing reads it (--ch"),
        ({"train": "sgd", "checkpointing": "block", "keep": 0.2}, "--keep: only optimal"),
    ],
)
def test_what_says_a_step_where_there_is_none_is_refused(
    values: dict[str, object], said: str
) -> None:
    with pytest.raises(ParseError) as caught:
        Deployment().with_values(values, lambda field: f"--{field}")
    assert said in str(caught.value)


def test_what_says_a_step_as_it_is_by_default_is_taken_without_one() -> None:
    usual = Deployment().with_values({"checkpointing": "none", "accumulate": 1, "keep": 0.5})
    assert usual == Deployment()
    step = {"train": "sgd", "checkpointing": "optimal", "keep": 0.2, "lora_rank": 4, "lora": "a*"}
    assert Deployment().with_values(step).lora == ("a*",)


def test_a_training_step_runs_under_pytorch_and_a_configuration_as_trainers_run_it() -> None:
    step = Deployment().with_values({"train": "adamw", "streams": 2})
    assert (step.table_name, step.as_json()["runtime"]) == ("eager:2", "eager")
    assert step.for_model("resnet50.onnx").runtime == TRAINING_DEFAULT == "eager"
    assert step.for_model("llama-3.1-8b").runtime == "trainer"
    assert step.with_values({"target": "epyc-7742"}).for_model("llama-3.1-8b").runtime == "eager"
    assert Deployment(mode=Mode.TRAINING).table_name == "eager"
    assert step.with_values({"runtime": "ort"}).for_model("resnet50.onnx").table_name == "ort:2"
    step = Deployment().with_values({"train": "sgd", "layout": "channels-last"})
    assert step.table.name == "eager"


def test_types_of_the_step_of_a_configuration_are_those_of_the_machine_unless_given() -> None:
    step = Deployment().with_values({"train": "adamw"}).for_model("gpt2")
    assert (step.dtype, step.master_weights) == ("bf16", True)
    there = step.with_values({"target": "v100"})
    assert (there.dtype, there.master_weights) == ("f16", True)
    assert there.with_values({"target": "epyc-7742"}).table_name == "eager"
    given = Deployment().with_values({"train": "adamw", "dtype": "f32"}).for_model("gpt2")
    assert (given.dtype, given.master_weights) == ("f32", False)
    assert given.with_values({"target": "v100"}).dtype == "f32"
    cast = Deployment().with_values({"train": "adamw", "dtype": "amp-bf16"}).for_model("gpt2")
    assert (cast.table_name, bool(cast.master_weights)) == ("eager", False)


def test_extents_are_added_and_said_once() -> None:
    first = Deployment().with_values({"dims": {"n": 1, "m": 2}})
    assert first.with_values({"dims": {"n": 3}}).dims == {"n": 3, "m": 2}
    assert first.at({"k": 4}).dims == {"n": 1, "m": 2, "k": 4}
    assert with_axes({"batch": 3, "dims": {"n": 1}}) == {"dims": {"n": 1, "batch": 3}}
    assert with_axes({"batch": None, "seq": None, "x": 1}) == {"x": 1}
    assert with_axes({"batch": 3, "dims": {"batch": 3}}) == {"dims": {"batch": 3}}
    assert with_axes({"batch": 3, "dims": 7}) == {"dims": 7}
    with pytest.raises(ParseError, match="batch is given as 3 and as 4"):
        with_axes({"batch": 3, "dims": {"batch": 4}})
    assert KEYS[-2:] == ("batch", "seq")


def test_a_deployment_as_json_has_words_for_what_is_chosen() -> None:
    of_steps = [n for n, o in options_of(Deployment).items() if o.is_of_step]
    result = Deployment(mode=Mode.TRAINING).as_json()
    assert (result["mode"], result["layout"]) == ("training", "channels-first")
    assert set(result) == set(KEYS) - {
        "batch",
        "seq",
        "threads",
        "parallel",
        "reserve",
        *of_steps,
    }
    step = Deployment().with_values({"train": "sgd"}).as_json()
    assert set(step) == set(KEYS) - {"batch", "seq", "threads", "parallel", "reserve"}
    held = Deployment().with_values({"reserve": "5%"}).as_json()
    assert held["reserve"] == "5%"
    four = Deployment().with_values({"parallel": {"tp": 4}})
    assert four.as_json()["parallel"] == four.parallel.as_json()
    assert four.parallel.as_json()["tp"] == 4
    with pytest.raises(ParseError, match="only one device is analyzed"):
        four.require_alone()
    assert (step["update"], step["checkpointing"]) == ("foreach", "none")
    assert Deployment(framework=Serving.ANY).serving is Deployment().table.serving
    other = next(s for s in Serving if s not in (Serving.ANY, Deployment().table.serving))
    assert Deployment(framework=other).serving is other


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("llama-3.1-8b", SERVING_DEFAULT),
        ("somewhere/config.json", SERVING_DEFAULT),
        ("resnet50.onnx", DEFAULT),
        (b"", DEFAULT),
    ],
)
def test_a_configuration_is_run_by_an_engine_unless_another_is_named(
    model: object, named: str
) -> None:
    assert Deployment().for_model(model).runtime == named
    assert Deployment().with_values({"streams": 2}).for_model(model).table_name == f"{named}:2"
    for other in ("ort", "transformers"):
        assert Deployment().with_values({"runtime": other}).for_model(model).runtime == other


def test_engines_that_only_serve_run_no_training_step() -> None:
    training = [t.name for t in tables() if t.trains]
    assert {"eager", "inductor", "cudagraph", "ort"} <= set(training)
    serving = [t.name for t in tables() if not t.trains]
    assert {"tensorrt", "ort-tensorrt", "openvino", "vllm", "trtllm", "llamacpp"} <= set(serving)
    for name in serving:
        with pytest.raises(ParseError) as caught:
            Deployment().with_values({"runtime": name, "train": "adamw"}, lambda f: f"--{f}")
        assert str(caught.value).startswith(f"--runtime: {name} runs no training step (cudagraph, ")
    assert Deployment().with_values({"runtime": "ort", "train": "adamw"}).is_step


@pytest.mark.parametrize("name", runtimes())
def test_pytorch_rounds_convolutions_alone_unless_told(name: str) -> None:
    is_pytorch = runtime(name).framework is Framework.TORCH
    usual = Tf32.CONVOLUTIONS if is_pytorch else Tf32.ALL
    assert Deployment(runtime=name).rounded is usual
    for said in Tf32:
        assert Deployment(runtime=name, tf32=said).rounded is said
        assert Deployment(runtime=name, tf32=said).as_json()["tf32"] == said.value
    assert [usual.of(kind) for kind in (Kind.CONV, Kind.MATMUL)] == [True, not is_pytorch]


@pytest.mark.parametrize("name", runtimes())
def test_libraries_of_amd_round_where_they_are_told_alone(name: str) -> None:
    there = Deployment("mi300x", name)
    assert there.rounded is Tf32.NONE
    assert there.with_values({"tf32": True}).rounded is Tf32.ALL


RESNET = "examples/models/resnet50.onnx.gz"


@pytest.mark.parametrize(
    ("target", "dtype", "executed"),
    [
        ("xeon-platinum-8480plus", "", "bf16"),
        ("epyc-9654", "", "bf16"),
        ("epyc-9654", "f32", "f32"),
        ("xeon-gold-6148", "", ""),
        # arm has another default
        ("graviton3", "", ""),
    ],
)
def test_openvino_runs_f32_in_bf16_where_processors_have_it(
    target: str, dtype: str, executed: str
) -> None:
    report = perfc.analyze(
        "examples/models/resnet50.onnx.gz", target, runtime="openvino", dtype=dtype
    )
    assert report.dtype == executed
    assert (
        perfc.analyze(
            "examples/models/resnet50.onnx.gz", target, runtime="ort-cpu", dtype=dtype
        ).dtype
        == dtype
    )
