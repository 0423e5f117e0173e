"""Known names for help and shell completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

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
        from perfc.ir.graph import walk

        # click leaves arguments behind where the option that is completed comes last
        model = ctx.params.get("model") or next(iter(ctx.args), None)
        try:
            nodes = [*walk(load(model).graph)] if model else []
        except PerfcError:
            return []
        return completed((n.name for n in nodes if "," not in n.name), incomplete)


def completed(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the typed text with its last name completed."""
    from click.shell_completion import CompletionItem

    before, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys(known)
    return [CompletionItem(f"{before}{comma}{n}") for n in names if n.startswith(last)]


def targets() -> Iterable[str]:
    """Return machines, then clusters."""
    from perfc.machine import HOST, list_clusters, list_machines

    return (HOST, *(listing.name for listing in (*list_machines(), *list_clusters())))


def runtimes() -> Iterable[str]:
    """Return the runtimes with a fusion table."""
    from perfc.passes.runtimes import runtimes as known

    return known()


def conventions() -> Iterable[str]:
    """Return the conventions of other FLOP counters."""
    from perfc.passes.conventions import conventions as known

    return known()


def precisions() -> Iterable[str]:
    """Return element types and autocast modes."""
    from perfc.passes.precision.retype import AUTOCAST, NARROW, WIDE

    return (*WIDE, *NARROW, *AUTOCAST)


def engines() -> Iterable[str]:
    """Return the runtimes that serve language models."""
    from perfc.passes.runtimes import tables

    return (table.name for table in tables() if table.serves)


def weight_formats() -> Iterable[str]:
    """Return the weight formats of language models."""
    from perfc.frontend.config import WeightFormat

    return (one.value for one in WeightFormat)


def serving() -> Iterable[str]:
    """Return the serving frameworks with measured kernels."""
    from perfc.passes.runtimes import Serving

    return filter(None, (one.value for one in Serving))


def layouts() -> Iterable[str]:
    """Return the layouts of feature maps."""
    from perfc.passes.runtimes import Layout

    return (layout.value for layout in Layout)


def views() -> Iterable[str]:
    """Return the views of the report."""
    from perfc.view.report import NAMES

    return NAMES


def rules() -> Iterable[str]:
    """Return the rule codes."""
    from perfc.review.lint.catalogue import infos

    return (info.code for info in infos())


def passes() -> Iterable[str]:
    """Return the passes."""
    from perfc.passes.pipeline import list_passes

    return (info.name for info in list_passes())


def oracles() -> Iterable[str]:
    """Return the compilers that answer what they fuse."""
    from perfc.study.fusion_oracle.oracles import names

    return names()


def operators() -> Iterable[str]:
    """Return the ONNX names of the operators."""
    from perfc.view.pages.catalogue import operators as known

    return (name for cls in known() for name in cls.onnx)


def predictors() -> Iterable[str]:
    """Return the whole-model predictors with weights, and those that need none."""
    from perfc.analyzers.whole_runs.shipped import names
    from perfc.deployment.fields import ANY_RUNTIME

    return (*filter(None, ANY_RUNTIME), *names())


def serving_predictors() -> Iterable[str]:
    """Return the installed published predictors of language models."""
    from perfc.serving.output.published import names

    return names()


def orders() -> Iterable[str]:
    """Return the sort keys of a comparison."""
    from perfc.study.comparison import Order

    return (order.value for order in Order)


def modes() -> Iterable[str]:
    """Return the execution modes."""
    from perfc.deployment.fields import Mode

    return (mode.value for mode in Mode)


def regions() -> Iterable[str]:
    """Return the regions with a known power grid."""
    from perfc.study.expenses import regions as known

    return known()


def terms() -> Iterable[str]:
    """Return the rental terms."""
    from perfc.study.expenses import RentalTerms

    return (one.value for one in RentalTerms)


def optimizers() -> Iterable[str]:
    """Return the optimizers."""
    from perfc.passes.training.optimizer import names

    return names()


def losses() -> Iterable[str]:
    """Return the loss functions."""
    from perfc.passes.training.loss import names

    return names()


def updates() -> Iterable[str]:
    """Return the optimizer implementations."""
    from perfc.passes.training.implementation import OptimizerLaunch

    return (how.value for how in OptimizerLaunch)


def checkpointing() -> Iterable[str]:
    """Return the checkpointing policies."""
    from perfc.passes.training.implementation import RecomputePolicy

    return (policy.value for policy in RecomputePolicy)
