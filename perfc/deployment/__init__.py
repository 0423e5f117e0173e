"""Deployment: how a model is run, common to command line, files and Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from perfc.deployment import step
from perfc.deployment.device import usual_engine, usual_runtime
from perfc.deployment.fields import (
    ANY_RUNTIME,
    AXES,
    VERSION,
    Mode,
    degrees,
    duration,
    element_type,
    precisions,
    runtime_name,
    sizes_by_name,
    stream_count,
    target_name,
    targets,
    tf32_products,
    thread_count,
    version_of,
    with_axes,
)
from perfc.deployment.option import Option as Option
from perfc.deployment.option import of_step, option
from perfc.deployment.option import options_of as options_of
from perfc.errors import ParseError, suggestion
from perfc.frontend import is_configuration
from perfc.ir import DType, Env, Module, record
from perfc.machine import NOTHING, Capacity, Machine, Reserve, capacity_of, load_machine
from perfc.machine.parallel import ALONE, Parallel
from perfc.passes.precision.retype import AUTOCAST, dtype_of
from perfc.passes.runtimes import (
    DEFAULT,
    TRAINING_DEFAULT,
    Framework,
    Layout,
    Runtime,
    Serving,
    Steps,
    Tf32,
    of_steps,
    of_version,
    on_device,
    runtime,
    runtimes,
    tables,
)
from perfc.passes.training.implementation import OptimizerLaunch, RecomputePolicy

if TYPE_CHECKING:
    from perfc.frontend.config import ModuleCode
    from perfc.passes.fusion.fuse import KernelTable
    from perfc.passes.layout.autocast_launches import Casts
    from perfc.passes.manager import Analyses
    from perfc.passes.training.train import Train


@record
class Deployment:
    """Way to run a model. Options, keys of files and keywords have the names of the fields.

    Each field has its meaning as the help of its option. ``parallel`` are the degrees of
    parallelism. ``usual`` names the fields whose values are defaults that depend on the target:
    the runtime of a graph, or those of a configuration's training step. ``dims`` has the values of
    symbolic dimensions by name: ``batch`` is the first dimension of the inputs and ``seq`` the
    second of token inputs, unless a symbol has that name.
    """

    target: str = option(
        "a100",
        "Target name or file; see `perfc targets` ({default}). Commands that compare accept "
        "several, comma-separated or repeated, or `all`.",
        target_name,
        names=targets,
        short="-t",
        is_repeatable=True,
    )
    # "" for the default of the kind of model, which `for_model` sets
    runtime: str = option("", "Runtime: {names} ({default}).", runtime_name, names=runtimes)
    framework: Serving = option(
        Serving.ANY,
        "Serving framework whose attention and quantized matmul kernels run: {names} "
        "(default: the runtime's).",
    )
    runtime_version: str = option(
        "",
        "Version of the runtime's framework, e.g. 2.9 (default: the newest measured).",
        version_of,
        metavar="VERSION",
    )
    dtype: str = option("", "Precision: {names} ({default}).", element_type, names=precisions)
    tf32: Tf32 | None = option(
        None,
        "Allow TF32 in float32 matrix products (default: as the runtime does).",
        tf32_products,
        is_switch=True,
    )
    layout: Layout = option(
        Layout.CHANNELS_FIRST, "Memory layout of feature maps: {names} ({default})."
    )
    streams: int = option(1, "Concurrent CUDA streams ({default}).", stream_count, metavar="N")
    mode: Mode = option(Mode.INFERENCE, "Mode: {names} (a whole step); {default}.", is_hidden=True)
    train: str = of_step(
        "",
        "Analyze a training step with this optimizer: {names}; trainer if MODEL is one.",
        partial(step.name_of, field="optimizer", names=step.optimizers),
        names=step.optimizers,
    )
    loss: str = of_step(
        "",
        "Loss function: {names} (default: chosen by the first output).",
        partial(step.name_of, field="loss", names=step.losses),
        names=step.losses,
    )
    update: OptimizerLaunch = of_step(
        OptimizerLaunch.FOREACH, "Optimizer implementation: {names} ({default})."
    )
    freeze: tuple[str, ...] = of_step(
        (),
        "Parameters to freeze, as name patterns; repeatable.",
        step.patterns,
        metavar="GLOB",
        is_repeatable=True,
    )
    lora_rank: int = of_step(
        0, "LoRA rank.", partial(step.number, least=0, most=step.MOST_RANK), metavar="R"
    )
    lora: tuple[str, ...] = of_step(
        (),
        "Matrices to adapt with LoRA, as name patterns; repeatable (default: all).",
        step.patterns,
        metavar="GLOB",
        is_repeatable=True,
    )
    accumulate: int = of_step(
        1,
        "Gradient accumulation: micro-batches per optimizer update ({default}).",
        partial(step.number, least=1, most=step.MOST_BATCHES),
        metavar="N",
    )
    master_weights: bool | None = of_step(
        None,
        "Keep float32 master copies of half-precision parameters (default: configurations "
        "yes, graphs no).",
        step.flag,
        is_switch=True,
    )
    checkpointing: RecomputePolicy = of_step(
        RecomputePolicy.NONE, "Activation checkpointing: {names} ({default})."
    )
    keep: float = of_step(
        0.5,
        "Fraction of activation memory to retain under optimal checkpointing ({default}).",
        step.share,
        metavar="SHARE",
    )
    dropout: float = of_step(
        0.0,
        "Dropout probability of a transformer whose ONNX file omits dropout ({default}).",
        partial(step.share, most=step.MOST_DROPPED),
        metavar="SHARE",
    )
    host_launch: float | None = option(
        None,
        "Host time to launch one kernel, e.g. 30us (default: the target's, or a typical value).",
        duration,
        metavar="TIME",
    )
    reserve: Reserve = option(
        NOTHING,
        "Device memory to reserve, e.g. 2GiB or 5%, in addition to the context and a safety "
        "margin.",
        Reserve.parse,
        metavar="SIZE",
    )
    parallel: Parallel = option(ALONE, "", degrees)
    usual: frozenset[str] = frozenset()
    dims: Mapping[str, int] = field(
        default_factory=dict, hash=False, metadata={"option": Option(sizes_by_name)}
    )

    def for_model(self, model: object, predictor: str = "") -> Deployment:
        """Return the deployment with its runtime set, if not given to the usual one on the target.

        Args:
            model: the model; a graph unless it is the name of a configuration.
            predictor: predictor of the whole run; one that is read from a card implies PyTorch.
        """
        if self.train and is_configuration(model) and predictor in ANY_RUNTIME:
            return step.of_configuration(self)
        if self.runtime and "runtime" not in self.usual:
            name = on_device(runtime(self.runtime), load_machine(self.target)).name
            return self if name == self.runtime else replace(self, runtime=name)
        if predictor not in ANY_RUNTIME or self.is_step:
            return replace(self, runtime=TRAINING_DEFAULT)
        if is_configuration(model):
            return replace(self, runtime=usual_engine(model))
        name = usual_runtime(model, load_machine(self.target)).name
        return replace(self, runtime=name, usual=self.usual | {"runtime"})

    def widens(self, model: object) -> bool:
        """Return True if autocast widens the parameters of a configuration to f32."""
        return self.dtype.startswith("amp-") and is_configuration(model)

    def executed(self, module: Module) -> str:
        """Return the what-if precision of a model; "" if the model runs in the types of its file.

        A model whose narrow weights have the wanted type already has f32 parts by intention, which
        stay f32. Serving engines run f16 on a GPU without bf16: vLLM needs ``--dtype half`` there,
        SGLang chooses it, and TensorRT-LLM has no other. TensorRT selects kernels by time, and V100
        multiplies f16 faster than int8: BERT in int8 takes 1.04 times as long as in f16.
        """
        table = self.table
        if self.usual and table.is_trainer:
            return ""  # the step was lowered in these types
        engine = table.engine
        narrow = {dtype_of(name) for name in module.graph.weight_types} & {DType.F16, DType.BF16}
        if {str(dtype) for dtype in narrow} == {self.dtype}:
            return ""
        # no serving engine, or one that records no steps as graphs: it keeps the type of the file
        if self.dtype or engine is None or engine.recording is None:
            # TensorRT's table of GPUs below a compute capability is that of V100
            if self.dtype == "i8" and table.below and load_machine(self.target).takes("f16"):
                return "f16"
            if self.dtype or narrow or not table.narrows:
                return self.dtype
            return table.narrowed_on(load_machine(self.target))
        is_lacking = DType.BF16 in narrow and not load_machine(self.target).takes("bf16")
        return "f16" if is_lacking else ""

    @property
    def module_code(self) -> ModuleCode | None:
        """Return the code that runs a model of a configuration: transformers in PyTorch.

        None for serving engines, which have other kernels.
        """
        if self.table.framework is not Framework.TORCH or self.table.is_trainer:
            return None
        from perfc.frontend.formats import configurations

        return configurations().code_of(self.version if self.table.is_library else None)

    @property
    def is_step(self) -> bool:
        """Return True for a training step."""
        return bool(self.train) or self.mode is Mode.TRAINING

    @property
    def stated_runtime(self) -> str:
        """Return the given runtime, else the default of graphs: PyTorch for a training step."""
        return self.runtime or (TRAINING_DEFAULT if self.is_step else DEFAULT)

    @property
    def table_name(self) -> str:
        """Return the fusion table with its streams, as passes accept it: ``ort:3``."""
        table = runtime(self.stated_runtime)
        # fits of measured steps depend on the version; their table is the newest
        name = table.name if table.steps else of_version(table, self.version).name
        return name if self.streams == 1 else f"{name}:{self.streams}"

    @property
    def table(self) -> Runtime:
        """Return the fusion table."""
        return runtime(self.table_name)

    @property
    def of_version(self) -> Runtime:
        """Return the fusion table of the framework's version."""
        return of_version(self.table, self.version)

    @property
    def rounded(self) -> Tf32:
        """Return the f32 products that may use TF32 on the target, as given or by the runtime."""
        return self.rounded_on(load_machine(self.target))

    def rounded_on(self, machine: Machine) -> Tf32:
        """Return the float32 products that may use TF32 on a machine."""
        # "tf32" leaves the module in f32, from which gradients are derived, and rounds all products
        given = Tf32.ALL if self.dtype == "tf32" else self.tf32
        return self.table.tf32_on(machine.vendor) if given is None else given

    def launched(
        self, module: Module, machine: Machine, env: Env, am: Analyses, source: Module | None = None
    ) -> KernelTable:
        """Return the launches of a module in execution form on a machine, in order.

        Args:
            module: module of the run.
            machine: machine of the run.
            env: values of the symbols.
            am: results of passes: kernels and stored types.
            source: module as read, for casts under autocast; None leaves them out.
        """
        from perfc.passes.fusion.fuse import Fuse
        from perfc.passes.layout.launches import launched
        from perfc.passes.rewriting.canonicalize import Canonicalize

        table, tf32 = am.get(Fuse(self.table_name), module), self.rounded_on(machine)
        casts: Casts = ()
        narrow = AUTOCAST.get(self.dtype)
        # a training step has its casts as nodes
        has_casts = not self.train and table.runtime.framework is Framework.TORCH
        if source is not None and narrow is not None and has_casts:
            from perfc.passes.layout.autocast_launches import casts_of

            folded = am.apply(Canonicalize(self.runs_parameters), source)
            casts = casts_of(folded, am, narrow, self.table_name)
        return launched(
            table,
            machine,
            env,
            module,
            layout=self.layout,
            tf32=tf32,
            casts=casts,
            version=self.version,
        )

    @property
    def runs_parameters(self) -> bool:
        """Return True if operators on parameters only run each time: PyTorch folds no constants."""
        return bool(self.train) or self.table.framework is Framework.TORCH

    @property
    def trained_by(self) -> str:
        """Return the name of the table of trainable operators; "" for a forward pass."""
        now = self.of_version
        table = now if now.is_dispatched else of_steps(Steps.EAGER, self.version)
        return table.name if self.train else ""

    @property
    def serving(self) -> Serving:
        """Return the serving framework: as given, else as the runtime implies."""
        return self.table.serving if self.framework is Serving.ANY else self.framework

    @property
    def version(self) -> tuple[int, int] | None:
        """Return the major and minor version of the framework; None if not given."""
        match = VERSION.fullmatch(self.runtime_version)
        return (int(match[1]), int(match[2])) if match else None

    def as_json(self) -> dict[str, object]:
        """Return the fields by name, for JSON."""
        fields: dict[str, object] = {
            name: getattr(self, name)
            for name, declared in options_of(Deployment).items()
            if name not in ("parallel", "reserve") and (self.train or not declared.is_of_step)
        }
        if self.train:
            fields["master_weights"] = bool(self.master_weights)
        if self.reserve != NOTHING:
            fields["reserve"] = str(self.reserve)
        if self.parallel != ALONE:
            fields["parallel"] = self.parallel.as_json()
        enums = {n: v.value for n, v in fields.items() if isinstance(v, Enum)}
        return {**fields, **enums, "runtime": self.stated_runtime}

    @property
    def recipe(self) -> Train | None:
        """Return the transform that builds the training step; None for a forward pass."""
        if not self.train:
            return None
        from perfc.passes.training.train import Train

        # by default PyTorch updates lists only on GPUs (optimizer.py, _default_to_fused_or_foreach)
        is_list = self.update is OptimizerLaunch.FOREACH
        is_alone = is_list and load_machine(self.target).kind == "cpu"
        return Train(
            self.train,
            self.loss,
            (OptimizerLaunch.SINGLE if is_alone else self.update).value,
            self.freeze,
            master_weights=bool(self.master_weights),
            loss_scaling=self.dtype in step.SCALED and not self.table.is_trainer,
            accumulate=self.accumulate,
            lora_rank=self.lora_rank,
            lora=self.lora,
            checkpointing=self.checkpointing.value,
            keep=self.keep,
            dropout=self.dropout,
            fuses_attention=self.of_version.fuses_attention,
            is_trainer=self.table.is_trainer,
        )

    def require_kernels(self, where: str = "mode") -> None:
        """Reject a training step without optimizer, which cannot be analyzed kernel by kernel.

        Raises:
            ParseError: such a training step.
        """
        if self.mode is not Mode.INFERENCE and not self.train:
            message = "a training step needs an optimizer"
            raise ParseError(message, where=where, hint="--train adamw")

    def require_device(self) -> Machine:
        """Return the target; reject a runtime that does not run on it.

        Raises:
            ParseError: names the runtimes that do.
        """
        from .device import check_machine

        return check_machine(self.table, load_machine(self.target))

    def require_alone(self, where: str = "parallel") -> None:
        """Reject several devices in an analysis of one device.

        Raises:
            ParseError: a degree of parallelism above 1.
        """
        if self.parallel != ALONE:
            hint = "`perfc plan` and `perfc llm` answer for several"
            raise ParseError("only one device is analyzed", where=where, hint=hint)

    def capacity(self, machine: Machine) -> Capacity | None:
        """Return the device memory available to the run; None if the target has no capacity."""
        return capacity_of(machine, self.reserve)

    def at(self, dims: Mapping[str, int]) -> Deployment:
        """Return the deployment at other extents; earlier ones still apply."""
        return replace(self, dims={**self.dims, **dims})

    def with_values(
        self, values: Mapping[str, object], where: Callable[[str], str] = str
    ) -> Deployment:
        """Return the deployment with some fields replaced and everything checked.

        Args:
            values: values by field name, typed or as text; ``dims`` are added to earlier ones.
                ``batch`` and ``seq`` count as ``dims``.
            where: function from a field to its place in the input, for messages.

        Raises:
            ParseError: an unknown field, an invalid value, or incompatible fields.
        """
        values = with_axes(values, where)
        known = options_of(Deployment)
        for name in values:
            if name not in known:
                raise ParseError(f"no {name!r}", hint=suggestion(name, KEYS))
        fields: dict[str, Any] = {}
        for name, declared in known.items():
            if name in values:
                # that of the runtime may have the number of streams, which `streams` replaces
                parsed = declared.parse(values[name], where(name))
                fields |= parsed if name == "runtime" else {name: parsed}
        if "dims" in fields:
            fields["dims"] = {**self.dims, **fields["dims"]}
        if fields.get("train"):
            fields["mode"] = Mode.TRAINING
        result = step.changed(self, fields)
        result.check(where)
        return result

    def check(self, where: Callable[[str], str] = str) -> None:
        """Reject fields that the runtime does not support, and training fields without training.

        Raises:
            ParseError: names the supported values or the missing field.
        """
        step.check_together(self, where)
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
        if self.runtime_version and not runtime(self.stated_runtime).tells_versions:
            offer = ", ".join(t.name for t in tables() if t.tells_versions)
            message = f"versions of {table.name} were not measured separately"
            hint = f"those of {offer} were"
            raise ParseError(message, where=where("runtime_version"), hint=hint)


