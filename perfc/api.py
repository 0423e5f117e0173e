"""Python API: analyze a model, infer its shapes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from perfc.common.choice import text_of
from perfc.deployment import Deployment, DeploymentKeywords, with_signature
from perfc.deployment.extents import keyed, require_ranges
from perfc.deployment.preparing import prepared
from perfc.deployment.reading import bound, located, lowered, read
from perfc.deployment.step import as_configured, trained_in
from perfc.frontend.collector import paused_collector
from perfc.frontend.pytorch import graph_of
from perfc.ir import Module, Type, Value
from perfc.ir.symbolic.sizes import bound_type
from perfc.machine import Machine, load_machine
from perfc.passes.fusion.fuse import KernelTable
from perfc.passes.inference.shapes import Shapes
from perfc.passes.inference.sizes import Formulas, Sizes, holds, settled, with_numbers
from perfc.passes.manager import Analyses, Instrument
from perfc.passes.memory.liveness import Liveness, LivenessTable
from perfc.passes.precision.retype import Retype
from perfc.passes.roofline.cost import Cost, CostTable
from perfc.passes.roofline.roofline import Roofline, RooflineTable, bounds
from perfc.passes.runtimes import Tf32
from perfc.view.presentation import Presentation
from perfc.view.stored import StoredTensors

if TYPE_CHECKING:
    import onnx
    import torch

    from perfc.analyzers.estimate.estimate import CandidateRun
    from perfc.analyzers.estimators import Execution
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.frontend.pytorch.torch_inputs import Inputs

Model: TypeAlias = (
    "str | os.PathLike[str] | bytes | onnx.ModelProto | torch.nn.Module "
    "| torch.export.ExportedProgram | Module"
)
"""Models that can be analyzed: path, serialized model, message, PyTorch module, IR module."""


@dataclass(frozen=True, repr=False)
class Report(StoredTensors, Presentation):
    """Result of analyzing one model on one target.

    Renders itself in a notebook; ``to_dict``, ``to_pandas`` and ``save`` convert it.

    Args:
        path: file of the model, or "" for a model in memory.
        source: typed module as read; its nodes are the file's.
        module: module to execute, after constant folding.
        given: symbols set by the caller; the others have defaults in ``env``.
        env: value of every symbol.
        machine: the target; ``cost``, ``kernels`` and ``roofline`` are the results of passes.
        deployment: how the model is run.
        predictor: predictor of whole runs, by name or card; "" for the best available,
            ``kernels`` for none.
        model: the analyzed model: a path, bytes, a message or an IR module.
        values: given contents of inputs.
        analyses: cached results of passes, shared by what-ifs.
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
    values: Mapping[str, Any] = field(default_factory=dict)
    analyses: Analyses = field(default_factory=Analyses, compare=False)

    @cached_property
    def dtype(self) -> str:
        """Return the precision of `retype`; "" for that of the model."""
        return self.deployment.executed(self.source)

    @property
    def tf32(self) -> Tf32:
        """Return the float32 matrix products that may use TF32."""
        return self.deployment.rounded

    @cached_property
    def liveness(self) -> LivenessTable:
        """Return the lifetimes of values in memory; computed on first use."""
        return self.analyses.get(Liveness(), self.module)

    def at(self, dims: Mapping[str, int] | None = None, **sizes: int) -> Report:
        """Analyze the same model at other sizes; sizes given before still apply.

        Raises:
            PerfcError: as ``analyze``.

        >>> report = analyze("examples/models/resnet50.onnx.gz", "a100")
        >>> report.at(batch=8).env
        {'batch': 8}
        """
        return self.deployed(self.deployment.at({**(dims or {}), **sizes}))

    def on(self, target: str | os.PathLike[str]) -> Report:
        """Analyze the same model on another target, given by name or path of its file.

        Raises:
            PerfcError: as ``analyze``.

        >>> report = analyze("examples/models/resnet50.onnx.gz", "a100")
        >>> report.on("h100").machine.name
        'h100-sxm5-80gb'
        """
        return self.with_(target)

    def with_(
        self, target: str | os.PathLike[str] | None = None, **changed: Unpack[DeploymentKeywords]
    ) -> Report:
        """Analyze the same model under another deployment, reusing results where possible.

        The model is analyzed again for another precision, and where formulas do not hold.

        Args:
            target: name of another target, or path of its file.
            changed: fields of the deployment to change.

        Raises:
            PerfcError: as ``analyze``.
        """
        return self.deployed(self.deployment.with_values({"target": target, **changed}))

    def deployed(self, how: Deployment) -> Report:
        """Analyze the same model in a deployment, reusing results as ``with_`` does.

        Raises:
            PerfcError: as ``analyze``.
        """
        how = how.for_model(self.model, self.predictor)
        if self.predictor:
            return self._deployed(how)
        return self.analyses.once(self.source, how, lambda: self._deployed(how), is_current)

    def _deployed(self, how: Deployment) -> Report:
        """Return the report of a deployment, from the kernels on if the module stays valid."""
        machine = how.require_device()
        given = keyed(self.source, how.dims)
        base = None if given is None else self._sized(given)
        needs_source = bool(self.dtype or how.train) or how.widens(self.model)
        is_retyped = (dtype := how.executed(self.source)) != self.dtype and needs_source
        before = self.deployment
        is_refolded = how.runs_parameters != before.runs_parameters or how.recipe != before.recipe
        if base is None or is_retyped or is_refolded:
            return analyze(self.model, values=self.values, predictor=self.predictor, deployment=how)
        am, module = replace(self.analyses, instruments=()), self.module
        if dtype != self.dtype:
            from perfc.passes.precision.what_if import what_if

            module = am.apply(what_if(dtype), module)
        kernels = how.launched(module, machine, base.env, am, self.source)
        roofline = bounds(kernels, machine, base.env, tf32=how.rounded_on(machine))
        return replace(
            base,
            module=module,
            machine=machine,
            cost=am.get(Cost(), module),
            kernels=kernels,
            roofline=roofline,
            deployment=how,
        )

    def _sized(self, given: Mapping[str, int]) -> Report | None:
        """Return the report with other symbol values; None if its formulas do not hold there."""
        changed = {n for n in {*given, *self.given} if given.get(n) != self.given.get(n)}
        if not changed:
            return self
        if any(s.is_bound for s in self.source.symbols):
            return None  # formulas contain their numbers, which cannot be replaced
        with located(self.model):
            require_ranges(self.source, given)
            am = replace(self.analyses, instruments=())
            sizes = settled(am.get(Formulas(), self.source), given)
        if sizes.numeric is not None and not holds(self.source, sizes.numeric, sizes.env):
            return None
        source = replace(self.source, symbols=sizes.declared)
        return replace(self, source=source, given=given, env=sizes.env)

    @cached_property
    def execution(self) -> Execution:
        """Return the kernels, machine and runtime: the input of estimators."""
        from perfc.analyzers.estimators import Execution

        # measured steps of whole modules, which estimators look for, ran no trainer's kernels
        module = None if self.kernels.runtime.is_trainer else self.module
        return Execution(
            self.roofline,
            self.kernels,
            module,
            host_launch_s=self.deployment.host_launch,
            framework=self.deployment.serving.value,
            analyses=replace(self.analyses, instruments=()),
        )

    def keeping_all(self) -> Module:
        """Return the training step without checkpointing, if this run uses checkpointing."""
        none = type(self.deployment.checkpointing)("none")
        return prepared(self.source, replace(self.deployment, checkpointing=none), self.analyses)

    @cached_property
    def prediction(self) -> PredictionTable:
        """Return the predicted times of every kernel and of the run; computed on first use."""
        from perfc.analyzers.runs.prediction import predicted
        from perfc.analyzers.whole_runs.whole_run import with_whole

        run, table = self.execution, predicted(self.execution)
        return with_whole(table, self.source, run, self.deployment, predictor=self.predictor)

    @cached_property
    def other_runs(self) -> tuple[CandidateRun, ...]:
        """Return predictions of whole-run predictors that were not used; computed on first use."""
        from perfc.analyzers.whole_runs.whole_run import other_runs

        return other_runs(self.prediction, self.source, self.execution, self.deployment)


