"""Benchmarks without a server are slowed as similar ones were, where any ran."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from perfc.analyzers.features.process import Process
from perfc.errors import ParseError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.serving import llm, offline
from perfc.serving.cost.drafts import Speculation
from perfc.serving.engine import Engine
from perfc.serving.host import (
    LEARNED,
    HostModel,
    host_model_of,
    host_models,
    named_host_model,
    numbers_of,
)
from perfc.serving.offline import (
    AMONG,
    COLUMNS,
    FORM,
    MACHINE,
    BenchmarkFeatures,
    features_of,
    kind_of_benchmark,
    log_slowdown,
    number_of,
    rows_of,
    sequences,
    slowed,
)
from perfc.serving.simulation.load import Load
from perfc_lab.serving import ServedRow, ServingQuantity
from perfc_lab.serving.learn import left_out, model_fold
from perfc_lab.serving.like import fitted_processes, unseen_errors
from perfc_lab.serving.replay import ReplayedNumber
from perfc_lab.serving.scores import law_name
from perfc_lab.serving.tables import TRTLLM
from perfc_lab.training.process_fit import ProcessRecipe, fitted_process

LOWER = 0.3
"""Logarithm by which rows of a version of the tests take longer than their kernels."""


def engine(target: str = "h100", tensor: int = 1) -> Engine:
    precision = precision_of("bfloat16", None, "f8")
    return Engine.of(
        read_config("llama-3.1-8b"),
        load_machine(target),
        precision,
        Parallel(tensor),
        "trtllm",
        "1.0",
    )


def place(law: str, isl: float, batch: float) -> BenchmarkFeatures:
    columns = dict.fromkeys(COLUMNS, 0.0) | {"log2_isl": isl, "log2_batch": batch}
    return BenchmarkFeatures((number_of(law), 1.0), tuple(columns.values()))


def rows() -> Iterator[ReplayedNumber]:
    """Of four models under one version, whose rows of larger batches all take longer."""
    for m, model in enumerate("abcd"):
        for isl in (7.0, 9.0, 11.0):
            for batch in range(8):
                name = f"{model} {isl} {batch}"
                row = ServedRow(
                    TRTLLM,
                    name,
                    model,
                    "h100-sxm5-80gb",
                    "trtllm",
                    "0.11.0",
                    "f8",
                    "",
                    1,
                    1,
                    1,
                    1,
                    round(2**isl),
                    128,
                    2**batch,
                    False,
                    (),
                    False,
                    {ServingQuantity.TOKENS_PER_S: 1.0},
                )
                amounts = (1.0 + m, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
                value = (1.0 + m) * math.exp(LOWER * math.tanh(batch - 4))
                at = place("trtllm-bench 0.11", isl, float(batch))
                yield ReplayedNumber(row, ServingQuantity.TOKENS_PER_S, amounts, value, at)


@pytest.fixture(scope="module")
def process() -> Process:
    samples = list(rows())
    host_models = {law_name(samples[0]): HostModel()}
    return fitted_processes(samples, law_name, host_models)["trtllm-bench"]


def test_a_model_left_out_is_told_by_others_at_such_batches() -> None:
    samples = list(rows())
    alone = left_out(samples, law_name, model_fold)
    errors = unseen_errors(samples, law_name, model_fold)
    off, better = (
        np.abs(np.log([s.value / p for s, p in zip(samples, each, strict=True)])).mean()
        for each in (alone, errors)
    )
    assert better < 0.3 * off


def test_rows_without_a_place_are_told_by_their_law() -> None:
    samples = [replace(s, place=None) for s in rows()]
    assert unseen_errors(samples, law_name, model_fold) == left_out(samples, law_name, model_fold)


def test_one_model_tells_nothing_of_others() -> None:
    samples = [s for s in rows() if s.row.model == "a"]
    assert fitted_processes(samples, law_name, {law_name(samples[0]): HostModel()}) == {}


def test_a_machine_that_no_benchmark_ran_on_is_told_by_the_law(process: Process) -> None:
    known = place("trtllm-bench 0.11", 9.0, 7.0)
    assert log_slowdown(process, [known])[0] == pytest.approx(LOWER, abs=0.1)
    at = COLUMNS.index(MACHINE[0])
    far = replace(known, columns=(*known.columns[:at], 1.0, *known.columns[at + 1 :]))
    assert log_slowdown(process, [far, known])[0] == 0.0


def test_what_is_stored_tells_the_same(
    process: Process, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path_factory.mktemp("processes") / "offline.npz"
    file.write_bytes(offline.written({"trtllm-bench experts": process}))
    monkeypatch.setattr(offline, "FILE", file)
    offline.processes.cache_clear()
    again = offline.processes()["trtllm-bench experts"]
    offline.processes.cache_clear()
    some = [place("trtllm-bench 0.11", 9.0, float(n)) for n in range(8)]
    assert log_slowdown(again, some) == pytest.approx(log_slowdown(process, some), abs=2e-3)


def test_models_of_the_same_layers_are_left_out_together() -> None:
    first = next(rows())
    twins = [
        replace(first, row=replace(first.row, model=name)) for name in ("LLaMA 7B", "LLaMA v2 7B")
    ]
    assert model_fold(twins[0]) == model_fold(twins[1])


def test_where_a_benchmark_stands() -> None:
    found = features_of(engine(), "trtllm-bench 1.0", 1024, 128, 64)
    at = dict(zip(COLUMNS, found.columns, strict=True))
    assert (at["log2_isl"], at["log2_osl"], at["log2_ranks"], at["log2_batch"]) == (10, 7, 0, 6)
    assert 0 < at["attention"] < 1
    assert at["exchanges"] == pytest.approx(0, abs=1e-6)
    assert 0 < at["prompts"] < 1
    two = features_of(engine(tensor=2), "trtllm-bench 1.0", 1024, 128, 64)
    shared = dict(zip(COLUMNS, two.columns, strict=True))
    assert shared["exchanges"] > 1e-3
    assert shared["log2_step_s"] < at["log2_step_s"]
    assert len(AMONG) == len(MACHINE)
    assert rows_of([found]).kinds.shape == (1, FORM.numbers)


def test_sequences_of_a_step() -> None:
    served = engine()
    most = sequences(served, 1024, 128, 0)
    assert most > 64
    assert sequences(served, 1024, 128, 64) == 64
    assert sequences(served, 1024, 128, 100_000) == most
    halves = replace(served, parallel=Parallel(1, attention_data=2))
    assert sequences(halves, 1024, 128, 64) == 32


@pytest.mark.parametrize(
    ("version", "has_experts", "law"),
    [
        ("1.0", False, "trtllm-bench 1.0"),
        ("1.0.1", True, "trtllm-bench 1.0 experts"),
        ("0.10.0", False, "trtllm-bench 0.10"),
        ("0.17", True, "trtllm-bench 0.11"),
        ("v0.11.0rc1", False, "trtllm-bench 0.11"),
        ("0.10", True, "trtllm-bench 0.10"),
        ("1.0", True, "trtllm-bench 1.0 experts"),
        ("0.5", False, "trtllm-bench 0.9"),
        ("0.8.0", False, "trtllm-bench 0.9"),
        ("0.4", False, "trtllm-bench 0.9"),
    ],
)
def test_the_law_of_a_benchmark(version: str, has_experts: bool, law: str) -> None:
    name, host = named_host_model("trtllm", version, has_experts=has_experts)
    assert name == law
    assert host.rows > 0
    is_of_experts = law.endswith("experts")
    assert kind_of_benchmark(name) == ("trtllm-bench experts" if is_of_experts else "trtllm-bench")
    assert kind_of_benchmark(named_host_model("trtllm", "", has_experts=False)[0]) == ""


def test_a_runtime_without_a_published_benchmark_has_the_host_of_its_server() -> None:
    name, host = named_host_model("sglang", "", has_experts=False)
    server = host_model_of("sglang")
    assert (name, kind_of_benchmark(name)) == ("sglang", "")
    assert server.request_s > 0
    assert host == replace(server, request_s=0.0, token_s=0.0)


@pytest.mark.parametrize("version", ["x", "rc1", "-1", ".5", "v"])
def test_what_begins_with_no_number_is_no_version(version: str) -> None:
    for law_of in (host_model_of, lambda *of: named_host_model(*of, has_experts=False)):
        with pytest.raises(ParseError, match=f"'{re.escape(version)}' is not a version"):
            law_of("trtllm", version)
    assert numbers_of("") == ()
    assert (
        host_model_of("trtllm", "1.0rc3")
        == host_model_of("trtllm", "1.0.0")
        == host_models()["trtllm 1.0"]
    )


def test_a_slower_law_takes_longer_in_all_parts() -> None:
    law = HostModel(kernels=0.9, step_s=1e-3, sequence_s=1e-5, few_s=1e-6)
    for prompts, decodes in ((0, 8), (2, 100)):
        usual = law.step(0.01, 0.002, prompts, decodes)
        assert slowed(law, 1.5).step(0.01, 0.002, prompts, decodes) == pytest.approx(1.5 * usual)
    assert slowed(law, 1.0) == law
    assert set(LEARNED) >= {"kernels", "prompts", "exchanges", "step_s"}


def test_a_benchmark_without_a_server_is_slowed_as_measured_ones(process: Process) -> None:
    options = {"isl": 128, "osl": 128, "concurrency": 64, "runtime": "trtllm", "dtype": "fp8"}
    served = llm("llama-3.1-8b", "h100", spread=0.0, **options)  # type: ignore[arg-type]
    alone = llm("llama-3.1-8b", "h100", offline=True, **options)  # type: ignore[arg-type]
    assert served.latencies is not None
    assert alone.latencies is not None
    assert alone.latencies.ttft.mean < served.latencies.ttft.mean, "no server in front"
    base = engine()
    load = Load(128, 128, 64, is_batch=True)
    name, law = named_host_model("trtllm", "0.11", has_experts=False)
    older = replace(base, version="0.11", law=host_model_of("trtllm", "0.11"))
    slower = offline.benchmarked(older, load, 64, name, law).law
    at = features_of(older, name, 128, 128, 64)
    factor = math.exp(log_slowdown(offline.processes()["trtllm-bench"], [at])[0])
    assert slower.kernels == pytest.approx(law.kernels * factor, rel=1e-3)
    # a server of that version is slowed too; where both were measured, the faster counts
    assert offline.benchmarked(
        older, replace(load, is_batch=False), 64, name, law
    ).law.kernels == pytest.approx(slower.kernels)
    name, law = named_host_model("trtllm", "1.0", has_experts=False)
    step = [
        one.step(0.01, 0.0, 0, 64)
        for one in (offline.benchmarked(base, load, 64, name, law).law, base.law)
    ]
    assert step[0] <= step[1]


def test_an_engine_that_drafts_has_the_plain_law_of_benchmarks() -> None:
    drafting = replace(engine(), speculation=Speculation(2, 0.7))
    name, law = named_host_model("trtllm", "0.11", has_experts=False)
    older = replace(drafting, version="0.11", law=host_model_of("trtllm", "0.11"))
    assert offline.benchmarked(older, Load(128, 128, 64, is_batch=True), 64, name, law).law == law


def test_rows_fitted_to_are_those_of_the_recipe() -> None:
    samples = list(rows())
    places = [s.place for s in samples if s.place is not None]
    models = [ord(s.row.model) for s in samples]
    one = ProcessRecipe(rows=20, of_model=5, steps=2)
    found = fitted_process(FORM, rows_of(places, models), np.zeros(len(places)), one)
    assert len(found.weights) == len(samples), "the process knows all rows"
