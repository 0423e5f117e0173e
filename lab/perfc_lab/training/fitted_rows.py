"""The sentence of a page whose tested rows determined constants of perfc."""

from __future__ import annotations

from perfc.common.fitted import every_constant


def sentence(page: str, *, is_markdown: bool = True) -> str:
    """Return the constants that the tested rows of a page determined; empty without any."""
    by_lines: dict[str, list[str]] = {}
    for _, name, constant in every_constant():
        if constant.held_out and page in constant.pages:
            by_lines.setdefault(constant.pages[page], []).append(name)
    names = {k: ", ".join(f"`{n}`" if is_markdown else n for n in v) for k, v in by_lines.items()}
    parts = [f"Fitted on tested rows{k and f' ({k})'}: {v}" for k, v in names.items()]
    end = " ([constants](../constants.md))." if is_markdown else "."
    return ". ".join(parts) + end if parts else ""
