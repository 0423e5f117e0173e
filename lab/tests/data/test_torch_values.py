"""Instructions of pickles of every protocol, tensors by their strides, and the bounds of both."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfc_lab.data import pickle_machine, torch_file
from perfc_lab.data.pickle_machine import (
    PickledName,
    PickleMachine,
    Storage,
    TorchCall,
    storage_of,
)
from perfc_lab.data.source import FetchError
from perfc_lab.data.torch_file import Resolver, read_torch

from .test_hostile_sources import archive, placed

PLAIN = {
    "numbers": [0, 1, 255, 256, 65536, -1, 1 << 40, -(1 << 70), 2.5],
    "others": [None, True, False, "text", "é", ""],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "nested": {"a": {}, "b": [[], [[1]]], 3: {"c": (1, [2])}},
    "long": list(range(1200)),
}


def listed(value: object) -> object:
    """A value with lists in place of tuples."""
    match value:
        case list() | tuple():
            return [listed(v) for v in value]
        case dict():
            return {k: listed(v) for k, v in value.items()}
        case _:
            return value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_values_of_every_protocol_are_read_as_pickle_reads_them(
    protocol: int, tmp_path: Path
) -> None:
    path = placed(tmp_path, "a.pt", archive(pickle.dumps(PLAIN, protocol=protocol)))
    found = read_torch(path)
    assert found == listed(PLAIN)
    assert isinstance(found, dict)
    assert [type(v) for v in found["others"]] == [type(v) for v in PLAIN["others"]]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_protocol_and_order(protocol: int, order: Any, tmp_path: Path) -> None:
    value = [np.arange(6, dtype=kind).reshape((2, 3), order=order) for kind in ("f4", "i8", "u2")]
    value.append(np.array([[True, False]]))
    path = placed(tmp_path, "a.pt", archive(pickle.dumps(value, protocol=min(protocol, 4))))
    assert read_torch(path) == [a.tolist() for a in value]


@pytest.mark.parametrize("array", [np.zeros(2, ">f4"), np.array(["a"]), np.zeros(1, "M8[s]")])
def test_arrays_of_other_orders_and_kinds_are_refused(array: Any, tmp_path: Path) -> None:
    path = placed(tmp_path, "a.pt", archive(pickle.dumps(array, protocol=2)))
    with pytest.raises(FetchError, match="an array of "):
        read_torch(path)


def tensor(*arguments: object) -> TorchCall:
    return TorchCall("torch._utils._rebuild_tensor_v2", arguments)


STORED = {"0": np.arange(12, dtype="<f4").tobytes()}
NUMBERS = Storage("<f4", "0", 12)


@pytest.mark.parametrize(
    ("offset", "size", "stride", "values"),
    [
        (0, (2, 3), (3, 1), [[0, 1, 2], [3, 4, 5]]),
        (1, (2, 2), (4, 1), [[1, 2], [5, 6]]),
        (0, (3, 2), (1, 3), [[0, 3], [1, 4], [2, 5]]),
        (11, (), (), 11.0),
        (0, (0, 3), (3, 1), []),
        (2, (3,), (0,), [2, 2, 2]),
        (0, (12,), (1,), list(range(12))),
    ],
)
def test_a_tensor_lies_in_its_storage_by_strides(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...], values: object
) -> None:
    assert Resolver(STORED).resolve(tensor(NUMBERS, offset, size, stride)) == values


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (13,), (1,)),
        (1, (12,), (1,)),
        (12, (), ()),
        (-1, (2,), (1,)),
        (0, (2,), (-1,)),
        (0, (2, 7), (6, 1)),
        (0, (-2, -3), (3, 1)),
    ],
)
def test_a_tensor_beyond_its_storage_is_none(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match="a tensor beyond its storage"):
        Resolver(STORED).resolve(tensor(NUMBERS, offset, size, stride))


def test_elements_of_a_tensor_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_file, "MAX_ELEMENTS", 12)
    repeated = tensor(NUMBERS, 0, (12,), (0,))
    assert Resolver(STORED).resolve(repeated) == [0.0] * 12
    with pytest.raises(ValueError, match="a tensor beyond its storage"):
        Resolver(STORED).resolve(tensor(NUMBERS, 0, (13,), (0,)))


@pytest.mark.parametrize(("count", "is_fine"), [(0, True), (9, True), (10, False), (-1, False)])
def test_a_storage_has_a_bounded_number_of_elements(
    count: int, is_fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickle_machine, "MAX_ELEMENTS", 9)
    reference = ("storage", PickledName("torch.HalfStorage"), 7, "cpu", count)
    if is_fine:
        assert storage_of(reference) == Storage("<f2", "7", count)
    else:
        with pytest.raises(ValueError, match="a storage of "):
            storage_of(reference)


@pytest.mark.parametrize(
    "reference",
    [
        [],
        ("module", 1),
        ("storage", "torch.FloatStorage", 0, "cpu", 1),
        ("storage", PickledName("torch.QInt8Storage"), 0, "cpu", 1),
    ],
)
def test_what_refers_to_no_storage_is_refused(reference: object) -> None:
    with pytest.raises(ValueError, match=r"a (reference to no )?storage"):
        storage_of(reference)


@pytest.mark.parametrize(
    "program",
    [
        b"K\x01)R.",
        b"cbuiltins\nprint\nK\x01R.",
        b"K\x01K\x02b.",
        b"]K\x01K\x02s.",
        b"}K\x01a.",
        b"K\x01K\x02K\x03s.",
        b"(]K\x01e.",
        b"K\x01\x85K\x02e.",
    ],
)
def test_instructions_on_what_they_are_not_for_are_refused(program: bytes) -> None:
    with pytest.raises((TypeError, IndexError)):
        PickleMachine().run(io.BytesIO(program))


def test_calls_are_noted_and_not_made() -> None:
    call = PickleMachine().run(io.BytesIO(b"cos\nsystem\nS'x'\n\x85RK\x07b."))
    assert isinstance(call, TorchCall)
    assert (call.name, call.arguments, call.state) == ("os.system", ("x",), 7)


def test_an_ordered_mapping_is_a_mapping() -> None:
    call = TorchCall("collections.OrderedDict", ())
    call.items = {"a": (1, 2), "b": tensor(NUMBERS, 3, (1,), (1,))}
    assert Resolver(STORED).resolve(call) == {"a": [1, 2], "b": [3.0]}
    with pytest.raises(ValueError, match=r"the name os\.system"):
        Resolver({}).resolve(TorchCall("os.system", ()))
    with pytest.raises(ValueError, match="a set"):
        Resolver({}).resolve({1})


def legacy(count: int, content: bytes) -> bytes:
    """The older container with one tensor of halves."""
    storage = b"ctorch\nHalfStorage\n"
    value = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + (
            b"(X\x07\x00\x00\x00storage"
            + storage
            + b"X\x01\x00\x00\x007X\x03\x00\x00\x00cpuK\x02tQ"
        )
        + b"K\x00K\x02\x85K\x01\x85tR."
    )
    head = (torch_file.MAGIC, 1001, {"little_endian": True})
    parts = [pickle.dumps(part, protocol=2) for part in head]
    return b"".join([*parts, value, pickle.dumps(["7"], 2), count.to_bytes(8, "little"), content])


def test_the_older_container_has_its_numbers_behind_the_pickles(tmp_path: Path) -> None:
    halves = np.array([1.5, -2.0], "<f2").tobytes()
    assert read_torch(placed(tmp_path, "a.pt", legacy(2, halves))) == [1.5, -2.0]
    with pytest.raises(FetchError, match="a tensor beyond its storage"):
        read_torch(placed(tmp_path, "b.pt", legacy(1, halves)))
    with pytest.raises(FetchError, match="a storage of 134217729 numbers"):
        read_torch(placed(tmp_path, "c.pt", legacy((1 << 27) + 1, halves)))


def test_an_archive_is_bounded_by_what_it_unpacks_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = pickle.dumps([1.0], protocol=2)
    path = placed(tmp_path, "a.pt", archive(program, _0=bytes(8)))
    monkeypatch.setattr(torch_file, "MAX_FILE_BYTES", len(program) + 8)
    assert read_torch(path) == [1.0]
    monkeypatch.setattr(torch_file, "MAX_FILE_BYTES", len(program) + 7)
    with pytest.raises(FetchError, match=r"no data of torch\.save: more than "):
        read_torch(path)
