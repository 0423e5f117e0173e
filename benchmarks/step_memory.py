"""Peak of a training step on the processor, as PyTorch's profiler has it, and perfc's.

    python benchmarks/step_memory.py [NAME ...]
    python benchmarks/step_memory.py configurations

Needs PyTorch with its exporter (onnxscript); transformers and timm where models of them are named.
Every model is exported, analyzed as `--train adamw --runtime eager`, and run for two steps under
``torch.profiler`` with ``profile_memory=True``; the second step's events are added up on what is
there before it. A configuration is analyzed as its `config.json`, in f32 and bf16, and its module
of transformers computes the loss of every token that it defines itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch

import perfc
from perfc.passes.memory.storage import Storages

WITHIN = 0.05
"""Relative error of a peak that counts as a hit."""
OPSET = 23
"""The first with attention as one operator, which PyTorch runs as one kernel."""
Built = tuple[Any, tuple[Any, ...]]
"""Model and its operands."""


def timm_model(name: str, size: int = 64, batch: int = 32) -> Callable[[], Built]:
    """Return a function that builds a network of timm for images."""

    def build() -> Built:
        import timm

        is_sized = any(k in name for k in ("vit", "deit", "swin", "mixer"))
        more = {"img_size": size} if is_sized else {}
        model = timm.create_model(name, pretrained=False, num_classes=100, **more)
        return model, (torch.randn(batch, 3, size, size),)

    return build


def hf_model(config: str, batch: int = 16, seq: int = 64, **sizes: Any) -> Callable[[], Built]:
    """Return a function that builds a model of transformers for tokens."""

    def build() -> Built:
        import transformers

        cls = getattr(transformers, f"{config}Config")
        body = getattr(transformers, f"{config}Model")
        model = body._from_config(cls(**sizes), attn_implementation="sdpa")
        return model, (torch.randint(0, 900, (batch, seq)),)

    return build


def mlp(*widths: int, batch: int = 64) -> Callable[[], Built]:
    """Return a function that builds linear layers with ReLU between them."""

    def build() -> Built:
        layers: list[torch.nn.Module] = []
        for a, b in pairwise(widths):
            layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1]), (torch.randn(batch, widths[0]),)

    return build


def block(inner: int, outer: int, *, bias: bool = False) -> torch.nn.Module:
    """Return two convolutions."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(inner, outer, 3, padding=1, bias=bias),
        nn.BatchNorm2d(outer),
        nn.ReLU(),
        nn.Conv2d(outer, outer, 3, padding=1, bias=bias),
        nn.BatchNorm2d(outer),
        nn.ReLU(),
    )


