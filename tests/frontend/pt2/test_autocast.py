"""Regions of ``torch.autocast`` have the types that they run in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perfc
from tests.frontend.pt2.programs import BF16, F16, F32, graph, node, program, report_of

ROWS = (8, 16)
WEIGHT = (16, 16)
NAMES = {F16: "f16", BF16: "bf16", F32: "f32"}


def region(dtype: int, *, device: str = "cpu", is_enabled: bool = True, inner: int = F32) -> Any:
    """Return a program whose region has a product, a Relu, and a sum in f32.

    Args:
        dtype: type of the region.
        device: its device.
        is_enabled: whether the file switches it on.
        inner: type that the file gives values of the region.
    """
    body = graph(
        "x w",
        "y sum",
        [
            node("aten.mm.default", "mm", self="$x", mat2="$w"),
            node("aten.relu.default", "y", self="$mm"),
            node("aten.sum.dim_IntList", "sum", self="$y", dim=[1]),
        ],
        {
            "x": (F32, ROWS),
            "w": (F32, WEIGHT),
            "mm": (inner, ROWS),
            "y": (inner, ROWS),
            "sum": (inner if is_enabled else F32, (8,)),
        },
    )
    call = node(
        "higher_order.wrap_with_autocast",
        "y sum",
        device,
        {"scalar_type": dtype},
        is_enabled,
        False,
        body,
        "$x",
        "$w",
    )
    values = {
        "x": (F32, ROWS),
        "w": (F32, WEIGHT),
        "y": (inner, ROWS),
        "z": (inner, ROWS),
        "sum": (F32, (8,)),
    }
    after = node("aten.neg.default", "z", self="$y")
    return program(graph("w x", "z sum", [call, after], values), "w")


def types_of(report: Any) -> dict[str, str]:
    """Return the element type of the result of every operator."""
    return {n.op.mnemonic: n.outputs[0].type.dtype.code for n in report.source.graph.nodes}


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("is_lacking", [False, True])
def test_products_run_in_the_type_of_the_region(dtype: int, is_lacking: bool) -> None:
    given = {"device": "cuda", "is_enabled": False} if is_lacking else {"inner": dtype}
    report = report_of(region(dtype, **given))  # type: ignore[arg-type]
    types = types_of(report)
    name = NAMES[dtype]
    assert (types["matmul"], types["relu"], types["neg"]) == (name, name, name)
    kernels = {n.op.mnemonic: c.work for n, c in report.cost.nodes.items()}
    assert kernels["matmul"].mac == 8 * 16 * 16
    assert [n.op.mnemonic for n in report.source.graph.nodes].count("cast") >= 2
    if is_lacking:
        # CUDA runs sums in f32
        assert types["reduce_sum"] == "f32"


def test_a_region_that_is_switched_off_changes_nothing() -> None:
    assert set(types_of(report_of(region(BF16, is_enabled=False))).values()) == {"f32"}


def test_types_are_those_of_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = torch.nn.Linear(16, 16), torch.nn.Conv2d(3, 8, 3)
            self.norm, self.row = torch.nn.BatchNorm2d(8), torch.nn.LayerNorm(16)

        def forward(self, x: Any, image: Any) -> Any:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.row(self.one(x))
                with torch.autocast("cpu", enabled=False):
                    z = self.one(x) @ self.one(x).mT
                joined = torch.cat([y, x])
                a = functional.scaled_dot_product_attention(x[None], y[None], x[None])
                e = torch.einsum("ij,jk->ik", z, y)
                return y, z, joined, a, e, self.norm(self.two(image)), y.pow(2), y.softmax(-1)

    net, given = Net().eval(), (torch.zeros(16, 16), torch.zeros(1, 3, 8, 8))
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net, given), path)
    report = perfc.analyze(path, "a100", runtime="eager")
    with torch.no_grad():
        expected = [{torch.bfloat16: "bf16"}.get(t.dtype, "f32") for t in net(*given)]
    assert [v.type.dtype.code for v in report.source.graph.outputs] == expected  # type: ignore
    by_type = [
        n.inputs[0].type.dtype.code
        for n in report.source.graph.nodes  # type: ignore
        if n.op.mnemonic == "matmul" and n.inputs[0] is not None
    ]
    assert by_type.count("f32") == 1
    assert not report.cost.is_bound


NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(64, 64)

    def forward(self, x):
        with torch.autocast("DEVICE", dtype=torch.float16):
            y = torch.relu(self.head(x))
            with torch.autocast("DEVICE", enabled=False):
                z = self.head(y.float())
            return self.head(z)
"""


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_regions_of_modules_need_no_such_device(device: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from perfc.frontend.reading.module_name import NamedModule

    (tmp_path / "net.py").write_text(NET.replace("DEVICE", device))
    named = NamedModule(f"{tmp_path / 'net.py'}:Net", inputs=("2x64",))
    space: dict[str, Any] = {}
    exec(NET.replace("DEVICE", device), space)
    before = torch.autocast.__init__
    for model, given in ((named, {}), (space["Net"](), {"input": (64,)})):
        report = perfc.analyze(model, "a100", runtime="eager", **given)
        products = [
            n.inputs[0].type.dtype.code
            for n in report.source.graph.nodes  # type: ignore
            if n.op.mnemonic in ("gemm", "matmul") and n.inputs[0] is not None
        ]
        assert products == ["f16", "f32", "f16"]
    assert torch.autocast.__init__ is before


def test_norms_keep_their_type_and_biases_stay_in_products() -> None:
    """The image gets another order first; it, filters, weights and bias are cast."""
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = torch.nn.Conv2d(3, 8, 1, bias=False), torch.nn.BatchNorm2d(8)
            self.head = torch.nn.Linear(8, 8)

        @torch.autocast("cuda", dtype=torch.bfloat16)
        def forward(self, x: Any) -> Any:
            x = x.contiguous(memory_format=torch.channels_last)
            return self.head(torch.relu(self.norm(self.conv(x))).flatten(2).transpose(1, 2))

    report = perfc.analyze(Net(), "h200", runtime="eager", input=(3, 8, 8))
    types = types_of(report)
    assert (types["batch_norm"], types["relu"], types["copy"]) == ("bf16", "bf16", "f32")
    kernels = [k.anchor.op.mnemonic for k in report.kernels.kernels if k.helper is None]
    assert kernels == [
        "copy",
        "cast",
        "cast",
        "conv",
        "batch_norm",
        "relu",
        "cast",
        "cast",
        "matmul",
    ]
