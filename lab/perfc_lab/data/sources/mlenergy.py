"""Throughput, latency and energy of served models, from the leaderboard of ML.ENERGY."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..source import FetchError, PublicSource, entry, files_in, measured, pandas, read_json

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "public/data/models"
# fields of a model; then fields of a configuration, texts and numbers
MODEL = (
    "model_id",
    "nickname",
    "task",
    "architecture",
    "total_params_billions",
    "activated_params_billions",
    "weight_precision",
)
TEXTS = ("gpu_model",)
NUMBERS = (
    "num_gpus",
    "max_num_seqs",
    "avg_power_watts",
    "avg_batch_size",
    "avg_output_len",
    "energy_per_token_joules",
    "energy_per_request_joules",
    "output_throughput_tokens_per_sec",
    "median_itl_ms",
    "p90_itl_ms",
    "p95_itl_ms",
    "p99_itl_ms",
    "batch_size",
    "batch_latency_s",
    "inference_steps",
    "image_height",
    "image_width",
    "energy_per_image_joules",
    "throughput_images_per_sec",
    "video_height",
    "video_width",
    "fps",
    "num_frames",
    "energy_per_video_joules",
    "throughput_videos_per_sec",
)
"""Numbers of a configuration; models of text, images and videos each have a part of them. The first
is the only one that every configuration has."""


class MlEnergy(PublicSource):
    """One row for each configuration of a model, from files ``MODEL__TASK.json``.

    Timelines of power and batch are left out. Files were written by different versions of the
    benchmark, with different fields: a number that a file lacks is empty.
    """

    name: ClassVar[str] = "mlenergy"
    title: ClassVar[str] = "throughput, latency and energy of served models, images and videos"
    url: ClassVar[str] = "https://github.com/ml-energy/leaderboard"
    commit: ClassVar[str] = "9fa07d19a280936a24484a19bef2a70098f617ce"
    licence: ClassVar[str] = "Apache-2.0"
    folders: ClassVar[tuple[str, ...]] = (FOLDER,)
    tables: ClassVar[tuple[str, ...]] = ("mlenergy",)

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return one table of all models."""
        parts = []
        for path in files_in(clone, f"{FOLDER}/*.json"):
            model = read_json(path)
            listed = entry(model, path, "configurations")
            if not isinstance(model, dict) or not isinstance(listed, list):
                raise FetchError("no list of configurations", where=str(path))
            # raises an error for a file without them
            for name in ("model_id", "task"):
                entry(model, path, name)
            rows = [row(model, configuration, path) for configuration in listed]
            names = ("file", *MODEL, *TEXTS, *NUMBERS)
            frame = pandas().DataFrame(rows, columns=list(names))
            # `measured` rejects cells that are no number; a call per column, as rows lack some of
            # them
            for name in NUMBERS:
                measured(frame[[name]].dropna(), path, name)
            parts.append(frame)
        table = pandas().concat(parts, ignore_index=True)
        # all but `num_gpus`, which every row has and which stays an integer
        return {"mlenergy": table.astype(dict.fromkeys(NUMBERS[1:], "float64"))}


def row(model: Mapping[str, object], configuration: object, path: Path) -> list[object]:
    """Return the row of a configuration: file, fields of the model, fields of the configuration."""
    for name in ("gpu_model", "num_gpus"):
        entry(configuration, path, name)
    assert isinstance(configuration, dict)
    # a configuration may override a field of its model
    of_model = [plain(configuration.get(name, model.get(name))) for name in MODEL]
    return [path.stem, *of_model, *(plain(configuration.get(name)) for name in (*TEXTS, *NUMBERS))]


def plain(cell: object) -> object:
    """Return a number or a text as it is; None for other values, such as a timeline."""
    return cell if isinstance(cell, str | int | float) else None
