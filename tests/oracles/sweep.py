"""A seeded sweep: every operator, opset, dtype and rank, against what a runtime computes.

    python -m tests.oracles.sweep --cache .cache/sweep            # all of it
    python -m tests.oracles.sweep --only elementwise.binary/Add   # the ids that begin so
    python -m tests.oracles.sweep --dump chains.reshape/Reshape/13/2 case.onnx
    python -m tests.oracles.sweep --peer onnx

The truth is the dtype and shape of every node output as onnxruntime executed it, or as ONNX's
reference evaluator did where onnxruntime has no kernel. Cases neither runs are counted and
discarded. Exit status 1 if any answer is wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections import Counter
from pathlib import Path

import onnx

from tests.oracles import sweep_cases
from tests.oracles.sweep_cases.build import Case

from . import adapter
from .sweep_runtime import Truth, decode, truths
from .truth import Judgement, Tally, Type, Verdict, judge_all


def judge_case(engine: str, case: Case, truth: Truth) -> dict[str, Judgement]:
    """Judgement of every output of one case."""
    expected: dict[str, Type] = {}
    for name, j in truth["types"].items():
        decoded = decode(j)
        if decoded is not None:
            expected[name] = decoded
    try:
        said = adapter.ENGINES[engine](case.model, case.dims, case.values)
        return judge_all(said, expected, case.declared)
    except Exception as error:  # an engine may raise anything; that is a finding
        text = str(error).splitlines()[0] if str(error) else ""
        why = f"{type(error).__name__}: {text}"[:200]
        return {n: Judgement(Verdict.FAILED, why) for n in expected}


def worst(found: dict[str, Judgement]) -> Judgement:
    """The case's verdict: that of its worst output."""
    order = list(Verdict)
    return max(found.values(), key=lambda j: order.index(j.verdict))


def dump(case: Case, truth: Truth, path: Path) -> None:
    """Save a case: the model, and beside it what it was fed and what came out."""
    onnx.save(case.model, path)
    told = {
        "id": case.id,
        "dims": case.dims,
        "bound": list(case.bound),
        "truth": truth,
        "feeds": {n: repr(v) for n, v in case.feeds.items()},
    }
    path.with_suffix(".json").write_text(json.dumps(told, indent=1, default=str), encoding="utf-8")
    print(f"{case.id} -> {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", choices=sorted(adapter.ENGINES), default="perfc")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer repeats")
    parser.add_argument("--only", default="", help="beginning of a case id")
    parser.add_argument("--cache", type=Path, help="folder for the truths")
    parser.add_argument("--dump", nargs=2, metavar=("ID", "FILE"), help="save one case")
    parser.add_argument("--examples", type=int, default=2)
    parser.add_argument("--show", default="wrong,failed", help="verdicts in the table")
    parser.add_argument("--discarded", action="store_true", help="list discarded cases by operator")
    args = parser.parse_args()
    if args.peer == "ort-symbolic" and not importlib.util.find_spec("sympy"):
        print("onnxruntime's symbolic inference needs sympy: pip install sympy", file=sys.stderr)
        return 2
    made = sweep_cases.cases(args.seed, args.dump[0] if args.dump else args.only, args.scale)
    outputs, by_case, sources = Tally(), Counter(), Counter()
    ops, opsets, valid = set(), set(), 0
    lost: dict[str, list[str]] = {}
    engine_s = 0.0
    for case, truth in truths(made, args.cache):
        if args.dump:
            if case.id == args.dump[0]:
                dump(case, truth, Path(args.dump[1]))
            continue
        sources[truth["by"] or "discarded"] += 1
        if not truth["by"]:
            lost.setdefault(f"{case.family}/{case.op}", []).append(f"{case.id}: {truth['error']}")
            continue
        valid += 1
        ops.add(case.op)
        opsets.add(case.opset)
        began = time.process_time()
        found = judge_case(args.peer, case, truth)
        engine_s += time.process_time() - began
        by_case[worst(found).verdict] += 1
        for name, j in found.items():
            outputs.add(case.op, f"{case.id}:{name}", j)
    if args.dump:
        return 0
    if args.discarded:
        for stem, reasons in sorted(lost.items()):
            print(f"{stem}: {len(reasons)} discarded, e.g. {reasons[0][:400]}")
    print(outputs.table([Verdict(v) for v in args.show.split(",") if v], args.examples))
    standard = {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated}
    print(f"\ncases: {dict(sources)}; {len(ops)} operators, opsets {sorted(opsets)}")
    if not args.only:
        print(f"standard operators without a valid case: {sorted(standard - ops)}")
    print(f"outputs: {outputs.line()}; engine {engine_s:.1f} s")
    right = by_case[Verdict.COMPLETE]
    bad = by_case[Verdict.WRONG] + by_case[Verdict.FAILED]
    print(
        f"SUMMARY sweep {args.peer}: {valid} valid cases ({sources['onnxruntime']} by onnxruntime,"
        f" {sources['reference']} by the reference, {sources['discarded']} discarded),"
        f" {right} right ({100 * right / max(1, valid):.1f} %), {by_case[Verdict.FORMULA]} exact"
        f" formulas of input symbols left open,"
        f" {by_case[Verdict.BOUNDED]} symbolic, {by_case[Verdict.UNKNOWN]} unknown,"
        f" {by_case[Verdict.WRONG]} wrong,"
        f" {by_case[Verdict.FAILED]} failed"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
