"""Kernels of the ``ort-cpu`` table against the nodes that ONNX Runtime really makes.

For each model the stripped weights get random values, ONNX Runtime optimises the graph for its
CPU provider and writes it, and each node it wrote is traced back to the nodes of the model that
it stands for. The share of its kernels that the table predicts exactly is printed, and below it
how the others differ.

    python benchmarks/fusion_check.py --models ../shared/models
    python benchmarks/fusion_check.py --quantized timm__mobilenetv2_100__224
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from perfc.api import typed
from perfc.errors import PerfcError
from perfc.ir.graph import Module, Node
from perfc.ir.op import Kind
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize

MODELS = (
    "legacy__timm__resnet50",
    "timm__resnet50__224",
    "legacy__timm__efficientnet_b0",
    "legacy__timm__mobilenetv3_large_100",
    "timm__mobilenetv2_100__224",
    "timm__densenet121__224",
    "timm__ecaresnet50d__224",
    "timm__regnety_002__224",
    "timm__nf_resnet50__256",
    "timm__fastvit_t8__256",
    "timm__ghostnet_100__224",
    "timm__inception_v3__299",
    "timm__test_convnext__160",
    "timm__levit_128__224",
    "timm__mixer_s32_224__224",
    "timm__deit_small_patch16_224__224",
    "legacy__timm__vit_base_patch16_224",
    "timm__eva02_tiny_patch14_224__224",
    "timm__swin_tiny_patch4_window7_224__224",
    "legacy__timm__swin_tiny_patch4_window7_224",
    "legacy__timm__mobilevit_s",
    "legacy__timm__twins_pcpvt_small",
    "mtd__unet",
    "hf__bert-base",
    "hf__electra-small",
    "hf__distilbert",
    "hf__albert-base",
    "hf__gpt2",
    "hf__opt-125m",
    "legacy__timm__swinv2_tiny_window8_256",
)
Names = frozenset[str]


@dataclass
class Outcome:
    """How well one model's kernels were predicted."""

    theirs: int = 0
    ours: int = 0
    exact: int = 0
    differing: Counter[str] = field(default_factory=Counter)


def filled(path: Path) -> onnx.ModelProto:
    """The model with random values in place of its stripped weights."""
    model = onnx.load_from_string(gzip.decompress(path.read_bytes()))
    rng = np.random.default_rng(0)
    tensors = list(model.graph.initializer)
    tensors += [a.t for n in model.graph.node for a in n.attribute if a.HasField("t")]
    for tensor in tensors:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            shape = tuple(tensor.dims)
            values = rng.random(shape, dtype=np.float32) if dtype.kind == "f" else np.zeros(shape)
            tensor.CopyFrom(numpy_helper.from_array(values.astype(dtype), tensor.name))
    return model


def optimised(model: onnx.ModelProto) -> onnx.GraphProto:
    """The graph that ONNX Runtime runs on its CPU provider."""
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "optimised.onnx")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = target
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return onnx.load(target, load_external_data=False).graph


def fused(path: Path, runtime: str) -> tuple[Module, KernelTable]:
    """Our kernels."""
    am = Analyses()
    module = am.apply(Canonicalize(), typed(path))
    return module, am.get(Fuse(runtime), module)


class OneSample(CalibrationDataReader):  # type: ignore[misc]
    """A random image to calibrate with."""

    def __init__(self, model: onnx.ModelProto) -> None:
        x = model.graph.input[0]
        shape = [d.dim_value or 1 for d in x.type.tensor_type.shape.dim]
        values = np.random.default_rng(1).random(shape, dtype=np.float32)
        self.samples = iter([{x.name: values}])

    def get_next(self) -> dict[str, np.ndarray] | None:
        """The next sample."""
        return next(self.samples, None)


def quantized(path: Path, folder: Path) -> Path:
    """The model as ONNX Runtime quantises it, between pairs of Q and DQ."""
    model = filled(path)
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) > 1:
            values = (numpy_helper.to_array(tensor) - np.float32(0.5)) / np.float32(10)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    source, target = folder / "model.onnx", folder / "quantised.onnx"
    onnx.save(model, source)
    quant_pre_process(source, folder / "prepared.onnx", skip_symbolic_shape=True)
    quantize_static(folder / "prepared.onnx", target, OneSample(model))
    return target


