"""Programs of ``torch.export.save`` become graphs of the IR."""

from __future__ import annotations

import json
import math
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.frontend import load
from perfc.frontend.lowering.builder import text_of
from perfc.frontend.pt2.program import translated
from perfc.frontend.pt2.sizes import parsed
from perfc.ir.tensors.types import TensorType

FIXTURE = Path(__file__).parents[2] / "fixtures" / "small-conv.pt2"


@pytest.fixture
def program() -> dict[str, Any]:
    with zipfile.ZipFile(FIXTURE) as source:
        document: dict[str, Any] = json.loads(source.read("small-conv/models/model.json"))
    return document


def test_a_convolution_network_has_the_operators_and_names_of_the_module() -> None:
    module = load(FIXTURE)
    assert [n.op.mnemonic for n in module.graph.nodes] == [
        "conv",
        "batch_norm",
        "relu",
        "reduce_mean",
        "gemm",
    ]
    assert [n.name for n in module.graph.nodes] == [
        "conv/conv2d",
        "norm/batch_norm",
        "relu",
        "mean",
        "head/linear",
    ]
    stored = {v.name: v.weight for v in module.graph.weights}
    parameters = {name for name, w in stored.items() if w is not None and w.is_parameter}
    assert parameters == {"conv.weight", "norm.weight", "norm.bias", "head.weight", "head.bias"}
    assert {"norm.running_mean", "norm.running_var"} <= set(stored)
    (x,) = module.graph.inputs
    assert isinstance(x.type, TensorType)
    assert str(x.type.shape[0] if x.type.shape else "") == "batch"


def test_the_work_is_that_of_the_layers() -> None:
    report = perfc.analyze(FIXTURE, "a100", batch=4)
    macs = 4 * (16 * 16 * 8 * 3 * 9 + 8 * 10)
    assert str(report.cost.work.mac) == f"{macs // 4}*batch"


def test_reading_needs_no_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert load(FIXTURE.read_bytes()).graph.nodes


def test_an_unknown_operator_keeps_its_domain_and_name(program: dict[str, Any]) -> None:
    node = program["graph_module"]["graph"]["nodes"][2]
    node["target"] = "torch.ops.mine.shiny.default"
    made = translated(program, {}).graph.node[2]
    assert (made.domain, made.op_type) == ("mine", "shiny.default")


def test_a_result_of_an_operator_in_place_replaces_its_argument(program: dict[str, Any]) -> None:
    nodes = program["graph_module"]["graph"]["nodes"]
    nodes[3]["inputs"][0]["arg"]["as_tensor"]["name"] = "batch_norm"
    assert translated(program, {}).graph.node[3].input[0] == "relu_"


@pytest.mark.parametrize("size", [{"as_expr": {"expr_str": "Max(s77, 1)"}}, {"as_none": None}])
def test_a_size_without_a_form_leaves_an_unknown_operator(
    program: dict[str, Any], size: dict[str, Any]
) -> None:
    graph = program["graph_module"]["graph"]
    node = graph["nodes"][2]
    node["target"] = "torch.ops.aten.expand.default"
    graph["tensor_values"][node["outputs"][0]["as_tensor"]["name"]]["sizes"][0] = size
    assert translated(program, {}).graph.node[2].domain == "aten"


@pytest.mark.parametrize("union", [{}, {"as_tensor": {"name": "x"}, "as_none": []}])
def test_a_union_has_one_member(program: dict[str, Any], union: dict[str, Any]) -> None:
    program["graph_module"]["graph"]["nodes"][2]["outputs"] = [union]
    with pytest.raises(ValueError, match="to unpack"):
        translated(program, {})


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("Symbol('s77', positive=True, integer=True)", "batch"),
        ("Mul(Integer(4), Symbol('s77', integer=True))", "4*batch"),
        ("Add(Integer(-1), Symbol('s1', integer=True))", "s1 - 1"),
        ("Mul(Integer(2), Add(Symbol('s77'), Integer(3)))", "2*(batch + 3)"),
        ("FloorDiv(Add(Symbol('s1'), Integer(1)), Integer(2))", "(s1 + 1)//2"),
        ("Pow(Symbol('s1', integer=True), Integer(2))", "s1*s1"),
        ("(s1 + 1)//2", "(s1 + 1)//2"),
        ("s1 - 1", "s1 - 1"),
        ("__import__('os')", None),
        ("Max(Symbol('s1'), Integer(1))", None),
        ("(" * 5000, None),
        ("Pow(" * 100 + "Symbol('s1')" + ", 4)" * 100, None),
    ],
)
def test_sizes_are_expressions_of_symbols(expression: str, text: str | None) -> None:
    assert text_of(parsed(expression), {"s77": "batch"}) == text


def exported(module: Any, folder: Path, *inputs: Any) -> Path:
    """Return the file of a module that PyTorch exports."""
    torch = pytest.importorskip("torch")
    path = folder / "model.pt2"
    torch.export.save(torch.export.export(module.eval(), inputs), str(path))
    return path