@with_signature
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
    """Analyze a model on a target.

    Args:
        model: a path, a serialized model, an ``onnx.ModelProto``, a ``torch.nn.Module``, a
            ``torch.export.ExportedProgram`` or an IR module.
        target: name of a target or path of a target file (default: ``a100``).
        input: shape of one example, ``(3, 224, 224)``, or ``(128,)`` for a token sequence.
        inputs: several inputs of a PyTorch module: a tuple, or a dict by parameter, of shapes
            (``(128, "i64")``: an element type may follow), tensors and scalars.
        values: contents of inputs that determine shapes, nested lists or arrays.
        predictor: of the whole run, by name or card; ``kernels`` for the sum of the kernels.
        instruments: callbacks that observe the passes.
        deployment: how the model is run, as one value.
        keywords: fields of a ``Deployment``, which override ``deployment``: ``runtime``,
            ``framework``, ``runtime_version``, ``dtype``, ``tf32``, ``layout``, ``streams``,
            ``mode``, ``train``, ``loss``, ``update``, ``freeze``, ``lora_rank``, ``lora``,
            ``accumulate``, ``master_weights``, ``checkpointing``, ``keep``, ``host_launch``,
            ``dims``. ``batch`` and ``seq`` stand for ``dims={"batch": …}``, ``dims={"seq": …}``.

    Raises:
        PerfcError: an invalid model, an unknown target, or an unsupported deployment.
        MissingExtraError: a PyTorch module without PyTorch's exporter.

    >>> analyze("examples/models/resnet50.onnx.gz", "a100", dims={"batch": 8}).cost.work.mac
    4089184256*batch
    """
    how = (deployment or Deployment()).with_values({"target": target, **keywords})
    how = how.for_model(model, text_of(predictor, "predictor"))
    how.require_kernels()
    how.require_device()
    given_model, model = model, graph_of(model, input, inputs, how.dims)
    with located(model):
        as_read = lowered(
            model,
            how.dims,
            values,
            is_trained=how.is_step,
            code=how.module_code,
            trained_in=trained_in(how),
        )
    how = as_configured(how, as_read.origin)
    am = Analyses(tuple(instruments)) if values else Analyses.sharing(as_read, tuple(instruments))
    example = input if given_model is model else None  # a PyTorch module was exported with it
    report = partial(analyzed, as_read, how, am, (predictor, model, dict(values or {})), example)
    is_repeatable = isinstance(model, str | os.PathLike | bytes | Module)
    if predictor or example is not None or not is_repeatable:
        return report()
    return am.once(as_read, (how, *how.dims), report, is_current)  # the order of dims counts


