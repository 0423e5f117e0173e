"""How a model is run, as one value: what the command line, a file and a program say alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from enum import Enum
from operator import index
from typing import Any, TypedDict

from perfc.choice import member
from perfc.durations import seconds_of
from perfc.errors import ParseError, PassError
from perfc.frontend import is_configuration
from perfc.ir.record import record
from perfc.ir.sizes import sizes_of
from perfc.passes.retype import precision_name
from perfc.passes.runtimes import (
    DEFAULT,
    MAX_STREAMS,
    SERVING_DEFAULT,
    Layout,
    Runtime,
    Serving,
    Steps,
    canonical,
    of_steps,
    runtime,
    tables,
)

VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(\.\S*)?")


class Mode(Enum):
    """What a run is."""

    INFERENCE = "inference"
    """The forward pass."""
    TRAINING = "training"
    """A whole step: forward, backward and optimiser."""


@record
class Deployment:
    """One way of running a model. Options, keys of files and keywords have the fields' names.

    Args:
        target: name or file of the machine.
        runtime: whose kernels run, without streams; "" for what models of the kind usually run
            under, which ``for_model`` names.
        framework: whose kernels of attention and quantised products run, where the model leaves
            them open; by default what the runtime implies.
        runtime_version: of the runtime's framework, ``2.9``; "" for the newest that was measured.
        dtype: what-if precision, autocast included; "" for the model's own.
        tf32: whether f32 products may use TF32.
        layout: of feature maps.
        streams: that launch kernels.
        mode: what a run is.
        host_launch: what the host takes to launch one kernel, in seconds; None where nobody says,
            which is measured by `perfc calibrate` or else what such hosts were seen to take.
        dims: values of symbolic extents by the names that models have. ``batch`` is the first
            extent of the inputs and ``seq`` the second of token inputs where no symbol is called
            so.
    """

    target: str = "a100"
    runtime: str = ""
    framework: Serving = Serving.ANY
    runtime_version: str = ""
    dtype: str = ""
    tf32: bool = True
    layout: Layout = Layout.CHANNELS_FIRST
    streams: int = 1
    mode: Mode = Mode.INFERENCE
    host_launch: float | None = None
    dims: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)

    def for_model(self, model: object) -> Deployment:
        """The same with a runtime named: where none is, that of an engine for a configuration.

        Args:
            model: what is run; a graph where it is not the name of a configuration.
        """
        if self.runtime:
            return self
        return replace(self, runtime=SERVING_DEFAULT if is_configuration(model) else DEFAULT)

    @property
    def table_name(self) -> str:
        """The fusion table with its streams, as passes take it: ``ort:3``."""
        name = self.runtime or DEFAULT
        return name if self.streams == 1 else f"{name}:{self.streams}"

    @property
    def table(self) -> Runtime:
        """The fusion table."""
        return runtime(self.table_name)

    @property
    def serving(self) -> Serving:
        """Whose kernels run: as said, else as the runtime implies."""
        return self.table.serving if self.framework is Serving.ANY else self.framework

    @property
    def version(self) -> tuple[int, int] | None:
        """Major and minor version of the framework; None where it is not said."""
        found = VERSION.fullmatch(self.runtime_version)
        return (int(found[1]), int(found[2])) if found else None

    def as_json(self) -> dict[str, object]:
        """The fields by name, as JSON has them."""
        found: dict[str, object] = {name: getattr(self, name) for name in READERS}
        named = {name: getattr(self, name).value for name in ("framework", "layout", "mode")}
        return {**found, **named, "runtime": self.runtime or DEFAULT}

    def require_inference(self, where: str = "mode") -> None:
        """Refuse what is no forward pass, where kernels are looked at one by one.

        Raises:
            ParseError: it is a training step.
        """
        if self.mode is not Mode.INFERENCE:
            hint = f"`perfc predict --mode {self.mode.value}` predicts whole steps"
            raise ParseError("only forward passes are analysed", where=where, hint=hint)

    def at(self, dims: Mapping[str, int]) -> Deployment:
        """The same at other extents, those given before kept."""
        return replace(self, dims={**self.dims, **dims})

    def stated(self, values: Mapping[str, object], where: Callable[[str], str] = str) -> Deployment:
        """The same with what ``values`` say of some fields, each and all together checked.

        Args:
            values: by the name of the field, as typed or as the field has them; ``dims`` are added.
                ``batch`` and ``seq`` are two of ``dims``.
            where: the place of a field, for messages.

        Raises:
            ParseError: no such field, a value that is none, or fields that do not go together.
        """
        values = with_axes(values, where)
        for name in values:
            if name not in READERS:
                raise ParseError(f"no {name!r}", hint=f"there are {', '.join(KEYS)}")
        fields: dict[str, Any] = {}
        for name, read in READERS.items():
            if name in values:
                fields |= read(values[name], where(name))
        if "dims" in fields:
            fields["dims"] = {**self.dims, **fields["dims"]}
        found = replace(self, **fields)
        found.check(where)
        return found

    def check(self, where: Callable[[str], str] = str) -> None:
        """Refuse what the runtime does not offer.

        Raises:
            ParseError: says what it or others offer.
        """
        table = self.table
        if self.layout not in table.layouts:
            offer = ", ".join(t.name for t in tables() if self.layout in t.layouts)
            raise ParseError(
                f"{table.name} does not run {self.layout.value}", where=where("layout"),
                hint=f"{offer} do",
            )  # fmt: skip
        if self.runtime_version and not table.tells_versions:
            offer = ", ".join(t.name for t in tables() if t.tells_versions)
            raise ParseError(
                f"versions of {table.name} are not told apart", where=where("runtime_version"),
                hint=f"those of {offer} are",
            )  # fmt: skip


def of_whole_runs() -> Deployment:
    """How `predict` takes a whole run to be where nothing else is said: as most measured ones."""
    return Deployment("rtx4090", of_steps(Steps.EAGER).name, dtype="amp-f16")


class DeploymentKeywords(TypedDict, total=False):
    """The fields of a deployment as keywords of a function; see ``Deployment``."""

    runtime: str
    framework: str | Serving
    runtime_version: str
    dtype: str
    tf32: bool
    layout: str | Layout
    streams: int
    mode: str | Mode
    host_launch: str | float | None
    dims: Mapping[str, int] | None
    batch: int | None
    seq: int | None


def text_of(value: object, where: str) -> str:
    """A string.

    Raises:
        ParseError: something else.
    """
    if not isinstance(value, str):
        raise ParseError(f"{value!r} is not a string", where=where)
    return value


def _target(value: object, where: str) -> dict[str, Any]:
    name = text_of(value, where).strip()
    if not name:
        raise ParseError("names no target", where=where, hint="`perfc targets` lists them")
    return {"target": name}


def _runtime(value: object, where: str) -> dict[str, Any]:
    name = text_of(value, where)
    stated, colon, streams = name.partition(":")
    try:
        plain = canonical(stated)
    except PassError as error:
        raise ParseError(error.message, where=where, hint=error.hint) from None
    return {"runtime": plain, **(_streams(streams, where) if colon else {})}


def _framework(value: object, where: str) -> dict[str, Any]:
    known = value if isinstance(value, Serving) else member(Serving, text_of(value, where), where)
    return {"framework": known}


def _version(value: object, where: str) -> dict[str, Any]:
    text = text_of(value, where)
    if text and VERSION.fullmatch(text) is None:
        raise ParseError(f"{text[:32]!r} is no version", where=where, hint="as in 2.9")
    return {"runtime_version": text}


def _dtype(value: object, where: str) -> dict[str, Any]:
    try:
        return {"dtype": precision_name(text_of(value, where))}
    except PassError as error:
        raise ParseError(error.message, where=where, hint=error.hint) from None


def _tf32(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise ParseError(f"{value!r} is neither true nor false", where=where)
    return {"tf32": value}


def _layout(value: object, where: str) -> dict[str, Any]:
    known = value if isinstance(value, Layout) else member(Layout, text_of(value, where), where)
    return {"layout": known}


def _streams(value: object, where: str) -> dict[str, Any]:
    text = str(value)
    is_number = not isinstance(value, bool) and text.isascii() and text.isdigit()
    if not is_number or not 1 <= int(text[:4]) <= MAX_STREAMS:
        raise ParseError(
            f"no number of streams: {text[:32]!r}", where=where, hint=f"1 to {MAX_STREAMS}"
        )
    return {"streams": int(text)}


def _mode(value: object, where: str) -> dict[str, Any]:
    known = value if isinstance(value, Mode) else member(Mode, text_of(value, where), where)
    return {"mode": known}


def _host_launch(value: object, where: str) -> dict[str, Any]:
    return {"host_launch": None if value is None else seconds_of(value, where)}


def _dims(value: object, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ParseError(f"{value!r} is not a table", where=where, hint="as in { batch = 8 }")
    sizes_of(value, where)
    return {"dims": {str(name): index(extent) for name, extent in value.items()}}


READERS: Mapping[str, Callable[[object, str], dict[str, Any]]] = {
    "target": _target,
    "runtime": _runtime,
    "framework": _framework,
    "runtime_version": _version,
    "dtype": _dtype,
    "tf32": _tf32,
    "layout": _layout,
    "streams": _streams,
    "mode": _mode,
    "host_launch": _host_launch,
    "dims": _dims,
}
"""Reads and checks each field; streams after a runtime that may have them in its name."""
AXES = ("batch", "seq")
"""Extents that every model may be given, whatever its symbols are called."""
KEYS = (*READERS, *AXES)
"""What files and programs may say."""


def with_axes(values: Mapping[str, object], where: Callable[[str], str] = str) -> dict[str, object]:
    """What is said of ``AXES`` among the extents.

    Args:
        values: of fields by name, and of ``AXES``; None says nothing.
        where: the place of a key, for messages.

    Raises:
        ParseError: an extent of two sizes.
    """
    found = {name: value for name, value in values.items() if name not in AXES}
    sizes = {name: values[name] for name in AXES if values.get(name) is not None}
    if not sizes:
        return found
    stated = found.get("dims") or {}
    if not isinstance(stated, Mapping):
        return found
    for name, value in sizes.items():
        if stated.get(name, value) != value:
            message = f"{name} is given as {value} and as {stated[name]}"
            raise ParseError(message, where=where(name), hint="give one of them")
    return {**found, "dims": {**stated, **sizes}}
