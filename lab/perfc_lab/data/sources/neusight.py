"""Operators and whole language models in eager PyTorch, measured for NeuSight.

Files are those of ``scripts/asplos`` in the repository.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.common.fitted import data_next_to

from ..source import (
    FetchError,
    PublicSource,
    entry,
    files_in,
    measured,
    number,
    pandas,
    read_json,
    read_table,
)

if TYPE_CHECKING:
    import pandas as pd

# folders of operators, and of whole models
DATA = "scripts/asplos/data"
LABELS = "scripts/asplos/label"
# operators by their extents: those of rows and columns, and those of products
BINARY = ("add", "mul", "pow", "div")
ROWWISE = (*BINARY, "addu", "mulu", "powu", "divu", "relu", "gelu", "tanh", "softmax", "ln")
MATRICES = ("bmm", "linear")
# columns of perfc's tables by their published names
ROW = {"OPName": "op", "Latency": "latency_us", "Device": "device", "Kernel Name": "kernel_name"}
_DATA = data_next_to(__file__)
EXTENTS: dict[str, str] = _DATA["extents"]
"""Extents by their published names; NeuSight calls the reduced extent N and the output width K."""
# columns that the profiler adds, which not every file has
LAUNCH: dict[str, str] = _DATA["launch"]
# name of the file of a whole model; a variant is a way to run it
LABEL = re.compile(
    r"(?P<model>\w+)-(?P<mode>inf|train)-(?P<seq_len>\d+)-(?P<batch>\d+)(?:-(?P<variant>\w+))?"
)
# columns of the nodes of a traced layer
NODE = {
    "Name": "node_name",
    "op": "fx_op",
    "target": "target",
    "input_shapes": "input_shapes",
    "output_shape": "output_shape",
    "fw_latency": "forward_latency_us",
    "bw_latency": "backward_latency_us",
    "acc_latency": "grad_accumulate_latency_us",
}
US_PER_MS = 1000
"""Microseconds per millisecond: NeuSight's tables have milliseconds, perfc's microseconds."""
NAME_LENGTH = 160
"""Characters of a kernel's name that are stored: names of CUTLASS' templates have thousands."""
F32_BYTES = 4
"""Bytes of an element: all operators were measured in f32."""


class NeuSight(PublicSource):
    """Eager calls of operators, and whole language models, all in FP32 with TF32 off.

    A time of an operator is the mean of the 5 fastest of 25 calls, launch included. Files that join
    others, and predictions of NeuSight, are left out.
    """

    name: ClassVar[str] = "neusight"
    title: ClassVar[str] = "operators and language models in eager PyTorch, FP32"
    url: ClassVar[str] = "https://github.com/sitar-lab/NeuSight"
    commit: ClassVar[str] = "6945927d9afc"
    licence: ClassVar[str] = "MIT"
    folders: ClassVar[tuple[str, ...]] = (DATA, LABELS)
    tables: ClassVar[tuple[str, ...]] = (
        "neusight_ops",
        "neusight_e2e",
        "neusight_e2e_nodes",
        "neusight_devices",
    )

    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return four tables: operators, whole models, their nodes, and NeuSight's data sheets."""
        sheets = devices(clone)
        names = dict(zip(sheets["config"], sheets["device"], strict=True))
        return {
            "neusight_ops": operators(clone),
            "neusight_e2e": models(clone, names),
            "neusight_e2e_nodes": nodes(clone, names),
            "neusight_devices": sheets,
        }


