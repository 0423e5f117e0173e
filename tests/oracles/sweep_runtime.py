"""Runs sweep cases to learn the types of every value: onnxruntime, else ONNX's reference.

A runtime may crash on an odd model, so cases run in a child process that is replaced when it
dies or stops answering.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tests.oracles.sweep_cases.build import Case

from .truth import Judgement, Map, Optional, Sequence, Tensor, Type, Verdict, judge_all, type_of

CASE_TIMEOUT_S = 20.0
# Change when the way truths are found changes, so that cached ones are found again.
RULES = b"4"
Truth = dict[str, Any]


def key_of(case: Case) -> str:
    """Digest of everything that decides the truth."""
    digest = hashlib.sha256(RULES + case.model.SerializeToString(deterministic=True))
    for name, value in sorted(case.feeds.items()):
        digest.update(name.encode())
        digest.update(repr(value).encode())
    return digest.hexdigest()[:24]


# -------------------------------------------------------------------------------- encoding


def encode(t: Type | None) -> Any:
    """A type as JSON."""
    match t:
        case None:
            return None
        case Tensor(elem, shape):
            return ["tensor", elem, None if shape is None else list(shape)]
        case Sequence(elem):
            return ["sequence", encode(elem)]
        case Optional(elem):
            return ["optional", encode(elem)]
        case Map(key, value):
            return ["map", key, encode(value)]


def decode(j: Any) -> Type | None:
    """A type from JSON."""
    match j:
        case ["tensor", elem, shape]:
            return Tensor(elem, None if shape is None else tuple(shape))
        case ["sequence", elem]:
            return Sequence(decode(elem))
        case ["optional", elem]:
            return Optional(decode(elem))
        case ["map", key, value]:
            return Map(key, decode(value))
    return None


# ------------------------------------------------------------------------------- execution


def run_ort(case: Case) -> dict[str, Type]:
    """Types of all outputs as onnxruntime computed them."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(
        case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [o.name for o in session.get_outputs()]
    declared = {o.name: o.type for o in session.get_outputs()}
    if any(not isinstance(v, np.ndarray) or v.dtype.kind == "O" for v in case.feeds.values()):
        got = session.run(names, case.feeds)
        return {n: with_kind(declared[n], type_of(v)) for n, v in zip(names, got, strict=True)}
    run_options = ort.RunOptions()
    run_options.log_severity_level = 4
    feeds = {n: ort_value(ort, v) for n, v in case.feeds.items()}
    got = session.run_with_ort_values(names, feeds, run_options)
    return {n: ort_type(declared[n], v) for n, v in zip(names, got, strict=True)}


def ort_value(ort: Any, array: np.ndarray) -> Any:
    """An OrtValue, also of the dtypes NumPy itself does not have."""
    if array.dtype.kind == "V" or array.dtype.name.startswith(("bfloat", "float8")):
        number = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        raw = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw.copy(), number)
    return ort.OrtValue.ortvalue_from_numpy(array)


def ort_type(declared: str, value: Any) -> Type:
    """Type of an OrtValue."""
    if not value.has_value():
        return with_kind(declared, Optional(None))
    if value.is_tensor():
        return with_kind(declared, Tensor(int(value.element_type()), tuple(value.shape())))
    try:
        content = type_of(
            value._ortvalue.to_python() if hasattr(value._ortvalue, "to_python") else value.numpy()
        )
    except Exception:  # no conversion for this dtype; the declared type is what ORT checked
        content = Sequence(None)
    return with_kind(declared, content)


def with_kind(declared: str, seen: Type) -> Type:
    """Wrap a seen type in the optional, or fill the element type, that ORT names."""
    if declared.startswith("optional(") and not isinstance(seen, Optional):
        return Optional(with_kind(declared[9:-1], seen))
    if declared.startswith("seq(tensor(") and isinstance(seen, Sequence) and seen.elem is None:
        return Sequence(Tensor(_ORT_NAMES.get(declared[11:-2], 0), None))
    return seen


_ORT_NAMES = {
    "float": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "string": 8,
    "bool": 9,
    "float16": 10,
    "double": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
}


