"""One option of how a model is run, whose help names what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import click

from ._names import Names

F = TypeVar("F", bound=Callable[..., Any])


NOTHING: Mapping[str, Any] = MappingProxyType({})
SIZES = ("batch", "seq", "dims", "values")
"""Names of the options that say sizes and contents of a graph's inputs."""
Usual = Callable[[], Mapping[str, str]]
"""Defaults of a command by field, looked up only where somebody asks for help."""


class DeploymentOption(click.Option):
    """One field of a deployment; its help names what there is, and the default.

    Args:
        field: of ``Deployment``.
        words: help, with ``{names}`` and ``{default}`` in it.
    """

    def __init__(self, *args: Any, field: str, words: str, **more: Any) -> None:
        more["help"] = words
        super().__init__(*args, **more)
        self.field, self.words = field, words
        self.usual: Usual = dict

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The line of the help."""
        self.help = self.told()
        return super().get_help_record(ctx)

    def told(self) -> str:
        """The help with what there is, which is looked up only where somebody asks."""
        names = ", ".join(self.type.known()) if isinstance(self.type, Names) else ""
        default = ""
        if "{default}" in self.words:
            stated = self.usual().get(self.field)
            default = f"default: {stated}" if stated else default_of(self.field)
        return self.words.format(names=names, default=default)


def by_default(usual: Usual) -> Callable[[F], F]:
    """Let the help of a command tell its own defaults, where they differ from other commands'.

    It stands above ``deployment_options``.
    """

    def told(function: F) -> F:
        for option in getattr(function, "__click_params__", ()):
            if isinstance(option, DeploymentOption):
                option.usual = usual
        return function

    return told


def reads(
    what: str, *fields: str, instead: Mapping[str, str] = NOTHING,
    known: Mapping[str, Callable[[], Iterable[str]]] = NOTHING,
) -> Callable[[F], F]:  # fmt: skip
    """Let a command take some options of a deployment alone; it refuses all others by name.

    It stands above ``deployment_options``.

    Args:
        what: that it tells of, for the message: ``a collective``.
        fields: of a deployment that the command looks at.
        instead: options of the command by the fields whose place they take.
        known: names that the command knows, by field, where they are not those of all others.
    """

    def refused(ctx: click.Context, option: click.Parameter, value: object) -> object:
        if value in (None, ()):
            return value
        other = f", but {instead[option.name]}" if option.name in instead else ""
        raise click.UsageError(f"{what} has no {option.opts[-1]}{other}", ctx)

    def decorate(function: F) -> F:
        for option in getattr(function, "__click_params__", ()):
            is_field = isinstance(option, DeploymentOption) or option.name in SIZES
            if is_field and option.name not in fields:
                option.hidden, option.callback = True, refused
            elif option.name in known:
                option.type = Names(known[option.name])
        return function

    return decorate


def default_of(field: str) -> str:
    """Return the default of a field as text, with that of `perfc predict` if it differs."""
    from perfc.deployment import Deployment, of_whole_runs
    from perfc.passes.runtimes import DEFAULT, SERVING_DEFAULT, TRAINING_DEFAULT

    values = (getattr(how, field) for how in (Deployment(), of_whole_runs()))
    open_one = "the model's own"
    if field == "runtime":
        open_one = (
            f"{DEFAULT}; training steps: {TRAINING_DEFAULT}; configurations: {SERVING_DEFAULT}"
        )
    usual, whole = (getattr(v, "value", v) or open_one for v in values)
    return f"default: {usual}" if usual == whole else f"default: {usual}; predict: {whole}"
