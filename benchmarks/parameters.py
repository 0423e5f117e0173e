"""Parameters of exported models against PyTorch's own count, under five ways of making a file.

    python -m benchmarks.parameters LOG [NAME...]

Needs PyTorch, torchvision, timm, transformers and onnxruntime. Models have random weights; language
models are shipped architectures in small sizes. LOG gets a JSON line for each file, and files that
it has are not made again. Prints a row for each file whose count differs, with what explains it,
and a table: the truth is the number of elements of ``module.parameters()``, tied ones once.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import torch

import perfc
from perfc.passes.roofline.parameters import Role

TORCHVISION, TIMM, BASES, TRANSFORMERS = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text()
).values()


@dataclass(frozen=True)
class Built:
    """A module with example inputs, and what its files may lack or hold twice."""

    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    names: list[str]
    truth: int
    unused: int
    tied: int
    folded_norms: int


@dataclass(frozen=True)
class Row:
    """Counts of one file; ``explained`` is "" if nothing has to or can be explained."""

    model: str
    form: str
    truth: int
    counted: int
    statistics: int = 0
    scales: int = 0
    explained: str = ""
    error: str = ""


class Scores(torch.nn.Module):
    """A model of transformers that returns its first result only."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the scores of tokens."""
        outputs = self.model(input_ids=x, attention_mask=mask, return_dict=False)
        return outputs[0]


