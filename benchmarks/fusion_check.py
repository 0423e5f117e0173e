"""Kernels of a fusion table against those its compiler really makes, as `perfc dev fusion` does.

ONNX Runtime optimizes models with random weights for its CPU provider; TorchInductor compiles the
modules of ``fusion_modules.py`` up to its fusion, TVM's Relax the ONNX models. The share of
their kernels that the table predicts exactly is printed, and below it how the others differ.

    python benchmarks/fusion_check.py --models ../shared/models
    python benchmarks/fusion_check.py --models MODELS --quantized timm__mobilenetv2_100__224
    python benchmarks/fusion_check.py --oracle inductor
    python -m benchmarks.fusion_check --models MODELS --oracle tvm
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
from onnxruntime.quantization import quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from benchmarks.fusion_modules import FAMILIES
from perfc.errors import PerfcError
from perfc.measuring.measure.tables.weights import runnable
from perfc.passes.runtimes import runtime
from perfc_lab.fusion import OracleRequest, compared
from perfc_lab.fusion.oracles import names, oracle_of

IMAGE = ("1x3x224x224",)
OF_TESTS = ("inductor", "tvm")
"""Compilers whose answers the tests read, from ``tests/oracles``."""
MODULES = Path(__file__).with_name("fusion_modules.py")
MODELS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["models"]


def quantized(path: Path, folder: Path) -> Path:
    """Return the model as ONNX Runtime quantises it, between pairs of Q and DQ."""
    source, target = folder / "whole.onnx", folder / "quantised.onnx"
    model = onnx.load(runnable(path, folder).path)
    onnx.save(model, source)
    x = model.graph.input[0]
    shape = [d.dim_value or 1 for d in x.type.tensor_type.shape.dim]
    # one random image to calibrate with
    samples = iter([{x.name: np.random.default_rng(1).random(shape, dtype=np.float32)}])
    quant_pre_process(source, folder / "prepared.onnx", skip_symbolic_shape=True)
    reader = SimpleNamespace(get_next=lambda: next(samples, None))
    quantize_static(folder / "prepared.onnx", target, reader)
    return target


def paths(folder: Path, names: list[str]) -> Iterator[Path]:
    """Return the files of the requested models that exist."""
    for name in names or MODELS:
        path = folder / f"{name}.onnx.gz"
        if path.exists():
            yield path
        else:
            print(f"{name}: not there", file=sys.stderr)


def requests(args: argparse.Namespace, folder: Path) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the models by name, as the compiler takes them."""
    if args.models is None:
        for name in args.names or FAMILIES:
            # the list has families of images first; those of text know their inputs
            inputs = IMAGE if FAMILIES.index(name) < FAMILIES.index("bert") else ()
            yield name, (f"{MODULES}:{name}", inputs)
        return
    for path in paths(args.models, args.names):
        source = quantized(path, folder) if args.quantized else path
        yield path.name.removesuffix(".onnx.gz"), (OracleRequest(str(source)),)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="models; a mixed list by default")
    parser.add_argument("--models", type=Path, help="folder of ONNX models; else PyTorch modules")
    parser.add_argument("--oracle", choices=[*names(), *OF_TESTS], default="ort")
    parser.add_argument("--runtime", help="another table, such as that of blocked channels")
    parser.add_argument("--quantized", action="store_true", help="quantize the models first")
    parser.add_argument("--top", type=int, default=6, help="differences shown a model")
    args = parser.parse_args()
    oracle = args.oracle
    is_ours = oracle in OF_TESTS
    compiler = import_module(f"tests.oracles.{oracle}_fusion") if is_ours else oracle_of(oracle)
    table = runtime(args.runtime) if args.runtime else compiler.TABLE
    total = Counter[str]()
    print(f"{'model':44} {'theirs':>7} {'ours':>6} {'exact':>6} {'share':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, request in requests(args, Path(folder)):
            try:
                result = compared(compiler.answer(*request), table)
            except PerfcError as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            row = Counter(theirs=len(result.pairs), ours=result.ours, same=result.same)
            show(name, row)
            for (how, text), count in result.differences.most_common(args.top):
                print(f"    {count:4} × {how.value}: {text}")
            total += row
    show("all", total)
    return 0


def show(name: str, row: Counter[str]) -> None:
    """Print one line of the table."""
    share = row["same"] / row["theirs"] if row["theirs"] else 0.0
    print(f"{name:44} {row['theirs']:7} {row['ours']:6} {row['same']:6} {share:7.1%}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
