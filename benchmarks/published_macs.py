"""Multiply-accumulates of real models against the figures their authors published.

    python -m benchmarks.published_macs --models ../shared/models

The folder holds `INDEX.csv` with the columns file, name, parameters, published_gmacs and
published_params_m. The profiler behind the published figures watches PyTorch operators. Besides
macs it counts normalisation, twice per element for batch normalisation at inference and five times
for the others, and it rounds to 0.01 G. What it saw need not be in the exported graph, so a row
may also agree under one of these readings, each tried in turn and named:

- attention: it does not count attention that PyTorch runs as one fused operator;
- folded: the export folded batch normalisation into the convolutions, it counted it;
- weights: weight standardisation is a batch normalisation of the weights, folded by the export;
- constants: it counts products of stored tensors alone, which folding does before the model runs;
- same: it does not know PyTorch's convolution with padding="same", here the depthwise ones.

Two kinds of rows cannot agree: `other model`, whose parameters are not the published number, and
`merged`, whose graph holds fewer parameters than the model has, because the export merged parallel
branches of equal weights or folded sub-networks that have no input. A file that onnxruntime refuses
as perfc does is `invalid`.
"""

from __future__ import annotations

import gzip
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import onnx

from benchmarks.arguments import index_rows, parser_of, sampled
from tests.oracles import adapter
from tests.oracles.truth import Tensor, Type

DEFAULT_MODELS = Path(__file__).resolve().parent.parent.parent / "shared" / "models"
PER_ELEMENT = {
    "BatchNormalization": 2,
    "LayerNormalization": 5,
    "GroupNormalization": 5,
    "InstanceNormalization": 5,
}
OPEN = ("", "merged", "other model")
"""Readings that explain nothing, or only why a row cannot agree."""


@dataclass(frozen=True)
class Count:
    """Counts that the readings are made of, in operations."""

    mac: int
    normalisation: int = 0
    attention: int = 0
    conv_outputs: int = 0
    conv_weights: int = 0
    depthwise: int = 0
    constants: int = 0
    stored: int = 0
    folded: bool = False


@dataclass(frozen=True)
class Row:
    """One model's published figure and ours."""

    file: str
    published_g: float
    count: Count
    parameters: int
    published_parameters_m: float

    @property
    def ours_g(self) -> float:
        """Return our count in the convention of the profiler, in 10^9."""
        return (self.count.mac + self.count.normalisation) / 1e9

    def near(self, operations: float) -> bool:
        """Return True if a count is within 1 % of the published one, or the rounding of 0.01 G."""
        gap = abs(operations / 1e9 - self.published_g)
        return gap <= max(0.01 * self.published_g, 0.01 + 1e-9)

    @property
    def reading(self) -> str:
        """Return the first reading under which the figures agree, "" if there is none."""
        c = self.count
        whole = c.mac + c.normalisation
        folded = 2 * c.conv_outputs if c.folded else 0
        for name, operations in (
            ("as counted", whole),
            ("attention", whole - c.attention),
            ("folded", whole + folded),
            ("folded, attention", whole + folded - c.attention),
            ("weights", whole + 2 * c.conv_weights),
            ("constants", whole + c.constants),
            ("same", whole - c.depthwise),
        ):
            if self.near(operations):
                return name
        ours_m = self.parameters / 1e6
        if abs(ours_m - self.published_parameters_m) > 0.005 * ours_m + 0.01:
            return "other model"
        return "merged" if c.stored < 0.999 * self.parameters else ""


def load(path: Path) -> onnx.ModelProto:
    """Return a model, compressed or not; external weights stay where they are."""
    data = path.read_bytes()
    return onnx.load_model_from_string(gzip.decompress(data) if path.suffix == ".gz" else data)


def symbols(model: onnx.ModelProto) -> dict[str, int]:
    """Return every input symbol, at one."""
    infos = [d for i in model.graph.input for d in i.type.tensor_type.shape.dim]
    return {d.dim_param: 1 for d in infos if d.dim_param}


