"""What a whole run of a model takes, from its graph: an ONNX model or a PyTorch module."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Unpack

from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.runs.run_table import stored_element
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.analyzers.whole_runs.estimate import Estimate, at_sizes, estimate
from perfc.analyzers.whole_runs.shipped import in_measured_half, known_name, named, newest
from perfc.analyzers.whole_runs.whole_run import batch_symbol
from perfc.api import analyze, located, read
from perfc.choice import member
from perfc.deployment import Deployment, DeploymentKeywords, of_whole_runs
from perfc.deployment_fields import Mode
from perfc.extents import sized
from perfc.former_names import Former
from perfc.frontend.torch_inputs import Inputs
from perfc.frontend.torch_module import check_example, graph_of
from perfc.ir.graph import Module
from perfc.ir.names import symbol_name
from perfc.ir.record import record
from perfc.ir.rewrite import with_defaults
from perfc.machine import load_machine
from perfc.report.units import Unit
from perfc.report.units import quantity as written

SCHEMA = "perfc-predict/1"


class PredictKeywords(DeploymentKeywords, total=False):
    """The fields of a deployment, and what some were called before the next release."""

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
    """Predict a whole run of a model in PyTorch, by weights learned from measured ones.

    Args:
        model: a path, a serialized model, an ``onnx.ModelProto``, a ``torch.nn.Module`` or a
            module of the IR.
        target: name or file of a target; ``rtx4090`` by default. A number is an old ``batch``.
        input: extents of one example, ``(3, 224, 224)``, or ``(128,)`` of a sequence of tokens.
        inputs: of a PyTorch module with several; see ``perfc.analyze``.
        device: the old name of ``target``.
        values: contents of inputs that drive shapes, nested lists or arrays.
        predictor: name of weights that come with perfc, or the card of others.
        quantity: ``time_s``, ``memory_bytes``, ``energy_j`` or ``power_w``.
        deployment: how the model is run, as one value; by default in PyTorch, eager, under
            autocast to f16.
        keywords: the fields of a ``Deployment``, over those of ``deployment``: ``runtime``,
            ``framework``, ``runtime_version``, ``dtype``, ``tf32``, ``layout``, ``streams``,
            ``mode``, ``host_launch``, ``dims``.
            ``batch`` and ``seq`` are short for ``dims={"batch": …}`` and ``dims={"seq": …}``.

    Raises:
        PerfcError: the model cannot be read, sizes contradict it, target or predictor is not known,
            or no whole runs were measured in such a way.
        MissingExtraError: a module without PyTorch's exporter.

    >>> found = predict("examples/models/resnet50.onnx.gz", "rtx4090", dims={"batch": 8})
    >>> found.floor_s <= found.low <= found.value <= found.high
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
        model: as of `predict`.
        deployment: how it is run.
        example: extents of one example.
        values: contents of inputs that drive shapes.
        predictor: name of weights, or the card of others.
        quantity: that is predicted.

    Raises:
        PerfcError: as `predict`.
    """
    wanted = member(Quantity, quantity, "quantity")
    card = named(predictor, wanted) if predictor else None
    with located(model):
        module, given = module_of(model, example, deployment.dims, values)
        setting = Setting.of(deployment, stored_element(module))
        name = known_name(deployment.target)
        asked = setting
        if card is None:
            setting = in_measured_half(load_machine(deployment.target), setting, wanted)
        setting = newest(card, name, setting, wanted, deployment.version)
        symbol = batch_symbol(module)
        batch = given.pop(symbol, None) if symbol is not None else None
        module = at_sizes(module, batch, given)
        found = estimate(module, card, deployment.target, setting, batch, given, quantity=wanted)
        if wanted is Quantity.TIME:
            keyed = given if symbol is None else {**given, symbol: found.batch}
            sizes = {symbol_name(key): size for key, size in keyed.items()}
            found = at_least(found, floor_of(module, replace(deployment, dims=sizes)))
    return echoed(found, deployment.target, asked.precision)


def floor_of(module: Module, deployment: Deployment) -> float:
    """What `perfc.analyze` states as the least that the same run takes, in seconds.

    Its kernels are those of the runtime; the floor that predictors of whole runs know is of
    products alone, so that it holds however the rest is fused. A training step has a forward pass
    at least.
    """
    forward = replace(deployment, mode=Mode.INFERENCE)
    return analyze(module, deployment=forward).roofline.floor_s


@record
class WholeRun(Estimate):
    """An estimate as programs and notebooks get it.

    Args:
        target: as it was asked for.
        measured_as: the half precision of the runs that stand for it; None for its own.
    """

    target: str = ""
    measured_as: Precision | None = None

    @property
    def unit(self) -> Unit:
        """Of the quantity."""
        units = {
            Quantity.MEMORY: Unit.BYTE, Quantity.ENERGY: Unit.JOULE, Quantity.POWER: Unit.WATT,
            Quantity.SM_ACTIVE: Unit.SHARE,
        }  # fmt: skip
        return units.get(self.quantity, Unit.SECOND)

    @property
    def interval(self) -> str:
        """Where nine in ten runs lie, in words; "" where the weights know no interval."""
        low, high = written(self.low, self.unit), written(self.high, self.unit)
        return f"nine in ten within {low} to {high}" if self.low == self.low else ""

    @property
    def answer(self) -> str:
        """The number with its interval, in words."""
        return ", ".join(filter(None, (written(self.value, self.unit), self.interval)))

    @property
    def how(self) -> str:
        """The machine, and how the model is run on it."""
        s, runs = self.setting, self.measured_as
        precision = s.precision.value + (f" (by runs in {runs.value})" if runs else "")
        return f"{self.target}, batch {self.batch}, {precision}, {s.framework}, {s.mode.value}"

    @property
    def basis(self) -> str:
        """Who predicts, from which rows."""
        return f"{self.predictor}, {self.card.rows:,} rows of {self.card.dataset}"

    def __repr__(self) -> str:
        """The answer in three lines."""
        floor = f"; at best {written(self.floor_s, Unit.SECOND)}" if self.floor_s else ""
        doubt = f"extrapolating: {self.outside[0]}" if self.outside else self.basis
        return f"{self.how}\n  expected {self.answer}{floor}\n  {doubt}"

    def _repr_html_(self) -> str:
        """The answer for a notebook."""
        from perfc.report.document import Amount, Document, Fact, Facts, Section
        from perfc.report.notebook_document import render

        facts = [Fact("expected", Amount(self.value, self.unit), self.interval)]
        if self.floor_s:
            facts.append(Fact("at best", Amount(self.floor_s, Unit.SECOND), "no run is faster"))
        facts += [Fact("extrapolating", None, reason) for reason in self.outside]
        facts.append(Fact("from", None, self.basis))
        section = Section("prediction", "prediction", (Facts(tuple(facts)),))
        return render(Document(self.how, (section,)))


@record
class WholeRunView:
    """What ``perfc predict`` says of a whole run.

    Args:
        quantity: what is predicted; the last letters are its unit.
        value: of it.
        low: end of the interval that holds nine in ten; null where the weights know none.
        high: its other end.
        floor_s: what no run beats, of a time.
        extrapolating: how the run is unlike those measured, in words.
        predictor: whose weights.
        batch: images or sequences.
        precision: as frameworks call it.
        framework: with its version.
        mode: way of running.
        represent_s: from the model to arrays.
        predict_s: from arrays to the number.
        deployment: how the model is run.
        steps_s: of a whole training; null where no number of steps was given.
        price: of it.
        mig_profile: smallest slice of the device that holds it; null where that was not asked.
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
        """Of a run, and what follows from it."""
        s = run.setting
        return cls(
            run.quantity.value, run.value, run.low, run.high, run.floor_s, run.outside,
            run.predictor, run.batch, s.precision.value, s.framework, s.mode.value,
            run.represent_s, run.predict_s, how.as_json(), **more,  # type: ignore[arg-type]
        )  # fmt: skip


