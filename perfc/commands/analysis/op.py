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
    format_options,
    grouped_command,
    parse_dims,
    show_view,
)
from . import _collective

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.ir import Module
    from perfc.study.comparison import Comparison, Row
    from perfc.study.comparison.single import Kernels
    from perfc.view.report.formats.document import Document, Note

FLAG = "--{}"
"""Option of an extent, by its name."""
DOCUMENTS = {
    "op": "perfc.study.comparison.single:KernelView",
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
        from perfc.study.comparison.single import Kernels

        show(Kernels.of(module, how), compared(module, how, options), form, output)

    formats = format_options("text", "json", "csv", "markdown")
    decorated: Callable[..., Any] = deployment_options(formats(color_option(run)))
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


def show(kernels: Kernels, comparison: Comparison, form: str, output: Path | None) -> None:
    """Write the kernel in the given format."""
    from perfc.study.comparison import to_csv
    from perfc.study.comparison.single import SCHEMA, KernelView
    from perfc.view.report.formats.json_form import document_text

    show_view(
        form,
        output,
        comparison,
        lambda view: document_text(SCHEMA, KernelView.with_work(view, kernels)),
        to_csv,
        lambda view: document(kernels, view),
    )


def document(kernels: Kernels, comparison: Comparison) -> Document:
    """Build the document: the kernel's work and one row per target."""
    from perfc.study.comparison import document as side_by_side
    from perfc.view.report.formats.document import Amount, Fact, Facts, Section, in_bytes
    from perfc.view.report.units import Unit, plural, quantity, size_text

    reads, writes = map(size_text, (kernels.read_bytes, kernels.write_bytes))
    mac = quantity(kernels.mac, Unit.MAC)
    several = f"; {plural(kernels.count, 'kernel')}" if kernels.count > 1 else ""
    facts = (
        Fact("work", Amount(kernels.flop, Unit.FLOP), f"{mac}, each counted as two flop{several}"),
        Fact("traffic", in_bytes(kernels.bytes), f"{reads} read, {writes} written"),
    )
    targets = side_by_side(comparison)
    section = targets.sections[0]
    notes = tuple(note_of(kernels, row) for row in comparison.rows)
    work = Section("kernel", "kernel", (Facts(facts),))
    return replace(targets, sections=(work, replace(section, parts=(*section.parts, *notes))))


def note_of(kernels: Kernels, row: Row) -> Note:
    """Return the rates implied by the predicted time, and its confidence."""
    from perfc.view.report.formats.document import Note
    from perfc.view.report.units import Unit, quantity

    counts = ((kernels.flop, Unit.FLOP_PER_S), (kernels.bytes, Unit.BYTE_PER_S))
    rates = [quantity(n / row.time_s, unit) for n, unit in counts if n and row.time_s]
    text = f"{row.verdict.target}: {' and '.join(rates)} at the expected time"
    confidence = row.verdict.confidence
    return Note(
        f"{text}; {confidence.grade.value} confidence: {confidence.reason}" if confidence else text
    )


for _name, _kernel in KERNELS.items():
    command.add_command(kind_command(_name, _kernel))
command.add_command(_collective.command)
