"""``perfc dev ops``: list the operators, their formulas and the coverage of ONNX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from perfc.errors import suggestion

from ..shared import names as _names
from ..shared.help import grouped_command
from ..shared.names import Names
from ..shared.output import emit, format_options, output_format
from ..shared.table import table_options

FORMATS = ("text", "markdown")
"""Output formats of lists and descriptions; the coverage has text alone."""


@grouped_command("ops")
@click.argument("name", type=Names(_names.operators), required=False)
@table_options("ops")
@format_options(*FORMATS)
def command(
    name: str | None, markdown: bool, is_coverage: bool, form: str, output: Path | None
) -> None:
    """List the operators, or describe NAME: `perfc dev ops Conv`."""
    from perfc.view.pages.operators import page

    # ``--markdown`` is short for the format, over which it has priority
    if markdown:
        form = output_format("markdown", output, FORMATS)
    if is_coverage:
        if form != "text":
            raise click.UsageError("--coverage is text")
        emit("\n".join(_coverage()) + "\n", output)
    elif name is None:
        emit(page() if form == "markdown" else _listing(), output)
    else:
        emit(_described(name, form), output)


def _listing() -> str:
    """Return a line for each operator: name, kind of kernel, operators of ONNX."""
    from perfc.view.pages.catalogue import operators

    # 13: the longest kind is "normalization"
    width = max(len(cls.mnemonic) for cls in operators())
    lines = (
        f"{cls.mnemonic:{width}}  {cls.kind.value:13}  {', '.join(cls.onnx.split())}\n"
        for cls in operators()
    )
    return "".join(lines)


def _described(name: str, form: str) -> str:
    """Describe the operator with this name.

    Raises:
        UsageError: an unknown operator.
    """
    from perfc.view.pages.catalogue import find_operator, operators
    from perfc.view.pages.operators import describe

    operator = find_operator(name)
    if operator is None:
        names = [n for cls in operators() for n in (cls.mnemonic, *cls.onnx.split())]
        guess = suggestion(name, names, "", count=3)
        raise click.UsageError(f"no operator {name!r}{guess and f'; {guess}'}")
    text = "\n".join(describe(operator))
    if form == "text":
        # the description is Markdown: its bold names and heading become plain
        text = text.replace("**", "").removeprefix("## ")
    return text.rstrip() + "\n"


def _coverage() -> Iterator[str]:
    """Yield lines on the operators of ONNX: supported, expanded into others, or neither."""
    import onnx

    from perfc.view.pages.operators import coverage

    yield f"onnx {onnx.__version__}"
    for c in coverage():
        total = len(c.supported) + len(c.expanded) + len(c.missing)
        name = c.domain or "ai.onnx"
        yield (
            f"{name}: {total} operators, {len(c.supported)} supported, {len(c.expanded)} expanded, "
            f"{len(c.missing)} without either"
        )
        for what, names in (("expanded", c.expanded), ("without", c.missing)):
            if names:
                yield f"  {what}: {', '.join(names)}"
