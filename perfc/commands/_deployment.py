"""How a model is run: the options of every command that runs one, declared here alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from perfc.errors import ParseError
from perfc.ir.record import frozen

from . import _names
from ._deployment_option import DeploymentOption
from ._names import Names
from ._options import axis_text, dim_option, joined, names_in, names_of, parse_dims
from ._step_options import STEP

if TYPE_CHECKING:
    from perfc.api import Model, Report
    from perfc.check.config import Config
    from perfc.deployment import Deployment
    from perfc.ir.graph import Module
    from perfc.machine import Machine, Reserve
    from perfc.passes.manager import Instrument
    from perfc.project_file import StatedDeployment

P = ParamSpec("P")
R = TypeVar("R")
EVERY = "all"
"""Every target, where several may be named."""
C = TypeVar("C", bound=Callable[..., Any])


_FIELDS: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "target": (("-t", "--target"), {
        "type": Names(_names.targets), "metavar": "NAME", "multiple": True, "callback": joined,
        "words": "Target name or file; see `perfc targets` ({default}). Commands that compare "
                 "accept several, comma-separated or repeated, or `all`.",
    }),
    "runtime": (("--runtime",), {
        "type": Names(_names.runtimes), "metavar": "NAME",
        "words": "Runtime: {names} ({default}).",
    }),
    "framework": (("--framework",), {
        "type": Names(_names.serving), "metavar": "NAME",
        "words": "Serving framework whose attention and quantized matmul kernels run: {names} "
                 "(default: the runtime's).",
    }),
    "runtime_version": (("--runtime-version",), {
        "metavar": "VERSION",
        "words": "Version of the runtime's framework, e.g. 2.9 (default: the newest measured).",
    }),
    "dtype": (("--dtype",), {
        "type": Names(_names.precisions), "metavar": "NAME",
        "words": "Precision: {names} ({default}).",
    }),
    "tf32": (("--tf32/--no-tf32",), {
        "words": "Allow TF32 in float32 matrix products (default: as the runtime does).",
    }),
    "layout": (("--layout",), {
        "type": Names(_names.layouts), "metavar": "NAME",
        "words": "Memory layout of feature maps: {names} ({default}).",
    }),
    "streams": (("--streams",), {"metavar": "N", "words": "Concurrent CUDA streams ({default})."}),
    "mode": (("--mode",), {
        "type": Names(_names.modes), "metavar": "NAME",
        "words": "Mode: {names} (a whole step); {default}.",
    }),
    **STEP,
    "host_launch": (("--host-launch",), {
        "metavar": "TIME",
        "words": "Host time to launch one kernel, e.g. 30us (default: the target's, or a typical "
                 "value).",
    }),
    "reserve": (("--reserve",), {
        "metavar": "SIZE",
        "words": "Device memory to reserve, e.g. 2GiB or 5%, in addition to the context and a "
                 "safety margin.",
    }),
}  # fmt: skip
"""Fields of a deployment beside its extents: flags, and what `click.option` takes."""
_AXES: Mapping[str, str] = {
    "batch": "Batch size: first dimension of the inputs.",
    "seq": "Sequence length: second dimension of token inputs.",
}
"""Extents that every model may be given."""
_value_option = click.option(
    "--value",
    "values",
    multiple=True,
    metavar="NAME=N,...",
    help="Contents of an input that determines shapes, e.g. sizes=1,3,224,224; repeatable.",
)
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Configuration file (default: the nearest perfc.toml or pyproject.toml upwards).",
)
_isolated_option = click.option(
    "--isolated", is_flag=True, help="Ignore perfc.toml and pyproject.toml."
)


def _axis_options() -> list[Callable[[C], C]]:
    return [
        click.option(f"--{name}", name, default=None, metavar="N", help=words, callback=axis_text)
        for name, words in _AXES.items()
    ]


def flag_of(field: str) -> str:
    """A field as it is typed."""
    return "--dim" if field == "dims" else f"--{field.replace('_', '-')}"


def _field_options() -> list[Callable[[C], C]]:
    return [
        click.option(*flags, field, default=None, cls=DeploymentOption, field=field, **more)
        for field, (flags, more) in _FIELDS.items()
    ]


def to_options(function: C) -> C:
    """Add ``--to-FIELD`` for every field, of what is compared with."""
    for field, (flags, more) in reversed(list(_FIELDS.items())):
        names = "/".join(f"--to-{f.removeprefix('--')}" for f in flags[-1].split("/"))
        words = f"{flag_of(field)} for NEW."
        function = click.option(
            names, f"to_{field}", default=None, cls=DeploymentOption, field=field,
            **{**more, "words": words},
        )(function)  # fmt: skip
    for name in reversed(list(_AXES)):
        function = click.option(
            f"--to-{name}", f"to_{name}", type=click.IntRange(1), metavar="N",
            help=f"--{name} for NEW.",
        )(function)  # fmt: skip
    return click.option(
        "--to-dim", "to_dims", multiple=True, metavar="NAME=N", help="--dim for NEW."
    )(function)


@frozen
class DeploymentOptions:
    """What was given, as it was typed; None where it was not."""

    target: str | None
    runtime: str | None
    framework: str | None
    runtime_version: str | None
    dtype: str | None
    tf32: bool | None
    layout: str | None
    streams: str | None
    mode: str | None
    train: str | None
    loss: str | None
    update: str | None
    freeze: str | None
    lora_rank: str | None
    lora: str | None
    accumulate: str | None
    master_weights: bool | None
    checkpointing: str | None
    keep: str | None
    dropout: str | None
    host_launch: str | None
    reserve: str | None
    batch: str | None
    seq: str | None
    dims: tuple[str, ...]
    values: tuple[str, ...]
    config: Path | None
    isolated: bool

    @cached_property
    def file(self) -> Path | None:
        """The file of the project, where there is one that is to be read."""
        from perfc.project_file import find

        return None if self.isolated else self.config or find(Path.cwd())

    @cached_property
    def of_file(self) -> StatedDeployment:
        """What the file of the project says.

        Raises:
            ParseError: it is not as it should be.
        """
        from perfc.deployment import KEYS
        from perfc.project_file import StatedDeployment, deployment_in

        if self.file is None:
            return StatedDeployment({}, str)
        return deployment_in(self.file, KEYS)

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """Extents as `--dim` has them, those of `--batch` and `--seq` among them."""
        axes = (f"{name}={value}" for name in _AXES if (value := getattr(self, name)) is not None)
        return (*axes, *self.dims)

    def typed(self, dims: Mapping[str, int] | None = None) -> dict[str, object]:
        """Fields that the command line says, extents as ``dims`` have them where they are given.

        Raises:
            ParseError: an extent that is none.
        """
        found: dict[str, object] = {
            name: value for name in _FIELDS if (value := getattr(self, name)) is not None
        }
        sizes = parse_dims(self.sizes) if dims is None else dims
        return {**found, **({"dims": sizes} if sizes else {})}

    def deployment(
        self,
        default: Deployment | None = None,
        *,
        dims: Mapping[str, int] | None = None,
        also: Mapping[str, object] | None = None,
        also_at: str = "",
        is_whole: bool = False,
        is_several: bool = False,
    ) -> Deployment:
        """What the command line says, else the file of the project, else ``default``.

        Args:
            default: of the command.
            dims: extents in the place of those that were typed.
            also: fields that were said in other words, or elsewhere.
            also_at: where, for messages; on the command line by default.
            is_whole: whether it is of whole runs, training steps among them.
            is_several: whether it may name several targets.

        Raises:
            ParseError: a value that is none, or fields that do not go together; says where.
        """
        from perfc.deployment import Deployment

        typed = {**self.typed(dims), **(also or {})}
        values = {**self.of_file.values, **typed}
        of_file = self.of_file.values.get("dims")
        if isinstance(of_file, dict) and isinstance(typed.get("dims"), Mapping):
            values["dims"] = {**of_file, **typed["dims"]}  # type: ignore[dict-item]

        def place(field: str) -> str:
            is_also = also is not None and field in also
            return (also_at or flag_of(field)) if is_also else self.place(field)

        found = (default or Deployment()).stated(values, place)
        if not is_several and (len(names_in(found.target)) > 1 or found.target == EVERY):
            hint = f"`perfc compare MODEL -t {found.target}` shows several side by side"
            raise ParseError("one target at a time", where=place("target"), hint=hint)
        if not is_whole:
            found.require_kernels(place("mode"))
        found.require_alone(place("parallel"))
        return found

    @property
    def has_several_targets(self) -> bool:
        """Whether more than one target is named."""
        stated = self.target or self.of_file.values.get("target")
        names = names_in(stated) if isinstance(stated, str) else []
        return len(names) > 1 or names == [EVERY]

    def machines(self, names: str) -> tuple[Machine, ...]:
        """The targets named, each once; ``all`` stands for every one there is.

        Raises:
            PerfcError: none is named, or one is not known.
        """
        from perfc.machine import list_machines, load_machine

        several = names_in(names)
        every = [t.name for t in list_machines()] if EVERY in several else []
        found = {m.path: m for m in (load_machine(n) for n in several if n != EVERY)}
        found |= {m.path: m for m in map(load_machine, every) if m.path not in found}
        if not found:
            raise ParseError("names no target", where=self.place("target"), hint="-t a100,h100")
        return tuple(found.values())

    def place(self, field: str) -> str:
        """Where a field is said: on the command line, or in the file of the project."""
        given = self.sizes if field == "dims" else getattr(self, field, None)
        is_typed = given is not None and given != ()
        if is_typed or field not in self.of_file.values:
            return flag_of(field)
        return self.of_file.place(field)

    @property
    def held_back(self) -> Reserve:
        """Device memory to hold back, as the command line, else the project's file, has it.

        Raises:
            ParseError: it is none.
        """
        from perfc.machine import Reserve

        given = self.reserve if self.reserve is not None else self.of_file.values.get("reserve")
        return Reserve.parse(given, self.place("reserve"))

    def is_stated(self, field: str) -> bool:
        """Whether the command line or the file of the project says a field."""
        return field in self.typed() or field in self.of_file.values

    def budgets(self) -> Config:
        """The budgets in the file of the project, under what the command line says.

        Raises:
            ParseError: they are not as they should be.
        """
        from perfc.check import config as configs

        assert self.file is not None
        return configs.load(self.file, self.typed())

    @property
    def contents(self) -> dict[str, object]:
        """Contents of inputs.

        Raises:
            ParseError: not ``NAME=NUMBERS``.
        """
        from ._report import parse_values

        return parse_values(self.values)

    @property
    def has_named_axes(self) -> bool:
        """Whether `--dim` says what `--batch` or `--seq` could."""
        return not names_of(self.dims).isdisjoint(_AXES)

    def note_axes(self, module: Module) -> None:
        """Say what `--dim batch=8` means in a model that has no symbol of that name."""
        from perfc.extents import AXES, described, stood_for
        from perfc.plain_text import say

        for name in stood_for(module, dict.fromkeys(names_of(self.dims) & AXES.keys())):
            what = f"no symbol is called {name} in {described(module)}"
            say(f"note: {what}; --dim {name}=N is taken as --{name} N", is_error=True)

    def report(
        self,
        model: Model,
        deployment: Deployment | None = None,
        *,
        predictor: str = "",
        instruments: Sequence[Instrument] = (),
    ) -> Report:
        """The analysis of ``model``, as the options say or under a deployment made of them.

        Raises:
            PerfcError: as ``perfc.analyze``.
        """
        from perfc.api import analyze

        how = deployment or self.deployment()
        try:
            found = analyze(
                model, deployment=how, values=self.contents, predictor=predictor,
                instruments=instruments,
            )  # fmt: skip
            self.note_axes(found.source)
            return found
        except ParseError as error:
            of_file = self.of_file.values.get("dims")
            for name in of_file if isinstance(of_file, dict) else ():
                if f"no symbol {name!r}" in error.message:
                    error.hint = f"{error.hint}; {self.of_file.place('dims')} gives it"
            raise


def deployment_options(
    function: Callable[Concatenate[DeploymentOptions, P], R],
) -> Callable[P, R]:
    """Add the options; ``function`` gets them as its first argument."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        taken = {name: kwargs.pop(name) for name in DeploymentOptions.__dataclass_fields__}
        return function(DeploymentOptions(**taken), *args, **kwargs)  # type: ignore[arg-type]

    decorated: Callable[P, R] = wrapped
    rest = [*_axis_options(), dim_option, _value_option, config_option, _isolated_option]
    for option in reversed([*_field_options(), *rest]):
        decorated = option(decorated)
    return decorated
