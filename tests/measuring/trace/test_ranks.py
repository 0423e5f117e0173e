"""Ranks of one job: times, matched collectives, skew, stragglers, folders of any content."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc import cli
from perfc.errors import ParseError
from perfc.measuring.trace.analyses import rank_files
from perfc.measuring.trace.analyses.ranks import TracedRanks, ranks_of
from perfc.measuring.trace.formats import read_trace
from tests.measuring.trace import samples
from tests.measuring.trace.samples import GEMM, NCCL, Launch, message

MIB = 1 << 20
BASE_NS = 1_700_000_000_000_000_000
STEP_US, TRANSFER_US, COUNT = 1000.0, 100.0, 3
DELAYS_US = (0.0, 10.0, 50.0, 20.0)
"""Arrival of each of four ranks at each of three all-reduces after the first rank."""


def launches(delay_us: float, first: int = 0) -> list[Launch]:
    """Return a product and an all-reduce of 4 MiB per step; all ranks end at the same time."""
    made: list[Launch] = []
    for step in range(first, COUNT):
        begin = 100 + step * STEP_US
        arrives = begin + 200 + delay_us
        length = begin + 200 + max(DELAYS_US) + TRANSFER_US - arrives
        args = message("allreduce", MIB, MIB, 4)
        made += [
            (GEMM, begin, 200 + delay_us, {}),
            (NCCL, arrives, length, args),
            (GEMM, arrives + 20, 10.0, {}),
        ]
    return made


def job(
    root: Path, delays: Sequence[float] = DELAYS_US, *, offsets_us: Sequence[int] = (), **more: Any
) -> Path:
    """Write a folder with a trace of each rank, whose clocks have other origins."""
    root.mkdir(exist_ok=True)
    for rank, delay in enumerate(delays):
        moved = offsets_us[rank] if offsets_us else 0
        shifted = [(k, start + moved, length, a) for k, start, length, a in launches(delay)]
        write(root / f"trace_{rank}.json", shifted, rank, len(delays), **more)
    return root


def write(path: Path, rows: Sequence[Launch], rank: int, world: int, **more: Any) -> None:
    facts = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, **more}
    text = samples.text_of(samples.traced(rows, **facts))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def view_of(*paths: Path) -> TracedRanks:
    return ranks_of([str(p) for p in paths], read_trace)


def check(view: TracedRanks) -> None:
    """Assert the times of the job, which any clock must give."""
    assert [t.rank for t in view.ranks] == [0, 1, 2, 3]
    for t, delay in zip(view.ranks, DELAYS_US, strict=True):
        time_us = TRANSFER_US + max(DELAYS_US) - delay
        assert t.compute_s == pytest.approx(COUNT * (210 + delay) * 1e-6)
        assert t.overlapped_s == pytest.approx(COUNT * 10e-6)
        assert t.exposed_s == pytest.approx(COUNT * (time_us - 10) * 1e-6)
        assert t.busy_s == pytest.approx(t.compute_s + t.exposed_s)
        assert t.span_s == pytest.approx(t.busy_s + t.idle_s)
        assert t.matched == COUNT
        assert t.transfer_s == pytest.approx(COUNT * TRANSFER_US * 1e-6)
        assert t.waiting_s == pytest.approx(COUNT * (max(DELAYS_US) - delay) * 1e-6)
    assert [t.last for t in view.ranks] == [0, 0, COUNT, 0]
    assert view.ranks[2].late_s == pytest.approx(COUNT * 30e-6)
    assert view.straggler == 2
    (c,) = view.collectives
    assert (c.kind.value, c.bytes, c.ranks, c.count) == ("all-reduce", 4 * MIB, 4, COUNT)
    assert c.skew_s == pytest.approx(50e-6)
    assert c.bus_bytes_per_s == pytest.approx(4 * MIB / 100e-6 * 2 * 3 / 4)
    assert (c.last_rank, c.last_share) == (2, 1.0)
    assert view.imbalance == pytest.approx(260 / 230 - 1)
    assert view.unmatched == 0


def test_times_of_each_rank_and_the_straggler(tmp_path: Path) -> None:
    view = view_of(job(tmp_path / "job", baseTimeNanoseconds=BASE_NS))
    check(view)
    assert not view.is_aligned
    assert view.world_size == 4


@pytest.mark.parametrize("has_base", [False, True])
@pytest.mark.parametrize("far_us", [40, 5_000_000])
def test_clocks_that_contradict_are_aligned_by_ends(
    tmp_path: Path, far_us: int, *, has_base: bool
) -> None:
    more = {"baseTimeNanoseconds": BASE_NS} if has_base else {}
    view = view_of(job(tmp_path / "job", offsets_us=(0, 20, far_us, 10), **more))
    check(view)
    assert view.is_aligned
    assert view.ranks[2].offset_s == pytest.approx(-far_us * 1e-6)
    assert any("not comparable" in note for note in view.notes)


def test_ranks_that_share_no_group_are_aligned_through_others(tmp_path: Path) -> None:
    def pair(one: int, other: int, start: float) -> Launch:
        args = message("allreduce", MIB, MIB, 2)
        name = f"{one}{other}"
        ranks = {"Process Group Name": name, "Process Group Ranks": f"[{one}, {other}]"}
        return NCCL, start, 100.0, {**args, **ranks}

    for rank, rows in enumerate(
        ([pair(0, 1, 100)], [pair(0, 1, 2100), pair(1, 2, 2600)], [pair(1, 2, 9600)])
    ):
        write(tmp_path / f"{rank}.json", rows, rank, 3)
    view = view_of(tmp_path)
    assert [t.offset_s for t in view.ranks] == pytest.approx([0, -2e-3, -9e-3])
    assert (len(view.collectives), view.unmatched) == (2, 0)


@pytest.mark.parametrize("seq", [False, True])
def test_a_collective_that_a_rank_lacks_moves_no_other(tmp_path: Path, *, seq: bool) -> None:
    for rank in range(2):
        rows = [
            (k, s, n, {**a, "Seq": round(s // STEP_US)} if a and seq else a)
            for k, s, n, a in launches(30.0 * rank, first=rank)
        ]
        write(tmp_path / f"{rank}.json", rows, rank, 4, baseTimeNanoseconds=BASE_NS)
    view = view_of(tmp_path)
    assert (view.unmatched, view.collectives[0].count, view.straggler) == (1, COUNT - 1, 1)
    assert view.collectives[0].skew_s == pytest.approx(30e-6)
    assert view.notes[0].startswith("2 of 4 ranks")


def test_groups_with_one_name_are_not_mixed(tmp_path: Path) -> None:
    """A counter of each process names groups of old releases: all tensor-parallel ones are 1."""
    for rank in range(4):
        members = "[0, 1]" if rank < 2 else "[2, 3]"
        args = message("allreduce", MIB, MIB, 2) | {"Process Group Ranks": members}
        pair = message("send", MIB, MIB, 4)
        rows = [(NCCL, 100.0 + rank, 50.0, args), (NCCL, 300.0, 50.0, pair)]
        write(tmp_path / f"{rank}.json", rows, rank, 4, baseTimeNanoseconds=BASE_NS)
    view = view_of(tmp_path)
    assert sum(c.count for c in view.collectives) == 2
    assert {c.ranks for c in view.collectives} == {2}
    assert [t.last for t in view.ranks] == [0, 1, 0, 1]


def test_a_folder_with_other_files_is_read(tmp_path: Path) -> None:
    root = job(tmp_path / "job", baseTimeNanoseconds=BASE_NS)
    (root / "trace_1.json").unlink()
    write(root / "trace_1.json.gz", launches(DELAYS_US[1]), 1, 4, baseTimeNanoseconds=BASE_NS)
    (root / "README.md").write_text("notes")
    (root / "empty.json").write_text("")
    (root / "damaged.json.gz").write_bytes(b"\x1f\x8bnothing")
    (root / "config.json").write_text('{"world_size": 4}')
    (root / "more").mkdir()
    write(root / "trace_9.json", launches(0.0), 0, 4, baseTimeNanoseconds=BASE_NS)
    view = view_of(root)
    check(view)
    notes = "\n".join(view.notes)
    for name in ("README.md", "empty.json", "damaged.json.gz", "config.json", "trace_9.json"):
        assert name in notes
    assert "rank 0 as trace_0.json" in notes


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (("a_rank2.json", "a_rank10.json"), [2, 10]),
        (("host.7-TP-0.json", "host.7-TP-1.json"), [0, 1]),
        (("x2.json", "x10.json"), [2, 10]),
        (("tp8_rank1.json", "tp8_rank2.json"), [1, 2]),
        (("tp8_a5.json", "tp8_a6.json"), [5, 6]),
        (("host_55321.json", "host_55322.json"), [0, 1]),
        (("a.json", "b.json"), [0, 1]),
        (("rank=3.json", "RANK_4.json"), [3, 4]),
    ],
)
def test_numbers_of_ranks_are_those_of_names(
    tmp_path: Path, names: Sequence[str], ranks: Sequence[int]
) -> None:
    for name in names:
        (tmp_path / name).write_text(samples.text_of(samples.traced(launches(0.0))))
    view = view_of(tmp_path)
    assert [t.rank for t in view.ranks] == ranks
    assert [t.path for t in view.ranks] == list(names)


def test_each_rank_may_have_a_folder(tmp_path: Path) -> None:
    for rank in (0, 10, 2):
        (tmp_path / f"rank_{rank}").mkdir()
        text = samples.text_of(samples.traced(launches(0.0)))
        (tmp_path / f"rank_{rank}" / "pt.trace.json").write_text(text)
    view = view_of(tmp_path)
    assert [t.rank for t in view.ranks] == [0, 2, 10]
    assert view.ranks[1].path == "rank_2/pt.trace.json"


def test_folders_without_ranks_and_with_too_many_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ParseError, match="no traces of ranks"):
        view_of(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ParseError, match="no traces of ranks") as error:
        view_of(tmp_path)
    assert "a.txt" in str(error.value.hint)
    root = job(tmp_path / "job")
    monkeypatch.setattr(rank_files, "MOST_RANKS", 3)
    with pytest.raises(ParseError, match="more than 3 traces"):
        view_of(root)
    monkeypatch.setattr(rank_files, "MOST_FILES", 3)
    with pytest.raises(ParseError, match="more than 3 files"):
        view_of(root)


def test_every_form_has_the_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = job(tmp_path / "job", baseTimeNanoseconds=BASE_NS)
    files = [str(root / f"trace_{rank}.json") for rank in range(2)]
    assert cli.run(["trace", str(root)]) == 0
    assert "rank 2 arrives last at 3 of 3 collectives" in capsys.readouterr().out
    assert cli.run(["trace", str(root), "--output-format", "json"]) == 0
    document: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert document["schema"] == "perfc-trace-ranks/1"
    assert document["straggler"] == 2
    assert cli.run(["trace", *files, "--output-format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["rank"], r["matched"]) for r in rows] == [("0", "3"), ("1", "3")]
    assert samples.SECRET not in json.dumps(document)
    assert cli.run(["trace", *files, "--capture", files[0]]) == 2
    assert cli.run(["trace", files[0], str(root / "none.json")]) == 2


@given(
    st.lists(
        st.lists(st.tuples(st.booleans(), st.integers(0, 500), st.integers(1, 200)), min_size=1),
        min_size=2,
        max_size=3,
    )
)
def test_times_of_ranks_add_up(
    tmp_path_factory: pytest.TempPathFactory, ranks: list[list[tuple[bool, int, int]]]
) -> None:
    root = tmp_path_factory.mktemp("job")
    args = message("allreduce", MIB, MIB, len(ranks))
    sent_us = []
    for rank, rows in enumerate(ranks):
        made = [
            (NCCL if is_sent else GEMM, 10.0 + b, float(n), args if is_sent else {})
            for is_sent, b, n in rows
        ]
        write(root / f"{rank}.json", made, rank, len(ranks), baseTimeNanoseconds=BASE_NS)
        sent_us.append(sum(n for is_sent, _, n in rows if is_sent))
    view = view_of(root)
    for t, whole_us in zip(view.ranks, sent_us, strict=True):
        assert t.busy_s == pytest.approx(t.compute_s + t.exposed_s, abs=1e-12)
        assert t.span_s == pytest.approx(t.busy_s + t.idle_s, abs=1e-12)
        assert min(t.exposed_s, t.overlapped_s, t.idle_s, t.waiting_s) >= -1e-12
        assert t.transfer_s + t.waiting_s <= whole_us * 1e-6 + 1e-12
    matched = sum(t.transfer_s + t.waiting_s for t in view.ranks)
    assert sum(c.time_s for c in view.collectives) == pytest.approx(matched, abs=1e-12)
    waiting = sum(t.waiting_s for t in view.ranks)
    assert sum(c.waiting_s for c in view.collectives) == pytest.approx(waiting, abs=1e-12)
