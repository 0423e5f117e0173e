"""``perfc dev completion``: print the shell completion script."""

from __future__ import annotations

import click

from ..shared.listing import examples


@click.command("completion", epilog=examples("dev completion bash", "dev completion zsh"))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash: perfc dev completion bash > ~/.local/share/bash-completion/completions/perfc
    zsh:  perfc dev completion zsh  > ~/.zfunc/_perfc
    fish: perfc dev completion fish > ~/.config/fish/completions/perfc.fish
    """  # noqa: D301
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    root = ctx.find_root()
    program = root.info_name or ""
    script = completion(root.command, {}, program, f"_{program.upper()}_COMPLETE")
    click.echo(script.source_template % script.source_vars())
