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
    start_s = time.monotonic()
    assert cli.run(arguments) == 2
    assert time.monotonic() - start_s < LONGEST_S
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return error


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"", b" "), (b"[", b" "), (KINETO, b" "), (KINETO + b"[", b"\n"), (KINETO + b"[", b"{},"),
        (KINETO + b"[", b"1,"), (KINETO + b'[{"a":', b" "), (KINETO + b'[{"a": "', b" "),
        (KINETO + b"1", b' "traceEvents" '), (ORT, b","), (TENSORRT, b" "), (ROCPROF, b" "),
        (ROCPROF + b"[", b"\t"),
    ],
)  # fmt: skip
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
    assert "no list of events" in refused_in(["trace", str(path)], capsys)
