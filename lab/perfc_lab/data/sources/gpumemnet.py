"""Memory and activity of a GPU that trains MLPs, measured for GPUMemNet.

One CSV file becomes the table ``gpumemnet_mlp``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import FetchError, PublicSource, files_in, measured, read_table

if TYPE_CHECKING:
    import pandas as pd

FILE = "mlp_data_step1.csv"
FOLDERS = ("Datasets/MLP", "Dataset/MLP")
"""Folders of the table at this commit and at older ones."""
NAME = r"input:(?P<inputs>\d+)_output:(?P<outputs>\d+)_depth:\d+_arch:(?P<arch>[a-z]+)_batch:\d+"
# columns of our table by their published names
COLUMNS = {
    "Activations-Params": "layers",
    "Depth": "depth",
    "Activation Function": "activation",
    "Total Activations": "activations",
    "Total Parameters": "parameters",
    "Batch Size": "batch",
    "Max GPU Memory (MiB)": "max_gpu_memory_mib",
    "Avg GPUTL": "gpu_util",
    "Avg SMACT": "sm_active",
    "Avg SMOCC": "sm_occupancy",
}


class GpuMemNetTable(PublicSource):
    """``mlp_data_step1.csv``: a row a network; names of files say its input, output and outline."""

    name: ClassVar[str] = "gpumemnet"
    title: ClassVar[str] = "memory and activity of a GPU that trains MLPs"
    url: ClassVar[str] = "https://github.com/itu-rad/GPUMemNet"
    commit: ClassVar[str] = "1029288675829c55ad027936fe086ce5380736b0"
    licence: ClassVar[str] = "CC-BY-4.0"
    folders: ClassVar[tuple[str, ...]] = FOLDERS
    tables: ClassVar[tuple[str, ...]] = ("gpumemnet_mlp",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return the table with what the names of the files say."""
        path = files_in(clone, *(f"{folder}/{FILE}" for folder in FOLDERS))[0]
        frame = read_table(path, {"Filename": "name", **COLUMNS})
        # the groups of the pattern become columns
        named = frame.pop("name").astype(str).str.extract(NAME)
        if named.isna().to_numpy().any():
            raise FetchError("a file name that says no network", where=str(path))
        frame = frame.assign(file=FILE, arch=named["arch"])
        frame = frame.assign(**{n: named[n].astype("int64") for n in ("inputs", "outputs")})
        return {"gpumemnet_mlp": measured(frame, path, "max_gpu_memory_mib", "sm_active")}
