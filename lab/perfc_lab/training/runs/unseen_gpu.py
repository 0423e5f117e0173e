"""Predict whole runs of a chip that the weights have not seen, as `perfc.analyze` does.

    PERFC_WEIGHTS=FOLDER python -m perfc_lab.training.runs.unseen_gpu DATA TARGET...

A separate process, as the folder of the weights is read once, when perfc is imported.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import perfc
from perfc.analyzers.artefacts.artefact import SHIPPED, Artefact
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.view.report import Verdict

from ...data.weights import save
from ...tables.whole_models import whole_models

ROWS = 200
"""Maximum runs of each target, spread evenly over its rows; each run is analyzed by itself."""
RunPrediction = tuple[float, float, float, float, float, float, str]
"""Measured time, lower end, predicted time, upper end, sum of the kernels, lower bound, grade."""


def predictions(weights: Artefact, data: Path, targets: Sequence[str]) -> list[RunPrediction]:
    """Return the predictions of ``perfc.analyze`` with other weights, in a separate process."""
    with TemporaryDirectory() as folder:
        place = shutil.copytree(SHIPPED, Path(folder) / "weights")
        save(weights, place, overwrite=True)
        words = [sys.executable, "-m", __name__, str(data), *targets]
        env = {**os.environ, "PERFC_WEIGHTS": str(place)}
        lines = subprocess.run(words, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [tuple(json.loads(line)) for line in lines.splitlines()]


def main(data: str, *targets: str) -> None:
    """Print the prediction of each run as a line of JSON."""
    every, graphs = list(whole_models(Path(data))), model_folder(Path(data))
    for target in targets:
        of_target = (row for row in every if row.deployment.target == target)
        rows = [row for row in of_target if (graphs / row.graph).is_file()]
        # the step is rounded up, so that there are at most `ROWS` runs; without rows it is 1
        for row in rows[:: -(-len(rows) // ROWS) or 1]:
            report = perfc.analyze(graphs / row.graph, deployment=row.deployment)
            v, kernels_s = Verdict.of(report), report.prediction.timeline.time_s
            time, grade = v.expected, v.confidence.grade.value if v.confidence else ""
            numbers = row.time_s, time.low, time.mid, time.high, kernels_s, v.floor_s
            print(json.dumps((*numbers, grade)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
