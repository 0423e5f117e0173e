"""Collectives of one trace: bytes, bandwidths by hand, exposed and overlapped time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfc import cli
from perfc.machine import load_machine
from perfc.measuring.trace.analyses.collectives import (
    CollectiveKind,
    CollectiveTime,
    collectives_of,
)
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.summary import summarized
from tests.measuring.trace import samples


def times_of(folder: Path, trace: object, target: str = "") -> tuple[CollectiveTime, ...]:
    path = folder / "trace.json"
    path.write_text(samples.text_of(trace), encoding="utf-8")
    return collectives_of(read_trace(path), load_machine(target) if target else None)


@pytest.mark.parametrize(
    ("name", "sent", "received", "kind", "nbytes", "factor"),
    [
        ("allreduce", 1000, 1000, "all-reduce", 4000, 2 * 7 / 8),
        ("allreduce_coalesced", 1000, 1000, "all-reduce", 4000, 2 * 7 / 8),
        ("_allgather_base", 1000, 8000, "all-gather", 32000, 7 / 8),
        ("allgather_into_tensor_coalesced", 1000, 8000, "all-gather", 32000, 7 / 8),
        ("_reduce_scatter_base", 8000, 1000, "reduce-scatter", 32000, 7 / 8),
        ("all_to_allv", 8000, 4000, "all-to-all", 32000, 7 / 8),
        ("broadcast", 1000, 1000, "broadcast", 4000, 1.0),
        ("_reduce_oop", 1000, 1000, "reduce", 4000, 1.0),
        ("send", 1000, 1000, "send-receive", 4000, 1.0),
        ("gather", 1000, 8000, "gather", 32000, 7 / 8),
        ("barrier", 0, 0, "barrier", None, None),
    ],
)
def test_bandwidths_are_those_of_nccl_tests(
    tmp_path: Path,
    name: str,
    sent: int,
    received: int,
    kind: str,
    nbytes: int | None,
    factor: float | None,
) -> None:
    args = samples.message(name, sent, received, 8)
    (c,) = times_of(
        tmp_path,
        samples.traced([(samples.NCCL, 100, 20, args), (samples.NCCL, 300, 80, args)]),
        "h100",
    )
    assert (c.kind.value, c.dtype, c.bytes, c.group_size, c.launches) == (kind, "f32", nbytes, 8, 2)
    assert c.time_s == pytest.approx(100e-6)
    if nbytes is None or factor is None:
        assert c.bus_bytes_per_s is c.link_share is None
        return
    assert c.algorithm_bytes_per_s == pytest.approx(2 * nbytes / 100e-6)
    assert c.bus_bytes_per_s == pytest.approx(2 * nbytes / 100e-6 * factor)
    assert c.best_bytes_per_s == pytest.approx(nbytes / 20e-6 * factor)
    assert c.link_share == pytest.approx(nbytes / 20e-6 * factor / 450e9)


def test_exposed_and_overlapped_time_add_up(tmp_path: Path) -> None:
    args = samples.message("allreduce", 1000, 1000, 2)
    launches = [
        (samples.NCCL, 100.0, 100.0, args),
        (samples.GEMM, 90.0, 30.0, {}),
        (samples.GEMM, 110.0, 20.25, {}),
        (samples.GEMM, 180.0, 5.0, {}),
        (samples.GEMM, 195.0, 50.0, {}),
        (samples.NCCL, 300.0, 10.0, args),
    ]
    trace = samples.traced(launches)
    (c,) = times_of(tmp_path, trace)
    assert c.overlapped_s == pytest.approx(40.25e-6)
    assert c.exposed_s == pytest.approx((110 - 40.25) * 1e-6)
    (device,) = summarized(read_trace(tmp_path / "trace.json")).devices
    assert device.exposed_ns == round(c.exposed_s * 1e9)


def test_messages_of_the_host_count_where_kernels_have_none(tmp_path: Path) -> None:
    """RCCL's kernels have no arguments; PyTorch 1.13 has sizes on ranges only."""
    trace = samples.traced(
        [(samples.NCCL, 100, 20, {}), (samples.NCCL, 300, 20, {}), ("copy_kernel", 500, 20, {})]
    )
    old = {"Input Dims": [[2, 500]], "Input type": ["c10::BFloat16"]}
    gather = samples.message("_allgather_base", 500, 1000, 2)
    trace["traceEvents"] += [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "nccl:all_reduce",
            "tid": 1,
            "ts": 90,
            "dur": 9,
            "args": old,
        },
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": "record_param_comms",
            "tid": 1,
            "ts": 290,
            "dur": 9,
            "args": gather,
        },
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "nccl:_all_gather_base",
            "tid": 1,
            "ts": 291,
            "dur": 7,
            "args": {},
        },
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "nccl:all_reduce",
            "tid": 1,
            "ts": 490,
            "dur": 9,
            "args": old,
        },
    ]
    made = {c.kind: c for c in times_of(tmp_path, trace)}
    assert {k: (c.bytes, c.group_size, c.launches) for k, c in made.items()} == {
        CollectiveKind.ALL_REDUCE: (2000, None, 1),
        CollectiveKind.ALL_GATHER: (4000, 2, 1),
    }
    assert made[CollectiveKind.ALL_REDUCE].bus_bytes_per_s is None


