"""Steps of whole image models, timed by the maintainers of timm on their machines.

There is a CSV file for each device, mode and version of PyTorch; all become ``timm_benchmark``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import FetchError, PublicSource, files_in, pandas, read_table

if TYPE_CHECKING:
    import pandas as pd

# name of a file of results
NAME = re.compile(
    r"benchmark-(?P<mode>infer|train)-(?P<precision>amp|amp_bf16|bf16|fp32)-(?P<layout>nchw|nhwc)"
    r"-pt(?P<torch>\d{3})-(?P<cuda>cu\d+|cpu)-(?P<device>[\w]+?)(?P<compiled>-dynamo)?"
)
# devices by the words of file names
DEVICES = {
    "rtx3090": "RTX 3090",
    "rtx4090": "RTX 4090",
    "4090": "RTX 4090",
    "5090": "RTX 5090",
    "pro6000maxq": "RTX PRO 6000 Blackwell Max-Q",
    "i9_10940x": "Intel i9-10940X",
    "i7_12700h": "Intel i7-12700H",
}
OLDEST = 112
"""First version that is read, 1.12: files of older PyTorch are of other versions of the models."""


class Timm(PublicSource):
    """``results/benchmark-*.csv``: one synchronized step of each model."""

    name: ClassVar[str] = "timm"
    title: ClassVar[str] = "whole image models on consumer cards and processors"
    url: ClassVar[str] = "https://github.com/huggingface/pytorch-image-models"
    commit: ClassVar[str] = "aa4b5850c154"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = ("results",)
    tables: ClassVar[tuple[str, ...]] = ("timm_benchmark",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return one table of all files."""
        parts = []
        for path in files_in(clone, "results/benchmark-*.csv"):
            match = NAME.fullmatch(path.stem)
            if match is None or match["device"] not in DEVICES:
                raise FetchError("a name that says no device and version", where=str(path))
            if int(match["torch"]) >= OLDEST:
                parts.append(rows_of(path, match))
        return {"timm_benchmark": pandas().concat(parts, ignore_index=True)}


def rows_of(path: Path, name: re.Match[str]) -> pd.DataFrame:
    """Return the rows of one file; the parts of its name become columns of every row."""
    mode = name["mode"]
    frame = read_table(
        path,
        {
            "model": "model",
            f"{mode}_img_size": "img_size",
            f"{mode}_batch_size": "batch",
            f"{mode}_step_time": "step_time_ms",
            f"{mode}_samples_per_sec": "samples_per_s",
            "param_count": "params_m",
            # files of training have no counts of operations
            **({"infer_gmacs": "gmacs", "infer_macts": "mactivations"} if mode == "infer" else {}),
        },
    )
    # "112" is 1.12, "210" is 2.1.0
    digits = name["torch"]
    version = f"{digits[0]}.{digits[1:]}" if digits < "200" else ".".join(digits)
    frame.insert(0, "device", DEVICES[name["device"]])
    frame.insert(1, "mode", mode)
    return frame.assign(
        precision="amp_fp16" if name["precision"] == "amp" else name["precision"],
        memory_format=name["layout"],
        torch_compile=bool(name["compiled"]),
        torch_version=version,
        cuda_version=name["cuda"],
        source_file=path.stem,
    )
