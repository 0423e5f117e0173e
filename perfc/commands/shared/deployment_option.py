"""Deployment options, whose help lists the available names; `reads` restricts a command to some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import click

from perfc.deployment import Deployment, Option

from .names import Names
from .options import joined

F = TypeVar("F", bound=Callable[..., Any])

NOTHING: Mapping[str, Any] = MappingProxyType({})
SIZES = ("batch", "seq", "dims", "values")
"""Names of the options for sizes and contents of inputs."""
Usual = Callable[[], Mapping[str, str]]
"""Defaults of a command by field, evaluated only when help is printed."""


class DeploymentOption(click.Option):
    """Option for one deployment field; its help lists the available names and the default.

    Args:
        field: field of ``Deployment``.
        declared: its declaration.
    """

    def __init__(self, *args: Any, field: str, declared: Option) -> None:
        # with placeholders until it is printed: names and defaults need tables, which load slowly
        more: dict[str, Any] = {"help": declared.help, "hidden": declared.is_hidden}
        if declared.metavar:
            more["metavar"] = declared.metavar
        if declared.names:
            more |= {"type": Names(declared.names), "metavar": "NAME"}
        if declared.is_repeatable:
            more |= {"multiple": True, "callback": joined}
        super().__init__(*args, default=None, **more)
        self.field, self.declared = field, declared
        self.usual: Usual = dict

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help line, with names and default filled in."""
        self.help = self.help_text()
        return super().get_help_record(ctx)

    def help_text(self) -> str:
        """Return the help text with names and default filled in; loads the tables on demand."""
        names = ", ".join(self.type.known()) if isinstance(self.type, Names) else ""
        default = ""
        if "{default}" in self.declared.help:
            usual = self.usual().get(self.field)
            default = f"default: {usual}" if usual else default_of(self.field)
        return self.declared.help.format(names=names, default=default)


def by_default(usual: Usual) -> Callable[[F], F]:
    """Set command-specific defaults in the help of deployment options.

    Place it above ``deployment_options``, as decorators apply from below.
    """

    def decorate(function: F) -> F:
        for option in getattr(function, "__click_params__", ()):
            if isinstance(option, DeploymentOption):
                option.usual = usual
        return function

    return decorate


def reads(
    what: str,
    *fields: str,
    instead: Mapping[str, str] = NOTHING,
    known: Mapping[str, Callable[[], Iterable[str]]] = NOTHING,
) -> Callable[[F], F]:
    """Restrict a command to some deployment options; others are rejected by name.

    Place it above ``deployment_options``, as decorators apply from below.

    Args:
        what: subject of the message: ``a collective``.
        fields: deployment fields that the command reads.
        instead: options that replace a field, by field.
        known: functions that return the valid names of a field, where they differ from those of
            other commands, by field.
    """

    def refused(ctx: click.Context, option: click.Parameter, value: object) -> object:
        if value in (None, ()):
            return value  # not given
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
    """Return the default of a field as text."""
    from perfc.passes.runtimes import DEFAULT, SERVING_DEFAULT, TRAINER, TRAINING_DEFAULT

    # text for a field whose default depends on the model
    fallback = "the model's own"
    if field == "runtime":
        fallback = (
            f"{DEFAULT}; training steps: {TRAINING_DEFAULT}; configurations: {SERVING_DEFAULT}, "
            f"trained: {TRAINER}"
        )
    value = getattr(Deployment(), field)
    return f"default: {getattr(value, 'value', value) or fallback}"
