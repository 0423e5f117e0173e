"""Read the table of timm's benchmark as lines, each with the name of its model's graph.

`datasets/timm.py` turns the lines into rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from perfc.analyzers.steps.setting import Precision, Setting
from perfc.ir.record import frozen

from . import with_columns

TABLE = "timm_benchmark.parquet"
TARGETS: Mapping[str, str] = {
    "RTX 3090": "rtx3090",
    "RTX 4090": "rtx4090",
    "RTX PRO 6000 Blackwell Max-Q": "rtx-pro-6000-max-q",
}
"""Target by device of the benchmark; processors are left out."""
# precisions by the table's names; rows in others are left out
PRECISIONS: Mapping[str, Precision] = {
    "amp_fp16": Precision.AMP_F16,
    "amp_bf16": Precision.AMP_BF16,
    "bf16": Precision.BF16,
}
GRAPHS = "models"
"""Folder of ``timm__NAME__SIZE.onnx.gz``, in the folder of the tables or next to that."""


@frozen
class TimmLine:
    """A line of the table.

    Args:
        file: stem of the graph's file.
        architecture: timm's name of the model.
        setting: precision, layout, version of PyTorch, and whether it trains or is compiled.
        target: the machine.
        batch: images of a step.
        time_s: time of a step.
        parameters: number of the model's parameters; None if the table does not have it.
    """

    file: str
    architecture: str
    setting: Setting
    target: str
    batch: int
    time_s: float
    parameters: float | None = None


def models_of(folder: Path) -> list[tuple[str, int]]:
    """Return the models of the table with the sizes of their images, each pair once.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    frame = with_columns(folder / TABLE, ("model", "img_size"))
    pairs = zip(frame["model"].tolist(), frame["img_size"].tolist(), strict=True)
    return sorted({(str(model), int(size)) for model, size in pairs})


def measured(folder: Path) -> Iterator[TimmLine]:
    """Yield the usable lines of the table: with a time, on a machine that has a target.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    names = (
        "device",
        "mode",
        "model",
        "img_size",
        "batch",
        "precision",
        "memory_format",
        "torch_compile",
        "torch_version",
        "step_time_ms",
    )
    frame = with_columns(folder / TABLE, names)
    frame = frame[frame["step_time_ms"].notna() & (frame["step_time_ms"] > 0)]
    columns = [frame[name].tolist() for name in names]
    # millions of parameters; not every table has the column
    published = frame["params_m"].tolist() if "params_m" in frame.columns else [None] * len(frame)
    for (
        device,
        mode,
        model,
        size,
        batch,
        precision,
        layout,
        compiled,
        version,
        time_ms,
        count,
    ) in zip(*columns, published, strict=True):
        if device not in TARGETS or precision not in PRECISIONS:
            continue
        major, minor = str(version).split(".")[:2]
        setting = Setting(
            PRECISIONS[precision],
            layout == "nhwc",  # channels last
            bool(compiled),
            (int(major), int(minor)),
            mode == "train",
        )
        yield TimmLine(
            f"timm__{model}__{size}",
            str(model),
            setting,
            TARGETS[device],
            int(batch),
            float(time_ms) / 1e3,
            count * 1e6 if count and count > 0 else None,
        )
