"""The functions a program calls: analyse a model, infer its shapes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from perfc.deployment import Deployment, DeploymentKeywords
from perfc.errors import ModelError, ParseError, PerfcError
from perfc.frontend import load
from perfc.frontend.collector import paused_collector
from perfc.ir.graph import Module, Value
from perfc.ir.known import Known
from perfc.ir.sizes import bound_type, sizes_of
from perfc.ir.types import Type
from perfc.machine import Machine
from perfc.passes.canonicalize import Canonicalize
from perfc.passes.cost import Cost, CostTable
from perfc.passes.fuse import Fuse, KernelTable
from perfc.passes.liveness import Liveness, LivenessTable
from perfc.passes.manager import Analyses, Instrument
from perfc.passes.roofline import Roofline, RooflineTable
from perfc.passes.shapes import Shapes
from perfc.passes.sizes import Sizes, with_numbers

if TYPE_CHECKING:
    from perfc.analyzers.estimators import Execution
    from perfc.analyzers.runs.prediction import PredictionTable


@dataclass(frozen=True)
class Report:
    """Everything the analysis of one model on one target found.

    Args:
        path: the file, or "" for a model given in memory.
        source: the module as read, typed; its nodes are the file's.
        module: what is left to execute after folding.
        given: symbols the caller set; the others have defaults in ``env``.
        env: every symbol's value.
        deployment: how it is run.
        predictor: of whole runs, by name or card; "" for the best that knows such runs,
            ``kernels`` for none.
        model: what was analysed: a path, bytes or a message.
        values: contents of its inputs that were given.
    """

    path: str
    source: Module
    module: Module
    given: Mapping[str, int]
    env: Mapping[str, int]
    machine: Machine
    cost: CostTable
    kernels: KernelTable
    liveness: LivenessTable
    roofline: RooflineTable
    deployment: Deployment = field(default_factory=Deployment)
    predictor: str = ""
    model: Any = field(default=None, repr=False)
    values: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def dtype(self) -> str:
        """What-if precision, "" for the model's own."""
        return self.deployment.dtype

    @property
    def tf32(self) -> bool:
        """Whether f32 products may use TF32."""
        return self.deployment.tf32

    def at(self, dims: Mapping[str, int]) -> Report:
        """The analysis of the same model at other sizes, those given before kept.

        Raises:
            PerfcError: as ``analyze``.
        """
        return analyze(
            self.model,
            str(self.machine.path),
            values=self.values,
            predictor=self.predictor,
            deployment=self.deployment.at(dims),
        )

    @cached_property
    def execution(self) -> Execution:
        """Kernels, machine and runtime, as estimators are asked of them."""
        from perfc.analyzers.estimators import Execution
        from perfc.analyzers.steps.kernels import Autocasting

        autocast = Autocasting.of(self.source, self.dtype)
        return Execution(self.roofline, self.kernels, self.module, self.tf32, autocast)

    @cached_property
    def prediction(self) -> PredictionTable:
        """What every kernel and the run will take; made when first asked for."""
        from perfc.analyzers.runs.prediction import predicted
        from perfc.analyzers.whole_runs.whole_run import with_whole

        table = predicted(self.execution, self.source)
        return with_whole(
            table, self.source, self.machine, self.deployment,
            env=self.env, predictor=self.predictor,
        )  # fmt: skip


@paused_collector()
def analyze(
    model: Any,
    target: str | None = None,
    *,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    instruments: Sequence[Instrument] = (),
    deployment: Deployment | None = None,
    **keywords: Unpack[DeploymentKeywords],
) -> Report:
    """Analyse a model on a target.

    Args:
        model: a path, a serialized model, or an ``onnx.ModelProto``.
        target: name of a target or path of a target file; ``a100`` by default.
        values: contents of inputs that drive shapes, nested lists or arrays.
        predictor: of the whole run, by name or card; by default the best that knows such runs,
            ``kernels`` for the sum of the kernels.
        instruments: watch the passes run.
        deployment: how the model is run, as one value.
        keywords: the fields of a ``Deployment``, over those of ``deployment``: ``runtime``,
            ``runtime_version``, ``dtype``, ``tf32``, ``layout``, ``streams``, ``mode``, ``dims``.

    Raises:
        PerfcError: the model cannot be read, contradicts itself, the target is not known, or the
            deployment is none that is analysed.

    >>> analyze("examples/models/resnet50.onnx.gz", "a100", dims={"batch": 8}).cost.work.mac
    4089184256*batch
    """
    stated: dict[str, object] = {} if target is None else {"target": os.fspath(target)}
    how = (deployment or Deployment()).stated({**stated, **keywords})
    how.require_inference()
    am = Analyses(tuple(instruments))
    source = typed(model, how.dims, values, am)
    module = am.apply(Canonicalize(), source)
    if how.dtype:
        from perfc.passes.mixed import what_if

        module = am.apply(what_if(how.dtype), module)
    roofline = am.get(Roofline(how.target, how.table_name, how.tf32), module)
    return Report(
        source.origin.path,
        source,
        module,
        sizes_of(how.dims),
        source.defaults(),
        roofline.machine,
        am.get(Cost(), module),
        am.get(Fuse(how.table_name), module),
        am.get(Liveness(), module),
        roofline,
        how,
        predictor,
        model,
        dict(values or {}),
    )