OPTIONS: Mapping[str, Option] = {
    **{name: declared for name, declared in options_of(Deployment).items() if declared.help},
    "threads": Option(thread_count, "Processor cores (default: all).", metavar="N|all"),
}
"""Options of the command line; the number of threads becomes part of the target."""
KEYS = (*options_of(Deployment), "threads", *AXES)
"""Keys of files and keyword arguments."""
F = TypeVar("F", bound=Callable[..., Any])


class DeploymentKeywords(TypedDict, total=False):
    """Keyword arguments of a deployment, for type checkers; a test compares them with ``KEYS``."""

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
    update: str | OptimizerLaunch
    freeze: str | Sequence[str]
    lora_rank: int
    lora: str | Sequence[str]
    accumulate: int
    master_weights: bool
    checkpointing: str | RecomputePolicy
    keep: float
    dropout: float
    host_launch: str | float | None
    reserve: str | int | Reserve
    parallel: Parallel | Mapping[str, object]
    threads: int | str | None
    dims: Mapping[str, int] | None
    batch: int | None
    seq: int | None


def with_signature(function: F) -> F:
    """Add the fields of `DeploymentKeywords` that it lacks to a function's signature, for editors.

    Defaults are ``...``, as in stubs: those of a ``Deployment`` apply.
    """
    signature = inspect.signature(function)
    # the fields replace the parameter with two asterisks
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    # with postponed evaluation, a `TypedDict` has its annotations as `ForwardRef` of their text
    named += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=text.__forward_arg__
        )
        for name, text in DeploymentKeywords.__annotations__.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
    return function
