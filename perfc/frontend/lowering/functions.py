"""Functions of a model file, and bodies by which ONNX defines operators of its standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from perfc.errors import ModelError
from perfc.ir import Poly, TensorType, Value, entity

from ..reading import proto


@entity
class Functions:
    """The functions of one model by domain, name and overload."""

    table: Mapping[tuple[str, str, str], proto.Function] = field(default_factory=dict)

    @staticmethod
    def of(model: proto.ProtoModel) -> Functions:
        """Return the functions that the model file has.

        Raises:
            ModelError: two functions have one name, so that a call could mean either.
        """
        table: dict[tuple[str, str, str], proto.Function] = {}
        for f in model.functions:
            if table.setdefault((domain_key(f.domain), f.name, f.overload), f) is not f:
                overload = f" with overload {f.overload!r}" if f.overload else ""
                raise ModelError(
                    f"two functions are called {f.name!r} in domain {f.domain!r}{overload}",
                    hint="a call could mean either; keep one, or give each its overload",
                )
        return Functions(table)

    def find(self, domain: str, name: str, overload: str) -> proto.Function | None:
        """Return the function that a node calls; None if the node is an operator."""
        return self.table.get((domain, name, overload)) if self.table else None

    @staticmethod
    def arguments(
        function: proto.Function, call: proto.ProtoNode, outer: Mapping[str, proto.Attribute] | None
    ) -> dict[str, proto.Attribute]:
        """Return the attributes that the body of a function can refer to, by name.

        Args:
            function: the function, with defaults of its attributes.
            call: the node that calls it, whose attributes override the defaults.
            outer: attributes of the function whose body has the call; None outside of functions.
        """
        result = {a.name: a for a in function.attribute_proto}
        for a in call.attribute:
            # an attribute of the call may refer to one of the function around it
            actual = (outer or {}).get(a.ref_attr_name) if a.ref_attr_name else a
            if actual is not None:
                result[a.name] = actual
        return result


EXPANDED = "expanded by perfc"
"""Domain of bodies from ONNX's definitions; functions of a model file never have this domain."""
STANDARD = frozenset({"", "ai.onnx.ml", "ai.onnx.preview.training"})
"""Domains whose operators ONNX itself describes."""


def expansion(
    node: proto.ProtoNode, domain: str, version: int, inputs: Sequence[Value | None]
) -> proto.Function | None:
    """Return the body by which ONNX defines a standard operator that perfc does not know.

    None where ONNX defines no body, or none for these inputs and attributes.
    """
    if domain not in STANDARD:
        return None
    import onnx

    schema: Any
    newest = onnx.defs.onnx_opset_version()
    # a version that is not positive or beyond the newest one of this library counts as the newest
    since = version if 0 < version <= newest else newest
    try:
        schema = onnx.defs.get_schema(node.op_type, since, domain)
        body = _body(schema, node, inputs)
    except (onnx.defs.SchemaError, RuntimeError, TypeError, ValueError):
        # an unknown operator, or a node that does not follow the definition
        return None
    return None if body is None else _decoded(body, since)


def _body(schema: Any, node: proto.ProtoNode, inputs: Sequence[Value | None]) -> Any:
    """Return ONNX's message of the body of an operator; None if there is none for these inputs."""
    import onnx

    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    # ONNX composes such a body from the attributes of the node and the types of its operands
    types = [_type_message(v) for v in inputs]
    data = schema.get_context_dependent_function(_node_message(node), types)
    return onnx.FunctionProto.FromString(data) if data else None


def _decoded(body: Any, version: int) -> proto.Function:
    """Return a message of ONNX's library as read by perfc: in a model of one function."""
    import onnx

    from ..source import open_model

    # read as any file is, in a model that holds only this function; IR 10 has functions
    model = onnx.ModelProto(ir_version=10, functions=[body])
    model.opset_import.add(domain="", version=version)
    model.graph.name = body.name
    function = open_model(model.SerializeToString()).functions[0]
    function.domain = EXPANDED
    return function


def _node_message(node: proto.ProtoNode) -> bytes:
    """Return the node as ONNX's message, without tensor and graph attributes."""
    import onnx

    # an empty list has no element type that ONNX could infer
    simple: dict[str, Any] = {
        a.name: a.value
        for a in node.attribute
        if isinstance(a.value, int | float | bytes) or (isinstance(a.value, tuple) and a.value)
    }
    message = onnx.helper.make_node(
        node.op_type, node.input, node.output, name=node.name, domain=node.domain, **simple
    )
    return bytes(message.SerializeToString())


def _type_message(value: Value | None) -> bytes:
    """Return the type of an operand as ONNX's message; an empty one if it is no tensor."""
    import onnx

    if value is None or not isinstance(value.type, TensorType):
        return bytes(onnx.TypeProto().SerializeToString())
    shape = value.type.shape
    dims = None if shape is None else [str(d) if isinstance(d, Poly) else d for d in shape]
    message = onnx.helper.make_tensor_type_proto(value.type.dtype.onnx, dims)
    return bytes(message.SerializeToString())


def without(node: proto.ProtoNode, missing: set[str]) -> proto.ProtoNode:
    """Return a node of a function's body without the inputs that the call of the function omits."""
    if not missing or missing.isdisjoint(node.input):
        return node
    inputs = ["" if name in missing else name for name in node.input]
    return proto.ProtoNode(
        node.name, node.op_type, node.domain, node.overload, inputs, node.output, node.attribute
    )


def domain_key(name: str) -> str:
    """Return the domain by which operators are looked up: the standard one has two names."""
    return "" if name == "ai.onnx" else name
