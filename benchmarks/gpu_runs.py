"""Scores `perfc.analyze` on the runs measured on a GPU.

    python -m benchmarks.gpu_runs MODELS [--rows FILE] [--odd] [--predictor NAME] [--most-images N]

Rows whose model has a graph of the measured size are predicted by the public call: eager runs,
replayed CUDA graphs and training steps. With ``--odd``, only half of the graphs, by their digest:
the other half is what weights trained for this comparison may have seen.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean, mean, median
from typing import Any, NamedTuple

import perfc
from benchmarks.arguments import parser_of
from perfc_lab.tables.own_runs import measured_rows

TARGET = "h200-sxm-141gb"
SETTINGS: dict[str, dict[str, Any]] = {
    "fp32": {"dtype": "f32", "tf32": False},
    "tf32": {"dtype": "f32", "tf32": True},
    "fp16": {"dtype": "f16"},
    "bf16amp": {"dtype": "amp-bf16"},
}
RUNTIMES = {"eager": "eager_ms", "cudagraph": "graph_ms"}


class Score(NamedTuple):
    """Predicted over measured time, and whether the interval contains the measured time."""

    ratio: float
    is_inside: bool
    is_below_floor: bool


def is_odd(graph: str) -> bool:
    """Return True for the half of the graphs that is held out."""
    return hashlib.sha256(graph.encode()).digest()[0] % 2 == 1


def scored(row: dict[str, str], path: Path, predictor: str) -> Iterator[tuple[str, Score]]:
    """Yield the scores of a row by the kind of run."""
    is_step = row["mode"] == "train"
    for runtime, column in RUNTIMES.items():
        if not row[column]:
            continue
        given = {**SETTINGS[row["prec"]], **({"train": "adamw"} if is_step else {})}
        given |= {"runtime": runtime, "batch": int(row["batch"]), "predictor": predictor}
        report = perfc.analyze(path, TARGET, **given)
        measured_s = float(row[column]) / 1e3
        try:
            time = report.prediction.total
        except perfc.PerfcError:
            # published predictors refuse what no row of theirs shows, such as recorded graphs
            continue
        score = Score(
            time.time_s / measured_s,
            time.low_s <= measured_s <= time.high_s,
            measured_s < report.roofline.floor_s,
        )
        kind = "training step" if is_step else runtime
        yield from ((kind, score), (f"{kind}, {row['prec']}", score))


def main() -> None:
    """Print the errors by kind of run."""
    parser = parser_of(__doc__, rows=Path("datasets/h200/vision.csv.gz"), odd=False)
    parser.add_argument("models", type=Path)
    parser.add_argument("--predictor", default="", help="kernels: without measured runs")
    parser.add_argument("--most-images", type=int, default=1 << 30, help="largest batch")
    given = parser.parse_args()
    scores: dict[str, list[Score]] = defaultdict(list)
    for row in measured_rows(given.rows):
        path = given.models / f"{row['name'].replace(':', '__')}__{row['size']}.onnx.gz"
        is_small = int(row["batch"]) <= given.most_images
        if is_small and path.is_file() and (is_odd(path.name) or not given.odd):
            for kind, score in scored(row, path, given.predictor):
                scores[kind].append(score)
    for kind, of_kind in sorted(scores.items()):
        errors = [abs(s.ratio - 1) for s in of_kind]
        print(
            f"{kind}: {len(of_kind)} runs, MAPE {mean(errors):.1%}, median {median(errors):.1%}, "
            f"predicted over measured {geometric_mean(s.ratio for s in of_kind):.2f}, "
            f"in range {mean(s.is_inside for s in of_kind):.0%}, "
            f"below the floor {sum(s.is_below_floor for s in of_kind)}"
        )


if __name__ == "__main__":
    main()
