"""Energy of training cells of NAS-Bench-101, measured for EC-NAS-Bench.

The layout is that of PedramBakh/EC-NAS-Bench, from which the official repository (``url``) was
copied; their files and values were compared. The joined TFRecord files hold the same runs and are
not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.deployment.prices.regions import J_PER_KWH

from ..source import FetchError, PublicSource, entry, files_in, number, pandas, read_json

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "ecnas/vendors/ec_nasbench/nasbench/data"
# search spaces by the maximum of vertices and edges of a cell
SPACES = ("4V9E", "5V9E")


class EcNas(PublicSource):
    """``results.json`` of each run: four epochs on CIFAR-10, one Quadro RTX 6000, TensorFlow.

    ``total_energy_j`` has the tracker's factor for the rest of a data centre in it.
    """

    name: ClassVar[str] = "ecnas"
    title: ClassVar[str] = "energy of training cells of NAS-Bench-101"
    url: ClassVar[str] = "https://github.com/saintslab/EC-NAS-Bench"
    commit: ClassVar[str] = "1a82fdde59bf"
    licence: ClassVar[str] = "MIT"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("ecnas_energy",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a row a run; cells were trained up to three times."""
        rows = []
        for space in SPACES:
            (listed,) = files_in(clone, f"{FOLDER}/graphs/generated_graphs_{space}.json")
            graphs = read_json(listed)
            pattern = f"train_model_results/energy/{space}/4_epochs/*/*/repeat_*/results.json"
            for path in files_in(clone, f"{FOLDER}/{pattern}"):
                cell = path.parts[-3]
                adjacency, operations = (entry(graphs, listed, cell, i) for i in (0, 1))
                rows.append(
                    {
                        "space": space,
                        "model_hash": cell,
                        "adjacency_json": json.dumps(adjacency, separators=(",", ":")),
                        "op_labels_json": json.dumps(operations, separators=(",", ":")),
                        **run(path),
                    }
                )
        return {"ecnas_energy": pandas().DataFrame(rows)}


def run(path: Path) -> dict[str, object]:
    """Return the costs of one run; its last evaluation is that after four epochs."""
    result = read_json(path)
    # the key has the colon in it
    tracked = entry(result, path, "avg_power_usages:")
    last = entry(result, path, "evaluation_results", -1)
    return {
        "device": str(entry(tracked, path, "gpu", "devices", 0)).strip(),
        "trainable_params": int(number(result, path, "trainable_params")),
        "total_time_s": number(result, path, "total_time"),
        "total_energy_j": number(result, path, "total_energy (kWh)") * J_PER_KWH,
        "gpu_energy_j": total(tracked, path, "gpu", "avg_energy_usages (J)"),
        "gpu_power_w": total(tracked, path, "gpu", "avg_power_usages (W)"),
        "cpu_energy_j": total(tracked, path, "cpu", "avg_energy_usages (J)"),
        "train_steps": int(number(last, path, "training_steps")),
        "train_time_s": number(last, path, "training_time"),
        "eval_time_s": number(last, path, "predict_time"),
    }


def total(tracked: object, path: Path, kind: str, key: str) -> float:
    """Sum over the devices of a kind.

    Raises:
        FetchError: there are no numbers.
    """
    # a list in a list: a number for each device
    values = entry(tracked, path, kind, key, 0)
    if not isinstance(values, list):
        raise FetchError(f"{key!r} of the {kind} is no list", where=str(path))
    return sum(number(values, path, index) for index in range(len(values)))
