"""Options that several commands share.

Decorators add them; `parse_dims`, `named_model` and `read_model` turn their texts into values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from perfc.errors import ModelError, ParseError, ShapeError

from . import names as _names
from .names import Names

if TYPE_CHECKING:
    from perfc.frontend.reading.module_name import NamedModule
    from perfc.ir import Module

C = TypeVar("C", bound=Callable[..., Any])
LONGEST = 100
"""Maximum digits of a size; the conversion of more digits takes long, and no extent has as many."""

dim_option = click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=N",
    help="Value of a symbolic dimension, e.g. batch=8; comma-separated or repeated. `sweep` "
    "accepts ranges.",
)
print_after_option = click.option(
    "--print-ir-after",
    type=Names(_names.passes),
    metavar="NAMES",
    default="",
    help="Print the IR after these passes.",
)
facts_option = click.option(
    "--facts",
    default="",
    metavar="NAMES",
    help="Analyses to print below each node, e.g. cost,fuse.",
)


def module_options(function: C) -> C:
    """Add the options of models that are PyTorch modules, given by name."""
    inputs = click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="SHAPE",
        help="Input of a PyTorch module with its batch: 8x3x224x224, input_ids=8x128:i64.",
    )
    kwargs = click.option(
        "--kwargs",
        default="",
        metavar="JSON",
        help="Arguments of the class or function of a module.",
    )
    return inputs(kwargs(function))


jax_option = click.option(
    "--jax",
    "is_jax",
    is_flag=True,
    help="MODEL is a function of JAX by name: package.module:fn.",
)


def named_model(
    model: str,
    inputs: tuple[str, ...],
    kwargs: str,
    file: Path | None = None,
    *,
    is_jax: bool = False,
) -> str | NamedModule:
    """Return a PyTorch module or JAX function by name with its inputs; other models unchanged.

    Args:
        model: the model as the user named it.
        inputs: inputs of the command line.
        kwargs: arguments of the command line.
        file: project file, whose [[models]] has them if the command line has none.
        is_jax: whether the model is a function of JAX.

    Raises:
        ModelError: inputs of a file.
        ParseError: the project file is malformed.
    """
    from perfc.frontend.reading.module_name import NamedModule, is_named

    if is_named(model):
        given = NamedModule(model, inputs, kwargs, is_jax=is_jax)
        if inputs or kwargs or file is None:
            return given
        return modules_in(file).get(model, given)
    if inputs or kwargs or is_jax:
        what = (
            "--jax needs the name of a function"
            if is_jax
            else "--input and --kwargs are for PyTorch modules"
        )
        hint = "package.module:function" if is_jax else "timm:resnet50"
        raise ModelError(what, hint=hint, where=model)
    return model


def modules_in(path: Path) -> dict[str, NamedModule]:
    """Return the PyTorch modules of the ``[[models]]`` of a file, by source and name.

    Raises:
        ParseError: an invalid value; names its line.
    """
    from perfc.deployment.project_file import ModelReader, read_project

    tree, text, prefix = read_project(path)
    reader = ModelReader(path, text, f"{prefix}models")
    entries = reader.tables(tree, "models") if isinstance(tree, dict) else []
    return dict(reader.module(i, entry) for i, entry in enumerate(entries))


def parse_dims(bindings: Iterable[str], where: str = "--dim") -> dict[str, int]:
    """Parse ``("batch=8,seq=128",)`` into a mapping.

    Raises:
        ParseError: not ``NAME=N``, an invalid extent, or two values for one name.
    """
    from perfc.ir.symbolic.sizes import sizes_of

    sizes: dict[str, int] = {}
    # an option may be repeated, and each may have several bindings with commas between
    for binding in ",".join(bindings).split(",") if bindings else ():
        name, equals, value = (part.strip() for part in binding.rpartition("="))
        digits = value.removeprefix("-")
        if not equals or not name or not digits.isdecimal() or len(digits) > LONGEST:
            raise ParseError(
                f"{binding[:60]!r} is not NAME=N",
                where=where,
                hint="as in batch=8; perfc sweep takes ranges",
            )
        if sizes.get(name, int(value)) != int(value):
            message = f"{name} is given as {sizes[name]} and as {int(value)}"
            raise ParseError(message, where=where, hint="give one of them")
        sizes[name] = int(value)
    sizes_of(sizes)  # rejects extents that no dimension can have
    return sizes


def names_of(bindings: Iterable[str]) -> set[str]:
    """Return the names in ``NAME=N`` or ``NAME=RANGE`` bindings."""
    return {part.rpartition("=")[0].strip() for part in ",".join(bindings).split(",")}


def names_in(text: str) -> list[str]:
    """Split comma-separated names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def read_model(
    model: str | NamedModule,
    dims: dict[str, int],
    *,
    is_trained: bool = False,
) -> Module:
    """Read and verify the module in ``model``.

    Text of the IR, in a .pir file or from standard input, keeps its operators and symbols as they
    are; other models are read as by `perfc.analyze`.
    """
    if not isinstance(model, str) or (model != "-" and not model.endswith(".pir")):
        from perfc.deployment.reading import read as read_sized

        return read_sized(model, dims, is_trained=is_trained)[0]
    from perfc.ir.graphs.rewrite import with_defaults
    from perfc.ir.graphs.verify import verify
    from perfc.ir.syntax.parse import read

    parsed = read(model)
    verify(parsed.module, where=parsed.where)
    return with_defaults(parsed.module, dims)


def sized_model(
    model: str | NamedModule, dims: dict[str, int], *, is_trained: bool = False
) -> Module:
    """Read the module in ``model`` and infer its types at the given sizes.

    A model that contradicts itself stays without types if no sizes are given.

    Raises:
        ShapeError: the given sizes contradict each other or the model.
    """
    from dataclasses import replace

    from perfc.ir.symbolic.sizes import sizes_of
    from perfc.passes.inference.sizes import Sizes
    from perfc.passes.manager import Analyses

    module = read_model(model, dims, is_trained=is_trained)
    try:
        typed = Analyses().apply(Sizes(tuple(sizes_of(dims))), module)
    except ShapeError:
        if dims:
            raise
        # a model that contradicts itself is printed without sizes
        return module
    # the sizes become defaults of the symbols: types keep the symbols in place of the numbers
    return replace(module, symbols=tuple(replace(s, is_bound=False) for s in typed.symbols))


AUTO = "auto"
"""Value of ``--batch`` for a command that searches for the batch size."""
FINDING_BATCHES = frozenset({"fit"})
"""Commands that search for a batch size."""


def axis_text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Validate a number, a range of `sweep`, or `auto` for commands that search for it."""
    if value == AUTO and ctx.command.name in FINDING_BATCHES:
        return value
    # ranges of `sweep` are written as 1:64, 1:64:*2 or 1,2,4
    if value is not None and (not value or set(value) - set("0123456789:*,")):
        more = " or 1:64" if ctx.command.name == "sweep" else "; perfc sweep takes ranges"
        raise click.BadParameter(f"{value[:32]!r} is no size, as in {param.opts[-1]} 8{more}")
    if value is not None and not value.strip("0"):
        raise click.BadParameter("0 runs nothing: at least 1")
    return value


def joined(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> str | None:
    """Join repeated values with commas, or return None if there are none."""
    return ",".join(value) if value else None
