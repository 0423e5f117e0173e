"""Shared options of commands on multi-GPU training steps.

`step_options` adds them to `perfc plan`, `step_of` returns their values.
"""

from __future__ import annotations

from typing import Any

import click

from perfc.errors import ParseError
from perfc.ir import record
from perfc.machine import Reserve
from perfc.passes.runtimes import CLUSTER_DEFAULT, TRAINER

from ..shared.deployment import DeploymentOptions, model_options
from ..shared.deployment_option import by_default, reads
from ..shared.options import names_in
from ..shared.output import result_options
from ..shared.report import color_option
from ._parallel import degree_options

TARGET, TRAIN = "dgx-h100", "adamw"
"""Default cluster and optimizer."""
USUAL = {
    "target": TARGET,
    "runtime": f"{TRAINER} for configurations, inductor-cudagraph for graphs of transformers, else "
    f"{CLUSTER_DEFAULT}",
    "dtype": "bf16 with f32 master weights, amp-bf16 for images; f16 on machines without bf16",
}
"""Words of the help for defaults that depend on the model or the machine, by field."""


@record
class StepSettings:
    """Settings of a training step, from the command line and the project file; "" for a default."""

    target: str
    runtime: str
    dtype: str
    train: str
    checkpointing: str
    seq: int
    """0 if not given."""
    lora_rank: int
    """0 if all parameters are trained."""
    reserve: Reserve


def step_options(function: Any) -> Any:
    """Add the options of multi-GPU training steps.

    The first arguments of ``function`` are the deployment options and the degrees of parallelism.
    """
    # each call adds options: `reads` and `by_default` apply to those that were added before
    function = result_options(color_option(function))
    function = model_options(degree_options(function))
    read = (
        "target",
        "runtime",
        "dtype",
        "train",
        "checkpointing",
        "seq",
        "lora_rank",
        "reserve",
    )
    instead = {"batch": "--global-batch"}
    function = reads("a step on many devices", *read, instead=instead)(function)
    function = by_default(lambda: USUAL)(function)
    function = click.option(
        "--trained-by",
        default="any",
        show_default=True,
        metavar="NAME",
        help="Training framework whose published measurements calibrate the time: llm-foundry, "
        "megatron, torchtitan …",
    )(function)
    return click.option(
        "--micro-batch",
        default=0,
        type=click.IntRange(0),
        metavar="N",
        help="Micro-batch size per replica.",
    )(function)


def step_of(options: DeploymentOptions) -> StepSettings:
    """Return the training step settings of the deployment options.

    Raises:
        ParseError: an invalid value.
    """
    target = option_value(options, "target", TARGET)
    if len(names_in(target)) != 1:
        raise ParseError("one target at a time", where=options.place("target"))
    typed = options.fields["seq"]
    seq = typed or ""
    # of a longer number only nine digits are converted, which are above any limit as well
    if typed is not None and not (seq.isascii() and seq.isdigit() and int(seq[:9]) > 0):
        raise ParseError(f"{seq[:32]!r} is no number of tokens", where="--seq")
    return StepSettings(
        target,
        runtime=option_value(options, "runtime", ""),
        dtype=option_value(options, "dtype", ""),
        train=option_value(options, "train", TRAIN),
        checkpointing=option_value(options, "checkpointing", ""),
        seq=int(seq[:9] or 0),
        lora_rank=rank_of(options),
        reserve=options.held_back,
    )


def option_value(options: DeploymentOptions, field: str, default: str) -> str:
    """Return a field from the command line, the project file or ``default``."""
    value = options.value_of(field)
    return value if isinstance(value, str) and value else default


def rank_of(options: DeploymentOptions, *, is_typed: bool = False) -> int:
    """Return the LoRA rank of the command line, else of the project file; 0 for none.

    With ``is_typed`` the rank of the file does not count, which is for training.

    Raises:
        ParseError: an invalid rank.
    """
    from perfc.deployment import OPTIONS

    value = options.fields["lora_rank"] if is_typed else options.value_of("lora_rank")
    if value is None:
        return 0
    return int(OPTIONS["lora_rank"].parse(value, options.place("lora_rank")))
