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
        """Those that begin as the last of what is typed, several of which commas part."""
        return completed(self.known(), incomplete)


class Nodes(click.ParamType[str]):
    """A node of the model that is on the line."""

    name = "node"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names of nodes that begin so; none where the model cannot be read."""
        from perfc.errors import PerfcError
        from perfc.frontend import load
        from perfc.ir.graph import walk

        # click leaves arguments behind where the option that is completed comes last
        model = ctx.params.get("model") or next(iter(ctx.args), None)
        try:
            nodes = [*walk(load(model).graph)] if model else []
        except PerfcError:
            return []
        return completed((n.name for n in nodes if "," not in n.name), incomplete)


def completed(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """What is typed with its last name completed."""
    from click.shell_completion import CompletionItem

    before, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys(known)
    return [CompletionItem(f"{before}{comma}{n}") for n in names if n.startswith(last)]


def targets() -> Iterable[str]:
    """The machines, then the clusters."""
    from perfc.machine import HOST, list_clusters, list_machines

    return (HOST, *(listing.name for listing in (*list_machines(), *list_clusters())))


def runtimes() -> Iterable[str]:
    """The fusion tables."""
    from perfc.passes.runtimes import runtimes as known

    return known()


def conventions() -> Iterable[str]:
    """Conventions of other FLOP counters."""
    from perfc.passes.conventions import conventions as known

    return known()


def precisions() -> Iterable[str]:
    """Element types and autocast."""
    from perfc.passes.retype import AUTOCAST, NARROW, WIDE

    return (*WIDE, *NARROW, *AUTOCAST)


def engines() -> Iterable[str]:
    """Runtimes that serve language models."""
    from perfc.passes.runtimes import tables

    return (table.name for table in tables() if table.serves)


def weight_formats() -> Iterable[str]:
    """How weights of language models are stored."""
    from perfc.frontend.config import WeightFormat

    return (one.value for one in WeightFormat)


def serving() -> Iterable[str]:
    """Frameworks whose kernels were measured."""
    from perfc.passes.runtimes import Serving

    return filter(None, (one.value for one in Serving))


def layouts() -> Iterable[str]:
    """Layouts of feature maps."""
    from perfc.passes.runtimes import Layout

    return (layout.value for layout in Layout)


def views() -> Iterable[str]:
    """Views of the report."""
    from perfc.report import NAMES

    return NAMES


def rules() -> Iterable[str]:
    """Codes of the rules."""
    from perfc.lint.catalogue import infos

    return (info.code for info in infos())


def passes() -> Iterable[str]:
    """The passes."""
    from perfc.passes.pipeline import list_passes

    return (info.name for info in list_passes())


def operators() -> Iterable[str]:
    """The operators by their names in ONNX."""
    from perfc.pages.catalogue import operators as known

    return (name for cls in known() for name in cls.onnx)


def predictors() -> Iterable[str]:
    """Weights of whole models that come with perfc."""
    from perfc.analyzers.whole_runs.shipped import names

    return names()


def orders() -> Iterable[str]:
    """What rows of a comparison are sorted by."""
    from perfc.comparison import Order

    return (order.value for order in Order)


def sources() -> Iterable[str]:
    """The sources of measured rows."""
    from perfc.data.source import sources as known

    return known()


def data_sets() -> Iterable[str]:
    """The data sets of whole models."""
    from perfc.analyzers.graph.datasets import datasets

    return datasets()


def modes() -> Iterable[str]:
    """What a run is."""
    from perfc.deployment_fields import Mode

    return (mode.value for mode in Mode)


def regions() -> Iterable[str]:
    """Whose electricity is known."""
    from perfc.expenses import regions as known

    return known()


def terms() -> Iterable[str]:
    """On what terms machines are rented."""
    from perfc.expenses import Terms

    return (one.value for one in Terms)


def optimizers() -> Iterable[str]:
    """Optimisers of training steps."""
    from perfc.passes.training.optimizer import names

    return names()


def losses() -> Iterable[str]:
    """What a training step may end in."""
    from perfc.passes.training.loss import names

    return names()


def updates() -> Iterable[str]:
    """How optimisers are launched."""
    from perfc.passes.training.implementation import Implementation

    return (how.value for how in Implementation)


def checkpointing() -> Iterable[str]:
    """What of a forward pass is computed again."""
    from perfc.passes.training.implementation import Policy

    return (policy.value for policy in Policy)