def operators(clone: Path) -> pd.DataFrame:
    """Return the measured operators of both of NeuSight's splits."""
    parts = []
    for path in files_in(
        clone, f"{DATA}/dataset*/*/collect/*/p*/*.csv", f"{DATA}/dataset/test/*.csv"
    ):
        # the split is a folder among the last six parts of the path, from ``dataset*`` on; files in
        # no such folder are left out
        split = next((p for p in path.parts[-6:] if p in ("train", "test")), "")
        frame = measured(read_table(path, ROW, {**EXTENTS, **LAUNCH}), path, "latency_us")
        frame["latency_us"] *= US_PER_MS
        frame = frame[frame["op"].isin((*ROWWISE, *MATRICES, "conv"))]
        if split and len(frame):
            parts.append(described(frame.assign(split=split, dtype="fp32"), path))
    if not parts:
        raise FetchError("no rows of operators", where=str(clone), hint="another commit?")
    joined = pandas().concat(parts, ignore_index=True)
    # the test split has joined files as well as the files that they join: rows are there twice
    keys = ["op", "device", "split", "latency_us", "batch", "m", "n", "k", "rows", "cols"]
    return joined.drop_duplicates([*keys, "in_channels", "out_channels", "in_hw"])


def described(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the rows with shapes under perfc's names, and the work and traffic of each."""
    is_rowwise = frame["op"].isin(ROWWISE)
    # extents that the operators of this file need, which `measured` checks
    required = {"batch"}
    required |= {"cols"} if bool(is_rowwise.any()) else set()
    required |= {"m", "n", "k"} if bool(frame["op"].isin(MATRICES).any()) else set()
    if frame["op"].eq("conv").any():
        required |= {"in_channels", "out_channels", "kernel_size", "in_hw"}
    frame = measured(frame, path, *sorted(required))
    # again, as `measured` leaves rows out
    is_rowwise = frame["op"].isin(ROWWISE)
    # the column "batch" is the number of rows of operators that work by rows
    frame = frame.assign(
        rows=frame["batch"].where(is_rowwise),
        batch=frame["batch"].where(~is_rowwise),
        kernel_name=frame["kernel_name"].astype("string").str.slice(0, NAME_LENGTH),
        # names are separated by ";", in some files after the last one too
        n_kernels=frame["kernels"].astype("string").str.strip(";").str.count(";") + 1,
        torch_version=frame["torch_version"].astype("string").str.removeprefix("p"),
        cudnn_version=frame["cudnn_version"].astype("string"),
    )
    return with_work(frame).drop(columns="kernels")


def with_work(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with ``flops`` and with ``min_bytes``, each operand and the result once.

    The bias of a linear layer counts, weights of a normalisation do not. Convolutions of the source
    are 3 by 3 with stride 1 and padding 1, so that the result has the extents of the image.
    """
    op, batch = frame["op"], frame["batch"]
    m, n, k = frame["m"], frame["n"], frame["k"]
    pixels = frame["in_hw"] ** 2
    weights = frame["in_channels"] * frame["out_channels"] * frame["kernel_size"] ** 2
    images = batch * pixels * (frame["in_channels"] + frame["out_channels"])
    matrices = batch * (m * k + k * n + m * n)
    elements = frame["rows"] * frame["cols"]
    is_matrix = op.isin(MATRICES)
    # tensors of equal size: two operands and a result, or one operand and a result; the other
    # operand of ``addu`` and the like is a constant
    values = (elements * (op.isin(BINARY) + 2)).where(op.isin(ROWWISE))
    values = values.fillna((matrices + n * op.eq("linear")).where(is_matrix))
    values = values.fillna((images + weights).where(op.eq("conv")))
    work = (2 * batch * m * n * k).where(is_matrix)
    work = work.fillna((2 * batch * pixels * weights).where(op.eq("conv")))
    return frame.assign(flops=work, min_bytes=values * F32_BYTES)


def labels(clone: Path, suffix: str) -> list[tuple[Path, dict[str, str]]]:
    """Return the files of measured models, each with the parts of its name by `LABEL`."""
    result = []
    for path in files_in(clone, f"{LABELS}/*/*{suffix}"):
        name = LABEL.fullmatch(path.stem)
        if name is None:
            raise FetchError("a name that says no model and batch", where=str(path))
        result.append((path, {k: v or "" for k, v in name.groupdict().items()}))
    return result


def models(clone: Path, names: Mapping[str, str]) -> pd.DataFrame:
    """Return whole models with total times; runs on one GPU have forward and backward times too."""
    rows = []
    for path, name in labels(clone, ".json"):
        label = read_json(path)
        variant = {"": "eager", "fusion": "torch_compile"}.get(name["variant"], name["variant"])
        config = clone / DATA / "DLmodel_configs" / f"{name['model']}.json"
        # raises an error if the file is no configuration of a model
        entry(read_json(config), config, "architectures")
        rows.append(
            {
                "device": device_of(path, names),
                "model": name["model"],
                "mode": name["mode"],
                "seq_len": int(name["seq_len"]),
                "batch": int(name["batch"]),
                "variant": variant,
                "dtype": "fp32",
                "num_layers": positive(label, path, "num_layer"),
                "e2e_latency_ms": number(label, path, "e2e_latency"),
                "forward_latency_ms": positive(label, path, "fw_latency"),
                "backward_latency_ms": positive(label, path, "bwall_latency"),
                "hf_config_json": " ".join(config.read_text(encoding="utf-8").split()),
            }
        )
    return pandas().DataFrame(rows)


def positive(label: object, path: Path, key: str) -> float:
    """Return a number of a label; NaN for 0, which stands for a number that was not measured."""
    return number(label, path, key) or float("nan")


def nodes(clone: Path, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the nodes that took time, of models of which one layer was traced."""
    parts = []
    for path, name in labels(clone, ".csv"):
        label = path.with_suffix(".json")
        # models without a number of layers were traced whole
        if (
            name["variant"]
            or not label.is_file()
            or not number(read_json(label), label, "num_layer")
        ):
            continue
        frame = read_table(path, NODE, {"type": "module_type", "dtype": "out_dtype"})
        frame = frame.assign(node_index=frame.index)
        times = [column for column in NODE.values() if column.endswith("_us")]
        frame = measured(frame, path, *times)
        frame[times] *= US_PER_MS
        parts.append(
            frame[frame[times].sum(axis=1) > 0].assign(
                device=device_of(path, names),
                model=name["model"],
                mode=name["mode"],
                seq_len=int(name["seq_len"]),
                batch=int(name["batch"]),
                module_type=frame["module_type"].astype("string").fillna(""),
                out_dtype=frame["out_dtype"].astype("string").fillna("").str.removeprefix("torch."),
            )
        )
    if not parts:
        raise FetchError("no nodes of models", where=str(clone), hint="another commit?")
    return pandas().concat(parts, ignore_index=True)


def device_of(path: Path, names: Mapping[str, str]) -> str:
    """Return the name of the GPU that a folder of labels stands for."""
    return names.get(path.parent.name, path.parent.name.replace("_", " "))


def devices(clone: Path) -> pd.DataFrame:
    """Return vendors' data sheets as NeuSight used them; a ``_TP`` sheet is of two boards."""
    rows = []
    for path in files_in(clone, f"{DATA}/device_configs/*.json"):
        sheet = read_json(path)
        # sheets of AMD boards give the rate of matrix units separately
        is_split = isinstance(sheet, dict) and "SingleFLOPsVEC" in sheet
        rows.append(
            {
                "config": path.stem,
                "device": str(entry(sheet, path, "Device")),
                "memory_gb": number(sheet, path, "Dev_Mem"),
                "mem_bw_gbps": number(sheet, path, "Mem_Bw"),
                "num_sm": number(sheet, path, "Num_Sm"),
                "cores_per_sm": number(sheet, path, "Core_Per_SM"),
                "clock_mhz": number(sheet, path, "Freq"),
                "peak_fp32_gflops": number(
                    sheet, path, "SingleFLOPsVEC" if is_split else "SingleFLOPs"
                ),
                "peak_fp32_matrix_gflops": number(sheet, path, "SingleFLOPsMM")
                if is_split
                else float("nan"),
                "l2_mb": number(sheet, path, "L2Cache"),
            }
        )
    return pandas().DataFrame(rows)
