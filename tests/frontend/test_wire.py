"""Every field the reader keeps is the one onnx reads; malformed bytes are one clear error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import onnx
import pytest
from google.protobuf.message import Message as ProtoMessage  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from perfc.errors import ModelError
from perfc.frontend.reading import wire
from perfc.frontend.reading.proto import (
    Attribute,
    AttributeType,
    Function,
    ProtoGraph,
    ProtoModel,
    ProtoNode,
    ProtoTensor,
    SparseTensor,
    TypeKind,
    TypeProto,
    ValueInfo,
)
from perfc.frontend.source import open_model

KINDS = {
    "tensor_type": TypeKind.TENSOR,
    "sparse_tensor_type": TypeKind.SPARSE_TENSOR,
    "sequence_type": TypeKind.SEQUENCE,
    "optional_type": TypeKind.OPTIONAL,
    "map_type": TypeKind.MAP,
    "opaque_type": TypeKind.OPAQUE,
}


def props(entries: Iterable[onnx.StringStringEntryProto]) -> dict[str, str]:
    return {entry.key: entry.value for entry in entries}


def check(found: Any, expected: Any) -> None:
    """Fail unless an object of ours says what onnx's message says."""
    match found, expected:
        case (list() | tuple(), _):
            assert len(found) == len(list(expected))
            for one, other in zip(found, expected, strict=True):
                check(one, other)
        case (TypeProto(), ProtoMessage()):
            check_type(found, expected)
        case (ProtoTensor(), ProtoMessage()):
            check_tensor(found, expected)
        case (
            ProtoModel() | ProtoGraph() | ProtoNode() | Function() | Attribute() | ValueInfo(),
            ProtoMessage(),
        ):
            check_fields(found, expected)
        case (SparseTensor(), ProtoMessage()):
            check_fields(found, expected)
        case ((str(domain), int(version)), ProtoMessage()):
            assert (domain, version) == (expected.domain, expected.version)
        case _:
            assert found == expected


def check_fields(found: Any, expected: ProtoMessage) -> None:
    for name in found.__dataclass_fields__:
        ours = getattr(found, name)
        if name in ("origin", "ranges", "examples"):  # of other formats
            continue
        theirs = getattr(expected, name)
        if name == "opset_import":
            assert ours == [(entry.domain, entry.version) for entry in theirs]
        elif name == "metadata_props":
            assert dict(ours) == props(theirs)
        elif name == "quantization_annotation":
            assert ours == {
                entry.tensor_name: props(entry.quant_parameter_tensor_names) for entry in theirs
            }
        elif isinstance(theirs, ProtoMessage) and ours is None:
            assert not expected.HasField(name)
        else:
            check(ours, theirs)


def check_tensor(found: ProtoTensor, expected: TensorProto) -> None:
    assert (found.name, found.dims, found.data_type) == (
        expected.name,
        tuple(expected.dims),
        expected.data_type,
    )
    if expected.data_location == TensorProto.EXTERNAL:
        assert found.external == props(expected.external_data)
    elif expected.HasField("raw_data"):
        assert found.external is None
        assert found.payload in (None, expected.raw_data)
        assert found.nbytes == len(expected.raw_data)


def check_type(found: TypeProto, expected: onnx.TypeProto) -> None:
    which = expected.WhichOneof("value")
    assert found.kind is KINDS[which]
    inner = getattr(expected, which)
    match found.kind:
        case TypeKind.TENSOR | TypeKind.SPARSE_TENSOR:
            assert found.elem_type == inner.elem_type
            assert (found.shape is not None) == inner.HasField("shape")
            dims = [
                getattr(dim, dim.WhichOneof("value")) if dim.WhichOneof("value") else None
                for dim in inner.shape.dim
            ]
            assert list(found.shape or ()) == dims
        case TypeKind.SEQUENCE | TypeKind.OPTIONAL:
            check(found.elem, inner.elem_type)
        case TypeKind.MAP:
            assert found.key_type == inner.key_type
            check(found.elem, inner.value_type)


