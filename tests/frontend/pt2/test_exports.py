"""A module and its own export are one model."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("runtime", ["ort", "tensorrt"])
def test_a_module_is_predicted_as_its_export(runtime: str, tmp_path: Path) -> None:
    """The exporter merges normalizations into filters, as these runtimes do."""
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
    ).eval()
    path = tmp_path / "net.onnx"
    torch.onnx.export(net, (torch.zeros(8, 3, 64, 64),), path, dynamo=False)
    for target in ("l4", "a100"):
        module = perfc.analyze(net, target, (3, 64, 64), runtime=runtime, batch=8).prediction
        export = perfc.analyze(path, target, runtime=runtime).prediction
        times = [[k.time_s for k in table.kernels] for table in (module, export)]
        assert times[0] == pytest.approx(times[1], rel=1e-6)
        assert module.total.time_s == pytest.approx(export.total.time_s, rel=1e-6)
