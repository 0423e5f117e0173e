"""Options that say what a training step is, of every command that takes a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _names
from ._names import Names
from ._options import joined

STEP: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "train": (("--train",), {
        "type": Names(_names.optimizers), "metavar": "NAME",
        "words": "Analyse a training step with this optimiser: {names}.",
    }),
    "loss": (("--loss",), {
        "type": Names(_names.losses), "metavar": "NAME",
        "words": "That the step ends in: {names}; by default what fits the first result.",
    }),
    "update": (("--update",), {
        "type": Names(_names.updates), "metavar": "NAME",
        "words": "How the optimiser is launched: {names}; {default}.",
    }),
    "freeze": (("--freeze",), {
        "metavar": "GLOB", "multiple": True, "callback": joined,
        "words": "Parameters that are not trained, by patterns of their names; repeatable.",
    }),
    "lora_rank": (("--lora-rank",), {
        "metavar": "R", "words": "Rank of factors beside frozen matrices, as they are trained.",
    }),
    "lora": (("--lora",), {
        "metavar": "GLOB", "multiple": True, "callback": joined,
        "words": "The matrices that get factors, by patterns of their names; by default all.",
    }),
    "accumulate": (("--accumulate",), {
        "metavar": "N", "words": "Small batches before an update; {default}.",
    }),
    "master_weights": (("--master-weights/--no-master-weights",), {
        "words": "Whether the optimiser keeps f32 copies of narrow parameters; by default not.",
    }),
    "checkpointing": (("--checkpointing",), {
        "type": Names(_names.checkpointing), "metavar": "NAME",
        "words": "What of the forward pass is computed again: {names}; {default}.",
    }),
    "keep": (("--keep",), {
        "metavar": "SHARE",
        "words": "Of the kept bytes that may stay under optimal checkpointing; {default}.",
    }),
    "dropout": (("--dropout",), {
        "metavar": "SHARE",
        "words": "Of the elements that a transformer drops, whose file has lost it; {default}.",
    }),
}  # fmt: skip
"""Fields of a deployment: flags, and what `click.option` takes."""