def tally(model: onnx.ModelProto, dims: dict[str, int], mac: int) -> Count:
    """Return what the profiler adds to macs and what it may not have seen."""
    types = adapter.infer_perfc(model, dims, {})
    stored = {t.name for t in model.graph.initializer}
    constant_names = set(stored)
    norm = attention = outputs = weights = depthwise = constants = 0
    for node in model.graph.node:
        elements = numel(types.get(node.output[0])) if node.output else 0
        norm += PER_ELEMENT.get(node.op_type, 0) * elements
        if node.op_type == "Conv":
            outputs += elements
            kernel = types.get(node.input[1])
            weights += numel(kernel)
            if isinstance(kernel, Tensor) and kernel.shape and kernel.shape[1] == 1:
                depthwise += elements * numel(kernel) // int(kernel.shape[0])  # type: ignore[arg-type]
        elif node.op_type in ("MatMul", "Gemm"):
            factor = types.get(node.input[0])
            inner = factor.shape[-1] if isinstance(factor, Tensor) and factor.shape else 0
            macs = elements * inner if isinstance(inner, int) else 0
            # a product of two computed matrices is attention's
            if not stored & set(node.input):
                attention += macs
            if constant_names.issuperset(node.input):
                constants += macs
        if constant_names.issuperset(i for i in node.input if i):
            constant_names.update(node.output)
    folded = not any(n.op_type == "BatchNormalization" for n in model.graph.node)
    # f32, f16, bf16
    floats = [t for t in model.graph.initializer if t.data_type in (1, 10, 16)]
    elements = sum(math.prod(t.dims) for t in floats)
    return Count(mac, norm, attention, outputs, weights, depthwise, constants, elements, folded)


def refused(model: onnx.ModelProto, dims: dict[str, int]) -> bool:
    """Return True if onnxruntime does not run it either."""
    from shapes_models import executed

    try:
        executed(model, dims)
    except Exception:  # its own exceptions have no common class
        return True
    return False


def numel(t: Type | None) -> int:
    """Return the elements of a tensor of known shape, else none."""
    if not isinstance(t, Tensor) or t.shape is None:
        return 0
    return math.prod(d if isinstance(d, int) else 0 for d in t.shape)


def main() -> int:
    parser = parser_of(__doc__, models=DEFAULT_MODELS)
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--limit", type=int, default=0, help="evenly spaced sample of this many")
    parser.add_argument("--list", type=int, default=60, help="how many disagreeing rows to print")
    args = parser.parse_args()
    index = index_rows(args.models)
    wanted = [r for r in index if r["published_gmacs"] and args.only in r["file"]]
    wanted = sampled(wanted, args.limit)
    began, rows, errors = time.perf_counter(), [], []
    for row in wanted:
        path = args.models / row["file"]
        try:
            model = load(path)
            dims = symbols(model)
            mac = adapter.total_mac(path, dims)
            if not isinstance(mac, int):
                errors.append(f"{row['file']}: only a bound is known")
                continue
            count = tally(model, dims, mac)
            published_m = float(row["published_params_m"] or 0)
            figure = float(row["published_gmacs"])
            rows.append(Row(row["file"], figure, count, int(row["parameters"]), published_m))
        except adapter.perfc_error() as error:
            why = "invalid" if refused(model, dims) else "not counted"
            errors.append(f"{why}: {str(error)[:200]}")
    readings = Counter(r.reading for r in rows)
    shown = sorted((r for r in rows if r.reading in OPEN), key=lambda r: r.reading)
    for r in shown[: args.list]:
        ratio = r.ours_g / r.published_g if r.published_g else math.inf
        print(
            f"{r.file:58} published {r.published_g:8.2f} ({r.published_parameters_m} M)  ours"
            f" {r.ours_g:8.3f} ({r.parameters / 1e6:.2f} M)  x{ratio:.3f}  {r.reading or 'open'}"
        )
    print("\n".join(errors[: args.list]))
    n, same = len(wanted), readings["as counted"]
    agree = sum(r.reading not in OPEN for r in rows)
    bare = sum(r.near(r.count.mac) for r in rows)
    invalid = sum(e.startswith("invalid") for e in errors)
    print(f"readings: {dict(readings)}")
    print(
        f"SUMMARY published_macs: {agree} of {n} models ({100 * agree / max(1, n):.1f} %) within"
        f" 1 % or 0.01 G of the published figure in its convention ({same} with normalisation"
        f" alone, {bare} as plain macs); explained: {readings['merged']} whose export merged"
        f" branches, {readings['other model']} of another model, {invalid} that onnxruntime"
        f" refuses; {readings['']} open, {len(errors) - invalid} not counted;"
        f" {time.perf_counter() - began:.0f} s"
    )
    return 0 if agree >= 0.97 * n else 1


if __name__ == "__main__":
    sys.exit(main())
