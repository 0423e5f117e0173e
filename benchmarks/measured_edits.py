"""Score what edits of code save by prediction against times that were measured on one H200.

    python -m benchmarks.measured_edits

Models and edits are those of ``code_agent``, run by eager PyTorch. Where they were measured, git
refused patches of lines that others had changed, so that some sets are runs of the same code again.
The ratio of both times is the noise. A direction counts where an edit changes the measured time by
more than 5 %.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

from benchmarks.code_agent import Edits, Task
from benchmarks.code_patches import repositories
from perfc.common.repository import git
from perfc_lab.tables.own_runs import measured_rows

DATA = Path(__file__).parents[1] / "datasets/h200/edits.csv.gz"
NOISE = 0.05
"""Relative change of a measured time from which its direction counts."""


def is_applied(patch: str) -> bool:
    """Return True if git takes a patch in the current folder after others."""
    return git(["apply", "-C1", "-"], given=patch.encode()).returncode == 0


def main() -> None:
    """Print the errors of times and savings, right directions, and the best sets that it has."""
    runs = defaultdict(list)
    for row in measured_rows(DATA):
        if row["stage"] == "eager":
            runs[row["model"]].append(row)
    scores: dict[str, list[float]] = defaultdict(list)
    right, losses = list[bool](), list[float]()
    for _, module in repositories():
        task = Task(module, Path("/dev/null"), [])
        times: dict[int, dict[Edits, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in runs[module.name]:
            edits = tuple(e for e in row["edits"].split("+") if e and is_applied(task.edits[e]))
            git(["checkout", "-q", "."])
            times[int(row["batch"]) // task.batch][edits].append(float(row["eager_ms"]) / 1e3)
        for factor, sets in times.items():
            scores["the same code again"] += [
                max(each) / min(each) for each in sets.values() if len(each) > 1
            ]
            real = [fmean(each) for each in sets.values()]
            ours = [task.time(("h200", factor), edits) for edits in sets]
            both = [*zip(real, ours, strict=True)]
            scores["times"] += [abs(b / a - 1) for a, b in both]
            changes = [(a / real[0], b / ours[0]) for a, b in both[1:]]
            scores["savings"] += [abs(b / a - 1) for a, b in changes]
            right += [(a > 1) == (b > 1) for a, b in changes if abs(a - 1) > NOISE]
            losses.append(real[ours.index(min(ours))] / min(real))
            print(f"{module.name:15}", *(f"{a:.2f} {b:.2f}," for a, b in changes), flush=True)
    for name, each in scores.items():
        print(f"{name}: {len(each)}, mean {fmean(each):.3f}, median {median(each):.3f}")
    best, near = (sum(f <= limit for f in losses) for limit in (1, 1.1))
    print(
        f"directions: {sum(right)} of {len(right)}; best set: {best} of {len(losses)}, 10 %: {near}"
    )


if __name__ == "__main__":
    main()
