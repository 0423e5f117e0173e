"""Shapes of every value of real models, and their agreement with onnxruntime's where it runs.

    python -m benchmarks.shapes_models --models ../shared/models --run 60 --seconds 600

Stripped weights get values: small random floats, zeros for integers. A value counts as full when
every extent is a number once the input symbols are bound.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from benchmarks.arguments import index_rows, parser_of, sampled
from tests.oracles import adapter
from tests.oracles.truth import BITS, Tensor, Type, Verdict, judge_all

from .published_macs import DEFAULT_MODELS, load, refused

BATCH, OTHER = 1, 8
"""Values of the symbol of the first axis, and of the others."""


def bindings(model: onnx.ModelProto) -> dict[str, int]:
    """Return the batch symbols at one, all others at eight."""
    dims = {}
    for info in model.graph.input:
        for i, d in enumerate(info.type.tensor_type.shape.dim):
            if d.dim_param:
                dims.setdefault(d.dim_param, BATCH if i == 0 else OTHER)
    return dims


def full(t: Type | None) -> bool:
    """Return True if every extent is a number."""
    return (
        isinstance(t, Tensor)
        and t.shape is not None
        and all(isinstance(d, int) for d in t.shape)
        and t.elem != 0
    )


def fill_weights(model: onnx.ModelProto, seed: int = 0) -> None:
    """Give stripped initializers values of the right size."""
    rng = np.random.default_rng(seed)
    for t in model.graph.initializer:
        if t.data_location != onnx.TensorProto.EXTERNAL:
            continue
        n = int(np.prod(t.dims)) if t.dims else 1
        match t.data_type:
            case onnx.TensorProto.FLOAT:
                raw = (rng.random(n, np.float32) * 0.02).tobytes()
            case onnx.TensorProto.FLOAT16:
                raw = (rng.random(n, np.float32) * 0.02).astype(np.float16).tobytes()
            case _:
                raw = bytes((n * BITS[t.data_type] + 7) // 8)
        del t.external_data[:]
        t.data_location = onnx.TensorProto.DEFAULT
        t.raw_data = raw


def feeds(model: onnx.ModelProto, dims: dict[str, int]) -> dict[str, np.ndarray]:
    """Return the inputs: random floats, ones for integers."""
    rng = np.random.default_rng(1)
    stored = {t.name for t in model.graph.initializer}
    arrays = {}
    for info in model.graph.input:
        if info.name in stored:
            continue
        t = info.type.tensor_type
        shape = [d.dim_value or dims.get(d.dim_param, 1) for d in t.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(t.elem_type)
        values = rng.random(shape) if dtype.kind == "f" else np.ones(shape)
        arrays[info.name] = np.asarray(values).astype(dtype)
    return arrays


def executed(model: onnx.ModelProto, dims: dict[str, int]) -> dict[str, Type]:
    """Return the types of all node outputs as onnxruntime computed them."""
    import onnxruntime as ort

    from perfc.review.lint.fixes.proof import session

    fill_weights(model)
    del model.graph.output[:]
    names = [o for n in model.graph.node for o in n.output if o]
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in names)
    given = {k: ort.OrtValue.ortvalue_from_numpy(v) for k, v in feeds(model, dims).items()}
    got = session(model.SerializeToString()).run_with_ort_values(names, given)
    return {
        name: Tensor(int(v.element_type()), tuple(v.shape()))
        for name, v in zip(names, got, strict=True)
        if v.is_tensor()
    }


def chosen(rows: list[dict[str, str]], count: int, largest: int) -> list[dict[str, str]]:
    """Return the smallest of each family of each exporter, the two exporters in turn."""
    first: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in sorted(rows, key=lambda r: int(r["parameters"] or 0)):
        family = row["name"].split("_")[0].split("-")[0].rstrip("0123456789")
        if int(row["parameters"] or 0) <= largest:
            first.setdefault((row["exporter"], row["source"], family), row)
    by_exporter: dict[str, list[dict[str, str]]] = {}
    for (exporter, _, _), row in first.items():
        by_exporter.setdefault(exporter, []).append(row)
    picked: list[dict[str, str]] = []
    while len(picked) < count and any(by_exporter.values()):
        for queue in by_exporter.values():
            if queue and len(picked) < count:
                picked.append(queue.pop(0))
    return picked


def infer(path: Path, dims: dict[str, int]) -> dict[str, Type | None]:
    """Return the types perfc gives, straight from the file."""
    from perfc.api import infer_shapes

    return {n: adapter.from_perfc(t) for n, t in infer_shapes(path, dims=dims).items()}


def compare(path: Path) -> tuple[int, list[str]]:
    """Return the values compared on one model, and those that disagree or are not complete."""
    model = load(path)
    dims = bindings(model)
    inferred: dict[str, Any] = infer(path, dims)
    judged = judge_all(inferred, executed(model, dims))
    bad = [f"{path.name} {n}: {j.why}" for n, j in judged.items() if j.verdict != Verdict.COMPLETE]
    return len(judged), bad


def main() -> int:
    parser = parser_of(__doc__, models=DEFAULT_MODELS)
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--limit", type=int, default=0, help="evenly spaced sample of this many")
    parser.add_argument("--run", type=int, default=60, help="models to execute")
    parser.add_argument("--largest", type=int, default=40_000_000, help="parameters, to execute")
    parser.add_argument("--seconds", type=float, default=600, help="time for executing")
    args = parser.parse_args()
    rows = [r for r in index_rows(args.models) if args.only in r["file"]]
    sample = sampled(rows, args.limit)
    values = complete = whole = invalid = 0
    lacking: list[str] = []
    for row in sample:
        path = args.models / row["file"]
        try:
            model = load(path)
            types = infer(path, bindings(model))
        except Exception as error:
            if refused(model, bindings(model)):
                invalid += 1
                print(f"{row['file']}: refused, as by onnxruntime: {str(error)[:160]}")
                continue
            lacking.append(f"{row['file']}: {type(error).__name__}: {str(error)[:160]}")
            continue
        missing = [n for n, t in types.items() if not full(t)]
        values, complete = values + len(types), complete + len(types) - len(missing)
        whole += not missing
        if missing:
            lacking.append(f"{row['file']}: {len(missing)} of {len(types)}, first {missing[0]}")
    print("\n".join(lacking[:40]))
    began, ran, compared, bad, not_run = time.perf_counter(), 0, 0, [], []
    for row in chosen(rows, args.run, args.largest):
        if time.perf_counter() - began > args.seconds:
            break
        try:
            n, wrong = compare(args.models / row["file"])
        except Exception as error:
            not_run.append(f"{row['file']}: {type(error).__name__}: {str(error)[:160]}")
            continue
        ran, compared, bad = ran + 1, compared + n, bad + wrong
    print("\n".join(f"not run: {r}" for r in not_run))
    print("\n".join(bad[:40]))
    print(
        f"SUMMARY shapes_models: {complete} of {values} values"
        f" ({100 * complete / max(1, values):.3f} %) with full shapes, all of them in {whole} of"
        f" {len(sample)} models, {invalid} are refused as onnxruntime refuses them; {ran} models"
        f" executed by onnxruntime: {compared - len(bad)} of {compared} values agree,"
        f" {len(not_run)} models could not be run"
    )
    return 1 if lacking or bad else 0


if __name__ == "__main__":
    sys.exit(main())
