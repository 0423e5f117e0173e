"""Reduced models are small, stand alone, and still show what they were cut out for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import perfc
from perfc import cli

MODELS = Path(__file__).parents[2] / "examples" / "models"
RESNET = MODELS / "resnet50.onnx.gz"
SMALL = 1024
"""Floats of 4 KiB, up to which constants stay."""


def text_of(body: str, inputs: str = "float[n, 4] x", outputs: str = "float[a, b] y") -> str:
    return f'<ir_version: 8, opset_import: ["" : 17]>\ng ({inputs}) => ({outputs}) {{\n{body}\n}}\n'


@pytest.fixture
def cut(tmp_path: Path) -> Callable[..., onnx.ModelProto]:
    """The model that ``perfc dev reduce`` writes."""

    def reduced(model: onnx.ModelProto | str | Path, *words: str) -> onnx.ModelProto:
        path = tmp_path / "whole.onnx"
        match model:
            case Path():
                path = model
            case str():
                onnx.save(onnx.parser.parse_model(model), path)
            case _:
                onnx.save(model, path)
        out = tmp_path / "small.onnx"
        assert cli.run(["dev", "reduce", str(path), *words, "-o", str(out)]) == 0
        return onnx.load(out)

    return reduced


Cut = Callable[..., onnx.ModelProto]


def ops(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def types(values: object) -> dict[str, list[object]]:
    return {
        i.name: [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim]
        for i in values  # type: ignore[attr-defined]
    }


def test_a_node_stands_alone_and_costs_what_it_cost_in_the_whole(cut: Cut) -> None:
    whole = perfc.analyze(RESNET, dims={"batch": 8})
    for wanted, op in (("/maxpool/MaxPool", "MaxPool"), ("/conv1/Conv", "Conv")):
        model = cut(RESNET, "--node", wanted)
        assert ops(model) == [op]
        onnx.checker.check_model(model, full_check=True)
        (node,) = (n for n in whole.source.graph.nodes if n.name == wanted)
        alone = perfc.analyze(model, dims={"batch": 8})
        assert alone.cost.work == whole.cost.nodes[node].work
        assert alone.cost.traffic == whole.cost.nodes[node].traffic
    (shape,) = types(cut(RESNET, "--node", "/maxpool/MaxPool").graph.input).values()
    assert shape == ["batch", 64, 112, 112]


def test_contents_that_drive_shapes_come_along(cut: Cut) -> None:
    path = MODELS / "gpt2.onnx.gz"
    model = cut(path, "--node", "node_view_4")
    assert ops(model)[-1] == "Reshape"
    assert "Shape" in ops(model)
    name = model.graph.output[0].name
    assert str(perfc.infer_shapes(model)[name]) == str(perfc.infer_shapes(path)[name])


def test_numbers_become_constants(cut: Cut) -> None:
    body = "s = Shape (w)\n[view] y = Reshape (x, s)"
    model = cut(text_of(body, "float[n, 4] x, float[2, 8] w"), "--node", "view")
    assert ops(model) == ["Reshape"]
    (stored,) = model.graph.initializer
    assert (stored.name, onnx.numpy_helper.to_array(stored).tolist()) == ("s", [2, 8])


def matrix(name: str, *shape: int) -> TensorProto:
    count = 1
    for extent in shape:
        count *= extent
    return helper.make_tensor(name, TensorProto.FLOAT, shape, [0.5] * count)


def test_constants_stay_up_to_a_size_and_the_model_says_whose_it_was(cut: Cut) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "fits"], ["h"], name="first"),
        helper.make_node("Mul", ["h", "large"], ["y"], name="second"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1])
    ends = [helper.make_empty_tensor_value_info(name) for name in ("y", "h")]
    weights = [matrix("fits", SMALL), matrix("large", SMALL + 1)]
    model = helper.make_model(
        helper.make_graph(nodes[:1], "g", [x], ends[1:], weights[:1]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
        producer_name="exporter",
        producer_version="7",
    )
    first = cut(model, "--node", "first")
    assert [t.name for t in first.graph.initializer] == ["fits"]
    assert types(first.graph.input) == {"x": ["n", 1]}
    said = (first.ir_version, first.producer_name, first.producer_version, first.graph.name)
    assert said == (8, "exporter", "7", "g")
    assert first.opset_import[0].version == 17
    nodes[1].input[0] = "x"
    model.graph.CopyFrom(helper.make_graph(nodes[1:], "g", [x], ends[:1], weights[1:]))
    second = cut(model, "--node", "second")
    assert not second.graph.initializer
    assert types(second.graph.input) == {"x": ["n", 1], "large": [SMALL + 1]}


def test_a_sequence_keeps_its_type_and_its_maker(cut: Cut) -> None:
    body = """[split] rows = SplitToSequence <axis = 0, keepdims = 1> (x)
    first = Constant <value_int = 0> ()
    [at] y = SequenceAt (rows, first)"""
    alone = cut(text_of(body), "--node", "split")
    (output,) = alone.graph.output
    element = output.type.sequence_type.elem_type.tensor_type
    assert (element.elem_type, len(element.shape.dim)) == (TensorProto.FLOAT, 2)
    # a sequence is no input: who makes it is kept
    assert ops(cut(text_of(body), "--node", "at")) == ["SplitToSequence", "SequenceAt"]
    onnx.checker.check_model(alone)


def test_a_node_of_a_subgraph_is_cut_with_its_owner(cut: Cut) -> None:
    branch = "{} () => (float[n, 4] {}_y) {{ [{}_relu] {}_y = Relu (x) }}"
    then, other = (branch.format(*[name] * 4) for name in "ab")
    body = f"""m = ReduceMax <keepdims = 0> (x)
    c = Cast <to = 9> (m)
    [choice] y = If (c) <then_branch = {then}, else_branch = {other}>"""
    model = cut(text_of(body), "--node", "b_relu")
    assert ops(model) == ["If"]
    assert {i.name for i in model.graph.input} == {"c", "x"}


def chain(before: int, bad: str, after: int) -> str:
    """Sound nodes around some that are none together."""
    lines = [f"a{i + 1} = Relu (a{i})" for i in range(before)]
    lines += [bad.format(f"a{before}"), *(f"b{i + 1} = Relu (b{i})" for i in range(after))]
    body = "\n".join(["a0 = Relu (x)", *lines, f"y = Relu (b{after})"])
    return text_of(body, "float[n, 4] x, float[5, 4] w")


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 30), st.integers(0, 30))
def test_an_error_is_reduced_to_the_node_that_shows_it(
    tmp_path_factory: pytest.TempPathFactory, before: int, after: int
) -> None:
    path = tmp_path_factory.mktemp("bad") / "whole.onnx"
    out = path.with_name("small.onnx")
    onnx.save(onnx.parser.parse_model(chain(before, "b0 = MatMul ({}, w)", after)), path)
    assert cli.run(["dev", "reduce", str(path), "--error", "-o", str(out)]) == 0
    model = onnx.load(out)
    assert ops(model) == ["MatMul"]
    assert types(model.graph.input) == {f"a{before}": ["n", 4], "w": [5, 4]}
    with pytest.raises(perfc.PerfcError, match="contracted extents differ: 4 and 5"):
        perfc.analyze(model)


def test_nodes_that_make_the_error_happen_are_kept(
    cut: Cut, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only those who know the rows of ``x`` see that as many elements cannot be three wide."""
    bad = """zero = Constant <value_ints = [0]> ()
    three = Constant <value_ints = [3]> ()
    s = Shape ({0})
    rows = Gather <axis = 0> (s, zero)
    wanted = Concat <axis = 0> (rows, three)
    b0 = Reshape ({0}, wanted)"""
    outputs = "float[a, b] y, int64[c] wanted"
    model = cut(chain(70, bad, 4).replace("float[a, b] y", outputs), "--error")
    kept = ops(model)
    assert kept[-1] == "Reshape"
    assert {"Shape", "Concat"} <= set(kept)
    assert "Relu" not in kept
    assert [o.name for o in model.graph.output] == ["wanted", "b0"]
    assert f"{len(kept)} of 82 nodes" in capsys.readouterr().err
    with pytest.raises(perfc.PerfcError):
        perfc.analyze(model)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--node"),
        (["--node", "x", "--error"], "--error"),
        (["--error"], "raises no error"),
        (["--node", "#175"], "its 175 nodes are #0 to #174"),
    ],
)
def test_wrong_input_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["dev", "reduce", str(RESNET), *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_node_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["dev", "reduce", str(RESNET), "--node", "#1"]) == 0
    assert "BatchNormalization" in capsys.readouterr().out
