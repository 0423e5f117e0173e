"""Training steps that NVIDIA published of its PyTorch examples, each as its script ran it.

The table has graph, card, precision and throughput. Batch, layout of feature maps and optimizer are
those of the scripts that measured it: github.com/NVIDIA/DeepLearningExamples, under PyTorch,
``Classification/ConvNets/configs.yml`` (commit 0fadac23), ``Segmentation/nnUNet/scripts/
benchmark.py`` (4da7bf28) and ``LanguageModeling/BERT``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.deployment import Deployment
from perfc.ir.record import frozen
from perfc.passes.runtimes import TRAINING_DEFAULT, Layout, Steps, of_steps

from . import with_columns
from .whole_models import PRECISIONS, TABLE, machine

if TYPE_CHECKING:
    import pandas as pd

# columns of the table that are read
COLUMNS = (
    "mode",
    "n_gpus",
    "runtime",
    "canonical_model",
    "graph",
    "graph_size_match",
    "device",
    "gpu",
    "precision",
    "seq_len",
    "batch",
    "throughput_per_s",
)
# precision of runs under autocast
AMP = "amp_fp16"
BATCHES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "resnet50": {"A100": (256, 256), "16GB": (256, 112), "32GB": (256, 112)},
    "resnext101_32x4d": {"A100": (128, 128), "16GB": (128, 64), "32GB": (128, 64)},
    "seresnext101_32x4d": {"A100": (128, 128), "16GB": (112, 64), "32GB": (112, 64)},
    "efficientnet_widese_b0": {"A100": (256, 256), "16GB": (128, 64), "32GB": (256, 128)},
    "efficientnet_b4": {"A100": (128, 64), "16GB": (32, 16), "32GB": (64, 32)},
}
"""Images of a step, under autocast and without, by network and card: A100, or V100 by its
memory."""
GRAPHS = {"efficientnet_b4": "timm__tf_efficientnet_b4__380.onnx.gz"}
"""Graph of the measured image size, for networks where the table names a graph of another size."""
CHANNELS_LAST = frozenset({*BATCHES, "nnunet-3d"})
"""Networks that run with channels last under autocast: their scripts have ``memory_format: nhwc``
or ``--layout NDHWC``."""
ADAM = frozenset({"nnunet-2d", "nnunet-3d", "efficientnet_widese_b0", "efficientnet_b4"})
"""Networks trained with Adam, or with RMSprop and momentum, which has as many states per
parameter."""
FINE_TUNED, BINNED = 384, 512
"""Lengths of BERT's sequences. 384 is fine-tuning on SQuAD, with an update by Adam after every
batch. 512 is phase 2 of pre-training, where a batch is only as long as its longest sequence
(``--bin-size``), and hundreds of batches share an update."""
PYTORCH = (1, 13)
"""Version of PyTorch in NGC 22.11, the newest container of the scripts; attention is unfused before
2.0."""
MOST_SCALING = 1.1
"""Maximum throughput of eight cards over eight times that of one card, with 10 % for rounding and
noise; above it one of the two rows is wrong."""
CARDS = 8
"""GPUs of the rows that are compared with those of one GPU."""


class SkipReason(Enum):
    """Why a row is no measured step."""

    BINNED = "its sequences are shorter than published"
    CONTRADICTED = "eight cards are published more than eight times as fast"


@frozen
class PublishedStep:
    """A published step of training.

    Args:
        architecture: name of the network; steps of one architecture are held out together.
        graph: name of the graph's file.
        deployment: machine, runtime, precision, optimizer and extents of the step.
        time_s: time of one batch, data loading included.
        left_out: why the step is neither learned from nor scored; None if it is.
    """

    architecture: str
    graph: str
    deployment: Deployment
    time_s: float
    left_out: SkipReason | None = None


def published_steps(folder: Path) -> Iterator[PublishedStep]:
    """Yield the steps on one card under eager PyTorch whose graph the table names.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    frame = with_columns(folder / TABLE, COLUMNS)
    frame = frame[(frame["mode"] == "training") & (frame["runtime"] == TRAINING_DEFAULT)]
    has_graph = frame["graph"].astype(str).str.endswith(".onnx.gz")
    has_size = (frame["graph_size_match"] != "other size") | frame["canonical_model"].isin(GRAPHS)
    several = frame[frame["n_gpus"] == CARDS]
    for row in frame[(frame["n_gpus"] == 1) & has_graph & has_size].to_dict("records"):
        step = step_of({str(name): value for name, value in row.items()}, several)
        if step is not None:
            yield step


def step_of(row: Mapping[str, object], several: pd.DataFrame) -> PublishedStep | None:
    """Return the step of a row, as its script ran it; None if its batch is not known.

    Args:
        row: row of the table, by column.
        several: rows of eight cards.
    """
    name, gpu, device = str(row["canonical_model"]), str(row["gpu"]), str(row["device"])
    is_amp = row["precision"] == AMP
    batch = row["batch"]
    # without a batch in the table it is that of the script, which depends on the card's memory
    if not isinstance(batch, int):
        size = "A100" if gpu == "A100" else next((s for s in ("16GB", "32GB") if s in device), "")
        batches = BATCHES.get(name, {}).get(size)
        if batches is None:
            return None
        batch = batches[0 if is_amp else 1]
    dtype, tf32 = PRECISIONS[str(row["precision"])]
    seq = row["seq_len"]
    dims = {"batch": batch, **({"seq": seq} if isinstance(seq, int) else {})}
    is_last = is_amp and name in CHANNELS_LAST
    optimizer = "adam" if name in ADAM or seq == FINE_TUNED else "momentum"
    # models of sequences have attention, which the table of this version does not fuse
    runtime = of_steps(Steps.EAGER, PYTORCH).name if isinstance(seq, int) else TRAINING_DEFAULT
    how = Deployment().with_values(
        {
            "target": machine(device, gpu),
            "runtime": runtime,
            "tf32": tf32,
            "dtype": dtype if is_amp else "",
            "train": optimizer,
            "layout": Layout.CHANNELS_LAST if is_last else Layout.CHANNELS_FIRST,
            "dims": dims,
        }
    )
    rate = float(str(row["throughput_per_s"]))
    left_out = SkipReason.BINNED if seq == BINNED else None
    if is_contradicted(row, rate, several):
        left_out = SkipReason.CONTRADICTED
    graph = GRAPHS.get(name, str(row["graph"]))
    return PublishedStep(name, graph, how, batch / rate, left_out)


def is_contradicted(row: Mapping[str, object], rate: float, several: pd.DataFrame) -> bool:
    """Return True if eight such cards are published as more than eight times as fast."""
    equal = several
    for column in ("canonical_model", "device", "precision"):
        equal = equal[equal[column] == row[column]]
    # rows without a number of tokens or a batch are compared without that
    for column in ("seq_len", "batch"):
        if isinstance(row[column], int):
            equal = equal[equal[column] == row[column]]
    fastest = equal["throughput_per_s"].max() if len(equal) else 0.0
    return bool(fastest > MOST_SCALING * CARDS * rate)
