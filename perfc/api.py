"""The functions a program calls: analyse a model, infer its shapes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from perfc.choice import text_of
from perfc.deployment import Deployment, DeploymentKeywords
from perfc.errors import ParseError, PerfcError
from perfc.extents import keyed, sized
from perfc.frontend import load, serialized
from perfc.frontend.collector import paused_collector
from perfc.frontend.input_contents import known_contents
from perfc.frontend.torch_inputs import Inputs
from perfc.frontend.torch_module import check_example, graph_of
from perfc.ir.graph import Module, Value
from perfc.ir.sizes import bound_type, sizes_of
from perfc.ir.types import Type
from perfc.machine import Machine, load_machine
from perfc.passes.canonicalize import Canonicalize
from perfc.passes.cost import Cost, CostTable
from perfc.passes.fuse import Fuse, KernelTable
from perfc.passes.liveness import Liveness, LivenessTable
from perfc.passes.manager import Analyses, Instrument
from perfc.passes.retype import Retype
from perfc.passes.roofline import Roofline, RooflineTable, bounds
from perfc.passes.runtimes import Tf32
from perfc.passes.shapes import Shapes
from perfc.passes.sizes import Sizes, holds, settled, with_numbers
from perfc.passes.sizing import Sizing
from perfc.presentation import Presentation
from perfc.stored import StoredTensors

if TYPE_CHECKING:
    import onnx
    import torch

    from perfc.analyzers.estimate.estimate import CandidateRun
    from perfc.analyzers.estimators import Execution
    from perfc.analyzers.runs.prediction import PredictionTable

Exportable: TypeAlias = "torch.nn.Module | torch.export.ExportedProgram"
"""What PyTorch exports."""
Model: TypeAlias = "str | os.PathLike[str] | bytes | onnx.ModelProto | Exportable | Module"
"""What is analysed: a path, a serialized model, a message, a PyTorch module, or one of the IR."""


@dataclass(frozen=True, repr=False)
class Report(StoredTensors, Presentation):
    """Everything the analysis of one model on one target found.

    It shows itself in a notebook; ``to_dict``, ``to_pandas`` and ``save`` give it in other forms.

    Args:
        path: the file, or "" for a model given in memory.
        source: the module as read, typed; its nodes are the file's.
        module: what is left to execute after folding.
        given: symbols the caller set; the others have defaults in ``env``.
        env: every symbol's value.
        deployment: how it is run.
        predictor: of whole runs, by name or card; "" for the best that knows such runs,
            ``kernels`` for none.
        model: what was analysed: a path, bytes, a message or a module of the IR.
        values: contents of its inputs that were given.
        analyses: what passes found of it, shared by what-ifs.
    """

    path: str
    source: Module
    module: Module
    given: Mapping[str, int]
    env: Mapping[str, int]
    machine: Machine
    cost: CostTable
    kernels: KernelTable
    roofline: RooflineTable
    deployment: Deployment = field(default_factory=Deployment)
    predictor: str = ""
    model: Any = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    analyses: Analyses = field(default_factory=Analyses, compare=False)

    @property
    def dtype(self) -> str:
        """What-if precision, "" for the model's own."""
        return self.deployment.executed(self.source)

    @property
    def tf32(self) -> Tf32:
        """Which f32 products may use TF32."""
        return self.deployment.rounded

    @cached_property
    def liveness(self) -> LivenessTable:
        """When every value is in memory; of a what-if, made when first asked for."""
        return self.analyses.get(Liveness(), self.module)

    def at(self, dims: Mapping[str, int]) -> Report:
        """The analysis of the same model at other sizes, those given before kept.

        Raises:
            PerfcError: as ``analyze``.
        """
        return analyze(
            self.model, str(self.machine.path), values=self.values, predictor=self.predictor,
            deployment=self.deployment.at(dims),
        )  # fmt: skip

    def under(self, target: str | None = None, **changed: Unpack[DeploymentKeywords]) -> Report:
        """The same model deployed otherwise: a what-if, which shares what is proved of the model.

        Another precision than one that is a what-if already, and sizes at which the formulas do
        not hold, are analysed anew.

        Args:
            target: name of another target, or path of its file.
            changed: other fields of the deployment.

        Raises:
            PerfcError: as ``analyze``.

        >>> report = analyze("examples/models/resnet50.onnx.gz", "a100")
        >>> report.under("h100").machine.name
        'h100-sxm5-80gb'
        """
        how = self.deployment.with_values({**stated(target), **changed})
        given = keyed(self.source, how.dims)
        base = None if given is None else self._sized(given)
        is_anew = bool(self.dtype or how.train) or how.widens(self.model)
        is_retyped = (dtype := how.executed(self.source)) != self.dtype and is_anew
        if base is None or is_retyped or how.recipe != self.deployment.recipe:
            return analyze(self.model, values=self.values, predictor=self.predictor, deployment=how)
        am, module = replace(self.analyses, instruments=()), self.module
        if dtype != self.dtype:
            from perfc.passes.mixed import what_if

            module = am.apply(what_if(dtype), module)
        kernels = am.get(Fuse(how.table_name), module)
        machine = self.machine if target is None else load_machine(how.target)
        roofline = bounds(kernels, machine, base.env, tf32=how.rounded)
        return replace(
            base, module=module, machine=machine, cost=am.get(Cost(), module), kernels=kernels,
            roofline=roofline, deployment=how,
        )  # fmt: skip

    def _sized(self, given: Mapping[str, int]) -> Report | None:
        """The report with other numbers of symbols; None where its formulas do not hold there."""
        changed = {n for n in {*given, *self.given} if given.get(n) != self.given.get(n)}
        if not changed:
            return self
        if any(s.is_bound for s in self.source.symbols):
            return None
        with located(self.model):
            sizes = settled(Sizing(self.source, self.source), given)
        if sizes.numeric is not None and not holds(self.source, sizes.numeric, sizes.env):
            return None
        source = replace(self.source, symbols=sizes.declared)
        return replace(self, source=source, given=given, env=sizes.env)

    @cached_property
    def execution(self) -> Execution:
        """Kernels, machine and runtime, as estimators are asked of them."""
        from perfc.analyzers.estimators import Execution
        from perfc.analyzers.steps.kernels import Autocasting

        return Execution(
            self.roofline, self.kernels, self.module, Autocasting.of(self.source, self.dtype),
            host_launch_s=self.deployment.host_launch, framework=self.deployment.serving.value,
            analyses=replace(self.analyses, instruments=()),
        )  # fmt: skip

    def keeping_all(self) -> Module:
        """The step of this run that keeps everything, where it computes something again."""
        none = type(self.deployment.checkpointing)("none")
        return prepared(self.source, replace(self.deployment, checkpointing=none), self.analyses)

    @cached_property
    def unordered(self) -> PredictionTable:
        """`prediction` before runtimes that merge more or less are asked; made when asked for."""
        from perfc.analyzers.runs.prediction import predicted
        from perfc.analyzers.whole_runs.whole_run import with_whole

        run, table = self.execution, predicted(self.execution, self.source)
        return with_whole(table, self.source, run, self.deployment, predictor=self.predictor)

    @cached_property
    def prediction(self) -> PredictionTable:
        """What every kernel and the run will take; made when first asked for."""
        from perfc.analyzers.whole_runs.ordering import in_order

        return self.unordered if self.predictor else in_order(self)

    @cached_property
    def unheard_runs(self) -> tuple[CandidateRun, ...]:
        """What further predictors of whole runs say; made when first asked for."""
        from perfc.analyzers.whole_runs.other_runs import unheard_runs

        return unheard_runs(self.prediction, self.source, self.execution, self.deployment)


