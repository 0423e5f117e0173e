"""A file seen through a window: what is read, how much at a time, and what is digested."""

from __future__ import annotations

import hashlib
import io

import pytest

from perfc.errors import ModelError
from perfc.frontend.lowering import window
from perfc.frontend.lowering.window import FIRST_READ_BYTES, LONGEST_READ_BYTES, ByteWindow


class Counted(io.BytesIO):
    """A file that notes where it was read and how much was asked for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: list[tuple[int, int]] = []

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads.append((self.tell(), size or 0))
        return super().read(size)


class Drops(Counted):
    """A file that gives three bytes at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, 3))


DATA = bytes(i * 7 % 251 for i in range(1 << 16))


def of(data: bytes = DATA, kind: type[Counted] = Counted) -> tuple[ByteWindow, Counted]:
    file = kind(data)
    return ByteWindow("m.onnx", file=file, nbytes=len(data)), file


def seen(w: ByteWindow, position: int, want: int) -> bytes:
    buffer, base = w.at(position, want)
    assert base <= position
    return buffer[position - base : position - base + want]


@pytest.mark.parametrize("kind", [Counted, Drops])
def test_every_byte_is_the_files(kind: type[Counted]) -> None:
    w, _ = of(DATA[:9000], kind)
    for position, want in ((0, 1), (0, 4096), (4090, 12), (4100, 0), (8000, 1000), (8999, 1)):
        assert seen(w, position, want) == DATA[position : position + want]


def test_reading_on_takes_twice_as_much_and_reading_after_a_skip_little() -> None:
    w, file = of()
    first = FIRST_READ_BYTES * 2  # the beginning is in sequence with nothing
    w.at(0, 1)
    w.at(first - 1, 1)
    assert file.reads == [(0, first)], "what lies in the window is not read again"
    w.at(first, 1)
    w.skip(first + 2, 50_000)
    w.at(50_000, 1)
    assert file.reads[1:] == [(first, 2 * first), (50_000, FIRST_READ_BYTES)]
    w.at(52_000, 5000)
    assert file.reads[3:] == [(52_000, first)], "half in the window: in sequence"


def test_no_read_is_longer_than_a_limit_unless_more_is_wanted() -> None:
    data = bytes(4 * LONGEST_READ_BYTES)
    w, file = of(data)
    position = 0
    while position < len(data):
        buffer, base = w.at(position, 1)
        position = base + len(buffer)
    sizes = [size for _, size in file.reads]
    assert max(sizes) == LONGEST_READ_BYTES
    assert sum(sizes) == len(data), "the last read ends with the file"
    w, file = of(data)
    assert len(seen(w, 0, 3 * LONGEST_READ_BYTES)) == 3 * LONGEST_READ_BYTES
    assert [size for _, size in file.reads] == [3 * LONGEST_READ_BYTES]


def test_the_digest_is_of_all_bytes_but_those_skipped() -> None:
    w, _ = of()
    w.at(0, 100)
    w.skip(100, 40_000)
    w.at(40_000, 10)
    w.skip(40_010, len(DATA))
    assert w.digest() == hashlib.sha256(DATA[:100] + DATA[40_000:40_010]).hexdigest()
    whole = ByteWindow("m.onnx", data=DATA)
    assert whole.digest() == hashlib.sha256(DATA).hexdigest()
    assert whole.nbytes == len(DATA)
    twice = ByteWindow("m.onnx", data=DATA[:50])
    twice.skip(10, 20)
    twice.at(30, 5)
    assert twice.digest() == hashlib.sha256(DATA[:10] + DATA[20:50]).hexdigest()


def test_a_file_shorter_than_it_says_is_named_with_the_byte() -> None:
    w = ByteWindow("m.onnx", data=b"12345")
    assert seen(w, 0, 5) == b"12345"
    with pytest.raises(ModelError, match="ends at byte 5, where 7 bytes are announced"):
        w.at(4, 3)
    w, _ = of(b"12345")
    with pytest.raises(ModelError, match="ends at byte 5, where 6 bytes are announced"):
        w.at(0, 6)
    short = ByteWindow("m.onnx", file=Counted(b"12345"), nbytes=9)
    with pytest.raises(ModelError, match="ends at byte 5, where 9 bytes are announced") as caught:
        short.at(0, 8)
    assert caught.value.where == "m.onnx"
    assert short.nbytes == 5


def test_a_graph_may_not_be_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "MOST_READ_BYTES", 2 * FIRST_READ_BYTES)
    w, _ = of()
    w.at(0, 2 * FIRST_READ_BYTES)
    with pytest.raises(ModelError, match="the graph alone, without weights, is larger"):
        w.at(2 * FIRST_READ_BYTES, 1)


def test_a_file_that_fails_is_named_with_the_place() -> None:
    class Fails(Counted):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    w, _ = of(DATA, Fails)
    with pytest.raises(ModelError, match="cannot be read at byte 12: Input/output error"):
        w.at(12, 3)
