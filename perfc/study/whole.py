"""Prediction of a whole run of an ONNX model or PyTorch module from its graph."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Unpack

from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.runs.run_table import stored_element
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.analyzers.whole_runs.estimate import WholeRunEstimate, at_sizes, estimate
from perfc.analyzers.whole_runs.shipped import in_measured_half, known_name, named, newest
from perfc.analyzers.whole_runs.whole_run import batch_symbol
from perfc.api import analyze, located, read
from perfc.common.choice import member
from perfc.deployment import Deployment, DeploymentKeywords, of_whole_runs
from perfc.deployment.extents import sized
from perfc.deployment.fields import Mode
from perfc.frontend.pytorch.torch_inputs import Inputs
from perfc.frontend.pytorch.torch_module import check_example, graph_of
from perfc.ir.graph import Module
from perfc.ir.graphs.rewrite import with_defaults
from perfc.ir.record import record
from perfc.ir.syntax.names import symbol_name
from perfc.machine import load_machine
from perfc.study.former_names import Former
from perfc.view.report.units import INTERVAL, LOWER_BOUND, Unit
from perfc.view.report.units import quantity as written

SCHEMA = "perfc-predict/1"


class PredictKeywords(DeploymentKeywords, total=False):
    """Fields of a deployment, and their former names."""

    precision: str
    compiled: bool
    channels_last: bool
    training: bool
    version: tuple[int, int] | None


def predict(
    model: Any,
    target: str | int | None = None,
    input: Sequence[int] | None = None,
    device: str | None = None,
    *,
    inputs: Inputs | None = None,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    quantity: str = "time_s",
    deployment: Deployment | None = None,
    **keywords: Unpack[PredictKeywords],
) -> WholeRun:
    """Predict a whole PyTorch run of a model with weights fitted to measured runs.

    Args:
        model: a path, a serialized model, an ``onnx.ModelProto``, a ``torch.nn.Module`` or an
            IR module.
        target: name or file of a target (default: ``rtx4090``). A number is the former ``batch``.
        input: shape of one example, ``(3, 224, 224)``, or ``(128,)`` for a token sequence.
        inputs: several inputs of a PyTorch module; see ``perfc.analyze``.
        device: former name of ``target``.
        values: contents of inputs that determine shapes, nested lists or arrays.
        predictor: name of shipped weights, or a card file.
        quantity: ``time_s``, ``memory_bytes``, ``energy_j`` or ``power_w``.
        deployment: how the model is run, as one value (default: eager PyTorch under autocast
            to f16).
        keywords: fields of a ``Deployment``, which override ``deployment``: ``runtime``,
            ``framework``, ``runtime_version``, ``dtype``, ``tf32``, ``layout``, ``streams``,
            ``mode``, ``host_launch``, ``dims``.
            ``batch`` and ``seq`` are short for ``dims={"batch": …}`` and ``dims={"seq": …}``.

    Raises:
        PerfcError: an unreadable model, contradicting sizes, an unknown target or predictor, or a
            deployment without measured whole runs.
        MissingExtraError: a module without PyTorch's exporter.

    >>> run = predict("examples/models/resnet50.onnx.gz", "rtx4090", dims={"batch": 8})
    >>> run.floor_s <= run.low <= run.value <= run.high
    True
    """
    typed: dict[str, Any] = {**keywords}
    if device is not None:
        typed["device"] = device
    if isinstance(target, str):
        typed["target"] = target
    elif target is not None:
        typed["batch"] = target
    former = Former.of(typed)
    if note := former.note(lambda name, value: f"{name}={value!r}", str):
        warnings.warn(note, DeprecationWarning, stacklevel=2)
    how = (deployment or of_whole_runs()).with_values(former.values)
    graph = graph_of(model, input, inputs, how.dims)
    return predict_as(
        graph, how, example=input, values=values, predictor=predictor, quantity=quantity
    )


def predict_as(
    model: Any,
    deployment: Deployment,
    *,
    example: Sequence[int] | None = None,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    quantity: str = "time_s",
) -> WholeRun:
    """Predict a whole run of a model under a deployment; see `predict`.

    Args:
        model: as in `predict`.
        deployment: how the model is run.
        example: shape of one example.
        values: contents of inputs that determine shapes.
        predictor: name of shipped weights, or a card file.
        quantity: quantity to predict.

    Raises:
        PerfcError: as `predict`.
    """
    wanted = member(Quantity, quantity, "quantity")
    card = named(predictor, wanted) if predictor else None
    with located(model):
        module, given = module_of(model, example, deployment.dims, values)
        setting = Setting.of(deployment, stored_element(module))
        name = known_name(deployment.target)
        requested = setting
        if card is None:
            setting = in_measured_half(load_machine(deployment.target), setting, wanted)
        setting = newest(card, name, setting, wanted, deployment.version)
        symbol = batch_symbol(module)
        batch = given.pop(symbol, None) if symbol is not None else None
        module = at_sizes(module, batch, given)
        result = estimate(module, card, deployment.target, setting, batch, given, quantity=wanted)
        if wanted is Quantity.TIME:
            keyed = given if symbol is None else {**given, symbol: result.batch}
            sizes = {symbol_name(key): size for key, size in keyed.items()}
            result = at_least(result, floor_of(module, replace(deployment, dims=sizes)))
    return echoed(result, deployment.target, requested.precision)


def floor_of(module: Module, deployment: Deployment) -> float:
    """Return the lower bound of the same run in `perfc.analyze`, in seconds.

    It covers all kernels of the runtime, while predictors of whole runs bound matrix products
    only, which is valid for any fusion. For a training step it is that of the forward pass.
    """
    forward = replace(deployment, mode=Mode.INFERENCE)
    return analyze(module, deployment=forward).roofline.floor_s


@record
class WholeRun(WholeRunEstimate):
    """Whole-run estimate for programs and notebooks.

    Args:
        target: requested target.
        measured_as: half precision of the measured runs that represent it; None for its own.
    """

    target: str = ""
    measured_as: Precision | None = None

    @property
    def unit(self) -> Unit:
        """Unit of the quantity."""
        units = {
            Quantity.MEMORY: Unit.BYTE, Quantity.ENERGY: Unit.JOULE, Quantity.POWER: Unit.WATT,
            Quantity.SM_ACTIVE: Unit.SHARE,
        }  # fmt: skip
        return units.get(self.quantity, Unit.SECOND)

    @property
    def interval(self) -> str:
        """90 % prediction interval as text; "" if the weights have none."""
        low, high = written(self.low, self.unit), written(self.high, self.unit)
        return f"{INTERVAL} {low} to {high}" if self.low == self.low else ""

    @property
    def answer(self) -> str:
        """Value and interval as text."""
        return ", ".join(filter(None, (written(self.value, self.unit), self.interval)))

    @property
    def how(self) -> str:
        """Target and deployment as text."""
        s, runs = self.setting, self.measured_as
        precision = s.precision.value + (f" (by runs in {runs.value})" if runs else "")
        return f"{self.target}, batch {self.batch}, {precision}, {s.framework}, {s.mode.value}"

    @property
    def basis(self) -> str:
        """Predictor and its training data as text."""
        return f"{self.predictor}, {self.card.rows:,} rows of {self.card.dataset}"

    def __repr__(self) -> str:
        """Return the answer in three lines."""
        floor = f"; {LOWER_BOUND} {written(self.floor_s, Unit.SECOND)}" if self.floor_s else ""
        doubt = f"extrapolating: {self.outside[0]}" if self.outside else self.basis
        return f"{self.how}\n  predicted {self.answer}{floor}\n  {doubt}"

    def _repr_html_(self) -> str:
        """Return the answer as HTML for a notebook."""
        from perfc.view.report.formats.document import Amount, Document, Fact, Facts, Section
        from perfc.view.report.formats.notebook_document import render

        facts = [Fact("predicted", Amount(self.value, self.unit), self.interval)]
        if self.floor_s:
            facts.append(Fact(LOWER_BOUND, Amount(self.floor_s, Unit.SECOND), ""))
        facts += [Fact("extrapolating", None, reason) for reason in self.outside]
        facts.append(Fact("from", None, self.basis))
        section = Section("prediction", "prediction", (Facts(tuple(facts)),))
        return render(Document(self.how, (section,)))


@record
class WholeRunView:
    """JSON document of ``perfc predict``.

    Args:
        quantity: predicted quantity; the suffix is its unit.
        value: predicted value.
        low: lower end of the 90 % prediction interval; null if the weights have none.
        high: its upper end.
        floor_s: lower bound of a time.
        extrapolating: differences from the measured runs, as text.
        predictor: name of the predictor.
        batch: images or sequences.
        precision: precision, as frameworks call it.
        framework: framework and version.
        mode: execution mode.
        represent_s: time from the model to arrays.
        predict_s: time from arrays to the value.
        deployment: how the model is run.
        steps_s: time of the whole training; null if no number of steps is given.
        price: price of the whole training.
        mig_profile: smallest MIG slice with enough memory; null if not requested.
    """

    quantity: str
    value: float
    low: float | None
    high: float | None
    floor_s: float
    extrapolating: tuple[str, ...]
    predictor: str
    batch: int
    precision: str
    framework: str
    mode: str
    represent_s: float
    predict_s: float
    deployment: Mapping[str, object]
    steps_s: float | None = None
    price: float | None = None
    mig_profile: str | None = None

    @classmethod
    def of(cls, run: WholeRun, how: Deployment, more: Mapping[str, float | str]) -> WholeRunView:
        """Build the document from a run and derived values."""
        s = run.setting
        return cls(
            run.quantity.value, run.value, run.low, run.high, run.floor_s, run.outside,
            run.predictor, run.batch, s.precision.value, s.framework, s.mode.value,
            run.represent_s, run.predict_s, how.as_json(), **more,  # type: ignore[arg-type]
        )  # fmt: skip


def echoed(estimate: WholeRunEstimate, target: str, precision: Precision) -> WholeRun:
    """Return an estimate labeled with the requested target and precision."""
    given = {f.name: getattr(estimate, f.name) for f in fields(estimate)}
    measured = estimate.setting.precision
    given["setting"] = replace(estimate.setting, precision=precision)
    return WholeRun(**given, target=target, measured_as=measured if measured != precision else None)


def at_least(estimate: WholeRunEstimate, floor_s: float) -> WholeRunEstimate:
    """Raise the lower bound of a time estimate, and its values to at least that."""
    floor_s = max(estimate.floor_s, floor_s)
    low, value, high = (max(x, floor_s) for x in (estimate.low, estimate.value, estimate.high))
    low = low if estimate.low == estimate.low else estimate.low
    high = high if estimate.high == estimate.high else estimate.high
    return replace(estimate, floor_s=floor_s, low=low, value=value, high=high)


def module_of(
    model: Any,
    example: Sequence[int] | None,
    dims: Mapping[str, int],
    values: Mapping[str, Any] | None = None,
) -> tuple[Module, dict[str, int]]:
    """Return the module of a model, and the sizes of its symbols.

    Raises:
        ModelError: the input has other extents.
        ParseError: a size or content that does not fit the model.
    """
    if isinstance(model, Module):
        return sized(model, dims)
    module, given = read(model, dims, values)
    module = with_defaults(module, given)
    if example is not None:
        check_example(module, example)
    return module, given
