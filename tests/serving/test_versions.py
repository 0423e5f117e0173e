"""Fusion tables of what serves, by its version."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.errors import ParseError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.ir.op import Kind
from perfc.machine import load_machine
from perfc.passes.runtimes import of_version, runtime
from perfc.serving import llm
from perfc.serving.engine import Engine, kind_of
from perfc.serving.host import HostModel, host_model_of, host_models
from perfc.serving.output.views import document
from perfc.serving.service import engine_of
from perfc.serving.simulation.scheduler import Chunk
from perfc.view.report.formats.document import Note

LAYERS = 32


def engine(version: str, tensor: int = 2, **stated: object) -> Engine:
    model = read_config("llama-2-7b")
    precision = precision_of("float16", None, "f16")
    return Engine.of(
        model,
        load_machine("h100"),
        precision,
        Parallel(tensor),
        "trtllm",
        version,
        law=HostModel(),
        **stated,
    )


def sums(version: str) -> set[tuple[str, ...]]:
    """What is in the kernels that sum over ranks."""
    prompts = engine(version).cost.stages[0][0].passes.prefill
    sums_of = [k for k in prompts.whole if k.kind is Kind.COLLECTIVE]
    return {tuple([n.op.mnemonic for n in k.nodes]) for k in sums_of}


@pytest.mark.parametrize(
    ("name", "version", "table"),
    [
        ("trtllm", (), "trtllm"),
        ("trtllm", (0, 11), "trtllm-compiled"),
        ("trtllm", (0, 12), "trtllm"),
        ("trtllm", (1, 0), "trtllm"),
        ("vllm", (0, 9), "vllm"),
        ("llamacpp", (0, 9), "llamacpp"),
        ("transformers", (0, 9), "transformers"),
    ],
)
def test_the_table_of_a_version(name: str, version: tuple[int, ...], table: str) -> None:
    assert of_version(runtime(name), version).name == table


def test_compiled_engines_sum_over_ranks_before_norms() -> None:
    assert sums("0.11.0") == {("all_reduce",)}
    assert ("all_reduce", "add", "rms_norm") in sums("1.0")


@pytest.mark.parametrize(("tensor", "sums_of_layer"), [(1, 0), (2, 3)])
def test_norms_over_all_heads_add_squares_over_ranks(tensor: int, sums_of_layer: int) -> None:
    options = {"isl": 64, "osl": 8, "parallel": {"tp": tensor}, "runtime": "vllm"}
    whole = engine_of("minimax-m2", "h200", options).cost.stages[0][0].passes.decode.whole
    collectives = [k for k in whole if k.anchor.op.mnemonic == "all_reduce"]
    assert len(collectives) // 62 == sums_of_layer


def test_vllm_works_ahead_from_0_14_on() -> None:
    versions = ("0.11", "0.13", "0.14", "0.19", "")
    assert [kind_of("vllm", v).is_ahead for v in versions] == [False, False, True, True, True]


def test_norms_of_their_own_take_their_time_on_several_gpus_alone() -> None:
    steps = {
        (version, tensor): engine(version, tensor).cost.step_s((Chunk(2048, 0),), 0, 0.0)
        for version in ("0.11", "1.0")
        for tensor in (1, 2)
    }
    assert steps["0.11", 1] == steps["1.0", 1]
    # four passes over 2,048 tokens of 4,096 elements at 3.35 TB/s, twice a layer
    least_s = 2 * LAYERS * 4 * 2048 * 4096 * 2 / 3.35e12
    assert steps["0.11", 2] - steps["1.0", 2] > 0.4 * least_s


def test_no_python_launches_kernels_of_a_compiled_engine() -> None:
    chosen = {"runtime": "trtllm"}
    launches_s = [
        engine_of("llama-3.2-1b", "h100", {**chosen, "runtime_version": v}).cost.law.launch_s
        for v in ("0.11", "0.20", "1.0", "")
    ]
    assert launches_s == [0, 0, 5e-5, 5e-5]


@pytest.mark.parametrize(
    ("version", "is_measured"),
    [
        ("", True),
        ("1.0.0rc3", True),
        ("1.1.0rc2.post2", True),
        ("1.2", True),
        ("1", True),
        ("2.0", False),
        ("0.20", False),
        ("0.11", True),
    ],
)
def test_a_law_says_which_versions_were_measured(version: str, is_measured: bool) -> None:
    assert host_model_of("trtllm", version).is_of(version) is is_measured


@pytest.mark.parametrize(
    ("runtime", "version", "more", "said"),
    [
        ("vllm", "0.3", {}, "vllm 0.3 was not measured: host overhead taken from 0.5 to 0.6"),
        ("vllm", "0.12.0", {}, ""),
        ("vllm", "", {}, ""),
        (
            "vllm",
            "0.8",
            {"offline": True},
            "vllm 0.8 was not measured: host overhead taken from 0.11 to 0.12",
        ),
        ("vllm", "0.6", {"offline": True}, ""),
        ("sglang", "0.4.9", {}, "sglang 0.4.9 was not measured: host overhead taken from 0.5"),
        ("trtllm", "0.20", {}, "trtllm 0.20 was not measured: host overhead taken from 0.11"),
        ("trtllm", "1.2", {}, ""),
        (
            "llamacpp",
            "0.3",
            {},
            "llamacpp 0.3 was not measured: "
            "the measurements behind its host overhead state no version",
        ),
        ("transformers", "4.57", {}, "transformers 4.57 was not measured: no version was measured"),
        (
            "sglang",
            "0.5",
            {"prefill_gpus": 1},
            "sglang 0.5 was not measured: the measurements behind its host overhead state"
            " no version",
        ),
    ],
)
def test_a_version_that_nobody_measured_says_so(
    runtime: str, version: str, more: dict[str, Any], said: str
) -> None:
    report = llm(
        "llama-3.2-1b", "h100", isl=64, osl=8, runtime=runtime, runtime_version=version, **more
    )
    notes = [n for n in report.notes if "was not measured" in n and n.startswith(f"{runtime} ")]
    assert notes == ([said] if said else [])
    shown = [p for s in document(report).sections for p in s.parts if isinstance(p, Note)]
    assert {n.text for n in shown} >= set(notes)
    for measured in report.measured_versions:
        laws = [law for name, law in host_models().items() if name.startswith(runtime)]
        assert any(law.is_of(measured) for law in laws if law.versions)


def test_an_older_table_serves_by_its_version_alone() -> None:
    with pytest.raises(ParseError, match="'trtllm-compiled' does not serve"):
        kind_of("trtllm-compiled")
    older, newer = (
        llm("llama-2-7b", "h100", runtime="trtllm", runtime_version=v, parallel={"tp": 2})
        for v in ("0.11", "")
    )
    # sums and norms are separate kernels
    assert older.latencies.tpot.mean > newer.latencies.tpot.mean


def test_an_engine_that_evicts_reserves_nothing() -> None:
    kept, lost = (engine("0.10", 1, evicts=evicts).limits(128, 128) for evicts in (False, True))
    assert (kept.reserves_output, kept.keeps_prefixes, kept.starts_whole) == (True, True, False)
    assert (lost.reserves_output, lost.keeps_prefixes, lost.starts_whole) == (False, False, True)


@pytest.mark.parametrize(
    ("target", "offline", "is_noted"),
    [("mi300x", False, True), ("mi300x", True, True), ("h100", False, False)],
)
def test_a_host_that_was_measured_on_other_gpus_says_so(
    target: str, offline: bool, is_noted: bool
) -> None:
    notes = llm("llama-3-8b", target, isl=64, osl=8, requests=2, offline=offline).notes
    assert any("none of them on AMD" in note for note in notes) is is_noted