def test_differences_along_an_axis_have_their_extents(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            longer = torch.diff(x, dim=1, prepend=x[:, :1])
            return longer, torch.diff(x, n=2), torch.diff(x > 0), torch.diff(x, n=99)

    module = load(exported(Net(), tmp_path, torch.zeros(2, 100)))
    *read, unknown = module.graph.outputs
    assert [str(v.type) for v in read] == ["f32[2, 100]", "f32[2, 98]", "b1[2, 99]"]
    names = [n.op.mnemonic for n in module.graph.nodes]
    assert names.count("sub") == 3
    assert [n.loc.op_type for n in module.graph.nodes if unknown in n.outputs] == ["diff.default"]


def test_extents_that_have_no_form_are_not_equal(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.new_zeros(2, min(64, x.shape[1]), 4).flatten(1)

    axes = ({1: torch.export.Dim("s", max=1000)},)
    program = torch.export.export(Net(), (torch.zeros(8, 32),), dynamic_shapes=axes)
    torch.export.save(program, tmp_path / "net.pt2")
    (flat,) = perfc.analyze(tmp_path / "net.pt2").module.graph.outputs
    assert str(flat.type) == "f32[2, 4*new_zeros_d1]"


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_tied_parameters_count_once(tmp_path: Path, device: str) -> None:
    torch = pytest.importorskip("torch")
    from perfc.frontend.pytorch.torch_program import archived

    with torch.device(device):
        net = torch.nn.Sequential(*[torch.nn.Linear(8, 8, bias=False) for _ in range(3)])
        net[2].weight = net[0].weight
        program = torch.export.export(net, (torch.zeros(2, 8),))
    path = tmp_path / "net.pt2"
    torch.export.save(program, path)
    stored = {len(load(model).graph.weights) for model in (path, archived(program))}
    # a file without elements does not say which of its parameters are tied
    assert stored == ({2} if device == "cpu" else {2, 3})


def test_attention_layers_and_their_products_are_counted(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(32)
            self.qkv = torch.nn.Linear(32, 96)

        def forward(self, x: Any) -> Any:
            batch, rows, _ = x.shape
            parts = self.qkv(self.norm(x)).reshape(batch, rows, 3, 4, 8).permute(2, 0, 3, 1, 4)
            q, k, v = parts.unbind(0)
            with torch.no_grad():
                y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            return torch.nn.functional.gelu(y.transpose(1, 2).flatten(2))

    path = exported(Net(), tmp_path, torch.zeros(2, 16, 32))
    report = perfc.analyze(path, "a100")
    attention = 2 * 4 * 16 * 16 * (8 + 8)
    assert report.cost.work.mac == 2 * 16 * 32 * 96 + attention
    assert "opaque" not in {n.op.kind.value for n in report.source.graph.nodes}


def test_attention_of_five_axes_runs_as_products(tmp_path: Path) -> None:
    """PyTorch's fused kernels take four axes; the softmax has zeros for rows of minus infinity."""
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    path = exported(Net(), tmp_path, torch.zeros(2, 3, 4, 6, 8))
    report = perfc.analyze(path, "h200", runtime="eager")
    kernels = sorted(k.anchor.op.mnemonic for k in report.kernels.kernels if k.helper is None)
    expected = ["equal", "matmul", "matmul", "mul", "mul", "reduce_min", "softmax", "where"]
    assert kernels == expected
    assert report.cost.work.mac == 2 * 24 * 6 * 6 * 8


def test_recurrent_layers_have_their_work(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.LSTM(16, 32, num_layers=2, batch_first=True, bidirectional=True)
    report = perfc.analyze(exported(net, tmp_path, torch.zeros(2, 10, 16)), "a100")
    first, second = (4 * 32 * (width + 32) * 2 for width in (16, 64))
    assert report.cost.work.mac == 2 * 10 * (first + second)
    parameters = sum(
        math.prod(v.type.shape)
        for v in report.source.graph.weights  # type: ignore
        if v.weight is not None and v.weight.is_parameter
    )
    assert parameters == sum(p.numel() for p in net.parameters())


def test_nodes_have_the_innermost_line_that_is_not_of_pytorch(program: dict[str, Any]) -> None:
    from perfc.frontend.formats import ReadOptions
    from perfc.frontend.lowering import lowered

    node = program["graph_module"]["graph"]["nodes"][0]
    node["metadata"]["stack_trace"] = (
        'File "/home/me/pkg/net.py", line 7, in forward\n  File "/home/me/pkg/parts.py", line 3'
        '\n  File "/venv/lib/python3/site-packages/torch/nn/modules/conv.py", line 565, in forward'
    )
    module = lowered(translated(program, {}, "/home/me"), ReadOptions())
    assert module.graph.nodes[0].loc.source == "pkg/parts.py:3"


def test_an_axis_that_is_split_is_reshaped() -> None:
    torch = pytest.importorskip("torch")

    class Split(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.unflatten(-1, (3, 4))

    report = perfc.analyze(Split(), "a100", input=(12,), batch=5)
    assert [n.op.mnemonic for n in report.source.graph.nodes] == ["reshape"]
