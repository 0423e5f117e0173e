"""Document of the prediction of a published predictor for a language model."""

from __future__ import annotations

from perfc.view.report.formats.document import Amount, Document, Fact, Facts, Note, Section
from perfc.view.report.units import INTERVAL, Unit, quantity

from .published import PublishedPrediction, QuantityPrediction


def document(prediction: PublishedPrediction) -> Document:
    """Return the document: one line per quantity, then the training rows and warnings."""
    p = prediction
    load = f"{p.batch} × {p.isl} tokens" + (f" in, {p.osl} out" if p.osl else "")
    rows = (
        ("throughput", p.tokens_per_s, Unit.COUNT, "tokens per second, "),
        ("memory", p.memory_bytes, Unit.BYTE, ""),
        ("energy", p.energy_j_per_token, Unit.JOULE, "per token, "),
    )
    known = [(name, value, unit, per) for name, value, unit, per in rows if value is not None]
    facts = [
        Fact(name, Amount(value.value, unit), f"{per}{interval(value, unit)}")
        for name, value, unit, per in known
    ]
    facts.append(Fact("from", None, p.title))
    notes = [Note(f"{name}: trained on {value.basis}") for name, value, *_ in known]
    notes += [
        Note(f"{name}: {reason}", is_warning=True)
        for name, value, *_ in known for reason in value.outside
    ]  # fmt: skip
    section = Section("published", p.predictor, (Facts(tuple(facts)), *notes))
    return Document(f"{p.model} on {p.target}, {load}", (section,))


def interval(value: QuantityPrediction, unit: Unit) -> str:
    """Return the prediction interval as text, or that there is none."""
    if value.low is None or value.high is None:
        return f"no {INTERVAL}: no such rows were held out"
    return f"{INTERVAL} {quantity(value.low, unit)} to {quantity(value.high, unit)}"
