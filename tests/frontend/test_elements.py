from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from perfc.frontend.lowering.elements import (
    ELEMENT_BITS,
    DataType,
    packed,
    stored_bytes,
    unpack_elements,
)
from perfc.frontend.lowering.schema import MESSAGES
from perfc.frontend.lowering.window import ByteWindow
from perfc.frontend.reading.proto import ProtoTensor
from perfc.frontend.reading.wire import WireDecoder

KNOWN_TO_ONNX = [DataType(code) for code in TensorProto.DataType.values() if code in ELEMENT_BITS]
IN_INT32_DATA = [
    code
    for code in KNOWN_TO_ONNX
    if code.name not in {"FLOAT", "DOUBLE", "INT64", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"}
]


def read(tensor: TensorProto) -> ProtoTensor:
    data = tensor.SerializeToString()
    found = WireDecoder(ByteWindow("t", data=data), MESSAGES).decode(
        MESSAGES["TensorProto"], data, 0, len(data), 0
    )
    assert isinstance(found, ProtoTensor)
    return found


def same(found: object, tensor: TensorProto) -> bool:
    expected = numpy_helper.to_array(tensor).astype(np.complex128).ravel()
    return np.array_equal(np.array(found, dtype=np.complex128), expected, equal_nan=True)


def test_every_data_type_of_onnx_has_a_size_or_holds_strings() -> None:
    named = {code for name, code in TensorProto.DataType.items() if name != "UNDEFINED"}
    assert named <= {*ELEMENT_BITS, DataType.STRING}


@pytest.mark.parametrize("code", KNOWN_TO_ONNX, ids=lambda code: code.name)
def test_raw_data_has_the_values_that_onnx_reads(code: DataType) -> None:
    # All 256 bytes, thrice: a whole number of elements of every type, and every 8-bit code.
    raw = bytes(range(256)) * 3
    if code is DataType.BOOL:
        raw = bytes(byte & 1 for byte in raw)
    count = 8 * len(raw) // ELEMENT_BITS[code]
    tensor = TensorProto(name="t", data_type=int(code), dims=[count], raw_data=raw)
    assert same(read(tensor).values(), tensor)


@pytest.mark.parametrize("code", IN_INT32_DATA, ids=lambda code: code.name)
def test_int32_data_has_the_values_that_onnx_reads(code: DataType) -> None:
    bits = ELEMENT_BITS[code]
    per_number = 8 // bits if bits in (2, 4) else 1
    numbers = [0, 1, 2, 3, 5, 7, 11]
    if code is DataType.BOOL:
        numbers = [0, 1, 1, 0]
    if code in (DataType.INT8, DataType.INT16, DataType.INT32):
        numbers += [-1, -128]
    dims = [len(numbers) * per_number]
    tensor = TensorProto(name="t", data_type=int(code), dims=dims, int32_data=numbers)
    assert same(read(tensor).values(), tensor)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1", "FLOAT6E2M3"])
def test_the_last_byte_of_a_sub_byte_type_may_be_partly_used(name: str, count: int) -> None:
    code = DataType[name]
    nbytes = stored_bytes(code, count)
    assert nbytes == -(-count * ELEMENT_BITS[code] // 8)
    values = unpack_elements(code, b"\xff" * nbytes, count)
    assert values is not None
    assert len(values) == count
    assert len(set(values)) == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("FLOAT", [0.5, -1.0, math.inf]),
        ("DOUBLE", [1e300, -0.1]),
        ("INT64", [0, -1, 2**63 - 1, -(2**63)]),
        ("UINT64", [0, 2**64 - 1]),
        ("UINT32", [7, 2**32 - 1]),
        ("COMPLEX64", [1 + 2j, -0.5j]),
        ("COMPLEX128", [1e300 + 2j, 3 - 4j]),
    ],
)
def test_wide_types_have_their_values_from_typed_fields(name: str, values: list[Any]) -> None:
    tensor = helper.make_tensor("t", getattr(TensorProto, name), [len(values)], values)
    assert not tensor.raw_data
    found = read(tensor)
    assert found.values() == tuple(values)
    raw = numpy_helper.from_array(numpy_helper.to_array(tensor), "t")
    assert found.content_digest == read(raw).content_digest


def test_strings_are_their_bytes() -> None:
    tensor = TensorProto(data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"\xff"])
    assert read(tensor).values() == (b"a", b"\xff")


def test_special_codes_of_eight_bit_floats() -> None:
    def one(name: str, code: int) -> object:
        values = unpack_elements(DataType[name], bytes([code]), 1)
        assert values is not None
        return values[0]

    assert one("FLOAT8E4M3FN", 0x7E) == 448.0
    assert one("FLOAT8E4M3FNUZ", 0x7F) == 240.0
    assert one("FLOAT8E5M2", 0x7B) == 57344.0
    assert one("FLOAT8E5M2", 0x7C) == math.inf
    assert one("FLOAT8E8M0", 0x7F) == 1.0
    assert math.isnan(float(str(one("FLOAT8E8M0", 0xFF))))
    assert unpack_elements(DataType.FLOAT4E2M1, b"\x27", 2) == (6.0, 1.0)
    assert unpack_elements(DataType.FLOAT6E3M2, b"\x1f", 1) == (28.0,)


@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(data_type=1, dims=[3], raw_data=b"\0" * 8),
        TensorProto(data_type=1, dims=[-1], raw_data=b"\0" * 8),
        TensorProto(data_type=99, dims=[2], raw_data=b"\0" * 8),
        TensorProto(data_type=1, dims=[2]),
        TensorProto(data_type=1, dims=[2], int64_data=[1, 2]),
        TensorProto(data_type=1, dims=[10**9, 10**9, 10**9], raw_data=b"\0" * 8),
    ],
    ids=["short", "negative dim", "unknown type", "no data", "wrong field", "absurd dims"],
)
def test_elements_that_do_not_fit_the_type_have_no_values(tensor: TensorProto) -> None:
    assert read(tensor).values() is None


def test_a_tensor_without_elements_has_no_values_but_is_known() -> None:
    assert read(TensorProto(data_type=1, dims=[0, 4])).values() == ()


def test_the_digest_tells_type_dims_and_elements_apart() -> None:
    tensors = [
        TensorProto(data_type=6, dims=[2], raw_data=b"\1" * 8),
        TensorProto(data_type=12, dims=[2], raw_data=b"\1" * 8),
        TensorProto(data_type=6, dims=[1, 2], raw_data=b"\1" * 8),
        TensorProto(data_type=6, dims=[2], raw_data=b"\2" * 8),
    ]
    assert len({read(tensor).content_digest for tensor in tensors}) == 4


@pytest.mark.parametrize(
    ("code", "values", "want"),
    [
        (DataType.FLOAT16, (1.0, 1e6, -1e6, 0.5), (1.0, math.inf, -math.inf, 0.5)),
        (DataType.FLOAT, (1e40, 2.0), (math.inf, 2.0)),
        (DataType.INT8, (3, 300, -300), (3, 127, -128)),
    ],
)
def test_a_number_out_of_range_leaves_the_others_as_they_are(
    code: DataType, values: tuple[float, ...], want: tuple[float, ...]
) -> None:
    assert unpack_elements(code, packed(values, code), len(values)) == want
