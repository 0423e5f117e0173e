"""Processor time of what a user waits for, against a budget; exit code 1 above one.

    python -m benchmarks.budgets
    python -m benchmarks.budgets --only help --repeats 20

Each command runs in a process of its own. The least of several runs counts, as others only add to
it. A machine slower than the one the budgets were set on states how much: ``--factor 1.5``.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESNET = "examples/models/resnet50.onnx.gz"


@dataclass(frozen=True)
class Budget:
    """What one command may take.

    Args:
        name: what ``--only`` takes.
        arguments: of the interpreter.
        limit_s: processor time of the whole process, user and system.
    """

    name: str
    arguments: tuple[str, ...]
    limit_s: float


BUDGETS = (
    Budget("import", ("-c", "import perfc"), 0.05),
    Budget("help", ("-m", "perfc", "--help"), 0.1),
    Budget("no-predict", ("-m", "perfc", "analyze", RESNET, "--no-predict"), 0.4),
    Budget("analyze", ("-m", "perfc", "analyze", RESNET), 0.8),
)
"""Twice what was measured on two cores of an EPYC with Python 3.11, November 2026."""


def processor_s(arguments: Sequence[str]) -> float:
    """Processor time of one run.

    Raises:
        CalledProcessError: the command failed.
    """
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=[b.name for b in BUDGETS], action="append")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--factor", type=float, default=1.0, help="of every budget")
    args = parser.parse_args(arguments)
    is_over = False
    for budget in BUDGETS:
        if args.only and budget.name not in args.only:
            continue
        least_s = min(processor_s(budget.arguments) for _ in range(args.repeats))
        limit_s = budget.limit_s * args.factor
        verdict = "over" if least_s > limit_s else "within"
        is_over |= least_s > limit_s
        print(f"{budget.name:11s} {least_s:6.3f} s, {verdict} its budget of {limit_s:.3f} s")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())
