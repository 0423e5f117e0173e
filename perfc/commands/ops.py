"""``perfc ops``: the operators, their formulas, and how much of ONNX they cover."""

from __future__ import annotations

import click


@click.command("ops")
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="The whole page docs/ops.md.")
@click.option("--coverage", "is_coverage", is_flag=True, help="Compare with the installed onnx.")
def command(name: str | None, markdown: bool, is_coverage: bool) -> None:
    """List the operators, or say all about NAME: `perfc ops Conv`."""
    from difflib import get_close_matches

    from perfc.pages.catalogue import find_operator, operators
    from perfc.pages.operators import describe, page

    if markdown:
        click.echo(page(), nl=False)
        return
    if is_coverage:
        _print_coverage()
        return
    if name is None:
        width = max(len(cls.mnemonic) for cls in operators())
        for cls in operators():
            click.echo(f"{cls.mnemonic:{width}}  {cls.kind.value:13}  {', '.join(cls.onnx)}")
        return
    found = find_operator(name)
    if found is None:
        names = [n for cls in operators() for n in (cls.mnemonic, *cls.onnx)]
        close = get_close_matches(name, names, 3)
        guess = f"; did you mean {' or '.join(close)}?" if close else ""
        raise click.UsageError(f"no operator {name!r}{guess}")
    text = "\n".join(describe(found)).replace("**", "").removeprefix("## ")
    click.echo(text.rstrip())


def _print_coverage() -> None:
    import onnx

    from perfc.pages.operators import coverage

    click.echo(f"onnx {onnx.__version__}")
    for c in coverage():
        total = len(c.own) + len(c.expanded) + len(c.missing)
        name = c.domain or "ai.onnx"
        click.echo(
            f"{name}: {total} operators, {len(c.own)} of our own, {len(c.expanded)} expanded, "
            f"{len(c.missing)} without either"
        )
        for what, names in (("expanded", c.expanded), ("without", c.missing)):
            if names:
                click.echo(f"  {what}: {', '.join(names)}")
