"""Deployment options of every command that analyzes a model.

`deployment_options` adds them to a command, which gets them as `DeploymentOptions`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from perfc.deployment import OPTIONS
from perfc.deployment.fields import AXES
from perfc.errors import ParseError
from perfc.ir import Module, frozen

from . import options as _options
from .deployment_option import DeploymentOption
from .names import completed
from .options import axis_text, dim_option, names_in, names_of, parse_dims

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from perfc.api import Model, Report
    from perfc.deployment import Deployment
    from perfc.deployment.prices import Prices
    from perfc.deployment.project_file import ProjectValues
    from perfc.frontend.reading.module_name import NamedModule
    from perfc.machine import Machine, Reserve
    from perfc.passes.manager import Instrument

P = ParamSpec("P")
R = TypeVar("R")
EVERY = "all"  # stands for every target
C = TypeVar("C", bound=Callable[..., Any])

SWITCH: Mapping[str, bool] = {"true": True, "false": False, "yes": True, "no": False}
"""Values of options that are switched on or off."""
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
        for name, words in AXES.items()
    ]


def flag_of(field: str) -> str:
    """Return the flag of a field."""
    return "--dim" if field == "dims" else f"--{field.replace('_', '-')}"


def _field_options(present: Collection[str | None]) -> Iterator[Callable[[C], C]]:
    for field, declared in OPTIONS.items():
        flags = [*filter(None, (declared.short, flag_of(field)))]
        if declared.is_switch:
            flags = [f"{flag_of(field)}/--no-{flag_of(field)[2:]}"]
        if field not in present:
            kind = DeploymentOption
            yield click.option(*flags, field, cls=kind, field=field, declared=declared)


class NewValue(click.ParamType[str]):
    """Deployment option or extent of the new side of a comparison, ``KEY=VALUE``."""

    name = "key=value"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return keys that complete the text; behind ``KEY=``, names that complete the value."""
        key, equals, _ = incomplete.partition("=")
        if not equals:
            return completed((f"{flag_of(f)[2:]}=" for f in (*AXES, *OPTIONS)), incomplete)
        declared = OPTIONS.get(key.replace("-", "_"))
        names = declared.names() if declared and declared.names else ()
        return completed((f"{key}={n}" for n in names), incomplete)


new_values_option = click.option(
    "--to",
    "to",
    type=NewValue(),
    multiple=True,
    metavar="KEY=VALUE",
    help="Deployment option or dimension of NEW, as in batch=8, dtype=f16; repeatable.",
)


def new_values(bindings: Iterable[str]) -> dict[str, object]:
    """Return the fields and extents of ``("dtype=f16", "batch=8")``.

    Raises:
        ParseError: not ``KEY=VALUE``, or an invalid extent.
    """
    fields: dict[str, object] = {}
    sizes: list[str] = []
    for binding in bindings:
        key, equals, value = binding.partition("=")
        field = key.strip().replace("-", "_")
        if not equals:
            hint = "as in --to batch=8"
            raise ParseError(f"{binding[:60]!r} is not KEY=VALUE", where="--to", hint=hint)
        declared = OPTIONS.get(field)
        if declared is None:
            # any other key is the name of an extent in the model
            sizes.append(binding)
        elif declared.is_switch:
            fields[field] = SWITCH.get(value, value)
        elif field in fields and declared.is_repeatable:
            fields[field] = f"{fields[field]},{value}"
        else:
            fields[field] = value
    return {**fields, "dims": parse_dims(sizes, "--to")}


