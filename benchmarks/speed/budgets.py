"""Processor time of what a user waits for, against a budget; exit code 1 above one.

    python -m benchmarks.speed.budgets
    python -m benchmarks.speed.budgets --only help --repeats 20

Each command runs in a separate process. The least of several runs counts, as others only add to
it. A machine slower than the one the budgets were set on states how much: ``--factor 1.5``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .processes import CASES, measured

LIMITS_S = {"import": 0.05, "help": 0.1, "no-predict": 0.4, "analyze": 0.8}
"""Processor time of the whole process, user and system, by case: twice what was measured on two
cores of an EPYC with Python 3.11, November 2026."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=LIMITS_S, action="append")
    parser.add_argument("--repeats", type=int, help="instead of the case's own")
    parser.add_argument("--factor", type=float, default=1.0, help="of every budget")
    args = parser.parse_args(arguments)
    is_over = False
    for name in args.only or LIMITS_S:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            command = case.command(Path(folder))
            least_s = min(measured(command).cpu_s for _ in range(args.repeats or case.repeats))
        limit_s = LIMITS_S[name] * args.factor
        verdict = "over" if least_s > limit_s else "within"
        is_over |= least_s > limit_s
        print(f"{name:11s} {least_s:6.3f} s, {verdict} its budget of {limit_s:.3f} s")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())