def echoed(found: Estimate, target: str, precision: Precision) -> WholeRun:
    """An estimate with what it is of: the machine and the precision that were asked for."""
    given = {f.name: getattr(found, f.name) for f in fields(found)}
    measured = found.setting.precision
    given["setting"] = replace(found.setting, precision=precision)
    return WholeRun(**given, target=target, measured_as=measured if measured != precision else None)


def at_least(found: Estimate, floor_s: float) -> Estimate:
    """An estimate of a time with a higher floor, which none of its numbers is below."""
    floor_s = max(found.floor_s, floor_s)
    low, value, high = (max(x, floor_s) for x in (found.low, found.value, found.high))
    low = low if found.low == found.low else found.low
    high = high if found.high == found.high else found.high
    return replace(found, floor_s=floor_s, low=low, value=value, high=high)


def module_of(
    model: Any,
    example: Sequence[int] | None,
    dims: Mapping[str, int],
    values: Mapping[str, Any] | None = None,
) -> tuple[Module, dict[str, int]]:
    """The module of a model, and the sizes of its symbols.

    Raises:
        ModelError: its input has other extents.
        ParseError: a size or a content is none of its own.
    """
    if isinstance(model, Module):
        return sized(model, dims)
    module, given = read(model, dims, values)
    module = with_defaults(module, given)
    if example is not None:
        check_example(module, example)
    return module, given
