"""Examples at the end of every command's help."""

from __future__ import annotations


def examples(*calls: str) -> str:
    r"""Format example calls for the end of a command's help, one per line.

    Args:
        calls: arguments after ``perfc``; file names are those of ``tests/commands``.
    """
    return "\n".join(["\b", "Examples:", *(f"  perfc {call}" for call in calls)])
