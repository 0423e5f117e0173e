"""What lists of published runs say of rows that leave it out, by hand."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perfc_lab.serving import ServedRow
from perfc_lab.serving.aic import AIC, DRAFTS_UNSTATED, STATED, UNSTATED, aic_serving
from perfc_lab.serving.inferencex import (
    FOLDER,
    Counted,
    DisaggregatedRun,
    ServedRun,
    disaggregated_setting,
)
from perfc_lab.serving.settings import drafted_tokens

B200 = ServedRun(
    "b200_sxm", "trtllm", "fp4", "0.8.1.post1", "2026-01-29", 1024, 1024, 1214, 8, (4, 4)
)
LISTS = sorted(path for path in FOLDER.glob("*.toml") if path.name != "servers.toml")


def test_settings_are_found_where_they_are_one() -> None:
    found = disaggregated_setting(B200)
    assert found == DisaggregatedRun(1, 2, 8, True, 8, 2, (), 64)
    assert disaggregated_setting(replace(B200, ranks=4)) is None
    assert disaggregated_setting(replace(B200, precision="fp8")) is None
    assert disaggregated_setting(replace(B200, users=1215)) is None
    assert disaggregated_setting(replace(B200, runtime="sglang")) is None
    assert disaggregated_setting(replace(B200, prompts=())) is None, (
        "prompts and answers on the same ranks"
    )


def test_lists_that_differ_in_drafts_alone_say_the_rest() -> None:
    both = replace(B200, users=6)
    found = disaggregated_setting(both)
    assert found == DisaggregatedRun(1, 5, 8, False, 8, None, (), 1)
    assert disaggregated_setting(both, drafts=True) == replace(found, drafted=3)
    assert disaggregated_setting(both, drafts=False) == replace(found, drafted=0)


def test_rows_that_count_all_gpus_are_those_of_workers_apart() -> None:
    rack = ServedRun("gb200", "trtllm", "fp4", "", "2025-11-17", 1024, 1024, 144, 36, ())
    found = disaggregated_setting(rack)
    assert found == DisaggregatedRun(1, 4, 8, False, 8, 3, (4, 4), 32)
    assert found.gpus == 36
    assert disaggregated_setting(replace(rack, users=1075)) == DisaggregatedRun(
        1, 1, 32, True, 32, 0, (4, 4), 32
    )
    assert disaggregated_setting(replace(rack, users=1075, ranks=20)) == DisaggregatedRun(
        1, 1, 16, True, 16, None, (4, 4), 64
    )
    assert disaggregated_setting(replace(rack, ranks=24)) is None
    fp8 = ServedRun("gb200", "sglang", "fp8", "", "2025-12-01", 1024, 1024, 5632, 72, ())
    assert disaggregated_setting(fp8) == DisaggregatedRun(3, 1, 48, True, 48, 0, (8, 8)), (
        "whatever its users"
    )


def test_rows_that_count_nothing_are_told_by_their_users() -> None:
    run = ServedRun(
        "gb200", "sglang", "fp4", "0.5.5.post2", "2025-12-21", 8192, 1024, 512, 1, (1, 1)
    )
    assert disaggregated_setting(run) == DisaggregatedRun(6, 1, 48, True, 48, 0, (4, 1))
    assert disaggregated_setting(replace(run, users=1024)) is None, "on 48 ranks and on 32"


def test_a_version_that_ran_two_lists_is_told_by_the_day() -> None:
    plain = ServedRun(
        "b200_sxm", "sglang", "fp8", "0.5.8.post1", "2026-02-07", 8192, 1024, 32, 8, (8, 8)
    )
    assert disaggregated_setting(plain) is None, "one worker of tokens, and six"
    assert disaggregated_setting(replace(plain, day="2026-02-13")) == DisaggregatedRun(
        1, 1, 8, False, 8, 2, (8, 8)
    )
    few = replace(plain, day="2026-03-18", prompts=(8, 1))
    assert disaggregated_setting(few, drafts=False) == DisaggregatedRun(
        1, 6, 8, False, 1, 0, (8, 1)
    )


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_setting_is_one(path: Path) -> None:
    tree = tomllib.loads(path.read_text(encoding="utf-8"))
    assert "Apache-2.0" in tree["source"]
    assert tree["system"].startswith(path.stem)
    for entry in tree["list"]:
        counted = Counted(entry.get("counts", "ranks"))
        assert counted is Counted.RANKS or entry["prompts"]
        for setting in entry["settings"]:
            isl, osl, users, prompts, tokens, ranks, is_own, expert, drafted, batch = setting
            assert {isl, osl} <= {1024, 8192}
            assert users or counted is Counted.ALL_GPUS
            assert min(*users, prompts, tokens) >= 1
            assert ranks in (2, 4, 8, 16, 24, 32, 48)
            assert expert in (1, ranks)
            assert isinstance(is_own, bool)
            assert 0 <= drafted <= 3
            assert batch >= 0


def test_servers_draft_by_version_and_day() -> None:
    run = ServedRun(
        "h200_sxm", "trtllm", "fp8", "1.1.0rc2.post2", "2026-01-14", 1024, 1024, 64, 8, ()
    )
    assert drafted_tokens(run, 1, None) == 3
    assert drafted_tokens(run, 8, None) == 1, "ranks that have sequences of their own"
    assert drafted_tokens(replace(run, day="2025-12-15"), 1, None) == 0
    later = replace(run, day="2026-01-28", osl=8192)
    assert drafted_tokens(later, 1, None) is None
    assert drafted_tokens(replace(later, users=128), 1, None) == 3
    fp8 = ServedRun("b200_sxm", "sglang", "fp8", "0.5.9", "2026-03-25", 1024, 1024, 64, 8, ())
    assert [drafted_tokens(fp8, 1, drafts) for drafts in (True, False, None)] == [2, 0, None]
    assert drafted_tokens(replace(fp8, precision="fp4"), 1, None) == 0
    assert drafted_tokens(replace(fp8, ranks=4), 1, None) == 0, "the list that drafts has 8 alone"


ROW = {
    "row_id": "2026_03_25_a_1",
    "mode": "disagg",
    "model_path": "deepseek-ai/DeepSeek-R1",
    "system": "b200_sxm",
    "backend": "trtllm",
    "backend_version": "0.8.1.post1",
    "gemm_quant_mode": "nvfp4",
    "precision": "fp4",
    "isl": 1024,
    "osl": 1024,
    "concurrency": 6,
    "batch_size": None,
    "ttft_ms": 250.0,
    "tpot_ms": 8.0,
    "tp_size": None,
    "moe_tp_size": None,
    "moe_ep_size": None,
    "attention_dp_size": None,
    "decode_tp_size": 8,
    "decode_moe_tp_size": 2,
    "decode_moe_ep_size": 4,
    "decode_attention_dp_size": 1,
    "prefill_tp_size": 4,
    "prefill_moe_tp_size": 1,
    "prefill_moe_ep_size": 4,
    "prefill_attention_dp_size": 1,
    "prefill_num_workers": None,
    "decode_num_workers": None,
    "decode_batch_size": None,
    "measured": "2026-01-29",
}


def read(folder: Path, *rows: dict[str, Any]) -> list[ServedRow]:
    pd.DataFrame(list(rows)).to_parquet(folder / f"{AIC}.parquet")
    return list(aic_serving(folder))


def test_a_run_published_twice_has_what_either_row_says(tmp_path: Path) -> None:
    told = {
        **ROW,
        "row_id": "b_cfg7",
        "decode_tp_size": 1,
        "decode_moe_tp_size": 1,
        "decode_moe_ep_size": 8,
        "decode_attention_dp_size": 8,
        "decode_num_workers": 3,
        "prefill_num_workers": 2,
    }
    again, stated = read(tmp_path, ROW, told)
    assert (again.engines, again.prefill, again.dataset) == (3, (4, 4, 2), STATED)
    assert (again.tensor, again.attention_data, again.expert) == (1, 8, 8)
    assert (stated.engines, stated.prefill, stated.drafted) == (3, (4, 4, 2), 0)


def test_of_two_runs_alike_the_one_that_no_plain_export_has_drafts(tmp_path: Path) -> None:
    (alone,) = read(tmp_path, ROW)
    assert (alone.engines, alone.drafted, alone.dataset) == (5, 0, DRAFTS_UNSTATED)
    plain = {**ROW, "row_id": "b_cfg7", "tpot_ms": 9.0}
    other, same = read(tmp_path, ROW, plain)
    assert (other.drafted, other.dataset) == (3, STATED)
    assert (same.drafted, same.dataset) == (0, STATED)


def test_runs_whose_prompts_have_other_ranks_are_not_alike(tmp_path: Path) -> None:
    plain = {
        **ROW,
        "row_id": "b_cfg7",
        "tpot_ms": 9.0,
        "prefill_moe_tp_size": 4,
        "prefill_moe_ep_size": 1,
    }
    other, _ = read(tmp_path, ROW, plain)
    assert (other.drafted, other.dataset) == (0, DRAFTS_UNSTATED)


def test_a_list_that_has_a_run_tells_the_ranks_of_its_prompts(tmp_path: Path) -> None:
    run = {
        **ROW,
        "system": "gb200",
        "backend": "sglang",
        "backend_version": "0.5.5.post2",
        "gemm_quant_mode": "fp8",
        "precision": "fp8",
        "isl": 8192,
        "concurrency": 1024,
        "measured": "2025-12-21",
        "row_id": "b_cfg7",
        "decode_tp_size": 32,
        "decode_moe_tp_size": 1,
        "decode_moe_ep_size": 32,
        "decode_attention_dp_size": 32,
        "prefill_tp_size": 8,
        "prefill_moe_tp_size": 8,
        "prefill_moe_ep_size": 1,
        "decode_num_workers": 1,
        "prefill_num_workers": 5,
    }
    (listed,) = read(tmp_path, run)
    assert listed.prefill == (8, 8, 5)
    (unlisted,) = read(tmp_path, {**run, "prefill_num_workers": 4})
    assert unlisted.prefill == (8, 1, 4), "as the row says: no list has four workers"


def test_lists_tell_how_many_sequences_a_step_has(tmp_path: Path) -> None:
    few, many = read(tmp_path, {**ROW, "ttft_ms": 1.0}, {**ROW, "concurrency": 10})
    assert (few.settings.max_num_seqs, many.settings.max_num_seqs) == (1, 32)
    told = {**ROW, "row_id": "b_cfg7", "decode_num_workers": 5, "prefill_num_workers": 1}
    assert read(tmp_path, told)[0].settings.max_num_seqs == 1
    other = {**told, "decode_num_workers": 4}
    assert read(tmp_path, other)[0].settings.max_num_seqs == 0, "no list has four workers"


def test_rows_of_racks_are_read_as_workers_apart(tmp_path: Path) -> None:
    rack = {
        **ROW,
        "mode": "agg",
        "system": "gb200",
        "backend_version": None,
        "tp_size": 36,
        "moe_tp_size": 36,
        "moe_ep_size": 1,
        "attention_dp_size": 1,
        "concurrency": 144,
        "measured": "2025-11-17",
    }
    (found,) = read(tmp_path, rack)
    assert (found.prefill, found.engines, found.tensor) == ((4, 4, 1), 4, 8)
    assert (found.gpus, found.drafted, found.dataset) == (36, 3, STATED)
    (lone,) = read(tmp_path, {**rack, "concurrency": 145})
    assert (lone.prefill, lone.attention_data, lone.dataset) == ((), 36, "")
    (apart_lone,) = read(tmp_path, {**ROW, "concurrency": 7})
    assert (apart_lone.prefill, apart_lone.dataset) == ((4, 4, 1), UNSTATED)


def test_servers_are_read_with_their_drafts(tmp_path: Path) -> None:
    server = {
        **ROW,
        "mode": "agg",
        "tp_size": 8,
        "moe_tp_size": 1,
        "moe_ep_size": 8,
        "attention_dp_size": 1,
        "backend_version": "1.2.0rc6.post3",
    }
    assert read(tmp_path, server)[0].drafted == 3
    assert read(tmp_path, {**server, "model_path": "Qwen/Qwen3-8B"})[0].drafted == 0
    open_ = {
        **server,
        "backend": "sglang",
        "backend_version": "0.5.9",
        "precision": "fp8",
        "gemm_quant_mode": "fp8",
    }
    (found,) = read(tmp_path, open_)
    assert (found.drafted, found.dataset) == (0, DRAFTS_UNSTATED)


def test_groups_that_aiconfigurator_leaves_out_are_what_is_left(tmp_path: Path) -> None:
    own = {
        **ROW,
        "row_id": "qwen_h200_sxm_vllm_agg_1000x100_c8_tp2_epnone_1",
        "mode": "agg",
        "model_path": "Qwen/Qwen3-235B-A22B",
        "system": "h200_sxm",
        "backend": "vllm",
        "tp_size": 2,
        "moe_tp_size": 4,
        "moe_ep_size": 1,
    }
    (found,) = read(tmp_path, own)
    assert (found.tensor, found.attention_data, found.expert) == (2, 2, 1)
    twice = {**own, "moe_tp_size": 2, "moe_ep_size": 2, "tp_size": 4}
    (found,) = read(tmp_path, twice)
    assert (found.tensor, found.attention_data, found.expert) == (4, 1, 4)
