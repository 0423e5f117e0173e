"""Multiply-accumulates of small cases against loops that count every one.

    python -m tests.oracles.macs
    python -m tests.oracles.macs --only conv/12 --dump case.onnx
    python -m tests.oracles.macs --peer onnx-tool

The loops stand in naive.py; what they compute is compared with onnxruntime (or ONNX's reference),
so that they are the operators, and what they count is compared with perfc, exactly.
Exit status 1 if any count differs.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from . import adapter, mac_cases
from .mac_cases import MacCase


def run(case: MacCase) -> np.ndarray | None:
    """First output as onnxruntime computes it, or the reference; None where neither can."""
    import onnxruntime as ort

    model, feeds = case.case.model, case.case.feeds
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run(None, feeds)[0]
    except Exception:
        from onnx.reference import ReferenceEvaluator

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ReferenceEvaluator(model).run(None, feeds)[0]
        except Exception:
            return None


def perfc_macs(case: MacCase) -> Any:
    """Macs perfc counts for the whole model; None if it does not know them all."""
    return adapter.total_mac(case.case.model)


def onnx_tool_macs(case: MacCase) -> Any:
    """Macs onnx-tool counts; its biases and compares are in them, so this is only a column."""
    import contextlib
    import io

    import onnx_tool

    with contextlib.redirect_stdout(io.StringIO()):
        graph = onnx_tool.Model(case.case.model).graph
        graph.shape_infer(dict(case.case.feeds))
        graph.profile()
    return int(graph.macs[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="", help="beginning of a case id")
    parser.add_argument("--dump", type=Path, help="save the last case selected")
    parser.add_argument("--peer", choices=("perfc", "onnx-tool", "none"), default="perfc")
    parser.add_argument("--skip-values", action="store_true", help="do not check the loops' values")
    args = parser.parse_args()
    same, other = Counter(), Counter()
    checked = unchecked = bad_values = total = 0
    for case in mac_cases.cases(args.seed, args.only, args.scale):
        name = case.case.id
        counted, value = case.counted()
        total += 1
        if value is not None and not args.skip_values:
            expected = run(case)
            if expected is None:
                unchecked += 1
            elif not np.allclose(np.squeeze(value), np.squeeze(expected), rtol=1e-3, atol=1e-4):
                bad_values += 1
                print(f"{name}: the loop does not compute this operator")
            else:
                checked += 1
        if args.dump:
            onnx.save(case.case.model, args.dump)
        if args.peer == "none":
            continue
        try:
            said = (
                adapter.total_mac(case.case.model) if args.peer == "perfc" else onnx_tool_macs(case)
            )
        except Exception as error:  # whatever an engine raises is a finding
            said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        if said == counted:
            same[case.case.op] += 1
        else:
            other[case.case.op] += 1
            if other[case.case.op] <= 3:
                print(f"{name} {case.case.op}: {said}, counted {counted}")
    for op in sorted(same | other):
        print(f"{op:28} same {same[op]:4}  different {other[op]:4}")
    print(
        f"SUMMARY macs {args.peer}: {sum(same.values())} of {total} cases equal to the counting"
        f" loop; loops' values equal to a runtime's in {checked}, not comparable in"
        f" {total - checked - bad_values}, unequal in {bad_values}"
    )
    return 1 if other or bad_values else 0


if __name__ == "__main__":
    sys.exit(main())
