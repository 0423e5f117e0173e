"""``perfc dev``: inspect the compiler: IR, passes, operators, schemas."""

from __future__ import annotations

import click

from ..shared.listing import Folder, examples


@click.group("dev", cls=Folder, epilog=examples("dev ir model.onnx", "dev passes"))
def command() -> None:
    """Inspect the compiler: its IR, passes, operators and document schemas."""
