"""Write and read checkpoints of a training: network, optimizer and progress in one folder.

The loops of `networks.train` and `gnn_llm.loop` resume interrupted trainings by them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from perfc.analyzers.graph.store import write_file

from .tensors import read_tensors, write_tensors

# files of a folder of checkpoints: tensors, and the rest as JSON
CHECKPOINT, STATE = "checkpoint.safetensors", "state.json"


def write_checkpoint(
    folder: Path,
    fingerprint: str,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: Mapping[str, Any],
    more: Mapping[str, Tensor],
) -> None:
    """Write the progress of a training; the state comes last, so that its tensors are complete.

    Args:
        folder: folder of the training.
        fingerprint: digest of the settings that a resumed training must have.
        network: current weights.
        optimizer: optimizer of the network.
        state: progress, in types of JSON.
        more: further tensors, by name.
    """
    # "now.", as `more` may have the best weights so far
    tensors = {f"now.{n}": t for n, t in network.state_dict().items()}
    write_tensors(folder / CHECKPOINT, {**tensors, **more, **optimizer_tensors(optimizer)})
    content = {"fingerprint": fingerprint, **state}
    write_file(folder / STATE, (json.dumps(content) + "\n").encode())


def read_state(folder: Path | None, fingerprint: str) -> dict[str, Any] | None:
    """Return the state of a training with that fingerprint; None if the folder has none."""
    if folder is None or not (folder / STATE).is_file():
        return None
    # a training with other settings begins from the start
    content: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
    return content if content.pop("fingerprint", "") == fingerprint else None


def read_checkpoint(
    folder: Path, network: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Restore network and optimizer and return all tensors of the checkpoint."""
    tensors = read_tensors(folder / CHECKPOINT)
    network.load_state_dict(under(tensors, "now."))
    restore_optimizer(optimizer, tensors)
    return tensors


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of an optimizer as tensors, named ``optimizer.PARAMETER.SLOT``."""
    return {
        f"optimizer.{i}.{name}": torch.as_tensor(slot)
        for i, slots in optimizer.state_dict()["state"].items()
        for name, slot in slots.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the state that `optimizer_tensors` returned."""
    slots: dict[int, dict[str, Tensor]] = {}
    for name, tensor in under(tensors, "optimizer.").items():
        number, _, slot = name.partition(".")
        slots.setdefault(int(number), {})[slot] = tensor
    # groups of parameters and learning rates are those of the new optimizer
    optimizer.load_state_dict({**optimizer.state_dict(), "state": slots})


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a prefix, by the rest of their names."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
