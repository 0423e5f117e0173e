"""A module and its own export are one model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.view.report.sections.kernels import collect

torch = pytest.importorskip("torch")


class Block(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Attention with a mask, and a part of a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(64, 192), torch.nn.Linear(64, 64)

    def forward(self, x: Any, mask: Any) -> Any:
        """Return the result of two layers with equal masks and a padding of nothing."""
        for _ in range(2):
            b, t, _ = x.shape
            q, k, v = self.qkv(x).reshape(b, t, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
            y = torch.nn.functional.pad(y.transpose(1, 2).reshape(b, t, 64), (0, 0, 0, 0))
            x = torch.nn.functional.gelu(self.out(y)) + 0.0
        return x


def convolutional() -> Any:
    """Return a network whose normalizations exporters merge into filters."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU6(),
        nn.Conv2d(32, 32, 3, 1, 1, groups=32, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU6(),
        nn.Conv2d(32, 64, 1, bias=False),
        nn.BatchNorm2d(64),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    for tensor in net.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(0.5, 1.5)  # a bias of zeros would be left out
    return net


CONVOLUTIONS = (convolutional, ((3, 64, 64),))
ATTENTION = (Block, ((32, 64), (1, 32, 32, "bool")))


@pytest.mark.parametrize(
    ("runtime", "net", "dynamo"),
    [
        ("ort", CONVOLUTIONS, True),
        ("ort", ATTENTION, True),
        ("tensorrt", CONVOLUTIONS, False),
    ],
)
def test_a_module_is_predicted_as_its_export(
    runtime: str, net: tuple[Any, tuple[Any, ...]], dynamo: bool, tmp_path: Path
) -> None:
    """The exporter merges normalizations into filters, and writes attention out."""
    model, path = net[0]().eval(), tmp_path / "net.onnx"
    inputs = [torch.zeros(8, *[n for n in shape if n != "bool"]) for shape in net[1]]
    inputs[1:] = [mask.bool() for mask in inputs[1:]]
    batch = ({0: torch.export.Dim("batch")},) * len(inputs)
    named = {"dynamic_shapes": batch} if dynamo else {}
    torch.onnx.export(model, tuple(inputs), path, dynamo=dynamo, **named)
    for target in ("l4", "a100"):
        how: dict[str, Any] = {"runtime": runtime, "batch": 8}
        module = perfc.analyze(model, target, inputs=net[1], **how)
        export = perfc.analyze(path, target, **how if dynamo else {"runtime": runtime})
        if dynamo:
            rows = [
                [(row.title, row.anchor.rpartition("/")[0]) for row in collect(report)]
                for report in (module, export)
            ]
            assert rows[0] == rows[1]
        predicted = module.prediction, export.prediction
        times = [[k.time_s for k in table.kernels] for table in predicted]
        # the exporter writes Gelu as one operator
        near = 2e-3 if net is ATTENTION else 1e-6
        assert times[0] == pytest.approx(times[1], rel=near)
        assert predicted[0].total.time_s == pytest.approx(predicted[1].total.time_s, rel=near)