def module_of(name: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Return a model with random weights, and an example."""
    if name in TRANSFORMERS:
        import transformers

        settings = TRANSFORMERS[name]
        sizes = BASES.get(settings.get("base"), {}) | settings.get("sizes", {})
        family, _, head = settings["kind"].partition(":")
        config = getattr(transformers, f"{family}Config")(**sizes)
        config._attn_implementation, config.use_cache = "eager", False
        prefix = "AutoModelFor" + head
        model = getattr(transformers, prefix).from_config(config)
        return Scores(model), (torch.arange(24).reshape(2, 12) + 3, torch.ones(2, 12).long())
    if name in TIMM:
        import timm

        model = timm.create_model(name)
        return model, (torch.randn(1, *model.default_cfg["input_size"]),)
    import torchvision

    return torchvision.models.get_model(name, weights=None), (torch.randn(1, 3, 224, 224),)


def built(name: str) -> Built:
    """Return a module whose tensors all differ, as those of a trained one."""
    torch.manual_seed(0)
    module, inputs = module_of(name)
    module.eval()
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn_like(p) * 0.05)
        for key, b in module.named_buffers():
            if key.endswith(("running_mean", "running_var")):
                b.copy_(torch.rand_like(b) + 0.5)
    outputs = module(*inputs)
    outputs = outputs if isinstance(outputs, torch.Tensor) else outputs[0]
    outputs.float().sum().backward()
    weights = list(module.parameters())
    unused = sum(p.numel() for p in weights if p.grad is None)
    seen = Counter(id(p) for _, p in module.named_parameters(remove_duplicate=False))
    tied = sum(p.numel() * (seen[id(p)] - 1) for p in weights if p.dim() > 1)
    module.zero_grad(set_to_none=True)
    return Built(
        module,
        inputs,
        ["x", "mask"][: len(inputs)],
        sum(p.numel() for p in weights),
        unused,
        tied,
        folded_norms(module),
    )


def folded_norms(module: torch.nn.Module) -> int:
    """Return the parameters that go where every norm behind a convolution is folded into it."""
    removed, last = 0, None
    for part in module.modules():
        if isinstance(part, torch.nn.Conv2d | torch.nn.Linear | torch.nn.Conv1d):
            last = part
        elif isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.affine:
            # scale and shift go into filters and bias; a convolution without a bias gets one
            has_bias = last is None or last.bias is not None
            removed += part.num_features * (2 if has_bias else 1)
    return removed


def dynamo(b: Built, folder: Path, path: Path) -> None:
    """Write a file by the exporter of ``torch.export``."""
    auto = torch.export.Dim.AUTO
    shapes = tuple({0: auto, 1: auto} for _ in b.inputs) if len(b.inputs) > 1 else None
    program = torch.onnx.export(
        b.module, b.inputs, dynamo=True, verbose=False, dynamic_shapes=shapes
    )
    program.save(path)


def legacy(b: Built, folder: Path, path: Path) -> None:
    """Write a file by the exporter that traces."""
    axes = {name: {0: "batch", 1: "tokens"} for name in b.names} if len(b.inputs) > 1 else None
    torch.onnx.export(
        b.module,
        b.inputs,
        str(path),
        input_names=b.names,
        dynamic_axes=axes,
        dynamo=False,
        opset_version=17,
    )


def optimized(b: Built, folder: Path, path: Path) -> None:
    """Write the first file as ONNX Runtime optimizes it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 4
    source = folder / "dynamo.onnx"
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def qdq(b: Built, folder: Path, path: Path) -> None:
    """Write the first file quantized to 8 bits, with pairs of Q and DQ."""
    from onnxruntime.quantization import quantize_static

    source = folder / "dynamo.onnx"
    names = [v.name for v in onnx.load(source, load_external_data=False).graph.input]
    samples = iter([dict(zip(names, map(np.asarray, b.inputs), strict=True))])
    quantize_static(source, path, SimpleNamespace(get_next=lambda: next(samples, None)))


def four_bits(b: Built, folder: Path, path: Path) -> None:
    """Write the first file with matrices in 4 bits."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    model = onnx.load(folder / "dynamo.onnx")
    quantizer = MatMulNBitsQuantizer(model, bits=4, block_size=32, is_symmetric=True)
    quantizer.process()
    onnx.save(quantizer.model.model, path)


FORMS: dict[str, Callable[[Built, Path, Path], None]] = {
    "dynamo": dynamo,
    "legacy": legacy,
    "ort": optimized,
    "qdq": qdq,
    "4-bit": four_bits,
}


def explanation(b: Built, counted: int, has_norms: bool) -> str:
    """Return why a file has another number of parameters than the module; "" where nothing says."""
    parts = {"no result depends on them": -b.unused, "the file holds tied ones twice": b.tied}
    if not has_norms:
        parts["norms were folded into convolutions"] = -b.folded_norms
    names = [n for n, v in parts.items() if v]
    # every set of reasons, by the bits of a number
    for chosen in range(1, 1 << len(names)):
        reasons = [n for i, n in enumerate(names) if chosen >> i & 1]
        if b.truth + sum(parts[n] for n in reasons) == counted:
            return "; ".join(reasons)
    return ""


def rows(name: str) -> Iterator[Row]:
    """Yield the files of one model."""
    b = built(name)
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        for form, make in FORMS.items():
            path = folder / f"{form}.onnx"
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    make(b, folder, path)
            except Exception as error:
                first = (str(error).strip().splitlines() or [""])[0]
                yield Row(name, form, b.truth, 0, error=f"{type(error).__name__}: {first[:150]}")
                continue
            table = perfc.analyze(path).parameter_table
            counted, norms, scales = (int(str(table.count(r))) for r in Role)
            why = "" if counted == b.truth else explanation(b, counted, norms > 0)
            yield Row(name, form, b.truth, counted, norms, scales, why)
            if form != "dynamo":
                path.unlink(missing_ok=True)


def main(log: Path, names: list[str]) -> None:
    """Count the files that the log lacks, and print those that differ and the table."""
    done = [Row(**json.loads(x)) for x in log.read_text().splitlines()] if log.exists() else []
    for name in names or [*TRANSFORMERS, *TORCHVISION, *TIMM]:
        if name in {r.model for r in done}:
            continue
        try:
            counted = list(rows(name))
        except Exception as error:
            counted = [Row(name, "", 0, 0, error=f"{type(error).__name__}: {str(error)[:150]}")]
        done += counted
        with log.open("a") as file:
            file.writelines(json.dumps(asdict(r)) + "\n" for r in counted)
        gc.collect()
    for r in done:
        if r.counted != r.truth or r.error:
            why = r.error or r.explained
            print(f"{r.model:24} {r.form:7} {r.truth:>11} {r.counted - r.truth:>+11} {why}")
    print(f"{'form':8} {'files':>5} {'equal':>5} {'explained':>9} {'other':>5} {'not made':>8}")
    for form in (*FORMS, "all"):
        of_form = [r for r in done if form in (r.form, "all")]
        written = [r for r in of_form if not r.error]
        equal = sum(r.counted == r.truth for r in written)
        explained = sum(bool(r.explained) for r in written)
        other, failed = len(written) - equal - explained, len(of_form) - len(written)
        print(f"{form:8} {len(written):5} {equal:5} {explained:9} {other:5} {failed:8}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), sys.argv[2:])
