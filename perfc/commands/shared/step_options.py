"""Training options of every command that takes a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import names as _names
from .names import Names
from .options import joined

STEP: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "train": (("--train",), {
        "type": Names(_names.optimizers), "metavar": "NAME",
        "words": "Analyze a training step with this optimizer: {names}.",
    }),
    "loss": (("--loss",), {
        "type": Names(_names.losses), "metavar": "NAME",
        "words": "Loss function: {names} (default: chosen by the first output).",
    }),
    "update": (("--update",), {
        "type": Names(_names.updates), "metavar": "NAME",
        "words": "Optimizer implementation: {names} ({default}).",
    }),
    "freeze": (("--freeze",), {
        "metavar": "GLOB", "multiple": True, "callback": joined,
        "words": "Parameters to freeze, as name patterns; repeatable.",
    }),
    "lora_rank": (("--lora-rank",), {
        "metavar": "R", "words": "LoRA rank.",
    }),
    "lora": (("--lora",), {
        "metavar": "GLOB", "multiple": True, "callback": joined,
        "words": "Matrices to adapt with LoRA, as name patterns; repeatable (default: all).",
    }),
    "accumulate": (("--accumulate",), {
        "metavar": "N", "words": "Gradient accumulation: micro-batches per optimizer update "
                                 "({default}).",
    }),
    "master_weights": (("--master-weights/--no-master-weights",), {
        "words": "Keep float32 master copies of half-precision parameters (default: configurations "
                 "yes, graphs no).",
    }),
    "checkpointing": (("--checkpointing",), {
        "type": Names(_names.checkpointing), "metavar": "NAME",
        "words": "Activation checkpointing: {names} ({default}).",
    }),
    "keep": (("--keep",), {
        "metavar": "SHARE",
        "words": "Fraction of activation memory to retain under optimal checkpointing "
                 "({default}).",
    }),
    "dropout": (("--dropout",), {
        "metavar": "SHARE",
        "words": "Dropout probability of a transformer whose ONNX file omits dropout ({default}).",
    }),
}  # fmt: skip
"""Flags and `click.option` arguments of each training field."""
