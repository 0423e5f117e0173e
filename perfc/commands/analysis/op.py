"""``perfc op``: predicted time, lower bound and bottleneck of one kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfc.study.single_kernel import KERNELS, KernelKind, alone, module_of

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    deployment_options,
    examples,
    grouped_command,
    parse_dims,
    present,
    result_options,
)
from . import _collective

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.ir import Module
    from perfc.study.comparison import Comparison

FLAG = "--{}"
"""Option of an extent, by its name."""
DOCUMENTS = {
    "op": "perfc.study.comparison.single:KernelComparison",
    **_collective.DOCUMENTS,
}
"""JSON documents of the command, and the types that define their schemas."""


class Kinds(click.Group):
    """One subcommand per kind of kernel, with its extents as options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the kind that ``args`` names; the error lists the kinds."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            ctx.fail(f"no kernel {args[0]!r}; there are {', '.join(self.commands)}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the kinds in the order of their table."""
        return list(self.commands)


@click.group(
    "op",
    cls=Kinds,
    epilog=examples(
        "op matmul --m 4096 --n 4096 --k 4096 --dtype bf16 -t h100",
        "op softmax --rows 4096 --columns 1024",
    ),
)
def command() -> None:
    """Predict one kernel: `perfc op matmul --m 4096 --n 4096 --k 4096 --dtype bf16 -t h100`.

    The kernel goes through the same analysis as a model of one node. Several targets give one row
    each. Numbers are f32 unless --dtype says otherwise.
    """


def kind_command(name: str, kernel: KernelKind) -> click.Command:
    """Build the subcommand of one kind."""

    def run(
        options: DeploymentOptions,
        /,
        form: str,
        output: Path | None,
        function: str = "",
        **extents: int | None,
    ) -> None:
        module = module_from(name, options, function, extents)
        how = deployment_of(module, options)
        from perfc.ir.record import project
        from perfc.study.comparison.single import KernelComparison, Kernels

        comparison = compared(module, how, options)
        result = project(KernelComparison, comparison, work=Kernels.of(module, how))
        present(result, form, output)

    decorated: Callable[..., Any] = deployment_options(result_options(color_option(run)))
    # click lists the option that decorates last first
    for option in reversed(list(extent_options(kernel))):
        decorated = option(decorated)
    decorated.__doc__ = f"{kernel.title[:1].upper()}{kernel.title[1:]}."
    return grouped_command(name, epilog=calls(name, kernel))(decorated)


def calls(name: str, kernel: KernelKind) -> str:
    """Return example calls of one kind with typical extents."""
    flags = " ".join(f"{FLAG.format(n.replace('_', '-'))} {x}" for n, x in kernel.usual.items())
    return examples(f"op {name} {flags} -t h100", f"op {name} {flags} --dtype bf16 -t a100,l4")


def extent_options(kernel: KernelKind) -> Iterator[Callable[[Any], Any]]:
    """Yield an option for each extent without a common option, and for the functions."""
    for name, extent in kernel.extents.items():
        if name in ("batch", "seq"):
            continue  # among the options of every deployment
        default = f" (default: {extent.default})" if extent.default else ""
        words = f"{extent.words[:1].upper()}{extent.words[1:]}{default}."
        flag = FLAG.format(name.replace("_", "-"))
        yield click.option(flag, name, type=int, metavar="N", help=words)
    if kernel.functions:
        default = kernel.functions[0]
        words = f"Function: {', '.join(kernel.functions)} (default: {default})."
        yield click.option("--function", default="", metavar="NAME", help=words)


def module_from(
    kind: str, options: DeploymentOptions, function: str, extents: Mapping[str, int | None]
) -> Module:
    """Return the model of one node.

    Raises:
        ParseError: a missing, invalid or unknown extent.
    """
    if options.values:
        raise click.UsageError("--value is of a model's input")
    return module_of(kind, {**extents, **parse_dims(options.sizes)}, function)


def deployment_of(module: Module, options: DeploymentOptions) -> Deployment:
    """Return the deployment of the kernel.

    It takes no extents from the project file, which are those of models.
    """
    how = options.deployment(dims={}, is_several=True)
    return alone(replace(how, dims=module.defaults()))


def compared(module: Module, how: Deployment, options: DeploymentOptions) -> Comparison:
    """Compare the kernel on every named target; its time is that of the kernel law alone."""
    from perfc.deployment.fields import KERNELS as SUM_OF_KERNELS
    from perfc.study.comparison import ModelSetting, Order, compare

    setting = ModelSetting(module, how, predictor=SUM_OF_KERNELS)
    return compare([setting], options.machines(how.target), order=Order.GIVEN)


for _name, _kernel in KERNELS.items():
    command.add_command(kind_command(_name, _kernel))
command.add_command(_collective.command)
