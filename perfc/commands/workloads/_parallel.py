"""Parallelism options of commands for several devices.

`parallel_options` is for serving; `degree_options` is for training steps, whose other degrees are
searched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from perfc.common.fitted import data_next_to
from perfc.machine.parallel import KEYS, Parallel

from ..shared.deployment import DeploymentOptions

P = ParamSpec("P")
R = TypeVar("R")

_HELP = data_next_to(__file__)
"""Help of each degree by its key, in the order of the options."""


def parallel_options(
    function: Callable[Concatenate[DeploymentOptions, Parallel, P], R],
) -> Callable[Concatenate[DeploymentOptions, P], R]:
    """Add the options; the second argument of ``function`` is their `Parallel`.

    Degrees that the command line leaves out are those of the project file. Place it below
    `deployment_options`, whose values are the first argument.
    """

    @wraps(function)
    def wrapped(options: DeploymentOptions, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(options, parallel_of(options, pop_options(kwargs)), *args, **kwargs)

    return with_options(wrapped)  # type: ignore[no-any-return]


def degree_options(
    function: Callable[Concatenate[DeploymentOptions, Mapping[str, int | str], P], R],
) -> Callable[Concatenate[DeploymentOptions, P], R]:
    """Add the options; the second argument of ``function`` has the given degrees by key.

    A given degree counts even if it equals the default, as given degrees are not searched. Place
    it below `deployment_options`, whose values are the first argument.
    """

    @wraps(function)
    def wrapped(options: DeploymentOptions, *args: P.args, **kwargs: P.kwargs) -> R:
        typed = pop_options(kwargs)
        degrees = parallel_of(options, typed).as_json()  # all degrees, also defaults
        of_file = options.of_file.values.get("parallel")
        # keys that are given; the project file may write them with hyphens
        named = (
            {key.replace("-", "_") for key in of_file} if isinstance(of_file, Mapping) else set()
        )
        named |= {key for key, value in typed.items() if value is not None}
        return function(options, {k: degrees[k] for k in KEYS if k in named}, *args, **kwargs)

    return with_options(wrapped)  # type: ignore[no-any-return]


def pop_options(kwargs: dict[str, object]) -> dict[str, object]:
    """Remove and return the parallelism options from the keywords of a command."""
    return {key: kwargs.pop(key) for key in _HELP}


def with_options(function: Any) -> Any:
    """Add the options to a command."""
    for key, words in reversed(_HELP.items()):
        name = f"--{key.replace('_', '-')}"
        metavar = "NAME" if key == "schedule" else "N"
        function = click.option(name, key, default=None, metavar=metavar, help=words)(function)
    return function


def parallel_of(options: DeploymentOptions, typed: dict[str, object]) -> Parallel:
    """Return the degrees of the command line, which override the project file.

    Raises:
        ParseError: an invalid degree.
    """
    from perfc.deployment import Deployment
    from perfc.machine.parallel import flag

    of_file = options.of_file.values.get("parallel")
    base = Deployment()
    if of_file is not None:
        base = base.with_values({"parallel": of_file}, lambda _: options.of_file.place("parallel"))
    return base.parallel.with_values({k: v for k, v in typed.items() if v is not None}, flag)
