"""Training steps as trainers of programs configure them: those of transformers and of Lightning."""

from __future__ import annotations

from typing import Any

from . import is_torch_module

OPTIMIZERS = ("adafactor", "muon", "adamw", "adam", "sgd")
"""Optimizers by a part of the names that trainers use. A longer name comes before a shorter one
that it contains, as ``adamw`` before ``adam``."""
PRECISIONS = {"bf16-mixed": "amp-bf16", "16-mixed": "amp-f16", "bf16-true": "bf16"}
"""Types of a deployment by precision of Lightning; any other precision is the default type."""


def trained(candidate: Any) -> tuple[Any, dict[str, Any]]:
    """Return the module of a trainer with the fields of a deployment that it configures.

    Trainers of transformers, modules of Lightning, and pairs of its trainer and a module are
    recognized by their attributes; anything else is returned with no fields.
    """
    parts = candidate if isinstance(candidate, tuple | list) else (candidate,)
    candidates = (*parts, *(getattr(part, "model", None) for part in parts))
    module = next((part for part in candidates if is_torch_module(part)), candidate)
    # a trainer of transformers
    if hasattr(getattr(candidate, "args", None), "optim"):
        return module, of_arguments(candidate.args, getattr(candidate, "optimizer", None))
    # without this method, it is no module of Lightning either
    if not hasattr(module, "configure_optimizers"):
        return module, {}
    try:
        fields = of_optimizer(first(module.configure_optimizers()))
    except Exception:
        # the method may need its trainer, and most analyses need no optimizer
        return module, {}
    for part in parts:
        if hasattr(part, "accumulate_grad_batches"):
            fields["accumulate"] = part.accumulate_grad_batches
            fields["dtype"] = PRECISIONS.get(str(part.precision), "")
    return module, fields


def of_arguments(args: Any, optimizer: Any) -> dict[str, Any]:
    """Return the fields that transformers' ``TrainingArguments`` configure."""
    optim = str(getattr(args.optim, "value", args.optim))
    fields: dict[str, Any] = {
        "train": named(optim),
        "update": "fused" if "fused" in optim else "",
        "accumulate": args.gradient_accumulation_steps,
        "dtype": "amp-bf16" if args.bf16 else "amp-f16" if args.fp16 else "",
        "tf32": args.tf32,
        "checkpointing": "block" if args.gradient_checkpointing else "",
        "runtime": "inductor" if args.torch_compile else "",
        "batch": args.per_device_train_batch_size,
    }
    return fields if optimizer is None else {**fields, **of_optimizer(optimizer)}


def of_optimizer(optimizer: Any) -> dict[str, Any]:
    """Return the fields of an optimizer of PyTorch."""
    defaults = optimizer.defaults
    name = named(type(optimizer).__name__)
    update = (
        "fused" if defaults.get("fused") else "single" if defaults.get("foreach") is False else ""
    )
    is_momentum = name == "sgd" and defaults.get("momentum")
    return {"train": "momentum" if is_momentum else name, "update": update}


def named(text: str) -> str:
    """Return perfc's name of an optimizer by another's.

    >>> named("adamw_bnb_8bit"), named("AdamW"), named("adamw_torch_fused")
    ('adam8bit', 'adamw', 'adamw')
    """
    plain = text.lower()
    return "adam8bit" if "8bit" in plain else next((n for n in OPTIMIZERS if n in plain), plain)


def first(configured: Any) -> Any:
    """Return the first optimizer that ``configure_optimizers`` returns."""
    while not hasattr(configured, "param_groups"):
        is_named = isinstance(configured, dict)
        configured = configured["optimizer"] if is_named else configured[0]
    return configured
