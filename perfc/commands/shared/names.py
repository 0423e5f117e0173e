"""Known names for help and shell completion: of targets, runtimes, passes and so on.

Each is a function that imports what lists the names, so that commands without completion do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Names(click.ParamType[str]):
    """Option type with known names, loaded when they are shown.

    Names are validated with the whole deployment, so that the message has their place.
    """

    name = "name"

    def __init__(self, known: Callable[[], Iterable[str]]) -> None:
        self.known = known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return names that complete the last of the comma-separated names."""
        return completed(self.known(), incomplete)


class Nodes(click.ParamType[str]):
    """Name of a node in the model of the command line."""

    name = "node"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return node names with this prefix, or none if the model cannot be read."""
        from perfc.errors import PerfcError
        from perfc.frontend import load
        from perfc.ir import walk

        # click leaves arguments behind where the option that is completed comes last
        model = ctx.params.get("model") or next(iter(ctx.args), None)
        try:
            nodes = [*walk(load(model).graph)] if model else []
        except PerfcError:
            return []
        # a comma ends a name for `completed`
        return completed((n.name for n in nodes if "," not in n.name), incomplete)


def completed(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the typed text with its last name completed."""
    from click.shell_completion import CompletionItem

    before, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys(known)
    return [CompletionItem(f"{before}{comma}{n}") for n in names if n.startswith(last)]


def called(place: str) -> Callable[[], Iterable[str]]:
    """Return a function that imports another, ``module:name``, and returns its names."""
    return lambda: imported(place)()


def values(place: str) -> Callable[[], Iterable[str]]:
    """Return a function that imports an enum, ``module:name``, and returns its values.

    An empty value, which stands for the default, is left out.
    """
    return lambda: filter(None, (member.value for member in imported(place)))


def imported(place: str) -> Any:
    """Return the object at a place, ``module:name``, after importing the module."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


targets = called("perfc.deployment.fields:targets")
"""This machine, machines and clusters."""
precisions = called("perfc.deployment.fields:precisions")
"""The element types and autocast modes."""
runtimes = called("perfc.passes.runtimes:runtimes")
"""The runtimes with a fusion table."""
conventions = called("perfc.passes.conventions:conventions")
"""The conventions of other FLOP counters."""
serving_predictors = called("perfc.serving.output.published:names")
"""The installed published predictors of language models."""
regions = called("perfc.deployment.prices:regions")
"""The regions with a known power grid."""
optimizers = called("perfc.deployment.step:optimizers")
"""The optimizers."""
weight_formats = values("perfc.frontend.config:WeightFormat")
"""The weight formats of language models."""
orders = values("perfc.study.comparison:Order")
"""The sort keys of a comparison."""
terms = values("perfc.deployment.prices:RentalTerms")
"""The rental terms."""


rules = called("perfc.review.lint.catalogue:codes")
"""The rule codes."""


def engines() -> Iterable[str]:
    """Return the runtimes that serve language models."""
    from perfc.passes.runtimes import tables

    return (table.name for table in tables() if table.serves)


def views() -> Iterable[str]:
    """Return the views of the report."""
    from perfc.view.report import NAMES

    return NAMES


def passes() -> Iterable[str]:
    """Return the passes."""
    from perfc.passes.pipeline import list_passes

    return (info.name for info in list_passes())


def operators() -> Iterable[str]:
    """Return the ONNX names of the operators."""
    from perfc.view.pages.catalogue import operators as known

    return (name for cls in known() for name in cls.onnx.split())


def predictors() -> Iterable[str]:
    """Return the predictors of whole models: first those without weights, then all others."""
    from perfc.analyzers.whole_runs.shipped import names
    from perfc.deployment.fields import ANY_RUNTIME

    # the empty name stands for the default predictor
    return (*filter(None, ANY_RUNTIME), *names())
