"""How a model is run, as one value: what the command line, a file and a program say alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypedDict

from perfc import step_fields
from perfc.deployment_fields import READERS, VERSION, Mode
from perfc.errors import ParseError
from perfc.frontend import is_configuration
from perfc.ir.record import record
from perfc.ir.types import DType
from perfc.machine import NOTHING, Capacity, Machine, Reserve, capacity_of, load_machine
from perfc.parallel import ALONE, Parallel
from perfc.passes.retype import element_type
from perfc.passes.runtimes import (
    DEFAULT,
    SERVING_DEFAULT,
    TRAINING_DEFAULT,
    Layout,
    Runtime,
    Serving,
    Steps,
    Tf32,
    of_steps,
    runtime,
    tables,
)
from perfc.passes.training.implementation import Implementation, Policy

if TYPE_CHECKING:
    from perfc.ir.graph import Module
    from perfc.passes.train import Train


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
        tf32: which f32 products may use TF32; None for those that the runtime lets on the target.
        layout: of feature maps.
        streams: that launch kernels.
        mode: what a run is.
        train: optimiser of a training step that is analysed kernel by kernel; "" for none. It
            makes ``mode`` training.
        loss: that the step ends in; "" for the one that fits the model's first result.
        update: how the optimiser is launched.
        freeze: patterns of names of parameters that are not trained.
        lora_rank: of factors beside matrices, which then alone are trained; 0 for none.
        lora: patterns of names of the matrices; every one by default.
        accumulate: small batches before an update.
        master_weights: whether the optimiser keeps parameters below 32 bits in f32 besides.
        checkpointing: what of the forward pass is computed again.
        keep: share of the kept bytes that may stay, where ``checkpointing`` is optimal.
        dropout: share of the elements that a transformer drops, where its file has lost that.
        host_launch: what the host takes to launch one kernel, in seconds; None where nobody says,
            which is measured by `perfc calibrate` or else what such hosts were seen to take.
        reserve: device memory that is held back for something else.
        parallel: how the model is divided among machines of that kind.
        dims: values of symbolic extents by the names that models have. ``batch`` is the first
            extent of the inputs and ``seq`` the second of token inputs where no symbol is called
            so.
    """

    target: str = "a100"
    runtime: str = ""
    framework: Serving = Serving.ANY
    runtime_version: str = ""
    dtype: str = ""
    tf32: Tf32 | None = None
    layout: Layout = Layout.CHANNELS_FIRST
    streams: int = 1
    mode: Mode = Mode.INFERENCE
    train: str = ""
    loss: str = ""
    update: Implementation = Implementation.FOREACH
    freeze: tuple[str, ...] = ()
    lora_rank: int = 0
    lora: tuple[str, ...] = ()
    accumulate: int = 1
    master_weights: bool = False
    checkpointing: Policy = Policy.NONE
    keep: float = 0.5
    dropout: float = 0.0
    host_launch: float | None = None
    reserve: Reserve = NOTHING
    parallel: Parallel = ALONE
    dims: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)

    def for_model(self, model: object) -> Deployment:
        """The same with a runtime named: an engine for a configuration that is served.

        Args:
            model: what is run; a graph where it is not the name of a configuration.
        """
        if self.runtime:
            return self
        is_served = is_configuration(model) and self.stated_runtime == DEFAULT
        return replace(self, runtime=SERVING_DEFAULT if is_served else self.stated_runtime)

    def widens(self, model: object) -> bool:
        """Whether parameters are f32 that a configuration states in fewer bits: under autocast."""
        return self.dtype.startswith("amp-") and is_configuration(model)

    def executed(self, module: Module) -> str:
        """What-if precision in which a model runs: f16 where an engine's GPU has no bf16.

        vLLM wants ``--dtype half`` there, SGLang takes it by itself, and TensorRT-LLM has no other.
        """
        engine = self.table.engine
        if self.dtype or engine is None or engine.recording is None:
            return self.dtype
        is_bf16 = any(element_type(v) is DType.BF16 for v in module.graph.weights)
        return "f16" if is_bf16 and not load_machine(self.target).takes("bf16") else ""

    @property
    def is_step(self) -> bool:
        """Whether a run is a training step."""
        return bool(self.train) or self.mode is Mode.TRAINING

    @property
    def stated_runtime(self) -> str:
        """The runtime as said, else what graphs run under: PyTorch in a training step."""
        return self.runtime or (TRAINING_DEFAULT if self.is_step else DEFAULT)

    @property
    def table_name(self) -> str:
        """The fusion table with its streams, as passes take it: ``ort:3``."""
        streams = "" if self.streams == 1 else f":{self.streams}"
        return self.stated_runtime + streams

    @property
    def table(self) -> Runtime:
        """The fusion table."""
        return runtime(self.table_name)

    @property
    def of_version(self) -> Runtime:
        """The fusion table that the framework had in its version."""
        now = self.table
        if now.steps is None or now.is_recorded or self.version is None:
            return now
        return of_steps(now.steps, self.version) if now.before is None else now

    @property
    def rounded(self) -> Tf32:
        """Which f32 products may use TF32: as said, else as the runtime lets them there."""
        if self.tf32 is not None:
            return self.tf32
        return self.table.tf32_on(load_machine(self.target).vendor)

    @property
    def trained_by(self) -> str:
        """The table that says which operators the framework trains; "" for a forward pass."""
        now = self.of_version
        table = now if now.is_dispatched else of_steps(Steps.EAGER, self.version)
        return table.name if self.train else ""

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
        left_out = [*(() if self.train else step_fields.READERS), "parallel", "reserve"]
        found: dict[str, object] = {n: getattr(self, n) for n in READERS if n not in left_out}
        if self.reserve != NOTHING:
            found["reserve"] = str(self.reserve)
        if self.parallel != ALONE:
            found["parallel"] = self.parallel.as_json()
        enums = {n: v.value for n, v in found.items() if isinstance(v, Enum)}
        return {**found, **enums, "runtime": self.stated_runtime}

    @property
    def recipe(self) -> Train | None:
        """The transform that makes a training step of the model; None for a forward pass."""
        if not self.train:
            return None
        from perfc.passes.train import Train

        return Train(
            self.train, self.loss, self.update.value, self.freeze,
            master_weights=self.master_weights, loss_scaling=self.dtype in step_fields.SCALED,
            accumulate=self.accumulate, lora_rank=self.lora_rank, lora=self.lora,
            checkpointing=self.checkpointing.value, keep=self.keep, dropout=self.dropout,
            fuses_attention=self.of_version.fuses_attention,
        )  # fmt: skip

    def require_kernels(self, where: str = "mode") -> None:
        """Refuse what cannot be looked at kernel by kernel: a step whose optimiser nobody names.

        Raises:
            ParseError: it is such a training step.
        """
        if self.mode is not Mode.INFERENCE and not self.train:
            hint = f"--train adamw; `perfc predict --mode {self.mode.value}` predicts whole steps"
            raise ParseError("a training step needs an optimiser", where=where, hint=hint)

    def require_alone(self, where: str = "parallel") -> None:
        """Refuse several devices, where what one of them runs is looked at.

        Raises:
            ParseError: the model is divided.
        """
        if self.parallel != ALONE:
            hint = "`perfc plan`, `perfc scale` and `perfc llm` answer for several"
            raise ParseError("only one device is analysed", where=where, hint=hint)

    def capacity(self, machine: Machine) -> Capacity | None:
        """Memory of a machine that the run may take; None where its target gives none."""
        return capacity_of(machine, self.reserve)

    def at(self, dims: Mapping[str, int]) -> Deployment:
        """The same at other extents, those given before kept."""
        return replace(self, dims={**self.dims, **dims})

    def with_values(
        self, values: Mapping[str, object], where: Callable[[str], str] = str
    ) -> Deployment:
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
        if fields.get("train"):
            fields["mode"] = Mode.TRAINING
        found = replace(self, **fields)
        found.check(where)
        return found

    def check(self, where: Callable[[str], str] = str) -> None:
        """Refuse what the runtime does not offer, and what says a step where there is none.

        Raises:
            ParseError: says what it or others offer, or what is missing.
        """
        step_fields.check_together(self, where)
        table = self.table
        if self.is_step and not table.trains:
            offer = ", ".join(t.name for t in tables() if t.trains)
            raise ParseError(
                f"{table.name} runs no training step", where=where("runtime"), hint=f"{offer} do"
            )
        if self.layout not in table.layouts:
            offer = ", ".join(t.name for t in tables() if self.layout in t.layouts)
            message = f"{table.name} does not run {self.layout.value}"
            raise ParseError(message, where=where("layout"), hint=f"{offer} do")
        if self.runtime_version and not table.tells_versions:
            offer = ", ".join(t.name for t in tables() if t.tells_versions)
            message, hint = f"versions of {table.name} are not told apart", f"those of {offer} are"
            raise ParseError(message, where=where("runtime_version"), hint=hint)


def of_whole_runs() -> Deployment:
    """How `predict` takes a whole run to be where nothing else is said: as most measured ones."""
    return Deployment("rtx4090", of_steps(Steps.EAGER).name, dtype="amp-f16")


class DeploymentKeywords(TypedDict, total=False):
    """The fields of a deployment as keywords of a function; see ``Deployment``."""

    runtime: str
    framework: str | Serving
    runtime_version: str
    dtype: str
    tf32: bool | str | Tf32 | None
    layout: str | Layout
    streams: int
    mode: str | Mode
    train: str
    loss: str
    update: str | Implementation
    freeze: str | Sequence[str]
    lora_rank: int
    lora: str | Sequence[str]
    accumulate: int
    master_weights: bool
    checkpointing: str | Policy
    keep: float
    dropout: float
    host_launch: str | float | None
    reserve: str | int | Reserve
    parallel: Parallel | Mapping[str, object]
    dims: Mapping[str, int] | None
    batch: int | None
    seq: int | None


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
