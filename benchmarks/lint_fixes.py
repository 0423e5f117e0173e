"""Fixes of ``perfc lint`` on real models: proved equal, and never slower on re-analysis.

Models without weights get seeded random ones. Into a copy of each model one blemish after the
other is put at a seeded place, one that a rule should find; then the copy is mended by
``perfc.review.lint.fixes.fix.fixed_model``, which runs both models on five random inputs under
onnxruntime. The models as they are come first.

    python benchmarks/lint_fixes.py MODELS... [--seed 0] [--places 1] [--json out.json]
    python benchmarks/lint_fixes.py --nodes        # the test models of onnx, as they are

Of onnx's test models some do not run under onnxruntime; a fix is refused for them.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.arguments import parser_of
from perfc.api import infer_shapes
from perfc.deployment import Deployment
from perfc.errors import PerfcError
from perfc.ir.tensors.types import DType, TensorType
from perfc.measuring.measure.tables.weights import runnable
from perfc.review.lint.engine import Linter, selected
from perfc.review.lint.fixes.fix import fixed_model
from perfc.review.lint.settings import Settings
from perfc.review.lint.work import LintWork

MAX_RANK = 5
"""Axes of a value above which nothing is inserted behind it."""
Blemish = Callable[["Patient"], str]


class Patient:
    """A copy of a model that blemishes are put into."""

    def __init__(self, model: onnx.ModelProto, types: dict[str, TensorType], seed: int) -> None:
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.types, self.rng = types, random.Random(seed)
        self.count = 0

    def name(self, what: str) -> str:
        """Return a name that nothing in the model has."""
        self.count += 1
        return f"blemish/{what}{self.count}"

    def place(self, least_rank: int = 2) -> tuple[str, int]:
        """Return a value of the main graph between two nodes, and its rank."""
        graph = self.model.graph
        given_back = {o.name for o in graph.output}
        read = {i for n in graph.node for i in n.input}
        places = []
        stored = {t.name for t in graph.initializer}
        computed = {i.name for i in graph.input} - stored
        for node in graph.node:
            if not computed.intersection(node.input):
                continue  # the same in every run: PF104 is for these
            computed.update(node.output)
            for o in node.output:
                t = self.types.get(o)
                if t is None or t.dtype is not DType.F32 or t.shape is None or o in given_back:
                    continue
                if o in read and least_rank <= len(t.shape) <= MAX_RANK:
                    places.append((o, len(t.shape)))
        return self.rng.choice(places)

    def insert(self, value: str, *nodes: onnx.NodeProto) -> None:
        """Put a chain behind ``value``; whoever read it reads the result of the chain."""
        graph = self.model.graph
        at = next(i for i, n in enumerate(graph.node) if value in n.output) + 1
        result = nodes[-1].output[0]
        for node in graph.node:
            for i, name in enumerate(node.input):
                if name == value:
                    node.input[i] = result
        copies = [onnx.NodeProto.FromString(n.SerializeToString()) for n in graph.node]
        del graph.node[:]
        graph.node.extend([*copies[:at], *nodes, *copies[at:]])

    def store(self, array: np.ndarray) -> str:
        """Return a stored tensor."""
        name = self.name("stored")
        self.model.graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: list[str], **attributes: object) -> onnx.NodeProto:
        """Return a node with one output, not yet in the graph."""
        name = self.name(op)
        return helper.make_node(op, inputs, [f"{name}/out"], name=name, **attributes)

    def perm(self, rank: int) -> tuple[list[int], list[int]]:
        """Return a permutation that moves something, and the one that undoes it."""
        there = list(range(rank))
        while there == sorted(there):
            self.rng.shuffle(there)
        return there, [there.index(i) for i in range(rank)]


def transpose_pair(p: Patient) -> str:
    value, rank = p.place()
    perm, back = p.perm(rank)
    a = p.node("Transpose", [value], perm=perm)
    p.insert(value, a, p.node("Transpose", [a.output[0]], perm=back))
    return "PF101"


def transpose_twice(p: Patient) -> str:
    value, rank = p.place(3)
    first_perm, _ = p.perm(rank)
    second_perm, _ = p.perm(rank)
    both = [first_perm[i] for i in second_perm]
    a = p.node("Transpose", [value], perm=first_perm)
    b = p.node("Transpose", [a.output[0]], perm=second_perm)
    c = p.node("Relu", [b.output[0]])
    p.insert(
        value,
        a,
        b,
        c,
        p.node("Transpose", [c.output[0]], perm=[both.index(i) for i in range(rank)]),
    )
    return "PF101"


def reshape_pair(p: Patient) -> str:
    value, _ = p.place()
    axes = p.store(np.array([1], np.int64))
    a = p.node("Unsqueeze", [value, axes])
    p.insert(value, a, p.node("Squeeze", [a.output[0], axes]))
    return "PF102"


def round_trip(p: Patient) -> str:
    value, rank = p.place()
    perm, back = p.perm(rank)
    a = p.node("Transpose", [value], perm=perm)
    b = p.node("Tanh", [a.output[0]])
    c = p.node("Mul", [b.output[0], p.store(np.float32(0.5).reshape(()))])
    p.insert(value, a, b, c, p.node("Transpose", [c.output[0]], perm=back))
    return "PF103"


def cast_pair(p: Patient) -> str:
    value, _ = p.place()
    a = p.node("Cast", [value], to=TensorProto.DOUBLE)
    p.insert(value, a, p.node("Cast", [a.output[0]], to=TensorProto.FLOAT))
    return "PF404"


def constant(p: Patient) -> str:
    value, _ = p.place()
    a = p.node("Sqrt", [p.store(np.array(1.7, np.float32))])
    b = p.node("Exp", [a.output[0]])
    p.insert(value, a, b, p.node("Mul", [value, b.output[0]]))
    return "PF104"


def dead_node(p: Patient) -> str:
    value, _ = p.place()
    dead = p.node("Sigmoid", [value])
    p.model.graph.node.append(dead)
    p.model.graph.node.append(p.node("Neg", [dead.output[0]]))
    return "PF105"


def unread_mask(p: Patient) -> str:
    value, _ = p.place()
    a = p.node("Dropout", [value])
    a.output.append(f"{a.name}/mask")
    p.insert(value, a)
    return "PF105"


def dead_weight(p: Patient) -> str:
    p.store(np.ones((64, 64), np.float32))
    return "PF303"


BLEMISHES: tuple[Blemish, ...] = (
    transpose_pair,
    transpose_twice,
    reshape_pair,
    round_trip,
    cast_pair,
    constant,
    dead_node,
    unread_mask,
    dead_weight,
)
"""Each inserts one blemish and returns the code of the rule that should find it."""


def patients(path: Path, folder: Path, seed: int, places: int) -> Iterator[tuple[str, str, Path]]:
    """Yield the model as it is, then with each blemish: what, the rule it is for, the file."""
    model = onnx.load(path, load_external_data=False)
    yield "as it is", "", path
    types = {n: t for n, t in infer_shapes(path).items() if isinstance(t, TensorType)}
    for i, blemish in enumerate(BLEMISHES):
        for place in range(places):
            # a seed for each blemish and place
            patient = Patient(model, types, seed * 1009 + i * 31 + place)
            code = blemish(patient)
            target = folder / f"blemished-{i}-{place}.onnx"
            onnx.save(patient.model, target)
            yield blemish.__name__, code, target


def node_tests(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the models that onnx tests its operators with; many are expanded function bodies."""
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None):
        target = folder / "case.onnx"
        target.write_bytes(case.model.SerializeToString())
        yield case.name, "", target


