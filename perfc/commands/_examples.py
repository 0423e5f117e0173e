"""The examples that the help of every command ends in."""

from __future__ import annotations


def examples(*calls: str) -> str:
    r"""The end of a command's help, one call a line.

    Args:
        calls: what follows ``perfc``. The names of files in it are those of ``tests/commands``.
    """
    return "\n".join(["\b", "Examples:", *(f"  perfc {call}" for call in calls)])