def is_current(report: Report) -> bool:
    """Return True if the file of a report's target has not changed."""
    return report.machine == load_machine(report.deployment.target)


def analyzed(
    read: Module,
    how: Deployment,
    am: Analyses,
    given: tuple[str, Any, dict[str, Any]],
    example: Sequence[int] | None,
) -> Report:
    """Return the report of a model as it was read.

    Args:
        read: the module without types of intermediate values.
        how: how the model is run.
        am: results of earlier analyses of it.
        given: the predictor, the model and contents of inputs as the caller gave them.
        example: shape of one example to compare with the inputs; None for no comparison.

    Raises:
        PerfcError: as ``analyze``.
    """
    predictor, model, values = given
    with located(model):
        module, sizes = bound(read, how.dims, values)
        source = am.apply(Sizes(tuple(sizes)), module)
    source = am.apply(Retype("f32"), source) if how.widens(model) else source
    if example is not None:
        from perfc.frontend.pytorch.torch_module import check_example

        check_example(source, example)
    module = prepared(source, how, am)
    am.get(Liveness(), module)
    machine, env = load_machine(how.target), source.defaults()
    kernels = how.launched(module, machine, env, am, source)
    roofline = am.stands_for(
        Roofline(how.target, how.table_name, how.rounded),
        module,
        lambda: bounds(kernels, machine, env, tf32=how.rounded),
    )
    return Report(
        source.origin.path,
        source,
        module,
        given=sizes,
        env=env,
        machine=machine,
        cost=am.get(Cost(), module),
        kernels=kernels,
        roofline=roofline,
        deployment=how,
        predictor=predictor,
        model=model,
        values=values,
        analyses=am,
    )


def typed(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    am: Analyses | None = None,
) -> Module:
    """Read a model, infer the type of every value and bind consistent sizes.

    Raises:
        PerfcError: as ``analyze``.
    """
    with located(model):
        module, given = read(model, dims, values)
        return (am or Analyses()).apply(Sizes(tuple(given)), module)


@paused_collector()
def infer_shapes(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
) -> dict[str, Type]:
    """Infer the type of every value of the main graph, by name.

    Args:
        model: a path, a serialized model, or an ``onnx.ModelProto``.
        dims: values of symbolic dimensions. Inference is repeated with them; a result that is
            more specific, such as a known rank, is returned.
        values: contents of inputs that determine shapes.

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
