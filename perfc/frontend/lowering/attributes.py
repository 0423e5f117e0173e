"""Lower an ONNX node to an operator.

Its attributes become fields of the operator; attributes that later opsets replaced by inputs become
constant inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, Final, NamedTuple, cast

from perfc.errors import ModelError
from perfc.ir import DType, Item, Known, Op, TensorType, record
from perfc.ir.tensors.known import MAX_ELEMENTS
from perfc.ir.tensors.types import BY_ONNX, dtype_of

from ..reading.proto import Attribute, AttributeType, ProtoTensor, SparseTensor
from .elements import DataType

MAX_FLOATS: Final = 256
"""Float tensors of more elements are not tracked: no shape is computed from so many floats."""
PLAIN: Final = frozenset({DataType.FLOAT, DataType.INT32, DataType.INT64, DataType.BOOL})
"""Element types whose values stay as they are unpacked."""


@record
class Content:
    """A tensor attribute: its type, its elements where they are few, and its message."""

    type: TensorType
    known: Known | None
    tensor: ProtoTensor = field(compare=False)


def elements(tensor: ProtoTensor, dtype: DType) -> Known | None:
    """Return the elements of a small tensor that could drive a shape or a branch."""
    if dtype.is_float and (tensor.element_count or 0) > MAX_FLOATS:
        return None
    # the reader leaves out many elements, and elements in another file
    if tensor.payload is None and tensor.string_data is None:
        return None
    values = tensor.values()
    if values is None:
        return None
    if tensor.data_type in PLAIN:
        # no element is missing or outside of the range of its type
        numbers = cast("tuple[Item, ...]", values)
        return Known(tensor.dims, numbers) if len(values) <= MAX_ELEMENTS else None
    # texts are decoded; no shape is driven by a complex number
    items: list[Item] = [
        v.decode("utf-8", "replace")
        if isinstance(v, bytes)
        else None
        if isinstance(v, complex)
        else v
        for v in values
    ]
    return Known.of(tensor.dims, items)


def tensor_content(tensor: ProtoTensor) -> Content:
    """Return type and small content of a stored tensor.

    Raises:
        ModelError: it has a negative extent.
    """
    dtype = BY_ONNX.get(tensor.data_type, DType.UNKNOWN)
    if any(d < 0 for d in tensor.dims):
        shown = ", ".join(map(str, tensor.dims[:8]))
        raise ModelError(
            f"the stored tensor {tensor.name[:64]!r} has the extents [{shown}]",
            hint="an extent is never negative: export the model again",
        )
    return Content(TensorType(dtype, tuple(tensor.dims)), elements(tensor, dtype), tensor)


class StoredAttribute(NamedTuple):
    """Type, small content and digest of a stored tensor."""

    type: TensorType
    known: Known | None
    digest: str


class Tensors(dict[tuple[object, ...], StoredAttribute]):
    """Cache of stored tensors by content, as a model has many equal ones."""

    def stored(self, tensor: ProtoTensor) -> StoredAttribute:
        """Return type, small content and digest of a tensor."""
        # equal contents, whatever their names
        key = tensor.data_type, tensor.dims, tensor.payload, tensor.string_data
        stored = self.get(key)
        if stored is None:
            content = tensor_content(tensor)
            stored = self[key] = StoredAttribute(
                content.type, content.known, tensor.content_digest or ""
            )
        return stored


def attribute_value(attribute: Attribute) -> object:
    """Return a raw attribute as a hashable value: text decoded, tensors as content."""
    match attribute.type:
        case AttributeType.INT:
            return attribute.i
        case AttributeType.INTS:
            return tuple(attribute.ints)
        case AttributeType.FLOAT:
            return attribute.f
        case AttributeType.FLOATS:
            return tuple(attribute.floats)
        case AttributeType.STRING:
            return attribute.s.decode("utf-8", "replace")
        case AttributeType.STRINGS:
            return tuple(s.decode("utf-8", "replace") for s in attribute.strings)
        case AttributeType.TENSOR:
            return None if attribute.t is None else tensor_content(attribute.t)
        case AttributeType.SPARSE_TENSOR:
            return sparse_content(attribute.sparse_tensor)
        case AttributeType.TYPE_PROTO:
            return attribute.tp
        case _:
            return None


def sparse_content(sparse: SparseTensor | None) -> Content | None:
    """Return the content of a sparse constant, with the type of the dense tensor."""
    if sparse is None:
        return None
    dtype = BY_ONNX.get(sparse.values.data_type, DType.UNKNOWN)
    return Content(TensorType(dtype, tuple(sparse.dims)), None, sparse.values)


@record
class Signature:
    """Fields, operands and adapter of an operator class, computed once for lowering.

    Args:
        names: fields, which are attributes.
        operands: names of the inputs.
        renamed: names of today by names in older opsets.
        adapt: converts the attributes of an older version; None if nothing changed.
        counts_outputs: True if the number of outputs is a field.
        expected: accepted values by field.
    """

    names: frozenset[str]
    operands: tuple[str, ...]
    renamed: Mapping[str, str]
    adapt: Callable[..., dict[str, object]] | None
    counts_outputs: bool
    expected: Mapping[str, Expected]


@record
class Expected:
    """Values that a field accepts: a number, a text, or a list of them.

    Args:
        words: the accepted values, for an error message.
        types: accepted types of the value, or of each element of the list.
        is_list: True for a list.
    """

    words: str
    types: tuple[type, ...]
    is_list: bool = False

    def takes(self, value: object) -> bool:
        """Return True if ``value`` is of this sort."""
        if not self.is_list:
            return isinstance(value, self.types)
        return isinstance(value, tuple) and all(isinstance(v, self.types) for v in value)


_INTEGER = Expected("an integer", (int,))
_INTEGERS = Expected("a list of integers", (int,), is_list=True)
# compared by identity in `build`: only fields annotated as DType alone are converted
_ELEMENT = Expected("an element type", (int, DType))
_EXPECTED: Mapping[str, Expected] = {
    **dict.fromkeys(("int", "bool", "Positive", "Natural"), _INTEGER),
    **dict.fromkeys(("tuple[int, ...]", "Positives", "Naturals"), _INTEGERS),
    "float": Expected("a number", (int, float)),
    "str": Expected("a text", (str,)),
    "DType": _ELEMENT,
    "int | DType": Expected("an element type", (int, DType)),
    "tuple[float, ...]": Expected("a list of numbers", (int, float), is_list=True),
    "tuple[str, ...]": Expected("a list of texts", (str,), is_list=True),
}
"""Accepted values by the field's annotation without ``| None``; other fields accept anything."""


