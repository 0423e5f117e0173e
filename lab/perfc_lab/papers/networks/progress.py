"""Progress of a training: its history, and the checkpoint that a later run resumes from.

The loop of `networks.train` records each epoch here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from perfc.analyzers.graph.store import write_file

from .checkpoint import read_checkpoint, read_state, under, write_checkpoint

LOG = "log.csv"
"""File of the history, in the folder of checkpoints."""
FIELDS = ("epoch", "seconds", "loss", "validation_mape", "learning_rate")
"""Columns of that file."""


@dataclass
class TrainingProgress:
    """Progress of a training, as its checkpoint stores it.

    Args:
        epoch: number of epochs that were run.
        seconds: processor time that they took.
        best: lowest validation error so far.
        best_epoch: epoch of that error.
        rate: factor on the learning rate, which is halved where validation does not improve.
        history: a line for each epoch, in the order of `FIELDS`.
    """

    epoch: int = 0
    seconds: float = 0.0
    best: float = float("inf")
    best_epoch: int = 0
    rate: float = 1.0
    history: tuple[tuple[float, ...], ...] = ()

    def record(
        self, seconds: float, loss: float, error: float, rate: float, halve_after: int
    ) -> bool:
        """Record the score of an epoch; return True if it is the best so far.

        ``halve_after`` epochs without a better one halve the factor of the rate; 0 for never.
        """
        self.epoch += 1
        self.seconds = seconds
        self.history = (*self.history, (float(self.epoch), seconds, loss, error, rate))
        is_best = error < self.best
        if is_best:
            self.best, self.best_epoch = error, self.epoch
        behind = self.epoch - self.best_epoch  # epochs without a better validation
        if halve_after and behind and behind % halve_after == 0:
            self.rate /= 2
        return is_best


def save(
    network: nn.Module,
    best: dict[str, Tensor],
    optimizer: torch.optim.Optimizer,
    state: TrainingProgress,
    folder: Path | None,
    print_: str,
) -> None:
    """Write a checkpoint with the best weights and the history; nothing without a folder.

    ``print_`` is the fingerprint of the training, which a resumed one must share.
    """
    if folder is None:
        return
    best_tensors = {f"best.{n}": t for n, t in best.items()}
    write_checkpoint(
        folder, print_, network, optimizer, asdict(replace(state, history=())), best_tensors
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(state.history)
    write_file(folder / LOG, text.getvalue().encode())


def resumed(
    network: nn.Module, optimizer: torch.optim.Optimizer, folder: Path | None, print_: str
) -> tuple[TrainingProgress, dict[str, Tensor]]:
    """Restore an interrupted training, and return its progress and its best weights.

    Without a checkpoint of this fingerprint, ``print_``, both are those of a start.
    """
    content = read_state(folder, print_)
    if folder is None or content is None:
        return TrainingProgress(), {}
    tensors = read_checkpoint(folder, network, optimizer)
    content["history"] = _history((folder / LOG).read_text(encoding="utf-8"))
    return TrainingProgress(**content), under(tensors, "best.")


def _history(text: str) -> tuple[tuple[float, ...], ...]:
    """Return the lines of a log, without the names of its columns."""
    lines: Sequence[Sequence[str]] = list(csv.reader(io.StringIO(text)))[1:]
    return tuple(tuple(map(float, line)) for line in lines)