@frozen
class DeploymentOptions:
    """Deployment options as typed.

    Args:
        fields: values by the names of the fields, ``batch`` and ``seq``; None if not given.
        dims: sizes, ``NAME=N``.
        values: contents of inputs, ``NAME=N,…``.
        config: project file; None for the nearest.
        isolated: True to read no project file.
        inputs: inputs of a PyTorch module.
        kwargs: arguments of its class, as JSON.
        is_jax: True if the model is a function of JAX.
    """

    fields: Mapping[str, Any]
    dims: tuple[str, ...]
    values: tuple[str, ...]
    config: Path | None
    isolated: bool
    inputs: tuple[str, ...] = ()
    kwargs: str = ""
    is_jax: bool = False

    @cached_property
    def file(self) -> Path | None:
        """Return the project file to read; None if there is none, or with `--isolated`."""
        from perfc.deployment.project_file import find

        return None if self.isolated else self.config or find(Path.cwd())

    @cached_property
    def of_file(self) -> ProjectValues:
        """Return the deployment values of the project file.

        Raises:
            ParseError: the file is malformed.
        """
        from perfc.deployment import KEYS
        from perfc.deployment.project_file import ProjectValues, deployment_in

        if self.file is None:
            return ProjectValues({}, str)
        return deployment_in(self.file, KEYS)

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """Return the extents in the form of `--dim`, including `--batch` and `--seq`."""
        axes = (f"{name}={value}" for name in AXES if (value := self.fields.get(name)) is not None)
        return (*axes, *self.dims)

    def typed(self, dims: Mapping[str, int] | None = None) -> dict[str, object]:
        """Return the fields given on the command line, with extents from ``dims`` if given.

        Raises:
            ParseError: an invalid extent.
        """
        fields: dict[str, object] = {
            name: value for name in OPTIONS if (value := self.fields.get(name)) is not None
        }
        sizes = parse_dims(self.sizes) if dims is None else dims
        return {**fields, **({"dims": sizes} if sizes else {})}

    def deployment(
        self,
        *,
        dims: Mapping[str, int] | None = None,
        also: Mapping[str, object] | None = None,
        also_at: str = "",
        is_several: bool = False,
    ) -> Deployment:
        """Build the deployment from the command line, then the project file, then the defaults.

        Args:
            dims: extents that replace the typed ones.
            also: further fields, from other options or files.
            also_at: their place for messages (default: the command line).
            is_several: allow several targets.

        Raises:
            ParseError: an invalid value or incompatible fields, with the place.
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

        result = Deployment().with_values(values, place)
        if not is_several and (len(names_in(result.target)) > 1 or result.target == EVERY):
            hint = f"`perfc compare MODEL -t {result.target}` shows several side by side"
            raise ParseError("one target at a time", where=place("target"), hint=hint)
        result.require_kernels(place("mode"))
        result.require_alone(place("parallel"))
        return result

    @property
    def has_several_targets(self) -> bool:
        """Return True if more than one target is named."""
        target = self.value_of("target")
        names = names_in(target) if isinstance(target, str) else []
        return len(names) > 1 or names == [EVERY]

    def machines(self, names: str) -> tuple[Machine, ...]:
        """Load the named targets without duplicates; ``all`` is each that the runtimes run on.

        Raises:
            PerfcError: no target is named, or one is unknown.
        """
        from perfc.machine import list_machines, load_machine
        from perfc.passes.runtimes import runtime

        several = names_in(names)
        machines = {m.path: m for m in (load_machine(n) for n in several if n != EVERY)}
        if EVERY in several:
            runtimes = names_in(str(self.value_of("runtime") or ""))
            for m in [load_machine(t.name) for t in list_machines()]:
                if not any(runtime(r).is_excluded(m.kind, m.vendor) for r in runtimes):
                    machines.setdefault(m.path, m)
        if machines:
            return tuple(machines.values())
        raise ParseError("names no target", where=self.place("target"), hint="-t a100,h100")

    def place(self, field: str) -> str:
        """Return the place of a field for messages: its flag or the project file."""
        given = self.sizes if field == "dims" else self.fields.get(field)
        is_typed = given is not None and given != ()
        if is_typed or field not in self.of_file.values:
            return flag_of(field)
        return self.of_file.place(field)

    @property
    def held_back(self) -> Reserve:
        """Return the device memory to reserve, from the command line or the project file.

        Raises:
            ParseError: not a size.
        """
        from perfc.machine import Reserve

        return Reserve.parse(self.value_of("reserve"), self.place("reserve"))

    def value_of(self, field: str) -> Any:
        """Return the value of a field on the command line, else in the project file; else None."""
        typed = self.fields.get(field)
        return self.of_file.values.get(field) if typed is None else typed

    def replaced(self, **fields: Any) -> DeploymentOptions:
        """Return the options with other values of some fields."""
        return replace(self, fields={**self.fields, **fields})

    def ways(self) -> Iterator[DeploymentOptions]:
        """Yield the options with each named runtime and precision."""
        for runtime, dtype in product(*map(several, map(self.fields.get, ("runtime", "dtype")))):
            yield self.replaced(runtime=runtime, dtype=dtype)

    def sized_ways(self) -> Iterator[tuple[dict[str, int], DeploymentOptions]]:
        """Yield each combination of sizes with each of `ways`.

        Raises:
            ParseError: an invalid range.
        """
        from perfc.study.sweep.axes import parse_axes

        axes = parse_axes(self.sizes) if self.sizes else ()
        for values in product(*(axis.values for axis in axes)):
            yield from (
                ({a.name: v for a, v in zip(axes, values, strict=True)}, w) for w in self.ways()
            )

    def is_stated(self, field: str) -> bool:
        """Return True if the command line or the project file sets a field."""
        return field in self.typed() or field in self.of_file.values

    @property
    def prices(self) -> Prices:
        """Return the prices of the project file.

        Raises:
            ParseError: an invalid price.
        """
        from .project_prices import prices_in

        return prices_in(self.file)

    @property
    def contents(self) -> dict[str, object]:
        """Return the contents of inputs, from `--value`.

        Raises:
            ParseError: not ``NAME=NUMBERS``.
        """
        from .report import parse_values

        return parse_values(self.values)

    @property
    def has_named_axes(self) -> bool:
        """Return True if `--dim` names an axis that `--batch` or `--seq` could set."""
        return not names_of(self.dims).isdisjoint(AXES)

    def note_axes(self, module: Module) -> None:
        """Print a note if `--dim batch=8` names no symbol of the model."""
        from perfc.common.plain_text import say
        from perfc.deployment.extents import described, stood_for

        for name in stood_for(module, dict.fromkeys(names_of(self.dims) & AXES.keys())):
            what = f"no symbol is called {name} in {described(module)}"
            say(f"note: {what}; --dim {name}=N is taken as --{name} N", is_error=True)

    def named(self, model: str) -> str | NamedModule:
        """Return a model as `named_model` does."""
        return _options.named_model(model, self.inputs, self.kwargs, self.file, is_jax=self.is_jax)

    def report(
        self,
        model: Model,
        deployment: Deployment | None = None,
        *,
        predictor: str = "",
        instruments: Sequence[Instrument] = (),
    ) -> Report:
        """Analyze ``model`` with the options, or with a deployment derived from them.

        Raises:
            PerfcError: as ``perfc.analyze``.
        """
        from perfc.api import analyze

        model = self.named(model) if isinstance(model, str) else model
        try:
            report = analyze(
                model,
                deployment=deployment or self.deployment(),
                values=self.contents,
                predictor=predictor,
                instruments=instruments,
            )
            self.note_axes(report.source)
            return report
        except ParseError as error:
            # for a symbol that the model lacks, the hint names the line of the project file with it
            of_file = self.of_file.values.get("dims")
            for name in of_file if isinstance(of_file, dict) else ():
                if f"no symbol {name!r}" in error.message:
                    error.hint = f"{error.hint}; {self.of_file.place('dims')} gives it"
            raise


def several(text: str | None) -> Sequence[str | None]:
    """Split comma-separated values of an option; a single None if it is not given.

    Text without a name, such as ",", is returned whole, so that the error shows it.
    """
    return [None] if text is None else names_in(text) or [text]


def deployment_options(
    function: Callable[Concatenate[DeploymentOptions, P], R],
) -> Callable[P, R]:
    """Add the deployment options that ``function`` lacks; its first argument has all values."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        fields = {n: kwargs.pop(n) for n in (*OPTIONS, *AXES) if n in kwargs}
        others: dict[str, Any] = {
            n: kwargs.pop(n) for n in DeploymentOptions.__dataclass_fields__ if n in kwargs
        }
        return function(DeploymentOptions(fields, **others), *args, **kwargs)

    decorated: Callable[P, R] = wrapped
    present = {param.name for param in getattr(function, "__click_params__", ())}
    others = dim_option, _value_option, config_option, _isolated_option
    for option in reversed((*_field_options(present), *_axis_options(), *others)):
        decorated = option(decorated)
    return decorated


def model_options(
    function: Callable[Concatenate[DeploymentOptions, P], R],
) -> Callable[P, R]:
    """Add the deployment options, and the options of PyTorch modules and JAX functions."""
    return _options.module_options(_options.jax_option(deployment_options(function)))
