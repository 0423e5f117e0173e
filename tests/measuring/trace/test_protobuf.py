"""Traces of protobuf: XSpace of JAX and slices of Perfetto, made by an encoder of a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perfc.errors import ParseError
from perfc.measuring.trace.facts import DeviceTrace
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.notes import notes_of
from perfc.measuring.trace.steps import selected
from tests.measuring.trace.samples import SECRET, text_of, xplane

Value = int | str | bytes


def varint(number: int) -> bytes:
    """Return a whole number of protobuf."""
    digits, rest = bytearray(), number % (1 << 64)
    while rest > 0x7F:
        digits.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*digits, rest])


def message(*fields: tuple[int, Value]) -> bytes:
    """Return a message of numbers, texts and messages."""
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            made += varint(number << 3 | 2) + varint(len(data)) + data
    return made


def entries(*names: str) -> Iterator[tuple[int, bytes]]:
    """Yield the entries of a map from numbers, which begin with 1, to names."""
    for at, name in enumerate(names, 1):
        yield at, message((1, at), (2, message((1, at), (2, name))))


def event(metadata: int, offset_us: int, length_us: int, *stats: bytes) -> bytes:
    times = ((2, offset_us * 1_000_000), (3, length_us * 1_000_000))
    return message((1, metadata), *times, *((4, s) for s in stats))


def xspace() -> bytes:
    """Return the content of `samples.xplane` as an XSpace."""
    labels = (
        "hlo_op",
        "tf_op",
        "shape_with_layout",
        "correlation_id",
        "fusion.3",
        "step_num",
        SECRET,
    )
    stats = (
        message((1, 1), (7, 5)),
        message((1, 2), (5, "jit(step)/layer/dot_general:")),
        message((1, 3), (5, "bf16[16,1024]{1,0}")),
        message((1, 4), (4, 5)),
        message((1, 7), (5, SECRET)),
    )
    names = ("loop_add_fusion", "gemm_fusion_dot_1", "fusion.3", SECRET)
    tables = [*((4, e) for _, e in entries(*names)), *((5, e) for _, e in entries(*labels))]
    stream = message(
        (1, 13),
        (2, "Stream #13(Compute)"),
        (3, 50_000),
        (4, event(1, 40, 5)),
        (4, event(2, 55, 40, *stats)),
    )
    derived = message((1, 1), (2, "XLA Ops"), (4, event(3, 105, 40, *stats)))
    device = message((1, 1), (2, "/device:GPU:0 A100"), (3, stream), (3, derived), *tables)
    step = event(4, 80, 70, message((1, 6), (4, 3)))
    host = message((1, 2), (2, "python"), (4, event(4, 100, 2, stats[3])), (4, step))
    return message((1, device), (1, message((2, "/host:CPU"), (3, host), *tables)))


def rows(trace: DeviceTrace) -> list[tuple[str, str, int, int, int]]:
    """Return kernel, operator with shapes, begin, duration and launch of every row."""
    calls = ["", *(f"{c.operator} {c.shapes}".strip() for c in trace.calls)]
    r = trace.launches
    columns = zip(r.kernel, r.call, r.start_ns, r.duration_ns, r.host_ns, strict=True)
    return sorted((trace.kernels[k], calls[c + 1], *more) for k, c, *more in columns)


def test_an_xspace_has_what_its_chrome_trace_has(tmp_path: Path) -> None:
    (tmp_path / "trace.xplane.pb").write_bytes(xspace())
    (tmp_path / "trace.json").write_text(text_of(xplane()))
    made, chrome = (read_trace(tmp_path / n) for n in ("trace.xplane.pb", "trace.json"))
    assert rows(made) == rows(chrome)
    assert len(rows(made)) == 2
    assert made.facts == chrome.facts
    assert [s.number for s in selected(made).steps] == [3]
    assert SECRET not in repr(made)


def packet(at_ns: int, *fields: tuple[int, Value], names: bytes = b"") -> tuple[int, bytes]:
    more = [(12, names)] if names else []
    return 1, message((8, at_ns), (10, 4), *more, (11, message(*fields)))


def argument(name: int, value: int) -> tuple[int, bytes]:
    return 4, message((1, name), (3, value))


def pftrace() -> bytes:
    """Return a call that launches a kernel, the kernel, and a copy, as rocprofv3 writes them."""
    names = message(
        *(
            (1, e)
            for e in (message((1, 1), (2, "kernel_dispatch")), message((1, 2), (2, "hip_api")))
        ),
        (2, message((1, 9), (2, "Cijk_Alik_Bljk_BBS_BH"))),
        *(
            (3, message((1, at), (2, label)))
            for at, label in enumerate(("corr_id", "agent", "begin_ns"), 1)
        ),
    )
    default = 1, message((10, 4), (59, message((11, message((11, 70))))))
    return message(
        default,
        packet(100, (9, 1), (11, 50), (3, 2), (23, "hipLaunchKernel"), argument(1, 7), names=names),
        packet(120, (9, 2), (11, 50)),
        packet(201, (9, 1), (3, 1), (10, 9), argument(1, 7), argument(2, 3), argument(3, 200)),
        packet(260, (9, 2)),
        packet(300, (9, 1), (11, 80), (22, "memory_copy"), (23, "MEMORY_COPY_HOST_TO_DEVICE")),
        packet(340, (9, 2), (11, 80)),
    )


def test_slices_of_perfetto_are_kernels_with_their_launch(tmp_path: Path) -> None:
    path = tmp_path / "trace.pftrace"
    path.write_bytes(pftrace())
    trace = read_trace(path)
    assert rows(trace) == [
        ("Cijk_Alik_Bljk_BBS_BH", "", 200, 60, 100),
        ("Memcpy HtoD", "", 300, 40, -1),
    ]
    assert [*trace.devices.numbers] == [3, 0]
    assert not notes_of(trace)


@pytest.mark.parametrize("content", [xspace(), pftrace()])
def test_protobuf_that_ends_in_the_middle_is_refused_or_said(
    tmp_path: Path, content: bytes
) -> None:
    whole = tmp_path / "whole.pb"
    whole.write_bytes(content)
    complete, partial = {r[2:4] for r in rows(read_trace(whole))}, 0
    for end in range(len(content) // 3, len(content)):
        path = tmp_path / "cut.pb"
        path.write_bytes(content[:end])
        try:
            made = read_trace(path)
        except ParseError:
            continue
        partial += 1
        assert {r[2:4] for r in rows(made)} <= complete
    assert partial < 8, "only where a whole plane or packet ends"
