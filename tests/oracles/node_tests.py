"""Shape and type inference on every backend node test of ONNX, declared output types removed.

    python -m tests.oracles.node_tests                # perfc: no values, then integer inputs bound
    python -m tests.oracles.node_tests --peer onnx    # the same question to onnx.shape_inference

The truth is the expected output each test carries. Exit status 1 if any answer is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import onnx

from . import adapter
from .truth import Judgement, Sequence, Tally, Tensor, Type, Verdict, judge_all, type_of

BOUND_ELEMENTS = 1024


class Reach(StrEnum):
    """Which small inputs a run binds: of integer type, holding whole numbers, or all numbers."""

    INTEGERS = "integer"
    WHOLE = "whole-number"
    FLOATS = "numeric"


@dataclass(frozen=True)
class NodeTest:
    """One backend test: the model stripped of what it says about its outputs, and its data."""

    name: str
    op: str
    model: onnx.ModelProto
    values: dict[str, Any]
    truths: dict[str, Type]
    tensors: frozenset[str]


def load(kinds: tuple[str, ...] = ("node",), reach: Reach = Reach.INTEGERS) -> Iterator[NodeTest]:
    """Tests of the given kinds; `node` alone is 1,884 tests with onnx 1.23."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [t for kind in kinds for t in load_model_tests(kind=kind)]
    for test in sorted(found, key=lambda t: t.name):
        if test.model is not None and test.data_sets:
            yield prepare(test.name, test.model, *test.data_sets[0], reach)


def prepare(name: str, model: onnx.ModelProto, inputs: Any, outputs: Any, reach: Reach) -> NodeTest:
    """Strip a test's model and pair its data with names."""
    truths: dict[str, Type] = {}
    tensors = set()
    for info, value in zip(model.graph.output, outputs, strict=True):
        truths[info.name] = declared_kind(info.type, type_of(value))
        if isinstance(truths[info.name], Tensor):
            tensors.add(info.name)
    fed = zip(model.graph.input, inputs, strict=False)
    values = {info.name: v for info, v in fed if bindable(v, reach)}
    op = model.graph.node[0].op_type if len(model.graph.node) == 1 else name.split("_")[1]
    return NodeTest(name, op, strip(model), values, truths, frozenset(tensors))


def declared_kind(declared: onnx.TypeProto, seen: Type) -> Type:
    """The seen type, with an empty sequence's element type and an optional's wrapper declared."""
    want = adapter.from_proto(declared)
    if isinstance(seen, Sequence) and seen.elem is None and isinstance(want, Sequence):
        return want
    if want is not None and not isinstance(want, (Tensor, Sequence)):
        return type(want)(seen) if hasattr(want, "elem") else want
    return seen


def bindable(value: Any, reach: Reach) -> bool:
    """Whether a user would bind this input by `--value`: a small tensor of what `reach` says."""
    if isinstance(value, (list, dict)) or value is None or hasattr(value, "dims"):
        return False
    array = np.asarray(value)
    if array.size > BOUND_ELEMENTS:
        return False
    if array.dtype.kind in "iub":
        return True
    if array.dtype.kind != "f" or reach is Reach.INTEGERS:
        return False
    return reach is Reach.FLOATS or bool(np.all(np.mod(array, 1) == 0))


def strip(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without value_info and without declared output types."""
    out = onnx.ModelProto()
    out.CopyFrom(model)
    del out.graph.value_info[:]
    for info in out.graph.output:
        info.ClearField("type")
    return out


def run(engine: str, tests: list[NodeTest], bound: bool) -> tuple[Tally, Tally]:
    """Judge an engine on all tests; tensors, and sequences and optionals apart."""
    infer = adapter.ENGINES[engine]
    tensors, others = Tally(), Tally()
    for test in tests:
        try:
            said = infer(test.model, {}, test.values if bound else {})
            found = judge_all(said, test.truths)
        except Exception as error:  # an engine may raise anything; that is a finding
            why = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            found = {n: Judgement(Verdict.FAILED, why) for n in test.truths}
        for name, verdict in found.items():
            tally = tensors if name in test.tensors else others
            tally.add(test.op, f"{test.name}:{name}", verdict)
    return tensors, others


def uncovered() -> list[str]:
    """Operators of the standard domain with neither an operator of ours nor a function body."""
    return [
        s.name
        for s in onnx.defs.get_all_schemas()
        if s.domain == ""
        and not s.deprecated
        and not (s.has_function or s.has_context_dependent_function)
        and not adapter.has_operator(s.name)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", choices=sorted(adapter.ENGINES), default="perfc")
    parser.add_argument("--only", default="", help="tests whose name contains this")
    parser.add_argument(
        "--bind", type=Reach, choices=list(Reach), default=Reach.INTEGERS, help="what is bound"
    )
    parser.add_argument("--quiet", action="store_true", help="no table, only the totals")
    parser.add_argument("--examples", type=int, default=2)
    args = parser.parse_args()
    tests = [t for t in load(reach=args.bind) if args.only in t.name]
    outputs = sum(len(t.truths) for t in tests)
    print(f"{len(tests)} tests, {outputs} outputs, onnx {onnx.__version__}, engine {args.peer}")
    wrong, summary = 0, []
    for bound in (False, True):
        began = time.process_time()
        tensors, others = run(args.peer, tests, bound)
        seconds = time.process_time() - began
        mode = f"small {args.bind} inputs bound" if bound else "no input values"
        print(f"\n== {mode} ({seconds:.1f} s)\ntensors: {tensors.line()}\nothers:  {others.line()}")
        if not args.quiet:
            shown = [Verdict.WRONG, Verdict.FAILED, Verdict.UNKNOWN, Verdict.BOUNDED]
            print(tensors.table(shown, args.examples))
            print(others.table(shown, args.examples))
        wrong += tensors.bad() + others.bad()
        complete = tensors.total[Verdict.COMPLETE] + others.total[Verdict.COMPLETE]
        summary.append(
            f"{mode}: {complete}/{outputs} complete and right"
            f" ({100 * tensors.share(Verdict.COMPLETE):.1f} % of tensors),"
            f" {tensors.bad() + others.bad()} wrong"
        )
    if args.peer == "perfc":
        missing = uncovered()
        print(f"\nstandard operators without operator or expansion: {len(missing)} {missing}")
        summary.append(f"{len(missing)} standard operators uncovered")
        wrong += len(missing)
    print(f"\nSUMMARY node_tests {args.peer}: {len(tests)} tests; " + "; ".join(summary))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
