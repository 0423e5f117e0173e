"""Alignment of re-exports of one network: the two torch exporters, and opset 13 against 18.

    python -m benchmarks.diff_exports --models ../shared/models    # files of both exporters
    python -m benchmarks.diff_exports --export                     # exports again; needs torch

A compute node is one with multiply-accumulates. It counts as aligned where its partner does as
many. Shares are of the time: with the path of a module, with a line of code. Networks from
transformers are exported too where it is installed; weights are random.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from benchmarks.arguments import parser_of
from perfc.frontend import load
from perfc.ir.tensors.types import TensorType
from perfc.review.diff import Metric, SideSetting, both, compare

from .named_models import shares


def pairs_of(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield files of the old exporter with those of the new one, of the same network and size."""
    for old in sorted(folder.glob("legacy__*.onnx.gz")):
        name = old.name.removeprefix("legacy__").removesuffix(".onnx.gz")
        exports = [
            p
            for p in folder.glob(f"{name}*.onnx.gz")
            if re.fullmatch(rf"{re.escape(name)}(__\d+)?\.onnx\.gz", p.name)
        ]
        for new in sorted(exports):
            yield name, old, new


def inputs_of(path: Path) -> list[object]:
    """Return the types of the inputs without symbols: a network is exported at several sizes."""
    return [
        tuple(d if isinstance(d, int) else None for d in v.type.shape or ())
        for v in load(path).graph.inputs
        if isinstance(v.type, TensorType)
    ]


def networks() -> Iterator[tuple[str, object, tuple[object, ...]]]:
    """Yield names and networks to export, with inputs for tracing."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, c: int, stride: int) -> None:
            super().__init__()
            self.a = nn.Sequential(
                nn.Conv2d(c, 2 * c, 3, stride, 1, bias=False),
                nn.BatchNorm2d(2 * c),
                nn.ReLU(),
                nn.Conv2d(2 * c, 2 * c, 3, 1, 1, bias=False),
                nn.BatchNorm2d(2 * c),
            )
            self.b = nn.Conv2d(c, 2 * c, 1, stride)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.hardswish(self.a(x) + self.b(x))

    image = (torch.zeros(1, 3, 64, 64),)
    residual = nn.Sequential(
        nn.Conv2d(3, 16, 7, 2, 3),
        Block(16, 1),
        Block(32, 2),
        Block(64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
        nn.Softmax(-1),
    )
    yield "residual", residual, image
    layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, activation="gelu")
    yield "encoder", nn.TransformerEncoder(layer, 4), (torch.zeros(1, 16, 64),)
    upsampling = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.GroupNorm(2, 8),
        nn.Mish(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, groups=4),
        nn.LayerNorm([16, 32, 32]),
        nn.GELU(),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.ConvTranspose2d(16, 3, 2, 2),
    )
    yield "upsampling", upsampling, image
    yield "lstm", nn.LSTM(32, 64, 2, batch_first=True), (torch.zeros(1, 12, 32),)
    yield from from_transformers()


def from_transformers() -> Iterator[tuple[str, object, tuple[object, ...]]]:
    """Yield a few layers of well-known architectures, without trained weights."""
    try:
        import torch
        import transformers as hf
    except ImportError:
        print("transformers is not installed: its networks are left out")
        return
    ids = (torch.zeros(1, 16, dtype=torch.long),)
    small = {"num_hidden_layers": 3, "attn_implementation": "eager"}
    architectures = (
        ("bert", hf.BertModel, hf.BertConfig(**small), ids),
        (
            "distilbert",
            hf.DistilBertModel,
            hf.DistilBertConfig(n_layers=3, attn_implementation="eager"),
            ids,
        ),
        ("electra", hf.ElectraModel, hf.ElectraConfig(**small), ids),
        ("vit", hf.ViTModel, hf.ViTConfig(**small), (torch.zeros(1, 3, 224, 224),)),
        (
            "swin",
            hf.SwinModel,
            hf.SwinConfig(attn_implementation="eager"),
            (torch.zeros(1, 3, 224, 224),),
        ),
        ("resnet", hf.ResNetModel, hf.ResNetConfig(), (torch.zeros(1, 3, 224, 224),)),
        ("convnext", hf.ConvNextModel, hf.ConvNextConfig(), (torch.zeros(1, 3, 224, 224),)),
        ("mobilenet", hf.MobileNetV2Model, hf.MobileNetV2Config(), (torch.zeros(1, 3, 224, 224),)),
    )

    class Plain(torch.nn.Module):
        def __init__(self, inner: torch.nn.Module, key: str) -> None:
            super().__init__()
            self.inner, self.key = inner, key

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(**{self.key: x})[0]

    for name, cls, config, inputs in architectures:
        key = "input_ids" if inputs is ids else "pixel_values"
        yield name, Plain(cls(config), key), inputs


def exported(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield each network by the tracing exporter at opset 13 and at 18, and by the other at 18."""
    import torch

    for name, model, inputs in networks():
        assert isinstance(model, torch.nn.Module)
        model.eval()
        files: dict[str, Path] = {}
        for label, opset, dynamo in (("13", 13, False), ("18", 18, False), ("new 18", 18, True)):
            path = folder / f"{name}-{label.replace(' ', '-')}.onnx"
            try:
                with redirect_stdout(StringIO()):
                    torch.onnx.export(model, inputs, str(path), opset_version=opset, dynamo=dynamo)
                files[label] = path
            except Exception as error:
                reason = str(error).strip().partition("\n")[0]
                print(f"{name}: not exported at {label}: {reason[:100]}")
        for a, b in (("13", "18"), ("18", "new 18"), ("13", "new 18")):
            if a in files and b in files:
                yield f"{name} {a} / {b}", files[a], files[b]


def row(name: str, old: Path, new: Path) -> tuple[int, int, bool]:
    """Align and print a pair; return aligned and all compute nodes, and whether no work changed."""
    reports = both(SideSetting(str(old)), SideSetting(str(new)))
    began = time.perf_counter()
    comparison = compare(*reports)
    seconds = time.perf_counter() - began
    macs = comparison.totals[Metric.MAC]
    aligned, every = comparison.equal_products, comparison.aligned_products[1]
    nodes = len(reports[0].module.graph.nodes), len(reports[1].module.graph.nodes)
    print(
        f"{name:44} {nodes[0]:5} {nodes[1]:5} nodes, compute {aligned:4} of {every:4}, "
        f"matrix flop {2 * (macs[1].value - macs[0].value):+.0f}, {seconds * 1000:.0f} ms, "
        f"modules and lines {shares(old, 'ort')}, {shares(new, 'ort')}"
    )
    sys.stdout.flush()
    return aligned, every, macs[0].value == macs[1].value


def main() -> int:
    parser = parser_of(__doc__, models=None, export=False)
    options = parser.parse_args()
    rows = []
    if options.models:
        for name, old, new in pairs_of(options.models):
            if inputs_of(old) == inputs_of(new):
                rows.append(row(name, old, new))
    if options.export:
        with tempfile.TemporaryDirectory() as folder:
            rows += [row(*pair) for pair in exported(Path(folder))]
    aligned, every = sum(r[0] for r in rows), sum(r[1] for r in rows)
    least = min((r[0] / r[1] for r in rows if r[1]), default=0.0)
    equal = sum(r[2] for r in rows)
    print(
        f"{len(rows)} pairs: {aligned} of {every} compute nodes aligned, worst pair {least:.1%}; "
        f"no matrix flop changed in {equal}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
