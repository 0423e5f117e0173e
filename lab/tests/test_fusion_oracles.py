"""Fused kernels of compilers and of perfc: agreement, classes of differences, command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from perfc import cli
from perfc.errors import MissingExtraError, ModelError, PerfcError
from perfc_lab.fusion import Agreement, FusionComparison, OracleRequest, compared
from perfc_lab.fusion.oracles import oracle_of
from tests.oracles import inductor_fusion, tvm_fusion


def comparison(oracle: str, request: OracleRequest) -> FusionComparison:
    """Return the comparison of a compiler's answer with its table."""
    compiler = oracle_of(oracle)
    return compared(compiler.answer(request), compiler.TABLE)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A convolution with an activation, a product with a bias, and a softmax."""
    weights = {
        "w": np.ones((8, 3, 3, 3), np.float32),
        "m": np.ones((36, 16), np.float32),
        "b": np.ones(16, np.float32),
        "to": np.array([8, 36]),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Reshape", ["r", "to"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "m"], ["p"], name="product"),
        helper.make_node("Add", ["p", "b"], ["a"], name="bias"),
        helper.make_node("Softmax", ["a"], ["y"], name="softmax"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 16])
    stored = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], stored)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(made, tmp_path / "model.onnx")
    return str(tmp_path / "model.onnx")


def engine(tmp_path: Path, *layers: str) -> str:
    path = tmp_path / "layers.json"
    path.write_text(json.dumps({"Layers": [{"Name": name} for name in layers], "Bindings": []}))
    return str(path)


def test_groups_of_onnxruntime_are_those_of_its_table(model: str) -> None:
    pytest.importorskip("onnxruntime")
    result = comparison("ort", OracleRequest(model))
    groups = [{n.name for n in p.group.nodes} for p in result.pairs]
    assert groups == [{"conv", "relu"}, {"product", "bias"}, {"softmax"}]
    assert result.same == result.ours == 3


def test_layers_of_an_engine_are_compared_by_their_nodes(model: str, tmp_path: Path) -> None:
    layers = engine(tmp_path, "conv + relu", "product", "{ForeignNode[bias...softmax]}", "unknown")
    result = comparison("tensorrt", OracleRequest(model, engine=layers))
    groups = [sorted(n.name for n in p.group.nodes) for p in result.pairs]
    assert groups == [["conv", "relu"], ["product"], ["bias", "softmax"]]
    assert result.pairs[0].agreement is Agreement.SAME
    assert result.pairs[1].agreement is Agreement.JOINS
    assert list(result.differences) == [
        (Agreement.JOINS, "layer = MatMul; ours Add+MatMul"),
        (Agreement.CUTS, "layer = Add+Softmax; ours Add+MatMul | Softmax"),
    ]


@pytest.mark.parametrize(
    ("oracle", "layers", "said"),
    [
        ("tensorrt", (), "--engine"),
        ("tensorrt", ("another",), "name no node"),
        ("xla", (), "there are ort, tensorrt"),
    ],
)
def test_an_oracle_that_cannot_answer_says_why(
    oracle: str, layers: tuple[str, ...], said: str, model: str, tmp_path: Path
) -> None:
    file = engine(tmp_path, *layers) if layers else ""
    with pytest.raises(PerfcError, match=said):
        comparison(oracle, OracleRequest(model, engine=file))


def test_the_command_prints_groups_and_agreement(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = [
        "eval",
        "fusion",
        model,
        "--oracle",
        "tensorrt",
        "--engine",
        engine(tmp_path, "conv + relu"),
    ]
    assert cli.run([*args, "--output-format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["theirs"], made["same"], made["share"]) == (1, 1, 1.0)
    assert made["groups"][0]["nodes"] == ["conv", "relu"]
    assert cli.run(args) == 0
    assert "Conv+Relu" in capsys.readouterr().out


MODULE = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, x):
        return torch.softmax(self.second(torch.relu(self.first(x)) * 2), -1)
"""


def test_groups_of_inductor_come_from_the_operators_of_the_module(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(MODULE)
    answer = inductor_fusion.answer(f"{tmp_path / 'net.py'}:Net", ("8x64",))
    result = compared(answer, inductor_fusion.TABLE)
    kinds = [p.group.operator for p in result.pairs]
    assert kinds == ["library", "fused", "library", "fused"]
    operators = [sorted(n.loc.op_type for n in p.group.nodes) for p in result.pairs]
    assert operators[1] == ["Mul", "Relu"]
    assert operators[3] == ["Softmax"]
    assert result.same == 4


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ("raise ModuleNotFoundError(name='tvm')", MissingExtraError, "needs tvm"),
        ("raise ValueError('no operator')", ModelError, "ValueError: no operator"),
    ],
)
def test_tvm_that_cannot_answer_says_why(
    content: str,
    error: type[PerfcError],
    said: str,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "tvm.py").write_text(content)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(error, match=said) as raised:
        tvm_fusion.answer(OracleRequest(model))
    if error is MissingExtraError:
        assert "apache-tvm>=" in raised.value.hint
