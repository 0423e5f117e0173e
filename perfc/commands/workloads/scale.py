"""``perfc scale``: scaling of a training step from 1 to 1,024 GPUs, and its bottleneck."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.errors import ParseError

from ..shared.deployment import DeploymentOptions
from ..shared.examples import examples
from ..shared.step import show, step_of, step_options

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT = ("scale", "perfc.distributed.scale:ScaleView")
"""JSON document of the command, and the type that defines its schema."""
FINDINGS = 1


@click.command(
    "scale",
    epilog=examples(
        "scale llama-3.1-8b -t dgx-h100 --zero 3 --seq 8192",
        "scale llama-2-70b -t dgx-a100 --tp 8 --pp 4 --gpus 32,256,1024",
    ),
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--gpus",
    default="",
    metavar="N,...",
    help="Numbers of GPUs, comma-separated (default: powers of two up to 1024).",
)
@click.option(
    "--global-batch", default=0, type=click.IntRange(0), metavar="N",
    help="Global batch size on the fewest GPUs (default: one micro-batch per replica).",
)  # fmt: skip
@click.option(
    "--strong",
    is_flag=True,
    help="Strong scaling: the same global batch size on every number of GPUs.",
)
@step_options
def command(
    options: DeploymentOptions, parallel: Mapping[str, int | str], /, model: str, gpus: str,
    global_batch: int, strong: bool, micro_batch: int, trained_by: str, form: str,
    output: Path | None,
) -> None:  # fmt: skip
    """Predict how a training step of MODEL scales with GPUs, and name the bottleneck.

    MODEL is a config.json of a language model, a shipped name, or a graph. The number of replicas
    grows; the options divide each replica. Without --micro-batch the largest that fits is used.
    Exits with 1 if nothing fits.
    """
    from perfc.distributed.service import scale
    from perfc.distributed.views import scale_document

    how = step_of(options)
    result = scale(
        model, how.target, gpus=numbers(gpus), batch=global_batch, seq=how.seq, train=how.train,
        dtype=how.dtype, runtime=how.runtime, parallel=parallel,
        checkpointing=how.checkpointing or "none", micro_batch=micro_batch, is_weak=not strong,
        trained_by=trained_by, reserve=how.reserve,
    )  # fmt: skip
    show(result.document, result, scale_document(result), form, output)
    if not any(p.cost is not None and p.cost.fits for p in result.points):
        raise SystemExit(FINDINGS)


def numbers(text: str) -> tuple[int, ...]:
    """Parse ``8,64`` into numbers.

    Raises:
        ParseError: not numbers.
    """
    parts = [p.strip() for p in text.split(",") if p.strip()]
    if len(parts) > 64 or not all(p.isascii() and p.isdigit() and int(p[:6]) > 0 for p in parts):
        raise ParseError(
            f"{text[:32]!r} are no numbers of devices", where="--gpus", hint="8,64,512"
        )
    return tuple([int(p[:6]) for p in parts])