def attempt(work: LintWork, model: str, what: str, code: str, file: Path) -> dict[str, object]:
    """Fix one model and return what was fixed, or why it was refused."""
    start = time.perf_counter()
    row: dict[str, object] = {"model": model, "blemish": what, "code": code}
    try:
        result = fixed_model(work, str(file))
    except PerfcError as error:
        row |= {"state": "refused", "why": str(error)}
    else:
        fixed = Counter(f.code for f in result.fixed) if result else Counter[str]()
        row |= {
            "state": "proved" if result else "nothing to fix",
            "fixed": dict(fixed),
            "gain_s": result.gain_s if result else 0.0,
            "left": sum(f.is_fixable for f in result.after.findings) if result else 0,
            "found": not code or fixed[code] > 0,
        }
    row["wall_s"] = time.perf_counter() - start
    print(json.dumps(row), flush=True)
    return row


def main() -> int:
    """Run over the models, or over onnx's own tests."""
    parser = parser_of(
        __doc__, nodes=False, seed=0, places=1, target="a100", runtime="ort", json=None
    )
    parser.add_argument("models", nargs="*", type=Path)
    args = parser.parse_args()
    settings = Settings()
    linter = Linter(settings, selected(settings), 0.0)
    work = LintWork(linter, Deployment(target=args.target, runtime=args.runtime), {})
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        for what, code, file in node_tests(Path(name)) if args.nodes else ():
            rows.append(attempt(work, "onnx", what, code, file))
    for path in args.models:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            given = runnable(path, folder, args.seed).path
            for what, code, file in patients(given, folder, args.seed, args.places):
                rows.append(attempt(work, path.name, what, code, file))
    return summary(rows, args.json)


def summary(rows: list[dict[str, object]], path: Path | None) -> int:
    """Print the totals; return 0 if every fix was proved and none costs time."""
    states = Counter(str(r["state"]) for r in rows)
    blemished = [r for r in rows if r["code"]]
    gains = [float(str(r["gain_s"])) for r in rows if r["state"] == "proved"]
    print(
        f"{len(rows)} models, {len(blemished)} of them blemished: {dict(states)}; "
        f"blemish found and mended in {sum(bool(r.get('found')) for r in blemished)} of "
        f"{len(blemished)}; least gain {min(gains, default=0.0):.3g} s; "
        f"findings fixed {sum(sum(dict(r.get('fixed', {})).values()) for r in rows)}"
    )
    if path is not None:
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    refused = [str(r["why"]) for r in rows if r["state"] == "refused"]
    wrong = [w for w in refused if "original" not in w]
    print(
        f"refused because the original does not run: {len(refused) - len(wrong)} of {len(refused)}"
    )
    is_good = not wrong and min(gains, default=0.0) >= 0
    return 0 if is_good and all(r.get("found") for r in blemished) else 1


if __name__ == "__main__":
    sys.exit(main())
