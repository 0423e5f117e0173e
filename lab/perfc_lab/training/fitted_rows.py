"""The sentence of a page whose tested rows determined constants of perfc."""

from __future__ import annotations

from perfc.common.fitted import every_constant


def sentence(page: str) -> str:
    """Return the constants that the tested rows of a page determined; empty without any."""
    by_lines: dict[str, list[str]] = {}
    for _, name, constant in every_constant():
        if constant.held_out and page in constant.pages:
            by_lines.setdefault(constant.pages[page], []).append(name)
    names = {k: ", ".join(f"`{n}`" for n in v) for k, v in by_lines.items()}
    parts = [f"Fitted on tested rows{k and f' ({k})'}: {v}" for k, v in names.items()]
    return ". ".join(parts) + " ([constants](../constants.md))." if parts else ""