def executed(node: Node) -> bool:
    """Whether a node does anything at run time; Q and DQ may belong to several kernels."""
    mnemonic = node.op.mnemonic
    return node.op.kind not in (Kind.VIEW, Kind.SHAPE) and not mnemonic.endswith("quantize_linear")


def stands_for(
    written: onnx.NodeProto, made: Mapping[str, Node], borders: Names
) -> frozenset[Node]:
    """The model's nodes whose work a node of the optimised graph does."""
    found: set[Node] = set()
    waiting = [name for name in written.output if name in made]
    start = set(waiting)
    while waiting:
        name = waiting.pop()
        node = made.get(name)
        if node is None or node in found or (name in borders and name not in start):
            continue
        found.add(node)
        waiting += [v.name for v in node.inputs if v is not None and v.weight is None]
    return frozenset(n for n in found if executed(n))


def compared(path: Path, runtime: str) -> Outcome:
    """Our kernels of one model against ONNX Runtime's."""
    module, table = fused(path, runtime)
    theirs = optimised(filled(path) if path.suffix == ".gz" else onnx.load(path))
    made = {v.name: n for n in module.graph.nodes for v in n.results}
    borders = frozenset(name for n in theirs.node for name in n.output)
    ours = [frozenset(n for n in k.nodes if executed(n)) for k in table.kernels]
    home = {n: i for i, k in enumerate(ours) for n in k}
    outcome = Outcome()
    seen: set[Node] = set()
    for written in theirs.node:
        if written.op_type.endswith("quantizeLinear") or written.op_type == "QuantizeLinear":
            continue
        group = stands_for(written, made, borders)
        if not group or not group.isdisjoint(seen):
            continue
        seen |= group
        outcome.theirs += 1
        homes = {home[n] for n in group if n in home}
        if len(homes) == 1 and ours[min(homes)] == group:
            outcome.exact += 1
        else:
            mine = " | ".join(sorted(ops(ours[i]) for i in homes))
            outcome.differing[f"{written.op_type} = {ops(group)}; ours {mine or '-'}"] += 1
    outcome.ours = sum(not k.isdisjoint(seen) for k in ours)
    return outcome


def ops(nodes: frozenset[Node]) -> str:
    """Operators of a group, alphabetically, with how often they occur."""
    counts = Counter(n.loc.op_type for n in nodes)
    return "+".join(f"{n}×{c}" if c > 1 else n for n, c in sorted(counts.items())) or "-"


def paths(folder: Path, names: list[str]) -> Iterator[Path]:
    """Files of the models asked for that are there."""
    for name in names or MODELS:
        path = folder / f"{name}.onnx.gz"
        if path.exists():
            yield path
        else:
            print(f"{name}: not there", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="models; a mixed list by default")
    parser.add_argument("--models", type=Path, default=Path("../shared/models"))
    parser.add_argument("--runtime", default="ort-cpu")
    parser.add_argument("--quantized", action="store_true", help="quantise the models first")
    parser.add_argument("--top", type=int, default=6, help="differences shown a model")
    args = parser.parse_args()
    total = Outcome()
    print(f"{'model':44} {'theirs':>7} {'ours':>6} {'exact':>6} {'share':>7}")
    for path in paths(args.models, args.names):
        try:
            with tempfile.TemporaryDirectory() as folder:
                source = quantized(path, Path(folder)) if args.quantized else path
                found = compared(source, args.runtime)
        except (PerfcError, onnxruntime.capi.onnxruntime_pybind11_state.Fail) as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        show(path.name.removesuffix(".onnx.gz"), found)
        for text, count in found.differing.most_common(args.top):
            print(f"    {count:4} × {text}")
        total.theirs += found.theirs
        total.ours += found.ours
        total.exact += found.exact
    show("all", total)
    return 0


def show(name: str, outcome: Outcome) -> None:
    """One line of the table."""
    share = outcome.exact / outcome.theirs if outcome.theirs else 0.0
    print(f"{name:44} {outcome.theirs:7} {outcome.ours:6} {outcome.exact:6} {share:7.1%}")


if __name__ == "__main__":
    sys.exit(main())
