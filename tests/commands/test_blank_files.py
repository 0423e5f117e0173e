"""Files of nearly nothing but blanks: refused in one line, in seconds and little memory."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from perfc import cli

LONGEST_S = 10.0
MIB = 1 << 20
KINETO = b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": '
ORT = b'[{"cat": "Session", "name": "session_initialization", "ph": "X"},'
TENSORRT = b'[{"name": "x", "timeMs": 1, "averageMs": 1},'
ROCPROF = b'{"rocprofiler-sdk-tool": [{"kernel_dispatch": '


def packed(path: Path, head: bytes, piece: bytes = b" ", size: int = 400 * MIB) -> Path:
    """Write a gzip file of a beginning and one piece again and again, as members of a MiB."""
    block = gzip.compress(piece * (MIB // len(piece)), mtime=0)
    path.write_bytes(gzip.compress(head, mtime=0) + block * (size // MIB))
    return path


def refused_in(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the line in which a command refuses a file in time."""
    start_s = time.process_time()
    assert cli.run(arguments) == 2
    assert time.process_time() - start_s < LONGEST_S
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return error


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"", b" "),
        (b"[", b" "),
        (KINETO, b" "),
        (KINETO + b"[", b"\n"),
        (KINETO + b"[", b"{},"),
        (KINETO + b"[", b"1,"),
        (KINETO + b'[{"a":', b" "),
        (KINETO + b'[{"a": "', b" "),
        (KINETO + b"1", b' "traceEvents" '),
        (ORT, b","),
        (TENSORRT, b" "),
        (ROCPROF, b" "),
        (ROCPROF + b"[", b"\t"),
    ],
)
def test_packed_traces_of_blanks_are_refused(
    head: bytes, piece: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = packed(tmp_path / "t.json.gz", head, piece)
    assert path.stat().st_size < 2 * MIB
    assert str(path) in refused_in(["trace", str(path)], capsys)


def test_plain_traces_of_blanks_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(KINETO + b"[" + b" " * (9 * MIB))
    assert "more than 8 MiB of blanks" in refused_in(["trace", str(path)], capsys)
    path.write_bytes(KINETO + b" " * (9 * MIB) + b"[]}")
    refused_in(["trace", str(path)], capsys)


CSV = b"class,dtype,time_s,m,n,k\n"
ROWS = b"schema,digest,model,label,dtype,nodes,launches,mac,alu,sfu,time_s,read_bytes,write_bytes\n"
LOG = b"INFO 01-01 10:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 1.0 tokens/s\n"
READERS: dict[str, tuple[str, bytes]] = {
    "trace FILE.csv": ("csv", b'"ID","Kernel Name","a__b"\n'),
    "adapt -t a100 --from FILE.csv -o out.toml": ("csv", CSV),
    "roofline a100 --measured FILE.csv": ("csv", ROWS),
    "roofline a100 --measured FILE.json": ("json", b'{"schema": "perfc-ncu/1",'),
    "llm llama-3.1-8b -t h100 --trace FILE.jsonl": ("jsonl", b""),
    "llm llama-3.1-8b -t h100 --trace FILE.log": ("log", LOG),
    "llm llama-3.1-8b -t h100 --trace FILE.prom": ("prom", b"# HELP vllm:a\n"),
    "llm FILE.json -t h100": ("json", b'{"model_type": "llama",'),
    "llm --engine-args FILE.yaml -t h100": ("yaml", b""),
    "llm --engine-args FILE.sh -t h100": ("sh", b""),
    "analyze FILE.json -t a100": ("json", b'{"root_index": 1, "nodes": ['),
    "analyze FILE.onnxtxt -t a100": ("onnxtxt", b'<ir_version: 8, opset_import: ["": 17]>\n'),
    "analyze FILE.xml -t a100": ("xml", b'<?xml version="1.0"?><net name="a" version="11">'),
    "analyze FILE.pir -t a100": ("pir", b"perfir 1\n"),
    "analyze FILE.mlir -t a100": ("mlir", b"module {\n"),
    "analyze FILE.onnx -t FILE.toml": ("toml", b""),
    "check --comment FILE.json": ("json", b'{"schema": "perfc-check/1",'),
    "check --config FILE/perfc.toml": ("toml", b""),
}
"""Command that reads each format of text, and how a file of it begins."""


@pytest.mark.parametrize("line", READERS)
@pytest.mark.parametrize("piece", [b" ", b"\n"], ids=["blanks", "lines"])
def test_text_of_blanks_is_refused(
    line: str,
    piece: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    suffix, head = READERS[line]
    Path("FILE").mkdir()
    path = Path("FILE/perfc.toml") if "/perfc" in line else Path(f"FILE.{suffix}")
    block = piece * MIB
    with path.open("wb") as stream:
        stream.write(head)
        for _ in range(64):
            stream.write(block)
    refused_in(line.split(), capsys)


@pytest.mark.parametrize("piece", [b" ", b"\n", b"[[a]]\n", b"#"])
def test_locks_of_blanks_are_refused(
    piece: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("perfc.toml").write_text('[[budget]]\nmodel = "*.onnx"\n')
    for size in (MIB, 9 * MIB):
        Path("perfc.lock").write_bytes(piece * (size // len(piece)))
        refused_in(["check"], capsys)


@pytest.mark.parametrize(
    "line",
    [
        "trace FILE",
        "llm llama-3.1-8b -t h100 --trace FILE",
        "analyze FILE",
        "check --comment FILE",
    ],
)
def test_devices_that_never_end_are_refused(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").symlink_to("/dev/zero")
    refused_in(line.split(), capsys)
