"""Training fields of a deployment: their parsers, and defaults of the step of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from perfc.common.choice import text_of
from perfc.deployment.option import options_of
from perfc.errors import ParseError, suggestion
from perfc.machine import load_machine
from perfc.passes.runtimes import TRAINER, TRAINING_DEFAULT, runtime
from perfc.passes.training.implementation import RecomputePolicy

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.frontend.config import ServingPrecision
    from perfc.ir import ModelOrigin

SCALED = ("f16", "amp-f16")
"""Precisions that require loss scaling."""
PROGRAM = "trainer"
"""Value of ``train`` that takes the optimizer and all settings of a trainer given as the model."""
MOST_BATCHES = 64
"""Maximum micro-batches of one step; each adds its own nodes."""
MOST_RANK = 1 << 14
"""Maximum rank of a LoRA adapter; above the width of a layer it saves nothing."""
MOST_DROPPED = 0.99
"""Maximum dropout probability; what is not dropped is multiplied by 1 / (1 - p)."""


def optimizers() -> Sequence[str]:
    """Return the optimizers."""
    from perfc.passes.training.optimizer import names

    return names()


def losses() -> Sequence[str]:
    """Return the loss functions."""
    from perfc.passes.training.loss import names

    return names()


def name_of(value: object, where: str, field: str, names: Callable[[], Sequence[str]]) -> str:
    """Parse a name; "" means not given, and `PROGRAM` is an optimizer."""
    name = text_of(value, where).strip().lower()
    if name and name not in (known := (*names(), *((PROGRAM,) if field == "optimizer" else ()))):
        raise ParseError(f"no {field} {name[:32]!r}", where=where, hint=suggestion(name, known))
    return name


def flag(value: object, where: str) -> bool:
    """Parse a switch, which must be a boolean: in text "false" would be true."""
    if not isinstance(value, bool):
        raise ParseError(f"{value!r} is neither true nor false", where=where)
    return value


def share(value: object, where: str, most: float = 1.0) -> float:
    """Parse a number from 0 to ``most``."""
    try:
        fraction = float(str(value))
    except ValueError:
        fraction = -1.0  # fails the check below
    # negated, so that NaN fails it too
    if isinstance(value, bool) or not 0 <= fraction <= most:
        hint = f"0 to {most:g}"
        raise ParseError(f"no share: {str(value)[:32]!r}", where=where, hint=hint)
    return fraction


def number(value: object, where: str, least: int, most: int) -> int:
    """Parse an integer within a range, given as a number or as text."""
    # `isascii`, since `isdigit` accepts digits of other scripts; at most nine digits are converted
    text = str(value)
    is_number = not isinstance(value, bool) and text.isascii() and text.isdigit()
    if not is_number or not least <= int(text[:9]) <= most or len(text) > 9:
        raise ParseError(f"no such number: {text[:32]!r}", where=where, hint=f"{least} to {most}")
    return int(text)


def patterns(value: object, where: str) -> tuple[str, ...]:
    """Parse name patterns, as comma-separated text or a sequence."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence):
        raise ParseError(f"{value!r} is no list of patterns", where=where, hint="as in encoder.*")
    return tuple(p for part in parts if (p := text_of(part, where).strip()))


def check_together(how: Deployment, where: Callable[[str], str]) -> None:
    """Reject training fields without training, and fields that require another field.

    Args:
        how: deployment to check.
        where: function from a field to its place in the input, for messages.

    Raises:
        ParseError: a field has no effect.
    """
    # a field counts as given if it differs from the default
    kind: Any = type(how)
    usual = kind()
    of_steps = (n for n, o in options_of(kind).items() if o.is_of_step and n != "train")
    given = [n for n in of_steps if getattr(how, n) != getattr(usual, n)]
    if given and not how.train:
        message = "only a training step has it"
        raise ParseError(message, where=where(given[0]), hint="select an optimizer: --train adamw")
    if how.lora and not how.lora_rank:
        raise ParseError("requires a LoRA rank", where=where("lora"), hint="--lora-rank 16")
    if how.keep != usual.keep and how.checkpointing is not RecomputePolicy.OPTIMAL:
        hint = f"--checkpointing {RecomputePolicy.OPTIMAL.value}"
        raise ParseError("only optimal checkpointing reads it", where=where("keep"), hint=hint)


def of_configuration(how: Deployment) -> Deployment:
    """Return the training step of a configuration, with the same defaults as `perfc plan`.

    On GPUs these are kernels of trainers, products in the machine's 16-bit type and f32 master
    weights; under another runtime or autocast, those of PyTorch's modules.
    """
    from perfc.frontend.formats import configurations

    machine, table = load_machine(how.target), runtime(how.runtime or TRAINER)
    is_trainer = table.is_trainer and table.runs_on(machine.kind, machine.vendor)
    if not is_trainer or how.dtype.startswith("amp-"):
        return replace(how, runtime=how.stated_runtime)
    # fields that the user gives stay; other fields get the defaults, and `usual` lists their names
    dtype, keeps = configurations().usual_training(machine.takes, how.dtype)
    keeps = keeps if how.master_weights is None else how.master_weights
    step = replace(how, runtime=table.name, dtype=dtype, master_weights=keeps)
    fields = ("runtime", "dtype", "master_weights")
    chosen = [n for n in fields if getattr(how, n) != getattr(step, n)]
    return replace(step, usual=how.usual.union(chosen))


def as_configured(how: Deployment, origin: ModelOrigin) -> Deployment:
    """Return the training step that a trainer configures, with its fields unless they are given.

    Raises:
        ParseError: the model is no trainer.
    """
    if how.train != PROGRAM:
        return how
    fields = dict(origin.trainer)
    if not fields:
        hint = "the name of a Trainer, or a function that returns (trainer, module) of Lightning"
        raise ParseError("the model is no trainer", where="--train", hint=hint)
    # a field of the trainer counts unless the command line has another value than the default
    usual = replace(type(how)(), train=PROGRAM, runtime=TRAINING_DEFAULT)
    return how.with_values(
        {k: v for k, v in fields.items() if getattr(how, k) == getattr(usual, k)}
    )


def changed(how: Deployment, fields: Mapping[str, Any]) -> Deployment:
    """Return a deployment with other fields; a step on another target has the defaults there."""
    usual = how.usual.difference(fields)
    if not usual or not how.train or "target" not in fields:
        return replace(how, **fields, usual=usual)
    # defaults of the old target are reset, so that defaults of the new target are chosen
    plain = {name: getattr(type(how)(), name) for name in usual}
    return of_configuration(replace(how, **plain, **fields, usual=frozenset()))


def training_types(how: Deployment) -> str:
    """Return the element types of the step of a configuration in words; "" for other runs."""
    if not how.train or not how.table.is_trainer or not how.usual:
        return ""
    masters = " with f32 master weights" if how.master_weights else ""
    return f"{how.dtype} products{masters} (--dtype, --master-weights)"


def trained_in(how: Deployment) -> ServingPrecision | None:
    """Return the element types of a step that runs as trainers' kernels; None for other runs."""
    if not how.train or not how.table.is_trainer:
        return None
    from perfc.frontend.formats import configurations

    return configurations().trained_in(how.dtype, load_machine(how.target).takes)
