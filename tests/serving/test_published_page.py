"""Answers of published predictors of language models as pages, next to those of perfc."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import perfc
from perfc.deployment.prices import region_named
from perfc.errors import ParseError
from perfc.frontend.config import read_config
from perfc.machine.parallel import ALONE
from perfc.serving.output.published import ModelRun, PublishedPrediction, QuantityPrediction
from perfc.serving.output.published_page import published_page
from perfc.serving.output.published_view import carbon
from perfc.serving.output.simulated import BATCHES, along_batch, simulated

WORLD = region_named("world")


def run_of(model: str, target: str = "h100-sxm5-80gb", batch: int = 8) -> ModelRun:
    return ModelRun(read_config(model), target, "", "", "", "", ALONE, 1, 128, 32, batch)


def fixed(name: str, run: ModelRun) -> PublishedPrediction:
    """Prediction with a rate in proportion to the batch, of a predictor that names itself."""
    rate = QuantityPrediction(10.0 * run.batch, 9.0, 11e3, "a row", ("<b>no row</b>",))
    energy = QuantityPrediction(0.5, None, None, "a row")
    return PublishedPrediction(
        run.model.name, run.target, name, "a title", run.batch, run.isl, run.osl, rate, None, energy
    )


def drawn(page: str) -> Any:
    """Return the data that the scripts of a page draw."""
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("perfc.serving.output.published.published", fixed)
    return lambda run: published_page("<i>law", run, WORLD)


def test_a_decoder_has_the_numbers_of_perfc_llm() -> None:
    run = run_of("llama-3.2-1b")
    answer = simulated(run)
    report = perfc.llm("llama-3.2-1b", "h100", isl=128, osl=32, concurrency=8)
    assert report.throughput is not None
    assert report.expenses is not None
    assert answer.tokens_per_s is not None
    assert answer.energy_j_per_token is not None
    assert answer.tokens_per_s.value == report.throughput.output_tokens_per_s
    assert answer.energy_j_per_token.value == report.expenses.energy_j_per_token
    assert carbon(answer, WORLD).value is not None
    more = simulated(replace(run, batch=9)).memory_bytes
    assert answer.memory_bytes is not None
    assert more is not None
    grown = more.value - answer.memory_bytes.value
    assert grown == pytest.approx(160 * report.memory.kv_bytes_per_token)
    divided = simulated(replace(run, parallel=replace(ALONE, tensor=2)))
    assert divided.memory_bytes is None


def test_an_encoder_has_the_numbers_of_perfc_analyze() -> None:
    answer = simulated(run_of("bert-base", batch=4))
    dims = {"batch": 4, "seq": 128}
    report = perfc.analyze("bert-base", "h100", runtime="eager", dims=dims)
    assert answer.osl == 0
    assert answer.tokens_per_s is not None
    assert answer.tokens_per_s.low is not None
    assert answer.memory_bytes is not None
    assert answer.tokens_per_s.value == pytest.approx(4 * 128 / report.prediction.total.time_s)
    assert answer.tokens_per_s.low < answer.tokens_per_s.value < (answer.tokens_per_s.high or 0)
    assert answer.memory_bytes.value == report.footprint.allocated_bytes


def test_batches_without_an_answer_are_left_out() -> None:
    run = run_of("llama-3.2-1b", batch=3)

    def small(one: ModelRun) -> PublishedPrediction:
        if one.batch > 4:
            raise ParseError("too large")
        return fixed("law", one)

    batches = [p.batch for p in along_batch(run, fixed("law", run), small)]
    assert batches == [1, 2, 3, 4]


def test_the_page_has_both_answers_and_a_chart_of_each_quantity(page: Any) -> None:
    html = page(run_of("llama-3.2-1b", batch=3))
    shown = html.partition("<script")[0]
    assert "throughput: &lt;i&gt;law 30, perfc " in shown
    assert "<i>law" not in html
    assert "<b>no row" not in html
    data = drawn(html)
    assert [one["id"] for one in data["charts"]] == ["throughput", "energy"]
    first, second = data["charts"][0]["lines"]
    assert [p[0] for p in first["points"]] == sorted({*BATCHES, 3})
    assert all(p[1] == 10 * p[0] for p in first["points"])
    assert data["at"] == 3
    assert second["name"] == "perfc"
    rates = [p[1] for p in second["points"]]
    assert len(rates) == 6
    assert rates == sorted(rates)


def test_a_model_that_does_not_fit_or_has_no_kernels_says_so(page: Any) -> None:
    misfit = page(run_of("llama-3.1-70b"))
    assert "throughput: &lt;i&gt;law 80, perfc none" in misfit
    assert "no memory for even one request" in misfit
    strange = page(replace(run_of("bert-base"), weights="i3"))
    assert "perfc has no answer" in strange
    assert [len(one["lines"]) for one in drawn(strange)["charts"]] == [1, 1]
