"""Attributes that a model leaves out have the values that ONNX and ONNX Runtime give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import onnx
import pytest

from perfc.ir.ops import load_all
from perfc.ir.tensors.types import DType

OTHERWISE = {
    # the bilinear mode of 4-D samplers is called linear since GridSample-20
    ("GridSample", "mode"),
    # empty where the default is a tuple as long as there are directions
    ("RNN", "activations"),
    # of a layout that ends in no channels
    ("ReorderOutput", "channels"),
    # shared with GroupQueryAttention, whose schema has -1
    ("DynamicSparseAttention", "smooth_softmax"),
}
"""Attributes whose defaults are not those of a schema, and why."""


def of_onnx() -> dict[tuple[str, str], dict[str, onnx.AttributeProto]]:
    """Defaults of the newest version of every operator of the standard domains."""
    return {
        (s.domain, s.name): {n: a.default_value for n, a in s.attributes.items()}
        for s in onnx.defs.get_all_schemas()
    }


def of_runtime() -> dict[tuple[str, str], dict[str, onnx.AttributeProto]]:
    """Defaults of ONNX Runtime's own operators."""
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    if not hasattr(state, "get_all_operator_schema"):
        pytest.skip("this onnxruntime does not list its operators")
    return {
        (s.domain, s.name): {n: read(a._default_value) for n, a in s.attributes.items()}
        for s in sorted(state.get_all_operator_schema(), key=lambda s: int(s.since_version))
    }


def read(content: bytes) -> onnx.AttributeProto:
    """An attribute as a schema has it."""
    made = onnx.AttributeProto()
    made.ParseFromString(content)
    return made


def defaults() -> Iterator[tuple[str, str, object, onnx.AttributeProto]]:
    """Operator, attribute, our default, and the one of a schema."""
    schemas = of_runtime() | of_onnx()
    for cls in load_all().values():
        for whole in vars(cls).get("onnx", "").split():
            domain, _, name = whole.rpartition("::")
            attributes = schemas.get((domain, name), {})
            for field in fields(cls):
                stated = attributes.get(field.name)
                if stated is not None and stated.type and (name, field.name) not in OTHERWISE:
                    yield name, field.name, field.default, stated


def test_what_is_left_out_has_the_value_of_the_schema() -> None:
    found = list(defaults())
    assert len(found) > 350
    wrong = [(op, name, ours, stated) for op, name, ours, stated in found if not same(ours, stated)]
    assert wrong == []


def same(ours: object, stated: onnx.AttributeProto) -> bool:
    """Return True if our default equals that of the schema."""
    value = onnx.helper.get_attribute_value(stated)
    match ours, value:
        case DType(), int():
            return ours is DType.UNKNOWN if value == 0 else ours.onnx == value
        case _, bytes():
            return getattr(ours, "value", ours) == value.decode()
        case float(), float():
            return ours == pytest.approx(value, rel=1e-6)
        case tuple(), _:
            return ours == tuple(value)
        case _:
            return bool(getattr(ours, "value", ours) == value)
