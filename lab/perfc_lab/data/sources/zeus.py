"""Power of whole training runs under power limits, measured for Zeus.

There is a CSV file per GPU; all become the table ``zeus_train_power``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import PublicSource, files_in, pandas, read_table

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "examples/research_reproducibility/zeus_nsdi23/trace"


class Zeus(PublicSource):
    """``summary_power_DEVICE.csv``: mean power and time of an epoch."""

    name: ClassVar[str] = "zeus"
    title: ClassVar[str] = "power and time of training epochs under power limits"
    url: ClassVar[str] = "https://github.com/ml-energy/zeus"
    commit: ClassVar[str] = "75a8b9398034"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("zeus_train_power",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return a row per GPU, network, batch, optimizer and power limit."""
        parts = []
        for path in files_in(clone, f"{FOLDER}/summary_power_*.csv"):
            frame = read_table(
                path,
                {
                    "dataset": "dataset",
                    "network": "network",
                    "batch_size": "batch",
                    "optimizer": "optimizer",
                    "power_limit": "power_limit_w",
                    "time_per_epoch": "time_per_epoch_s",
                    "average_power": "average_power_w",
                },
            )
            frame.insert(0, "device", path.stem.removeprefix("summary_power_"))
            energy_j = frame["average_power_w"] * frame["time_per_epoch_s"]
            parts.append(frame.assign(energy_per_epoch_j=energy_j))
        return {"zeus_train_power": pandas().concat(parts, ignore_index=True)}