def branch(name: str, output: str, *, large: bool) -> onnx.GraphProto:
    constant = helper.make_tensor(f"{name}_c", TensorProto.FLOAT, [2], [1.0, 2.0])
    node = helper.make_node("Constant", [], [output], name=name, value=constant)
    if large:
        weight = TensorProto(data_type=1, dims=[9000], raw_data=b"\7" * 36000)
        node.attribute.append(helper.make_attribute("big", weight))
    return helper.make_graph([node], name, [], [helper.make_tensor_value_info(output, 1, [2])])


def rich_model(*, large: bool = False) -> onnx.ModelProto:
    """A model with every kind of message and attribute."""
    many = 6000 if large else 6
    info = helper.make_tensor_value_info
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sparse", TensorProto.FLOAT, [2], [1.0, 2.0]),
        helper.make_tensor("", TensorProto.INT64, [2], [0, 3]),
        [5],
    )
    tensor_type = helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", None, 4])
    types = [
        helper.make_sequence_type_proto(tensor_type),
        helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor_type)),
        helper.make_map_type_proto(TensorProto.INT64, tensor_type),
        helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [5]),
        helper.make_tensor_type_proto(TensorProto.FLOAT, None),
    ]
    attributes: dict[str, Any] = {
        "f": 1.5,
        "i": -7,
        "s": "text é",
        "t": helper.make_tensor("inner", TensorProto.INT64, [3], [1, -1, 0]),
        "tp": types[0],
        "sparse": sparse,
        "floats": [0.5] * many,
        "ints": [-1, 0, 300] * many,
        "strings": ["a", "b"],
        "tensors": [helper.make_tensor("t0", 1, [1], [2.0])],
        "graphs": [branch("g0", "g0_out", large=large)],
        "types": types[1:3],
    }
    nodes = [
        helper.make_node("Custom", ["x", ""], ["y"], name="odd", domain="my.ops", **attributes),
        helper.make_node(
            "If",
            ["cond"],
            ["z"],
            then_branch=branch("then", "t_out", large=large),
            else_branch=branch("else", "e_out", large=False),
        ),
        helper.make_node("twice", ["z"], ["out"], domain="local", overload="v2"),
    ]
    nodes[0].metadata_props.add(key="namespace", value="block/0")
    nodes[0].doc_string = "where it was traced"
    graph = helper.make_graph(
        nodes,
        "main",
        [info("x", TensorProto.FLOAT16, ["batch", 3]), info("cond", TensorProto.BOOL, [])],
        [info("out", TensorProto.FLOAT, None)],
        [helper.make_tensor("w", TensorProto.FLOAT, [many], [1.0] * many)],
        value_info=[helper.make_value_info(f"v{i}", each) for i, each in enumerate(types)],
        sparse_initializer=[sparse],
    )
    graph.initializer.add(name="raw", data_type=1, dims=[many], raw_data=b"\0" * 4 * many)
    away = graph.initializer.add(name="away", data_type=1, dims=[1 << 40], data_location=1)
    away.external_data.add(key="location", value="w.bin")
    away.external_data.add(key="length", value=str(1 << 42))
    note = graph.quantization_annotation.add(tensor_name="w")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w_scale")
    graph.metadata_props.add(key="pass", value="none")
    graph.value_info[0].metadata_props.add(key="k", value="v")
    body = helper.make_node("Mul", ["a", "two"], ["b"])
    scaled = helper.make_node("Constant", [], ["two"])
    scaled.attribute.add(name="value_float", type=1, ref_attr_name="by")
    function = helper.make_function(
        "local", "twice", ["a"], ["b"], [scaled, body], [helper.make_opsetid("", 21)], ["by"]
    )
    function.overload = "v2"
    function.attribute_proto.append(helper.make_attribute("rest", 3))
    function.value_info.append(info("two", 1, []))
    model = helper.make_model(
        graph,
        producer_name="a test",
        producer_version="1",
        functions=[function],
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("local", 1)],
    )
    helper.set_model_props(model, {"license": "none"})
    return model