def run_reference(case: Case) -> dict[str, Type]:
    """Types of all outputs as onnx.reference computed them."""
    from onnx.reference import ReferenceEvaluator

    names = [o.name for o in case.model.graph.output]
    got = ReferenceEvaluator(case.model).run(names, dict(case.feeds))
    return {n: type_of(v) for n, v in zip(names, got, strict=True)}


def disputed(case: Case, types: dict[str, Type]) -> str:
    """Why the reference's outputs cannot be the truth: ONNX's own inference contradicts them."""
    from . import adapter

    try:
        said = adapter.ENGINES["onnx"](case.model, case.dims, case.values)
        found: dict[str, Judgement] = judge_all(said, types)
    except Exception as error:  # inference refuses the model, so it is not valid
        return f"onnx inference: {error}"
    wrong = [f"{n}: {j.why}" for n, j in found.items() if j.verdict is Verdict.WRONG]
    return "; ".join(wrong)


def execute(case: Case) -> Truth:
    """The truth of one case, or why it has none."""
    errors = []
    by_ort = None
    try:
        by_ort = run_ort(case)
        if not disputed(case, by_ort):
            return {"by": "onnxruntime", "types": _encoded(by_ort)}
    except Exception as error:
        errors.append(f"onnxruntime: {str(error)[:300]}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            types = run_reference(case)
    except Exception as error:
        if by_ort is not None:
            errors.append("disputed: onnxruntime contradicts ONNX's inference")
        errors.append(f"reference: {type(error).__name__}: {str(error)[:300]}")
        return {"by": "", "error": " | ".join(errors)}
    if by_ort is not None:
        # onnxruntime contradicts ONNX's inference: the reference decides, two against one.
        found = judge_all(by_ort, types)
        if all(j.verdict is not Verdict.WRONG for j in found.values()):
            return {"by": "onnxruntime", "types": _encoded(by_ort)}
        return {"by": "", "error": f"disputed: onnxruntime {by_ort}, reference {types}"[:600]}
    dispute = disputed(case, types)
    if dispute:
        return {"by": "", "error": " | ".join([*errors, f"disputed: {dispute[:300]}"])}
    return {"by": "reference", "types": _encoded(types)}


def _encoded(types: dict[str, Type]) -> dict[str, Any]:
    return {n: encode(t) for n, t in types.items()}


# ---------------------------------------------------------------------------- child process


def _serve(pipe: Connection) -> None:
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    while True:
        case = pipe.recv()
        if case is None:
            return
        pipe.send(execute(case))


class Worker:
    """A child process that runs cases; started again after a crash."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.process: Any = None
        self.pipe: Any = None

    def run(self, case: Case) -> Truth:
        """The truth of one case."""
        if self.process is None:
            self.pipe, child = self.context.Pipe()
            self.process = self.context.Process(target=_serve, args=(child,), daemon=True)
            self.process.start()
            child.close()
        try:
            self.pipe.send(case)
            if self.pipe.poll(CASE_TIMEOUT_S):
                answer: Truth = self.pipe.recv()
                return answer
            why = "no answer in time"
        except (EOFError, OSError):
            why = "the runtime crashed"
        self.stop()
        return {"by": "", "error": why}

    def stop(self) -> None:
        """End the child."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def truths(cases: Iterable[Case], cache: Path | None) -> Iterator[tuple[Case, Truth]]:
    """Each case with its truth; answers are kept in, and taken from, `cache/truth.jsonl`."""
    known: dict[str, Truth] = {}
    sink = None
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        path = cache / "truth.jsonl"
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                known[entry["key"]] = entry["truth"]
        sink = path.open("a", encoding="utf-8")
    worker = Worker()
    try:
        for case in cases:
            key = key_of(case)
            truth = known.get(key)
            if truth is None:
                truth = worker.run(case)
                if sink is not None:
                    entry = {"id": case.id, "key": key, "truth": truth}
                    sink.write(json.dumps(entry, default=str) + "\n")
                    sink.flush()
            yield case, truth
    finally:
        worker.stop()
        if sink is not None:
            sink.close()


if __name__ == "__main__":
    sys.exit("imported by sweep.py")
