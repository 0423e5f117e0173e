"""Entry point of the command line."""

from __future__ import annotations

from perfc.commands.cli import cli, main, run

__all__ = ["cli", "main", "run"]