@pytest.mark.parametrize("large", [False, True])
def test_every_field_is_the_one_onnx_reads(large: bool) -> None:
    model = rich_model(large=large)
    check(open_model(model.SerializeToString()), model)


@pytest.mark.parametrize("inline_bytes", [0, 7, 40, 300])
def test_walking_and_decoding_in_memory_agree(
    inline_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rich_model().SerializeToString()
    expected = open_model(data)
    monkeypatch.setattr(wire, "INLINE_BYTES", inline_bytes)
    found = open_model(data)
    # What is skipped is not in the digest, and here more is skipped.
    found.origin = expected.origin
    assert found == expected


def test_packed_and_unpacked_numbers_are_the_same() -> None:
    packed = b"\x0a\x01k" + b"\x42\x0c\x01" + b"\xff" * 9 + b"\x01\x02" + b"\xa0\x01\x07"
    unpacked = b"\x0a\x01k" + b"\x40\x01\x40" + b"\xff" * 9 + b"\x01\x40\x02" + b"\xa0\x01\x07"
    found = [only_node(node_with(data)).attribute[0] for data in (packed, unpacked)]
    assert found[0] == found[1]
    assert found[0].value == (1, -1, 2)


@pytest.mark.parametrize("inline_bytes", [0, 40, wire.INLINE_BYTES])
@pytest.mark.parametrize("run_bytes", [1, 7, 64, 1 << 16])
def test_long_lists_behind_tags_are_read_whole(
    inline_bytes: int, run_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ints = [0, 64, 66, -1, 2**63 - 1, -(2**63), *range(300)] * 60
    node = helper.make_node("Custom", [], ["y"], domain="d", i=ints, s=["@B", "z"] * 9000)
    node.attribute.append(helper.make_attribute("f", [0.5, -1.5, 3.0] * 6000))
    monkeypatch.setattr(wire, "INLINE_BYTES", inline_bytes)
    monkeypatch.setattr(wire, "_RUN_BYTES", run_bytes)
    found = {a.name: a.value for a in only_node(node.SerializeToString()).attribute}
    assert found["i"] == tuple(ints)
    assert found["f"] == (0.5, -1.5, 3.0) * 6000
    assert found["s"] == (b"@B", b"z") * 9000


def test_a_million_numbers_are_read_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[int] = []
    plain = wire.WireDecoder.field
    monkeypatch.setattr(
        wire.WireDecoder, "field", lambda self, *a: (entries.append(1), plain(self, *a))[1]
    )
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[1] * 10**6)
    assert len(only_node(node.SerializeToString()).attribute[0].ints) == 10**6
    assert len(entries) < 100


def test_an_attribute_without_a_type_has_that_of_its_field() -> None:
    attribute = only_node(node_with(b"\x0a\x01k\x18\x05")).attribute[0]
    assert attribute.type is AttributeType.INT
    assert attribute.value == 5


def test_unknown_fields_and_groups_are_skipped() -> None:
    unknown = b"\xa2\x3e\x03abc" + b"\xa3\x3e\x0a\x01a\x10\x05\xa4\x3e" + b"\xa1\x3e" + b"\0" * 8
    node = b"\x22\x04Relu" + unknown
    assert only_node(node).op_type == "Relu"


def test_the_last_of_a_repeated_single_field_wins() -> None:
    assert only_node(b"\x22\x01A\x22\x01B").op_type == "B"


def test_bad_utf8_is_replaced() -> None:
    assert only_node(b"\x22\x02\xff!").op_type == "\ufffd!"


def entry(number: int, data: bytes) -> bytes:
    size = len(data)
    length = bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + data


def node_with(attribute: bytes) -> bytes:
    return entry(5, attribute)


def only_node(node: bytes) -> ProtoNode:
    return open_model(b"\x08\x08" + entry(7, entry(1, node))).graph.node[0]


def nested(levels: int) -> bytes:
    """A model whose innermost graph lies ``levels`` graphs deep."""
    graph = b""
    for _ in range(levels - 1):
        graph = entry(1, entry(5, entry(6, graph)))
    return b"\x08\x08" + entry(7, graph)


@pytest.mark.parametrize("inline_bytes", [0, 1 << 14])
def test_graphs_nest_sixty_four_deep(inline_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "INLINE_BYTES", inline_bytes)
    graph = open_model(nested(64)).graph
    for _ in range(63):
        inner = graph.node[0].attribute[0].g
        assert inner is not None
        graph = inner
    with pytest.raises(ModelError, match="nested deeper than 64"):
        open_model(nested(65))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (b"\x22\x05Relu", "1 bytes past its NodeProto at byte 6"),
        (b"\x22", "past the end of its message at byte 7"),
        (b"\x22" + b"\x80" * 10 + b"\x01", "more than ten bytes at byte 7"),
        (b"\x02\x01a", "no field has the tag 2"),
        (b"\x27", "no wire type 7"),
        (b"\x24", "unmatched group"),
        (b"\x23" * 100, "unmatched group"),
        (b"\x23\x0a\x7f", "group without end"),
        (b"\x25\0\0", "past the end of its message"),
        (node_with(b"\x3a\x03abc"), "floats does not hold whole numbers"),
        (node_with(b"\x42\x01\x80"), "ints ends inside a number"),
    ],
)
def test_malformed_bytes_are_an_error_with_their_position(node: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        only_node(node)
    assert "\n" not in str(caught.value)


def test_a_cut_file_says_how_much_is_missing() -> None:
    data = rich_model().SerializeToString()
    with pytest.raises(ModelError, match=rf"ends at byte {len(data) // 2}, where \d+ bytes"):
        open_model(data[: len(data) // 2])


def touch_all(graph: ProtoGraph) -> None:
    for tensor in graph.initializer:
        tensor.values()
        assert tensor.content_digest is None or len(tensor.content_digest) == 64
    for node in graph.node:
        for attribute in node.attribute:
            value = attribute.value
            if isinstance(value, ProtoTensor):
                value.values()
            elif isinstance(value, ProtoGraph):
                touch_all(value)


def check_one_line(error: ModelError) -> None:
    assert "\n" not in str(error)


DATA = rich_model().SerializeToString()
EDITS = st.lists(
    st.tuples(
        st.integers(0, len(DATA) - 1),
        st.sampled_from(["set", "insert", "delete", "cut", "repeat"]),
        st.binary(min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(EDITS, st.sampled_from([0, 64, 1 << 14]))
def test_mutated_bytes_are_a_model_or_one_line_of_error(
    edits: list[tuple[int, str, bytes]], inline_bytes: int
) -> None:
    data = DATA
    for at, edit, new in edits:
        match edit:
            case "set":
                data = data[:at] + new + data[at + len(new) :]
            case "insert":
                data = data[:at] + new + data[at:]
            case "delete":
                data = data[:at] + data[at + len(new) :]
            case "cut":
                data = data[: max(at, 1)]
            case _:
                data = data[:at] + data[at : at + 64] + data[at:]
    before = wire.INLINE_BYTES
    wire.INLINE_BYTES = inline_bytes
    try:
        touch_all(open_model(data).graph)
    except ModelError as error:
        check_one_line(error)
    finally:
        wire.INLINE_BYTES = before


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_never_another_error(data: bytes) -> None:
    for prefix in (b"", b"\x08\x08\x3a"):
        try:
            open_model(prefix + data)
        except ModelError as error:
            check_one_line(error)
