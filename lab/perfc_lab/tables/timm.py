"""Whole models of timm's benchmark, on the graphs of the same models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.steps.columns import LinearColumns, linear
from perfc.analyzers.steps.launches import launches
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.errors import PerfcError
from perfc.ir.record import frozen

from . import with_columns
from .timm_variants import forms, parameters, read_trained, read_variants, require_parameters
from .training_step import step_launches

TABLE = "timm_benchmark.parquet"
TARGETS: Mapping[str, str] = {
    "RTX 3090": "rtx3090",
    "RTX 4090": "rtx4090",
    "RTX PRO 6000 Blackwell Max-Q": "rtx-pro-6000-max-q",
}
"""Devices of the benchmark by their targets; processors are left out."""
PRECISIONS: Mapping[str, Precision] = {
    "amp_fp16": Precision.AMP_F16,
    "amp_bf16": Precision.AMP_BF16,
    "bf16": Precision.BF16,
}
BATCHES = (32, 64)
"""Where launches are counted; between and beyond, they grow linearly."""
GRAPHS = "models"
"""Folder of ``timm__NAME__SIZE.onnx.gz``, beside the tables or beside their folder."""

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class StepRow:
    """One measured step.

    Args:
        architecture: name of the model.
        columns: its launches.
        setting: how it was run.
        target: name of the machine's target.
        batch: images.
        time_s: time of the step.
    """

    architecture: str
    columns: LinearColumns
    setting: Setting
    target: str
    batch: int
    time_s: float


@frozen
class TimmLine:
    """A line of the table.

    Args:
        file: stem of the graph's file.
        parameters: that the model had, None where the table does not say.
    """

    file: str
    architecture: str
    setting: Setting
    target: str
    batch: int
    time_s: float
    parameters: float | None = None


def step_rows(folder: Path, say: Say = lambda _: None, *, training: bool = False) -> list[StepRow]:
    """Rows on graphics processors whose graph is there, lowered to launches.

    Takes minutes: about 0.15 s a graph, 0.6 s a training step. Graphs that do not lower are said
    and left out. Where the table states the parameters of a model whose branches were folded, so
    are those of its graph.

    Args:
        folder: folder of the table.
        say: told what is left out.
        training: rows of training steps, and none of forward passes; or the other way round.

    Raises:
        DataError: no table or no graphs.
    """
    from perfc.frontend.collector import paused_collector

    graphs = model_folder(folder)
    wanted: dict[str, list[TimmLine]] = {}
    for row in measured(folder):
        if row.setting.training is training:
            wanted.setdefault(row.file, []).append(row)
    rows: list[StepRow] = []
    used = missing = 0
    for file, ones in sorted(wanted.items()):
        path = graphs / f"{file}.onnx.gz"
        if not path.is_file():
            missing += len(ones)
            continue
        with paused_collector():
            try:
                lowered = (lower_steps if training else lower)(path, ones)
            except PerfcError as error:
                say(f"left out: {error}")
                continue
        used += 1
        for row, columns in zip(ones, lowered, strict=True):
            rows.append(
                StepRow(row.architecture, columns, row.setting, row.target, row.batch, row.time_s)
            )
    say(f"{len(rows):,} rows of {used:,} graphs; {missing:,} rows have no graph")
    return rows


def models_of(folder: Path) -> list[tuple[str, int]]:
    """Models of the table with the sizes of their images, each pair once.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    frame = with_columns(folder / TABLE, ("model", "img_size"))
    pairs = zip(frame["model"].tolist(), frame["img_size"].tolist(), strict=True)
    return sorted({(str(model), int(size)) for model, size in pairs})


def measured(folder: Path) -> Iterator[TimmLine]:
    """Usable lines of the table: with a time, on a machine that has a target.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    names = (
        "device", "mode", "model", "img_size", "batch", "precision", "memory_format",
        "torch_compile", "torch_version", "step_time_ms",
    )  # fmt: skip
    frame = with_columns(folder / TABLE, names)
    frame = frame[frame["step_time_ms"].notna() & (frame["step_time_ms"] > 0)]
    columns = [frame[name].tolist() for name in names]
    stated = frame["params_m"].tolist() if "params_m" in frame.columns else [None] * len(frame)
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
    ) in zip(*columns, stated, strict=True):
        if device not in TARGETS or precision not in PRECISIONS:
            continue
        major, minor = str(version).split(".")[:2]
        setting = Setting(
            PRECISIONS[precision],
            layout == "nhwc",
            bool(compiled),
            (int(major), int(minor)),
            mode == "train",
        )
        yield TimmLine(
            f"timm__{model}__{size}", str(model), setting, TARGETS[device], int(batch),
            float(time_ms) / 1e3, count * 1e6 if count and count > 0 else None,
        )  # fmt: skip


Key = tuple[str, bool, int]


def lower(path: Path, rows: Sequence[TimmLine]) -> list[LinearColumns]:
    """Launches of a graph for each row, in the form and under the setting that it was run in.

    Raises:
        PerfcError: the graph cannot be read, or contradicts itself.
    """
    variants, am = read_variants(path)
    run = forms([parameters(variant) for variant in variants], [row.parameters for row in rows])
    envs = [{s.name: batch for s in variants[0].symbols} for batch in BATCHES]
    known: dict[Key, LinearColumns] = {}
    columns: list[LinearColumns] = []
    for row, form in zip(rows, run, strict=True):
        key = (row.setting.runtime, row.setting.precision.is_mixed, form)
        if key not in known:
            known[key] = linear(launches(variants[form], am, row.setting, envs)[1], BATCHES)
        columns.append(known[key])
    return columns


def lower_steps(path: Path, rows: Sequence[TimmLine]) -> list[LinearColumns]:
    """Launches of a graph's training step for each row, under the setting that it was run in.

    Raises:
        PerfcError: the graph cannot be read, contradicts itself, or has no gradient; or the model
            that was trained is another than the graph's.
    """
    module, am = read_trained(path)
    require_parameters(module, {row.parameters for row in rows if row.parameters is not None})
    envs = [{s.name: batch for s in module.symbols} for batch in BATCHES]
    known: dict[str, LinearColumns] = {}
    columns: list[LinearColumns] = []
    for row in rows:
        key = row.setting.launch_key
        if key not in known:
            known[key] = linear(step_launches(module, am, row.setting, envs)[1], BATCHES)
        columns.append(known[key])
    return columns
