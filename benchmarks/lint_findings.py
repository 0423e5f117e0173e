"""Findings of `perfc lint` by default, and the share of them that is worth something.

    python -m benchmarks.lint_findings --models ../shared/models --seed 1 --count 25
    python -m benchmarks.lint_findings                    # the models of examples/

Models are drawn. Of each the findings are counted that are shown without options, and of these
whether they gain a hundredth of the run, or of its memory, or can be mended by `--fix`.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections import Counter
from pathlib import Path

from benchmarks.arguments import parser_of
from benchmarks.diff_edits import HERE
from perfc.api import analyze
from perfc.errors import PerfcError
from perfc.review.lint.engine import Linted, Linter, selected
from perfc.review.lint.finding import Finding, Saves
from perfc.review.lint.settings import LEAST_GAIN, Settings
from perfc.view.report.memory_sections import memory
from perfc.view.report.sections import summary


def files(folder: Path | None) -> list[Path]:
    """Return the models to draw from."""
    return sorted((folder or HERE.parent / "examples" / "models").glob("*.onnx.gz"))


def is_worth(finding: Finding, memory_bytes: float) -> bool:
    """Return True if a finding gains a hundredth, or has a safe fix."""
    if finding.is_fixable:
        return True
    if finding.saves is Saves.MEMORY:
        return (finding.saved_bytes or 0) >= LEAST_GAIN * memory_bytes
    return finding.gain is not None and finding.gain.share >= LEAST_GAIN


def linted(path: Path, options: argparse.Namespace) -> tuple[Linted, float]:
    """Return the findings in a model as a user has it, and the bytes of its run."""
    report = analyze(path, options.target, runtime=options.runtime)
    outcome = Linter(Settings(), selected(Settings())).check(report, path.name)
    s = summary.collect(report, memory.collect(report))
    return outcome, (s.weight_bytes.value or 0.0) + (s.peak_activation_bytes.value or 0.0)


def main() -> int:
    parser = parser_of(__doc__, models=None, seed=1, count=25, target="a100", runtime="ort")
    options = parser.parse_args()
    pool = files(options.models)
    random.Random(options.seed).shuffle(pool)
    counts: list[int] = []
    codes: Counter[str] = Counter()
    worthless = hidden = 0
    for path in pool:
        if len(counts) == options.count:
            break
        try:
            outcome, nbytes = linted(path, options)
        except PerfcError as error:
            print(f"{path.name}: {error}")
            continue
        counts.append(len(outcome.findings))
        hidden += outcome.small
        by_code = Counter(f.code for f in outcome.findings)
        codes += by_code
        worthless += sum(not is_worth(f, nbytes) for f in outcome.findings)
        print(f"{len(outcome.findings):3} {path.name}: {dict(by_code)}", flush=True)
    print(
        f"findings of {len(counts)} models: median {statistics.median(counts):g}, most "
        f"{max(counts)}, {sum(counts)} in all, {worthless} of no worth; {hidden} not shown"
    )
    print(f"by rule: {dict(codes.most_common())}")
    return 1 if worthless else 0


if __name__ == "__main__":
    raise SystemExit(main())