@paused_collector()
def analyze(
    model: Model,
    target: str | os.PathLike[str] | None = None,
    input: Sequence[int] | None = None,
    *,
    inputs: Inputs | None = None,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    instruments: Sequence[Instrument] = (),
    deployment: Deployment | None = None,
    **keywords: Unpack[DeploymentKeywords],
) -> Report:
    """Analyse a model on a target.

    Args:
        model: a path, a serialized model, an ``onnx.ModelProto``, a ``torch.nn.Module``, a
            ``torch.export.ExportedProgram`` or a module of the IR.
        target: name of a target or path of a target file; ``a100`` by default.
        input: extents of one example, ``(3, 224, 224)``, or ``(128,)`` of a sequence of tokens.
        inputs: of a PyTorch module with several: a tuple or a dict by parameter of shapes
            (``(128, "i64")``: an element type may follow), tensors and scalars.
        values: contents of inputs that drive shapes, nested lists or arrays.
        predictor: of the whole run, by name or card; by default the best that knows such runs,
            ``kernels`` for the sum of the kernels.
        instruments: watch the passes run.
        deployment: how the model is run, as one value.
        keywords: the fields of a ``Deployment``, over those of ``deployment``: ``runtime``,
            ``framework``, ``runtime_version``, ``dtype``, ``tf32``, ``layout``, ``streams``,
            ``mode``, ``train``, ``loss``, ``update``, ``freeze``, ``lora_rank``, ``lora``,
            ``accumulate``, ``master_weights``, ``checkpointing``, ``keep``, ``host_launch``,
            ``dims``.
            ``batch`` and ``seq`` are short for ``dims={"batch": …}`` and ``dims={"seq": …}``.

    Raises:
        PerfcError: the model cannot be read, contradicts itself, the target is not known, or the
            deployment is none that is analysed.
        MissingExtraError: a PyTorch module without PyTorch's exporter.

    >>> analyze("examples/models/resnet50.onnx.gz", "a100", dims={"batch": 8}).cost.work.mac
    4089184256*batch
    """
    how = (deployment or Deployment()).with_values({**stated(target), **keywords})
    how = how.for_model(model)
    how.require_kernels()
    am = Analyses(tuple(instruments))
    predictor = text_of(predictor, "predictor")
    given_model, model = model, graph_of(model, input, inputs, how.dims)
    source, given = typed_sizes(model, how.dims, values, am, is_trained=how.is_step)
    source = am.apply(Retype("f32"), source) if how.widens(model) else source
    if input is not None and given_model is model:
        check_example(source, input)
    module = prepared(source, how, am)
    am.get(Liveness(), module)
    roofline = am.get(Roofline(how.target, how.table_name, how.rounded), module)
    return Report(
        source.origin.path, source, module, given, source.defaults(), roofline.machine,
        am.get(Cost(), module), am.get(Fuse(how.table_name), module),
        roofline, how, predictor, model, dict(values or {}), am,
    )  # fmt: skip