def unet(width: int = 16) -> Callable[[], Built]:
    """Return a function that builds a U-Net of two levels."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = block(3, width, bias=True)
            self.second = block(width, 2 * width, bias=True)
            self.up = torch.nn.ConvTranspose2d(2 * width, width, 2, 2)
            self.last = block(2 * width, width, bias=True)
            self.head = torch.nn.Conv2d(width, 1, 1)
            self.pool = torch.nn.MaxPool2d(2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            wide = self.first(x)
            deep = self.up(self.second(self.pool(wide)))
            return self.head(self.last(torch.cat((deep, wide), 1)))

    return lambda: (Net(), (torch.randn(8, 3, 128, 128),))


BASES, CONFIGURATIONS, NETWORKS, TRANSFORMERS = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text()
).values()
MODELS: dict[str, Callable[[], Built]] = {
    **{name: timm_model(*given) for name, given in NETWORKS.items()},
    **{name: hf_model(**given) for name, given in TRANSFORMERS.items()},
    "mlp": mlp(512, 1024, 1024, 100),
    "mlp_wide": mlp(784, 4096, 4096, 10, batch=256),
    "mlp_deep": mlp(256, *([256] * 24), 10, batch=512),
    "unet": unet(),
    "unet_wide": unet(48),
}


def result(outputs: Any) -> torch.Tensor:
    """Return the tensor of the loss: the first result."""
    if isinstance(outputs, torch.Tensor):
        return outputs
    return outputs[0] if isinstance(outputs, tuple) else next(iter(outputs.values()))


class First(torch.nn.Module):
    """A model that returns its first result only.

    Args:
        model: the model.
        names: keywords of its operands; none if it takes them by position.
        settings: further keywords.
    """

    def __init__(self, model: torch.nn.Module, *names: str, **settings: Any) -> None:
        super().__init__()
        self.model, self.names, self.settings = model, names, settings

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        """Return the first result."""
        named = dict(zip(self.names, args[: len(self.names)], strict=True))
        return result(self.model(*args[len(named) :], **named, **self.settings))


def measured(model: torch.nn.Module, args: Sequence[Any], loss: Callable[[], torch.Tensor]) -> int:
    """Return the peak of bytes of PyTorch's allocator in the second step, with those before it.

    Args:
        model: that is trained.
        args: tensors of its batch.
        loss: computes the loss of the batch.
    """
    from torch.profiler import ProfilerActivity, profile

    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    step()  # the first step allocates the moments
    optimizer.zero_grad(set_to_none=True)
    held = [*model.parameters(), *model.buffers(), *args]
    for state in optimizer.state.values():
        held += [t for t in state.values() if isinstance(t, torch.Tensor)]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in held}
    before = sum(storages.values())
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        step()
    assert run.profiler is not None
    events = [e for e in run.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak_bytes = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        peak_bytes = max(peak_bytes, now)
    return before + peak_bytes


def stepped(
    model: torch.nn.Module, args: tuple[Any, ...], path: Path, target: str, optimizer: str
) -> perfc.Report:
    """Export a model and return its step on a target."""
    program = torch.onnx.export(
        model.train(),
        args,
        dynamo=True,
        verbose=False,
        opset_version=OPSET,
        optimize=False,
        export_params=True,
        training=torch.onnx.TrainingMode.PRESERVE,
    )
    assert program is not None
    program.save(str(path), external_data=True)
    return perfc.analyze(str(path), target, runtime="eager", train=optimizer, loss="mean")


def peak(report: perfc.Report) -> tuple[int, str]:
    """Return the peak of live bytes in a step, and the node at that moment."""
    table = report.analyses.get(Storages(report.deployment.table_name), report.module)
    line = table.live_bytes(report.env)
    at = max(range(len(line)), key=line.__getitem__)
    return line[at], table.names[at]


def of_configuration(name: str, dtype: torch.dtype, batch: int = 4, seq: int = 128) -> float:
    """Print a configuration and return its error."""
    import transformers

    listed = CONFIGURATIONS[name]
    family, sizes = listed["family"], BASES.get(listed.get("base"), {}) | listed.get("sizes", {})
    config = getattr(transformers, f"{family}Config")(**sizes)
    kind = getattr(transformers, family.removesuffix("Text") + listed["end"])
    model = kind._from_config(config, attn_implementation="sdpa").to(dtype)
    tokens = torch.randint(2, 900, (batch, seq))
    given = {"input_ids": tokens, "labels": tokens.clone()}
    dims = {"batch": batch, "seq": seq}
    if "image_size" in sizes:
        images = torch.randn(batch, 3, sizes["image_size"], sizes["image_size"], dtype=dtype)
        given = {"pixel_values": images, "labels": torch.randint(0, 10, (batch,))}
        del dims["seq"]
    config.architectures = [kind.__name__]
    settings = {**config.to_dict(), "torch_dtype": str(dtype).removeprefix("torch.")}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(settings, default=str))
        report = perfc.analyze(folder, "a100", runtime="eager", train="adamw", dims=dims)
    ours, node = peak(report)
    theirs = measured(model, [*given.values()], lambda: model(**given).loss)
    return line(f"{name} {settings['torch_dtype']}", theirs, ours, node)


def line(name: str, theirs: int, ours: int, node: str) -> float:
    """Print a model and return its error."""
    error = ours / theirs - 1
    sizes = f"{theirs / 2**20:9.1f} {ours / 2**20:9.1f} MiB"
    print(f"{name:24} {sizes} {100 * error:+6.1f} %  {node}", flush=True)
    return error


def rows(names: list[str]) -> Iterator[tuple[str, float]]:
    """Yield each model with its error."""
    for name in names:
        model, args = MODELS[name]()
        alone = First(model)
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = Path(folder) / f"{name}.onnx"
                ours, node = peak(stepped(alone, args, path, "a100", "adamw"))
            except Exception as error:
                print(f"{name:24} {str(error).splitlines()[0][:90]}", flush=True)
                continue
        theirs = measured(alone, args, lambda a=alone, x=args: a(*x).mean())  # type: ignore[misc]
        yield name, line(name, theirs, ours, node)


def main() -> None:
    """Print every model and the sum of it."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    if sys.argv[1:] == ["configurations"]:
        types = (torch.float32, torch.bfloat16)
        errors = [of_configuration(n, dtype) for n in CONFIGURATIONS for dtype in types]
    else:
        errors = [e for _, e in rows(sys.argv[1:] or list(MODELS))]
    inside = sum(abs(e) <= WITHIN for e in errors)
    print(f"median {100 * median(map(abs, errors)):.1f} %, {inside} of {len(errors)} within 5 %")


if __name__ == "__main__":
    main()
