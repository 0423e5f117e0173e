"""Names that the tables of perfc have, for help and completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Names(click.ParamType[str]):
    """Names that the tables of perfc have, looked up when they are shown.

    Whether one is known is said where the whole deployment is checked, with its place.
    """

    name = "name"

    def __init__(self, known: Callable[[], Iterable[str]]) -> None:
        self.known = known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Those that begin so."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.known() if name.startswith(incomplete)]


def targets() -> Iterable[str]:
    """The machines."""
    from perfc.machine import HOST, list_machines

    return (HOST, *(listing.name for listing in list_machines()))


def runtimes() -> Iterable[str]:
    """The fusion tables."""
    from perfc.passes.runtimes import runtimes as known

    return known()


def precisions() -> Iterable[str]:
    """Element types and autocast."""
    from perfc.passes.retype import AUTOCAST, NARROW, WIDE

    return (*WIDE, *NARROW, *AUTOCAST)


def layouts() -> Iterable[str]:
    """Layouts of feature maps."""
    from perfc.passes.runtimes import Layout

    return (layout.value for layout in Layout)


def modes() -> Iterable[str]:
    """What a run is."""
    from perfc.deployment import Mode

    return (mode.value for mode in Mode)
