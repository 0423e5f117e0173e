"""Traces that are damaged, hostile, cut, odd or large."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import time
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.commands.shared import progress
from perfc.common import whole_file
from perfc.errors import ParseError
from perfc.measuring.measure.runtimes import events
from perfc.measuring.trace.classes import TracedClass
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.notes import notes_of
from perfc.measuring.trace.steps import selected
from perfc.measuring.trace.summary import summarized
from perfc.measuring.trace.views import TracedRun
from tests.measuring.trace import samples

from .trace_files import files, written

REAL = Path(__file__).parents[4] / "shared" / "formats" / "traces"


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return data with a few bytes changed, cut, repeated or replaced by invalid values."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made))
        match rng.randrange(5):
            case 0:
                made[at] = rng.randrange(256)
            case 1:
                del made[at : at + rng.randint(1, 60)]
            case 2:
                made[at:at] = made[at : at + rng.randint(1, 200)]
            case 3:
                invalid = (
                    b"null",
                    b"1e999",
                    b"-1",
                    b"[]",
                    b'"x"',
                    b"9" * 400,
                    b"{}",
                    b"NaN",
                    b"[" * 900,
                )
                made[at : at + rng.randint(1, 12)] = rng.choice(invalid)
            case _:
                del made[max(at, 40) :]
    return bytes(made)


def test_damaged_traces_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(5)
    data = {name: path.read_bytes() for name, path in files(tmp_path).items()}
    read, messages = 0, list[str]()
    for at in range(200):
        name = sorted(data)[at % len(data)]
        path = tmp_path / "mutated.json"
        path.write_bytes(mutated(data[name], rng))
        try:
            TracedRun.of("x", summarized(read_trace(path), is_bounded=at % 10 == 0))
            read += 1
        except ParseError as error:
            messages.append(str(error))
    assert 20 < read < 180
    assert not any("\n" in message for message in messages)


def test_hostile_traces_end_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content, said in (
        (b"", "not a trace"),
        (b'{"a": 1}', "not a trace"),
        (b'{"schemaVersion": 1}', "no list of events"),
        (b'{"schemaVersion": 1, "traceEvents": []}', "no kernel ran"),
        (b'{"schemaVersion": 1, "traceEvents": [' + b"[" * 200_000, "nested too deeply"),
        (gzip.compress(b'{"schemaVersion": 1, "traceEvents": [')[:30], "cannot be unpacked"),
    ):
        path = tmp_path / "bad.json"
        path.write_bytes(content)
        assert cli.run(["trace", str(path)]) == 2
        error = capsys.readouterr().err
        assert said in error, content[:40]
        assert error.count("\n") == 1


@pytest.mark.skipif(not REAL.is_dir(), reason="the traces are not part of the repository")
@pytest.mark.parametrize(
    ("name", "target", "launches", "kernel_s"),
    [
        ("h100_Qwen_Qwen1.5-0.5B-Chat__1016005", "h100-sxm5-80gb", 1707, 45.647e-3),
        ("mi300_Qwen_Qwen1.5-0.5B-Chat__1016005", "mi300x", 1517, 43.063e-3),
        ("b200_eager", "b200-sxm-180gb", 929, 11.666e-3),
        ("vllm_piecewise", "mi300x", 423, 156.086e-3),
        ("rocprof_908", "mi350x", 43915, 4.441741),
    ],
)
def test_real_traces_are_read_whole(name: str, target: str, launches: int, kernel_s: float) -> None:
    made = summarized(read_trace(REAL / f"{name}.json.gz"))
    assert made.target is not None
    assert made.target.name == target
    assert sum(d.launches for d in made.devices) == launches
    assert made.kernel_ns * 1e-9 == pytest.approx(kernel_s, rel=1e-4)
    assert all(
        k.floor.floor_s * k.executions <= k.operator_ns * 1e-9 for k in made.bounded if k.floor
    )
    other = next((c for c in made.classes if c.name is TracedClass.OTHER), None)
    assert other is None or other.time_ns < 0.02 * made.kernel_ns


def test_the_json_of_a_trace_has_the_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, samples.kineto())
    assert cli.run(["trace", path, "--output-format", "json", "-t", "a100"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["target"] == "a100-sxm4-80gb"
    assert sum(k["time_s"] for k in made["kernels"]) == pytest.approx(made["kernel_s"])
    assert sum(c["share"] for c in made["classes"]) == pytest.approx(1)
    assert made["kernels"][0]["shapes"] == "4096×4096, 4096×4096"


def cut_at(path: Path, data: bytes, end: int) -> Path:
    path.write_bytes(data[:end])
    return path


def test_files_that_end_in_the_middle_are_named_whatever_their_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever the end is: a trace that was cut is never read without a word."""
    for name, whole in files(tmp_path).items():
        assert cli.run(["trace", str(whole)]) == 0
        assert "ends in the middle" not in capsys.readouterr().out, name
        data = whole.read_bytes()
        content = data if name == "nsys" else data.rstrip()
        ends = [*range(len(content) // 2, len(content), max(1, len(content) // 40))]
        ends.append(len(content) - 4096 if name == "nsys" else content.rindex(b"}"))
        packed = gzip.compress(data)
        cuts = [(content, end) for end in ends] + [(packed, len(packed) // 2)]
        for source, end in cuts:
            path = cut_at(tmp_path / f"cut{whole.suffix}", source, end)
            for words in (["trace", str(path)], ["diff", str(whole), str(path)]):
                code = cli.run(words)
                printed = " ".join(capsys.readouterr().out.split())
                assert code == 2 or "ends in the middle" in printed, (name, words[0], end)


def test_a_cut_trace_without_kernels_or_a_launch_without_them_is_refused(tmp_path: Path) -> None:
    host = [
        samples.operator("aten::mm", 1, 9, [2, 2]),
        samples.runtime("cudaLaunchKernel", 2, 1, 1),
    ]
    text = samples.text_of(samples.chrome(*host))
    path = cut_at(tmp_path / "cut.json", text.encode(), text.index("runtime"))
    with pytest.raises(ParseError, match="ends in the middle, before the first kernel"):
        read_trace(path)
    with pytest.raises(ParseError, match="launches of kernels, but no kernel"):
        read_trace(written(tmp_path, samples.chrome(*host)))
    (note,) = notes_of(read_trace(written(tmp_path, samples.chrome(host[0]))))
    assert "times of operators on the host" in note


@pytest.mark.parametrize("duration", [-5, float("nan"), "NaN", None])
def test_launches_without_a_duration_are_counted(
    tmp_path: Path, duration: float, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [samples.kernel("a", 1, 5, 1), {**samples.kernel("b", 9, 0, 2), "dur": duration}]
    path = written(tmp_path, samples.chrome(*events))
    assert cli.run(["trace", path, "--output-format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["kernel_s"] == pytest.approx(5e-6)
    assert made["notes"] == ["1 launch without a duration, or with a negative one, left out"]
    assert cli.run(["trace", path, "--output-format", "csv"]) == 0
    assert "1 launch without a duration" in capsys.readouterr().err


def test_negative_durations_are_counted_in_every_format(tmp_path: Path) -> None:
    """Each format with the times of its first launch exchanged, or its sign."""
    rocprof, ort, xplane = samples.rocprof(), samples.ort(), samples.xplane()
    first = rocprof["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][0]
    first["end_timestamp"] = first["start_timestamp"] - 1
    ort[1]["dur"] = xplane["traceEvents"][-2]["dur"] = -5
    layers, times = samples.tensorrt(), samples.times()
    layers[1]["averageMs"], times[0]["endComputeMs"] = -0.1, -1.0
    for trace in (rocprof, ort, xplane, layers, times):
        assert notes_of(read_trace(written(tmp_path, trace))) == (
            "1 launch without a duration, or with a negative one, left out",
        )
    path = files(tmp_path)["nsys"]
    with closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = start - 1")
        base.commit()
    assert read_trace(path).unusable == 1


def test_times_of_more_than_64_bits_are_one_line(tmp_path: Path) -> None:
    path = files(tmp_path)["nsys"]
    with closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = 0, end = 9223372036854775807")
        base.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = 9223372036854775807")
        base.commit()
    assert summarized(read_trace(path)).kernel_ns == 240_000 + 9223372036854775807
    far = samples.operator("aten::mm", 8e15, 8e15, [2, 2])
    trace = read_trace(written(tmp_path, samples.chrome(far, samples.kernel("a", 4e15, 4e15, 1))))
    assert summarized(trace).kernel_ns == 4 * 10**18


def test_deep_nesting_many_marks_and_many_graphs_take_moments(tmp_path: Path) -> None:
    count = 8000
    deep = [samples.operator("none", at, 2 * count - 2 * at) for at in range(count)]
    launches = [
        samples.runtime("cudaLaunchKernel", count + at / count, 0, at) for at in range(count)
    ]
    graphs: list[dict[str, Any]] = []
    for at in range(count // 10):
        begin, end = 1e6 + 10 * at, 2e6 + at
        graphs += [
            samples.runtime("cudaStreamBeginCapture", begin, 1, 10**6 + 3 * at),
            samples.runtime("cudaLaunchKernel", begin + 2, 1, 10**6 + 3 * at + 1, kernel=f"g{at}"),
            samples.runtime("cudaStreamEndCapture", begin + 4, 1, 10**6 + 3 * at + 2),
            samples.runtime("cudaGraphLaunch", end, 0, at),
            samples.kernel(f"g{at}", end, 1, at),
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": "abcdefghij"[at % 10] * (at // 10),
                "ts": begin,
                "dur": 1,
            },
        ]
    kernels = [samples.kernel("k", 3e6 + at, 1, at) for at in range(count // 2, count)]
    path = written(tmp_path, samples.chrome(*deep, *launches, *graphs, *kernels))
    begin_s = time.process_time()
    selected(read_trace(path))
    assert time.process_time() - begin_s < 10


@pytest.mark.parametrize("packed", [False, True])
def test_the_progress_of_reading_is_that_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(events, "CHUNK", 100)
    monkeypatch.setattr(progress, "LARGE_BYTES", 0)
    text = samples.text_of(samples.kineto()).encode()
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.compress(text) if packed else text)
    seen: list[tuple[int, int]] = []
    with progress.reading(str(path)):
        monkeypatch.setattr(
            whole_file, "LISTENERS", [lambda *of: seen.append(of), *whole_file.LISTENERS]
        )
        read_trace(path)
    size = path.stat().st_size
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {size}
    assert seen[0][0] <= size == seen[-1][0]


@pytest.mark.speed
def test_a_gigabyte_takes_a_minute_and_600_megabytes(tmp_path: Path) -> None:
    trace = samples.chrome(
        *[
            event
            for at in range(20_000)
            for event in (
                samples.operator("aten::mm", 20 * at, 9, [4096, 4096], [4096, 4096], number=at),
                samples.runtime("cudaLaunchKernel", 20 * at + 3, 2, at),
                samples.kernel(samples.GEMM, 20 * at + 8, 9, at, at),
            )
        ]
    )
    path = Path(written(tmp_path, trace))
    gigabytes = path.stat().st_size / 1e9
    begin_s = time.process_time()
    read_trace(path)
    assert time.process_time() - begin_s < 60 * gigabytes
    tracemalloc.start()
    read_trace(path)
    assert tracemalloc.get_traced_memory()[1] < 2 * events.CHUNK + 600e6 * gigabytes
    tracemalloc.stop()