_SIGNATURES: dict[type[Op], Signature] = {}
"""Signatures of the operators seen so far."""


def signature(cls: type[Op]) -> Signature:
    """Return the signature of an operator class."""
    result = _SIGNATURES.get(cls)
    if result is None:
        names = frozenset(f.name for f in fields(cls))
        renamed: Mapping[str, str] = getattr(cls, "renamed", {})
        adapt: Callable[..., dict[str, object]] | None = getattr(cls, "adapt", None)
        sorts = {f.name: _EXPECTED.get(str(f.type).removesuffix(" | None")) for f in fields(cls)}
        expected = {name: e for name, e in sorts.items() if e is not None}
        result = Signature(
            names, cls.signature.names, renamed, adapt, "num_outputs" in names, expected
        )
        _SIGNATURES[cls] = result
    return result


@record
class Built:
    """An operator, and contents of inputs that the file has as attributes."""

    op: Op
    extra_inputs: tuple[tuple[int, Content], ...] = ()


def _as_content(value: object) -> Content | None:
    """Return an attribute of an older opset as the constant input that replaced it."""
    match value:
        case Content():
            return value
        case TensorType():
            return Content(value, None, ProtoTensor())
        # before int, of which it is a subclass; ONNX has no such attributes
        case bool():
            return None
        case int():
            return _constant(DType.I64, (), (value,))
        case float():
            return _constant(DType.F32, (), (value,))
        case tuple() if value and all(isinstance(v, float) for v in value):
            return _constant(DType.F32, (len(value),), value)
        case tuple() if all(isinstance(v, int) for v in value):
            return _constant(DType.I64, (len(value),), value)
        case _:
            return None


def _constant(dtype: DType, shape: tuple[int, ...], items: tuple[Any, ...]) -> Content:
    """Return a constant that no file stores."""
    return Content(TensorType(dtype, shape), Known.of(shape, items), ProtoTensor(dims=shape))


def build(cls: type[Op], raw: Mapping[str, object], version: int, n_outputs: int) -> Built:
    """Make the operator from a node's attributes.

    Attributes with the name of an operand become that input where the node does not give it;
    unknown attributes are ignored.

    Args:
        cls: class of the operator.
        raw: attributes of the node.
        version: opset of the operator's domain.
        n_outputs: number of outputs of the node.

    Raises:
        TypeError, ValueError: an attribute does not fit the operator.
    """
    sig = signature(cls)
    attrs: dict[str, object] = {sig.renamed.get(k, k): v for k, v in raw.items()}
    if sig.adapt is not None:
        attrs = sig.adapt(attrs, version)
    if sig.counts_outputs and "num_outputs" not in attrs:
        attrs["num_outputs"] = n_outputs
    extra: list[tuple[int, Content]] = []
    fields_given: dict[str, Any] = {}
    for name, value in attrs.items():
        expected = sig.expected.get(name)
        if expected is _ELEMENT:
            # 0 is no element type: the default of the field stays
            if not value:
                continue
            value = dtype_of(value)
        if expected is not None and value is not None and not expected.takes(value):
            text = "a tensor" if isinstance(value, Content) else f"{value!r:.60}"
            raise TypeError(f"{name} is {text}, not {expected.words}")
        # of a tensor, the field has the elements, and a second field the element type
        if isinstance(value, Content) and name in sig.names:
            fields_given[name] = value.known
            if f"{name}_dtype" in sig.names:
                fields_given[f"{name}_dtype"] = value.type.dtype
        elif name in sig.names:
            fields_given[name] = value
        elif name in sig.operands:
            # later opsets have an input instead of the attribute
            content = _as_content(value)
            if content is not None:
                extra.append((sig.operands.index(name), content))
    return Built(cls(**fields_given), tuple(extra))


def constant_content(value: object) -> Content:
    """Return ``value_int``, ``value_floats``, ``value_strings`` … of a Constant node."""
    match value:
        case str():
            return Content(TensorType(DType.STR, ()), Known.scalar(value), ProtoTensor())
        case tuple() if value and all(isinstance(v, str) for v in value):
            shape = (len(value),)
            return Content(
                TensorType(DType.STR, shape), Known.of(shape, value), ProtoTensor(dims=shape)
            )
        case _:
            content = _as_content(value)
            return content or Content(TensorType(DType.UNKNOWN, None), None, ProtoTensor())
