"""Training runs are asked of `perfc.plan` as a user types them."""

from __future__ import annotations

from dataclasses import replace

import perfc
from perfc.distributed.law import RunLaw, law_of
from perfc.distributed.training import Training
from perfc.machine.parallel import Parallel
from perfc_lab.distributed import RunRow
from perfc_lab.distributed.asked import answered_s, command, config_of, is_asked
from perfc_lab.distributed.learn import predicted_s

RUN = RunRow(
    "nemo", "megatron", "LLAMA3_8B", "dgx-h100", "f8", Parallel(2, data=4, sequence=1, zero=1),
    Training(8192, 128, 1), 1.0, compiled=True,
)  # fmt: skip


def test_the_public_call_is_asked_with_a_law_in_place_of_the_shipped() -> None:
    degrees = {"tp": 2, "pp": 1, "dp": 4, "sp": 1, "zero": 1}
    view = perfc.plan(
        "llama-3-8b", 8, "dgx-h100", batch=128, seq=8192, dtype="f8", parallel=degrees,
        checkpointing="none", micro_batch=1, trained_by="megatron",
    )  # fmt: skip
    best = view.best or view.smallest
    assert best is not None
    assert answered_s(RUN, law_of("megatron", "sm_90")) == best.time_s
    slow = replace(law_of("megatron", "sm_90"), products=10.0)
    assert answered_s(RUN, slow) > 2 * best.time_s
    assert "--trained-by megatron" in command(RUN)
    assert command(RUN).startswith("perfc plan llama-3-8b --gpus 8 -t dgx-h100 --batch 128")


def test_rows_that_the_public_call_does_not_take_are_costed_alone() -> None:
    adapters = replace(RUN, training=replace(RUN.training, is_frozen=True))
    assert is_asked(RUN)
    assert not is_asked(adapters)
    assert answered_s(adapters, RunLaw()) == predicted_s(adapters, RunLaw())


def test_a_model_that_is_not_shipped_is_a_file() -> None:
    path = config_of(replace(RUN, model="GPT3-5B"))
    assert path.endswith("config.json")
    assert perfc.plan(path, 8, "dgx-h100", batch=8, seq=2048, parallel={"tp": 8}).settings > 0
