"""``perfc diffusion``: time, energy and memory of image and video generation."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.errors import ParseError

from ..shared.document import present
from ..shared.help import grouped_command
from ..shared.output import result_options
from ..shared.report import color_option
from ..shared.table import table_options

DOCUMENTS = {"diffusion": "perfc.serving.generation.service:GenerationReport"}
"""JSON document of the command, and the type that defines its schema."""
FINDINGS = 1
"""Exit code if weights and the largest activations do not fit in memory."""


@grouped_command("diffusion")
@click.argument("model", metavar="MODEL")
@table_options("diffusion")
@result_options
@color_option
def command(
    model: str,
    target: str,
    batch: int,
    steps: int | None,
    size: str,
    frames: int | None,
    guided: bool | None,
    form: str,
    output: Path | None,
) -> int:
    """Predict image or video generation: `perfc diffusion pixart-sigma-xl-2-1024 -t h100`.

    MODEL is a folder as diffusers saves it, whose weights are not opened, or a shipped name. The
    exit code is 1 if its parts and their activations do not fit into the device at once.
    """
    from perfc.serving.generation import diffusion

    width, height = edges(size)
    # a number of 0 stands for the model's default
    report = diffusion(
        model,
        target,
        batch=batch,
        steps=steps or 0,
        height=height,
        width=width,
        frames=frames or 0,
        is_guided=guided,
    )
    present(report, form, output)
    return 0 if report.fits else FINDINGS


def edges(size: str) -> tuple[int, int]:
    """Parse ``1024`` or ``832x480`` into width and height; zeros for an empty text.

    Raises:
        ParseError: not a size.

    >>> edges("832x480"), edges("512"), edges("")
    ((832, 480), (512, 512), (0, 0))
    """
    if not size:
        return 0, 0
    parts = size.lower().split("x")
    # five digits are enough for any image
    if len(parts) > 2 or not all(p.isascii() and p.isdigit() and len(p) < 6 for p in parts):
        raise ParseError(f"{size[:32]!r} is no size", where="--size", hint="1024 or 832x480")
    # one number is both edges
    return int(parts[0]), int(parts[-1])