def typed(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    am: Analyses | None = None,
) -> Module:
    """The module of a model with every value's type inferred, and sizes that go together.

    Raises:
        PerfcError: as ``analyze``.
    """
    with located(model):
        module, given = read(model, dims, values)
        return (am or Analyses()).apply(Sizes(tuple(given)), module)


def read(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
) -> tuple[Module, dict[str, int]]:
    """The module of a model as it is read, and the sizes given by its symbols' names.

    Raises:
        PerfcError: it cannot be read, or a size or content is none of its own.
    """
    given = sizes_of(dims or {})
    module = load(serialized(model), given, {k: contents(v) for k, v in (values or {}).items()})
    unknown = sorted(set(given) - {s.name for s in module.symbols})
    if unknown:
        names = ", ".join(s.name for s in module.symbols) or "none"
        raise ParseError(f"no symbol {unknown[0]!r} in the model", hint=f"its symbols: {names}")
    inputs = [v.name for v in module.graph.inputs]
    strange = sorted(set(values or ()) - set(inputs))
    if strange:
        raise ParseError(
            f"no input {strange[0]!r} to give a value to", hint=f"its inputs: {', '.join(inputs)}"
        )
    return module, given


@contextmanager
def located(model: Any) -> Iterator[None]:
    """Errors name the file of the model, where it is one."""
    path = os.fspath(model) if isinstance(model, str | os.PathLike) else ""
    try:
        yield
    except PerfcError as error:
        if path and path not in str(error):
            error.where = f"{path}: {error.where}" if error.where else path
        raise


def serialized(model: Any) -> str | os.PathLike[str] | bytes:
    """A path or bytes as they are, a message object as its bytes."""
    if isinstance(model, str | os.PathLike | bytes):
        return model
    try:
        return bytes(model.SerializeToString())
    except AttributeError:
        raise TypeError("a model is a path, bytes or an onnx.ModelProto") from None
    except ValueError as error:
        raise ModelError(
            f"the model cannot be serialized: {error}", hint="save it to a file and give its path"
        ) from error


def contents(value: Any) -> Known:
    """Nested lists, a number or an array as the content of an input.

    Raises:
        ParseError: ragged lists, or more elements than are ever tracked.
    """
    if hasattr(value, "tolist"):
        flat = value.reshape(-1).tolist()
        array = Known.of(value.shape, flat)
        if array is None:
            raise ParseError(f"a value of {len(flat)} elements is too large to drive a shape")
        return array
    shape: list[int] = []
    level = value
    while isinstance(level, list | tuple):
        shape.append(len(level))
        level = level[0] if level else None
    items: list[Any] = [value]
    for extent in shape:
        if any(not isinstance(i, list | tuple) or len(i) != extent for i in items):
            raise ParseError("the lists of a value differ in length")
        items = [x for i in items for x in i]
    if any(isinstance(i, list | tuple) for i in items):
        raise ParseError("the lists of a value differ in depth")
    found = Known.of(shape, items)
    if found is None:
        raise ParseError(f"a value of {len(items)} elements is too large to drive a shape")
    return found


@paused_collector()
def infer_shapes(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
) -> dict[str, Type]:
    """The type of every value of the main graph, by name.

    Args:
        model: a path, a serialized model, or an ``onnx.ModelProto``.
        dims: numbers for symbolic extents. They are put in after inference, which is repeated with
            them: where that says more, as of a rank or of an extent of 0, it is what is returned.
        values: contents of inputs that drive shapes.

    Raises:
        PerfcError: as ``analyze``.
    """
    am = Analyses()
    with located(model):
        module, given = read(model, dims, values)
        inferred = am.apply(Shapes(), module)
        if given:
            inferred = with_numbers(module, inferred, given)
    graph = inferred.graph
    every: list[Value] = [*graph.inputs, *graph.weights, *graph.outputs]
    every += [v for n in graph.nodes for v in n.results]
    return {v.name: bound_type(v.type, given) if given else v.type for v in every}
