"""Training runs as calls of `perfc.plan`, with fitted laws in place of the shipped."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import perfc
from perfc.analyzers.runs.run_law import RunLaw, law_of
from perfc.cli import run
from perfc.distributed.training import Training
from perfc.machine.parallel import Parallel
from perfc_lab.distributed import RunRow
from perfc_lab.distributed.learn import predicted_s
from perfc_lab.distributed.questions import answered_s, command, config_of, is_supported

RUN = RunRow(
    "nemo",
    "megatron",
    "LLAMA3_8B",
    "dgx-h100",
    "f8",
    Parallel(2, data=4, sequence=1, zero=1),
    Training(8192, 128, 1),
    1.0,
)


def test_the_public_call_is_made_with_a_law_in_place_of_the_shipped(tmp_path: Path) -> None:
    degrees = {"tp": 2, "pp": 1, "dp": 4, "sp": 1, "zero": 1}
    view = perfc.plan(
        "llama-3-8b",
        8,
        "dgx-h100",
        batch=128,
        seq=8192,
        dtype="f8",
        parallel=degrees,
        checkpointing="none",
        micro_batch=1,
        trained_by="megatron",
    )
    best = view.best or view.smallest
    assert best is not None
    assert answered_s(RUN, law_of("megatron", "sm_90")) == best.time_s
    slow = replace(law_of("megatron", "sm_90"), products=10.0)
    assert answered_s(RUN, slow) > 2 * best.time_s
    assert command(RUN) == (
        "perfc plan llama-3-8b --gpus 8 -t dgx-h100 --global-batch 128 --seq 8192 --train adamw "
        "--dtype f8 --tp 2 --pp 1 --dp 4 --sp 1 --zero 1 --checkpointing none --micro-batch 1 "
        "--trained-by megatron"
    )
    path = tmp_path / "plan.json"
    assert run([*shlex.split(command(RUN))[1:], "-o", str(path)]) in (0, 1)
    planned = json.loads(path.read_text())
    assert (planned["best"] or planned["smallest"])["time_s"] == best.time_s


def test_rows_that_the_public_call_does_not_take_are_costed_alone() -> None:
    adapters = replace(RUN, training=replace(RUN.training, is_frozen=True))
    assert is_supported(RUN)
    assert not is_supported(adapters)
    assert answered_s(adapters, RunLaw()) == predicted_s(adapters, RunLaw())


def test_a_model_that_is_not_shipped_is_a_file() -> None:
    path = config_of(replace(RUN, model="GPT3-5B"))
    assert path.endswith("config.json")
    assert command(replace(RUN, model="GPT3-5B")).startswith("perfc plan GPT3-5B.json --gpus 8")
    assert perfc.plan(path, 8, "dgx-h100", batch=8, seq=2048, parallel={"tp": 8}).settings > 0