def test_a_group_in_a_job_of_two_has_both(tmp_path: Path) -> None:
    trace = samples.traced(
        [("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 20, {})],
        distributedInfo={"backend": "nccl", "rank": 1, "world_size": 2},
    )
    (c,) = times_of(tmp_path, trace)
    assert (c.kind, c.group_size, c.bytes) == (CollectiveKind.ALL_REDUCE, 2, None)
    assert (read_trace(tmp_path / "trace.json").rank) == 1


def test_links_of_groups_across_nodes_are_unknown(tmp_path: Path) -> None:
    args = samples.message("allreduce", 1000, 1000, 2) | {"Process Group Ranks": "[0, 8]"}
    (c,) = times_of(tmp_path, samples.traced([(samples.NCCL, 100, 20, args)]), "h100")
    assert c.bus_bytes_per_s is not None
    assert c.link_share is None


def test_hostile_arguments_are_unknown(tmp_path: Path) -> None:
    bad = samples.message("x" * 10_000, -5, 1 << 70, 0) | {
        "dtype": samples.SECRET,
        "Process Group Name": "$" + samples.SECRET,
        "Process Group Ranks": "9" * 10_000,
        "Seq": "x",
    }
    trace = samples.traced(
        [(samples.NCCL, 100, 20, bad)], distributedInfo={"rank": {}, "world_size": "many"}
    )
    (c,) = times_of(tmp_path, trace)
    assert (c.kind, c.dtype, c.bytes, c.group, c.group_size) == (
        CollectiveKind.OTHER,
        "",
        None,
        "",
        None,
    )


def test_documents_have_the_collectives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = samples.message("allreduce", 1 << 20, 1 << 20, 4)
    path = tmp_path / "trace.json"
    path.write_text(
        samples.text_of(samples.traced([(samples.NCCL, 100, 20, args)])), encoding="utf-8"
    )
    assert cli.run(["trace", str(path), "--output-format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["collectives"]
    assert (row["kind"], row["bytes"], row["group"]) == ("all-reduce", 4 << 20, "0")
    assert cli.run(["trace", str(path)]) == 0
    assert "all-reduce  f32" in capsys.readouterr().out


@pytest.mark.parametrize(("span_us", "nbytes"), [(6.0, 4000), (5.999, None)])
def test_a_launch_may_end_a_microsecond_after_its_message(
    tmp_path: Path, span_us: float, nbytes: int | None
) -> None:
    """The host launches the kernel from 95 to 97 µs."""
    trace = samples.traced([("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 20, {})])
    where = {"ph": "X", "cat": "cpu_op", "tid": 1, "ts": 90, "dur": span_us}
    args = samples.message("allreduce", 1000, 1000, 2)
    trace["traceEvents"].append({**where, "name": "record_param_comms", "args": args})
    (c,) = times_of(tmp_path, trace)
    assert c.bytes == nbytes


@pytest.mark.parametrize("sent_us", [60.0, 97.0, 900.0])
def test_an_operator_that_launches_collectives_covers_only_what_it_computes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sent_us: float
) -> None:
    """Its product, but neither its collective nor the product that no operator launched."""
    begin, length = 320.0, 230.5
    product = samples.STEPS[0]
    within = (samples.REDUCE, *product[1:5], begin, sent_us)
    trace = samples.kineto([product, within])
    events = trace["traceEvents"]
    alone = {"name": samples.GEMM, "ts": 2000, "dur": length, "args": {"device": 0, "stream": 7}}
    events.append({"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, **alone})
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace), encoding="utf-8")
    assert cli.run(["trace", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "operators with a lower bound: " in said
    assert "(50.0 % without communication)" in said
