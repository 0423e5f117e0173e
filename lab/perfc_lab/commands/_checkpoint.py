"""``perfc train checkpoint``: weights that authors published, as weights with a card."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.commands.shared.listing import examples
from perfc.common.plain_text import say

from ._board_options import folder_option


@click.command(
    "checkpoint",
    epilog=examples(
        "train checkpoint epoch=487-step=3589240.ckpt",
        "train checkpoint autoenc_343.pth fold_1_Train_Step_Time.pth -o weights",
    ),
)
@click.argument(
    "files",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE...",
    nargs=-1,
    required=True,
)
@folder_option("weights", "Output folder for the weights and their card.")
def command(files: tuple[Path, ...], output: Path) -> None:
    """Convert FILE, a checkpoint of DIPPM's authors, into weights for --predictor.

    Several files are TraPPM's: its auto-encoder, and a regressor for each quantity, whose name
    ends in Train_Step_Time, Train_Gpu_Memory_Mb or Train_Gpu_Power_W.
    """
    from perfc.analyzers.graph.weights import save
    from perfc.errors import MissingExtraError

    try:
        from perfc_lab.papers.checkpoints import read_checkpoint
    except ImportError as error:
        raise MissingExtraError(
            f"a checkpoint needs {error.name}", hint="pip install 'perfc-lab[gnn]'"
        ) from None
    say(str(save(*read_checkpoint(files), output)))
