"""Predict a whole run: the time that an analysis reports, or another quantity.

`predict` is ``perfc.predict``. The time comes from the best available predictor; memory, energy and
power come from a published predictor of whole runs (a card).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar, Unpack

from perfc.analyzers.artefacts.artefact import WeightsError
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.weights import read_card
from perfc.analyzers.runs.run_table import leading_extent, stored_element
from perfc.analyzers.whole_runs.estimate import WholeRunEstimate, by_card
from perfc.analyzers.whole_runs.whole_run import words
from perfc.api import Report, analyze
from perfc.common.choice import member
from perfc.deployment import Deployment, DeploymentKeywords, with_signature
from perfc.deployment.extents import batch_symbol
from perfc.frontend.pytorch.torch_inputs import Inputs
from perfc.ir import record
from perfc.ir.syntax.names import symbol_name
from perfc.passes.runtimes import Layout, Tf32
from perfc.view.report.formats.document import (
    Amount,
    Document,
    Fact,
    Facts,
    Section,
    in_seconds,
)
from perfc.view.report.memory_sections.footprint import mig_slice
from perfc.view.report.sections.confidence import Confidence, confidence
from perfc.view.report.sections.prediction import QUANTITIES
from perfc.view.report.units import INTERVAL, LOWER_BOUND, Unit
from perfc.view.report.units import quantity as written
from perfc.view.result import Fields, Result, ResultLayout

OPTIMIZER = "sgd"
"""Optimizer of a training step that names none; printed with the answer."""


@with_signature
def predict(
    model: Any,
    target: str | None = None,
    input: Sequence[int] | None = None,
    *,
    inputs: Inputs | None = None,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    quantity: str = "time_s",
    deployment: Deployment | None = None,
    **keywords: Unpack[DeploymentKeywords],
) -> WholeRun:
    """Predict a whole run of a model: the time, as ``perfc.analyze`` does, memory or energy.

    Args:
        model: a path, a serialized model, an ``onnx.ModelProto``, a ``torch.nn.Module`` or an
            IR module.
        target: name or file of a target (default: ``a100``).
        input: shape of one example, ``(3, 224, 224)``, or ``(128,)`` for a token sequence.
        inputs: several inputs of a PyTorch module; see ``perfc.analyze``.
        values: contents of inputs that determine shapes, nested lists or arrays.
        predictor: predictor of the whole run, by name or card, as in ``perfc.analyze``.
        quantity: ``time_s``; ``memory_bytes``, ``energy_j`` and ``power_w`` need a card.
        deployment: how the model is run, as one value; defaults as in ``perfc.analyze``.
        keywords: fields of a ``Deployment``, which override ``deployment``, as in
            ``perfc.analyze``. A training step without optimizer has ``train="sgd"``.

    Raises:
        PerfcError: as ``perfc.analyze``.
        MissingExtraError: a module without PyTorch's exporter.

    >>> run = predict("examples/models/resnet50.onnx.gz", "rtx4090", dims={"batch": 8})
    >>> run.floor_s <= run.low <= run.value <= run.high
    True
    """
    typed: dict[str, Any] = {**keywords}
    if target is not None:
        typed["target"] = target
    how = (deployment or Deployment()).with_values(typed)
    return predict_as(
        model, how, input, inputs, values=values, predictor=predictor, quantity=quantity
    )


def predict_as(
    model: Any,
    deployment: Deployment,
    example: Sequence[int] | None = None,
    inputs: Inputs | None = None,
    *,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    quantity: str = "time_s",
) -> WholeRun:
    """Predict a whole run of a model under a deployment; see `predict`.

    Raises:
        PerfcError: as `predict`.
    """
    # a training step without an optimizer takes the one with the least state
    if deployment.is_step and not deployment.train:
        deployment = replace(deployment, train=OPTIMIZER)
    report = analyze(
        model,
        input=example,
        inputs=inputs,
        values=values,
        deployment=deployment,
        predictor=predictor,
    )
    return whole_run(report, predictor, member(Quantity, quantity, "quantity"))


def whole_run(report: Report, predictor: str, quantity: Quantity = Quantity.TIME) -> WholeRun:
    """Return the time that an analysis reports, or another quantity of its predictor.

    Raises:
        WeightsError: the predictor does not give the quantity.
    """
    # a card names the one quantity that it was fitted to
    if predictor.endswith(".json"):
        quantity = Quantity(read_card(Path(predictor)).quantity)
    if quantity is Quantity.TIME:
        # a predictor of the time alone gives no memory, and no slice
        table, total = report.prediction, report.prediction.total
        return WholeRun(
            total.time_s,
            total.low_s,
            total.high_s,
            total.floor_s,
            total.predictor,
            basis=table.whole or "sum of the kernels",
            outside=table.outside,
            **conditions(report),
            quantity=quantity,
            notes=table.warnings,
            confidence=confidence(report, table),
            other_quantities=dict(table.other_quantities),
            mig_slice=mig_slice(report) if table.other_quantities else None,
        )
    # of a quantity other than the time, the slice is always given
    run = _by_card(report, predictor, quantity)
    return WholeRun(
        run.value,
        run.low,
        run.high,
        run.floor_s,
        run.predictor,
        basis=words(run),
        outside=run.outside,
        **conditions(report),
        quantity=quantity,
        mig_slice=mig_slice(report),
    )


def _by_card(report: Report, predictor: str, wanted: Quantity) -> WholeRunEstimate:
    """Return a quantity other than the time as a published predictor gives it.

    Raises:
        WeightsError: the predictor does not give it.
    """
    given = report.source, report.machine, report.deployment, report.env
    floor_s = report.roofline.floor_s
    try:
        return by_card(predictor, *given, wanted, floor_s=floor_s)
    except WeightsError:
        if not predictor:
            raise
        # a predictor of the time may give the quantity too, without an interval
        run = by_card(predictor, *given, floor_s=floor_s)
        other = dict(run.other_quantities)
        if wanted not in other:
            raise
        return replace(run, value=other[wanted], low=math.nan, high=math.nan)


def conditions(report: Report) -> dict[str, Any]:
    """Return the fields of a `WholeRun` on how it runs: deployment, precision, batch, sizes."""
    how, source, env = report.deployment, report.source, report.env
    dtype = how.dtype or stored_element(source)
    # products of f32 run in TF32 where the deployment allows it
    precision = "tf32" if dtype == "f32" and how.rounded is not Tf32.NONE else dtype
    name = batch_symbol(source) or ("batch" if "batch" in env else None)
    # without a symbol the batch is fixed: the first axis of the first input
    batch = env[name] if name else leading_extent(source, env)
    sizes = {symbol_name(s.name): env[s.name] for s in source.symbols if s.name != name}
    precision_text = precision.replace("-", " ")
    return {"deployment": how, "precision": precision_text, "batch": batch, "sizes": sizes}


@record
class WholeRun(Result):
    """Predicted whole run for programs and notebooks.

    Args:
        value: predicted value, in the unit of the quantity.
        low: lower end of the 90 % prediction interval; NaN if the weights have none.
        high: its upper end.
        floor_s: lower bound of the time.
        predictor: predictor of whole runs; "" for the sum of the kernels.
        basis: predictor and its training data as text.
        outside: why the predictor extrapolates, as text; empty if it does not.
        deployment: how the model is run.
        precision: precision, as frameworks call it.
        batch: images or sequences.
        sizes: values of the other symbols, by name.
        quantity: predicted quantity.
        notes: further warnings about the prediction.
        confidence: confidence in a time, with its main reason; None for other quantities.
        other_quantities: further predictions of the same predictor: ``memory_bytes``, ``energy_j``.
        mig_slice: smallest MIG slice that holds allocator and context, None if that is not known.
    """

    layout: ClassVar[str] = "perfc.study.whole:LAYOUT"
    value: float
    low: float
    high: float
    floor_s: float
    predictor: str
    basis: str
    outside: tuple[str, ...]
    deployment: Deployment
    precision: str
    batch: int
    sizes: Mapping[str, int]
    quantity: Quantity = Quantity.TIME
    notes: tuple[str, ...] = ()
    confidence: Confidence | None = None
    other_quantities: Mapping[str, float] = field(default_factory=dict)
    mig_slice: str | None = None

    @property
    def unit(self) -> Unit:
        """Return the unit of the quantity."""
        return QUANTITIES[self.quantity.value][1]

    @property
    def interval(self) -> str:
        """Return 90 % prediction interval as text; "" if the weights have none."""
        low, high = written(self.low, self.unit), written(self.high, self.unit)
        # NaN is not equal to itself
        return f"{INTERVAL} {low} to {high}" if self.low == self.low else ""

    @property
    def answer(self) -> str:
        """Return the value and interval as text."""
        return ", ".join(filter(None, (written(self.value, self.unit), self.interval)))

    @property
    def how(self) -> str:
        """Return the target and deployment as text."""
        how = self.deployment
        sizes = (("batch", self.batch), *self.sizes.items())
        parts = [how.target, *(f"{name} {size}" for name, size in sizes), self.precision]
        # the fusion table of the runtime has the runtime's name
        parts.append(f"{how.table_name} {how.runtime_version}".strip())
        parts += [how.layout.value] if how.layout is not Layout.CHANNELS_FIRST else []
        parts += [f"{how.mode.value} with {how.train}"] if how.train else []
        return ", ".join(filter(None, parts))

    @property
    def doubts(self) -> Sequence[str]:
        """Return confidence with its main reason, then other reasons and notes, each as text."""
        trust = self.confidence
        grade, reason = (trust.grade.value, trust.reason) if trust else ("", "")
        reasons = (f"extrapolating: {why}" for why in self.outside if why != reason)
        # the main reason is not repeated
        notes = (note for note in self.notes if not reason or reason not in note)
        return *([f"confidence {grade}: {reason}"] if trust else []), *reasons, *notes

    def __repr__(self) -> str:
        """Return the answer in three lines."""
        floor = f"; {LOWER_BOUND} {written(self.floor_s, Unit.SECOND)}" if self.floor_s else ""
        doubt = next(iter(self.doubts), self.basis)
        return f"{self.how}\n  predicted {self.answer}{floor}\n  {doubt}"

    @property
    def framework(self) -> str:
        """Return the framework of the runtime, else the runtime, with its version if given."""
        how = self.deployment
        return f"{how.table.framework.value or how.stated_runtime} {how.runtime_version}".strip()

    @property
    def fields_of_deployment(self) -> Mapping[str, object]:
        """Return how the model is run."""
        return self.deployment.as_json()


def document(run: WholeRun) -> Document:
    """Return the answer with its doubts and where it is from."""
    facts = [Fact("predicted", Amount(run.value, run.unit), run.interval)]
    if run.floor_s:
        facts.append(Fact(LOWER_BOUND, in_seconds(run.floor_s), ""))
    facts += [Fact("note", None, doubt) for doubt in run.doubts]
    facts.append(Fact("from", None, run.basis))
    return Document(run.how, (Section("prediction", "prediction", (Facts(tuple(facts)),)),))


LAYOUT = ResultLayout(
    "perfc-predict/1",
    Fields(
        WholeRun,
        {
            "quantity": "quantity",
            "value": "value",
            "low": "low",
            "high": "high",
            "floor_s": "floor_s",
            "extrapolating": "outside",
            "notes": "notes",
            "confidence": "confidence",
            "predictor": "predictor",
            "basis": "basis",
            "batch": "batch",
            "precision": "precision",
            "framework": "framework",
            "mode": "deployment.mode",
            "deployment": "fields_of_deployment",
            "mig_profile": "mig_slice",
            "other_quantities": "other_quantities",
        },
    ),
    document,
)