def prepared(source: Module, how: Deployment, am: Analyses) -> Module:
    """What is executed of a typed module: folded, in its precision, as a step where it trains.

    Raises:
        PassError: no such precision, or an operator that has no gradient.
    """
    module = am.apply(Canonicalize(bool(how.train)), source)
    if how.train:
        from perfc.passes.untie import Untie

        module = am.apply(Untie(), module)
    if dtype := how.executed(source):
        from perfc.passes.mixed import what_if

        module = am.apply(what_if(dtype, trained_by=how.trained_by), module)
    recipe = how.recipe
    return module if recipe is None else am.apply(recipe, module)


def stated(target: object) -> dict[str, object]:
    """What a target says of a deployment; nothing where it is None."""
    if target is None:
        return {}
    return {"target": os.fspath(target) if isinstance(target, os.PathLike) else target}


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
    return typed_sizes(model, dims, values, am)[0]


def typed_sizes(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    am: Analyses | None = None,
    *,
    is_trained: bool = False,
) -> tuple[Module, dict[str, int]]:
    """The typed module of a model, and the sizes given by the keys of its symbols.

    Raises:
        PerfcError: as ``analyze``.
    """
    with located(model):
        module, given = read(model, dims, values, is_trained=is_trained)
        return (am or Analyses()).apply(Sizes(tuple(given)), module), given


def read(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    *,
    is_trained: bool = False,
) -> tuple[Module, dict[str, int]]:
    """The module of a model as it is read, and the sizes given by its symbols' keys.

    ``batch`` and ``seq`` among ``dims`` are the first extent of the inputs and the second one of
    token inputs, where no symbol is called so. ``is_trained`` is as `load` takes it.

    Raises:
        PerfcError: it cannot be read, or a size or content is none of its own.
    """
    stated = sizes_of(dims or {})
    known = known_contents(values)
    module = model
    if not isinstance(model, Module):
        module = load(serialized(model), stated, known, is_trained=is_trained)
    module, given = sized(module, dims or {})
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
