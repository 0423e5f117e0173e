from __future__ import annotations

import json
import math
from typing import Any

import pytest

import perfc
from perfc import cli

from .conftest import MODELS


def test_shares_of_kernels_add_up_to_one(views: Any) -> None:
    assert math.fsum(k.roofline_share for k in views.kernels) == pytest.approx(1)


def test_kernel_times_add_up_to_the_total(views: Any) -> None:
    summed_s = math.fsum(k.roofline_time_s for k in views.kernels)
    assert summed_s == pytest.approx(views.summary.roofline_time_s.value)


def test_kernel_operations_add_up_to_the_total(views: Any) -> None:
    assert sum(k.mac.value or 0 for k in views.kernels) == views.summary.mac.value
    assert sum(k.flop.value or 0 for k in views.kernels) == views.summary.executed_flop.value


def test_runtime_that_folds_executes_less_than_the_graph_counts(
    views: Any, gpt2: perfc.Report
) -> None:
    assert (views.summary.executed_flop.value or 0) < (views.summary.flop.value or 0)
    eager = gpt2.views.summary
    assert (eager.executed_flop.value or 0) <= (eager.flop.value or 0)


def test_flop_is_twice_mac_and_more(views: Any) -> None:
    assert views.summary.flop.value is not None
    assert views.summary.mac.value == 8 * 4_089_184_256
    assert views.summary.flop.value >= 2 * views.summary.mac.value


def test_floor_is_below_sustained_kernel_by_kernel(views: Any) -> None:
    assert all(k.floor_s <= k.sustained_s * (1 + 1e-9) for k in views.kernels)


def test_time_that_kernels_are_bound_for_adds_up_to_the_total(views: Any) -> None:
    assert sum(p.bound_kernels for p in views.pressure) == len(views.kernels)
    residual = sum(one.share for one in views.verdict.limits if one.key in ("fixed", "host"))
    assert math.fsum(p.bound_share for p in views.pressure) + residual == pytest.approx(1)


def test_lifting_the_launch_leaves_the_sustained_time(
    gpt2: perfc.Report, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["analyze", str(MODELS / "gpt2.onnx.gz"), "-t", "a100", "--runtime", "eager"]
    assert cli.run([*words, "--no-predict", "--output-format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)["bottlenecks"]["ceilings"]
    launch = next(b for b in shown if b["ceiling"] == "launch")
    assert launch["time_lifted_s"] == pytest.approx(gpt2.roofline.sustained_s)
    assert launch["saving_lifted_s"] == pytest.approx(gpt2.roofline.launch_gap_s)


def test_lifting_the_launch_of_a_prediction_saves_what_waits_for_launches() -> None:
    report = perfc.analyze(
        MODELS / "resnet50.onnx.gz", "a100", runtime="eager", dtype="f16", predictor="kernels"
    )
    found = {b.ceiling: b for b in report.views.bottlenecks.ceilings}
    table = report.prediction
    total, waits_s = table.total, table.wait_s + table.gap_s
    assert waits_s > 0
    assert found["launch"].time_lifted_s == pytest.approx(total.time_s - waits_s, rel=1e-6)
    # the host keeps the device waiting, so that faster kernels save no more than the last of them
    last_s = table.kernels[-1].time_s
    assert all(b.saving_lifted_s <= last_s for name, b in found.items() if name != "launch")


def test_lifting_saves_at_least_what_doubling_saves(views: Any) -> None:
    for b in views.bottlenecks.ceilings:
        assert 0 <= b.saving_doubled_s <= b.saving_lifted_s


def test_graph_runtime_is_offered_no_cuda_graph() -> None:
    report = perfc.analyze(MODELS / "gpt2.onnx.gz", runtime="tensorrt")
    names = [r.name for r in report.views.bottlenecks.remedies]
    assert not any("CUDA graph" in n for n in names)
    assert names


def test_model_in_f16_is_not_told_to_use_f16() -> None:
    report = perfc.analyze(MODELS / "resnet50.onnx.gz", dtype="f16")
    assert not any("f16" in r.name for r in report.views.bottlenecks.remedies)


def test_critical_sequence_runs_forward_and_covers_what_it_says(views: Any) -> None:
    steps = views.critical.steps
    firsts = [s.kernels[0] for s in steps]
    assert firsts == sorted(firsts)
    covered = math.fsum(views.kernels[i].predicted.share for s in steps for i in s.kernels)
    assert covered == pytest.approx(views.critical.share)
    assert all(s.reason for s in steps)


def test_margin_compares_different_resources(views: Any) -> None:
    for k in views.kernels:
        assert k.next_bound != k.bound
        assert {k.bound, k.next_bound} != {"matrix", "waves"}


def test_peak_of_memory_is_the_peak_of_the_summary(views: Any) -> None:
    memory = views.memory
    assert memory.peak_step is not None
    assert memory.peak_bytes == views.summary.peak_activation_bytes
    assert max(memory.live_bytes) == memory.peak_bytes.value
    assert memory.nodes[memory.peak_step] == views.summary.peak_node
    assert sum(v.nbytes.value or 0 for v in memory.at_peak) == memory.peak_bytes.value


def test_unknown_operator_makes_totals_bounds(unknown: perfc.Report) -> None:
    found = unknown.views
    assert not found.coverage.is_complete
    assert found.summary.flop.is_bound
    assert found.summary.roofline_time_s.is_bound
    assert found.summary.intensity_flop_per_byte is None
    secret = next(k for k in found.kernels if "secret" in k.nodes)
    assert secret.is_bound
    assert secret.margin is None
    mystery = found.coverage.opaque[0]
    assert mystery.op_type == "Mystery"
    # its operands are named as possible reads, and none of them is in the lower bound
    assert mystery.possible_reads.value
    assert secret.read_bytes.value == 0


def test_unknown_operations_have_no_number(unknown: perfc.Report) -> None:
    tiers = {t.tier: t for t in unknown.views.coverage.tiers}
    opaque = tiers.get("unknown") or tiers["bytes only"]
    assert opaque.flop.value is None
    assert opaque.flop_share is None


def test_data_dependent_extents_make_totals_bounds(data_dependent: perfc.Report) -> None:
    found = data_dependent.views
    assert found.coverage.open_symbols
    assert not found.coverage.is_complete
    assert found.summary.flop.is_bound
    assert found.summary.peak_activation_bytes.is_bound
    origins = {s.name: s.origin for s in found.assumptions.symbols}
    assert origins["n"] == "default"
    assert set(origins.values()) == {"default", "data"}


def test_given_symbols_are_told_from_defaults(resnet: perfc.Report, gpt2: perfc.Report) -> None:
    assert [s.origin for s in resnet.views.assumptions.symbols] == ["given"]
    assert {s.origin for s in gpt2.views.assumptions.symbols} == {"default"}


@pytest.mark.parametrize("runtime", ["ort", "eager"])
def test_the_kernels_of_a_prediction_are_the_sum_of_its_rows(runtime: str) -> None:
    report = perfc.analyze("examples/models/swin-t.onnx.gz", "a100", runtime=runtime)
    views = report.views
    found = views.prediction
    assert found is not None
    rows = [row.predicted.time_s for row in views.kernels if row.predicted is not None]
    assert len(rows) == len(views.kernels)
    assert found.kernels_s.value == pytest.approx(math.fsum(rows))
    assert found.time_s.value == math.fsum([*rows, found.fixed_s.value or 0.0])
