"""Relax modules in messages of ONNX, which the lowering of ONNX models reads."""

from __future__ import annotations

import re
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError

from ..lowering.builder import GraphBuilder, Meta
from ..lowering.elements import DataType
from ..lowering.emitter import reading
from ..reading.proto import FileOrigin, ProtoModel, ValueInfo
from ..source import one_line
from .call import LITERALS, LOWERINGS, RelaxCall, RelaxScope
from .document import RelaxDocument, read_document

DEEPEST = 32
"""Maximum nesting of calls of functions: a function of a damaged module may call itself."""
KERNELS = ("call_tir", "call_dps_packed", "call_pure_packed", "call_tir_inplace")
"""Operators that call a kernel or a library function, which their first operand names."""
OF_KERNELS = frozenset(data_next_to(__file__)["kernels"])
"""Kernels of TVM that compute the operator of their name; a call of one has no attributes."""


def read_relax(model: str | bytes) -> ProtoModel:
    """Return a Relax module in messages of ONNX, its parameters without elements.

    Args:
        model: path of a document of ``tvm.ir.save_json``, or the bytes of one.

    Raises:
        ModelError: it is damaged, too large, or no module of Relax.
    """
    where = "model" if isinstance(model, bytes) else one_line(model)
    document = read_document(model, where)
    hint = "save it with tvm.ir.save_json of TVM 0.22 or newer"
    with reading(where, "not a Relax module that perfc reads", hint):
        result = translated(document)
    path = "" if isinstance(model, bytes) else model
    result.origin = FileOrigin(path, document.nbytes, document.digest)
    return result


def translated(document: RelaxDocument) -> ProtoModel:
    """Return a document in messages of ONNX.

    Raises:
        ModelError: no function of Relax, calls nested too deep, or too many operations.
        LookupError, TypeError, ValueError, AttributeError: it does not follow the schema.
    """
    scope = RelaxScope(GraphBuilder(), document)
    # a map is a list of keys and values in turn; compiled kernels are no functions of Relax
    pairs = iter(document.listed(document.part(document.root, "functions")))
    scope.functions = {
        v: f for v, f in zip(pairs, pairs, strict=True) if document.kind(f) == "Function"
    }
    if not scope.functions:
        raise ModelError("no function of Relax in it", hint="save the module before it is compiled")
    named = {document.name(v): f for v, f in scope.functions.items()}
    # without a `main` the function with the most bindings is the model
    name = "main" if "main" in named else max(named, key=lambda n: len(bindings(scope, named[n])))
    scope.builder.graph.name = name
    declare_inputs(scope, named[name])
    results = lower_function(scope, named[name], 0)
    metas = document.metas(document.part(named[name], "ret_ty", "ret_struct_info"))
    for value, meta in zip(results, metas, strict=True):
        scope.builder.graph.output.append(ValueInfo(value, scope.builder.type(meta)))
    return scope.builder.model("TVM")


def bindings(scope: RelaxScope, function: int) -> list[int]:
    """Return the bindings of a function, or of a sequence, in order; none for other expressions."""
    document = scope.document
    if document.kind(function) == "Function":
        function = document.part(function, "body")
    if document.kind(function) != "SeqExpr":
        return []
    blocks = document.listed(document.part(function, "blocks"))
    return [b for block in blocks for b in document.listed(document.part(block, "bindings"))]


def declare_inputs(scope: RelaxScope, function: int) -> None:
    """Add the parameters of the module's function: inputs, then weights.

    The attribute ``num_input`` is the number of inputs; without it all parameters are inputs.
    """
    document, builder = scope.document, scope.builder
    variables = document.listed(document.part(function, "params"))
    count = function_attributes(document, function).get("num_input", len(variables))
    name_symbols(scope, variables)
    for at, variable in enumerate(variables):
        metas, stem = scope.metas(variable), document.name(variable)
        stems = [stem] if len(metas) == 1 else [f"{stem}.{i}" for i in range(len(metas))]
        names = scope.values[variable] = [builder.reserved(s) for s in stems]
        for name, meta in zip(names, metas, strict=True):
            for axis, size in enumerate(meta.sizes):
                if isinstance(size, str):
                    builder.axes.setdefault(size, (name, axis))
            if at < count:
                builder.input(name, meta)
            else:
                # weights of whole numbers, as counters and indices, are no parameters
                builder.stored(name, meta, is_parameter=meta.is_float)


def function_attributes(document: RelaxDocument, function: int) -> dict[str, Any]:
    """Return the attributes of a function that are numbers or text."""
    attributes = document.part(function, "attrs")
    if document.kind(attributes) != "DictAttrs":
        return {}
    pairs = iter(document.listed(document.part(attributes, "__dict__")))
    return {
        document.text(k): document.data(v)
        for k, v in zip(pairs, pairs, strict=True)
        if document.kind(v) in ("int", "String")
    }


def name_symbols(scope: RelaxScope, variables: list[int]) -> None:
    """Name the variables that are extents of inputs; a name that is in use is replaced."""
    document = scope.document
    for variable in variables:
        types = [document.part(variable, "ty", "struct_info_")]
        while types:
            at = types.pop()
            kind = document.kind(at)
            if kind == "TupleType":
                types += document.listed(document.part(at, "fields"))
            elif (
                kind == "TensorType"
                and document.kind(shape := document.part(at, "shape")) == "ShapeExpr"
            ):
                for size in document.listed(document.part(shape, "values")):
                    if document.kind(size) == "Var" and size not in document.symbols:
                        name = document.name(size)
                        is_new = name.isidentifier() and name not in document.symbols.values()
                        document.symbols[size] = name if is_new else f"n{size}"


def lower_function(scope: RelaxScope, function: int, depth: int) -> list[str]:
    """Lower a function whose parameters have values; return its results.

    Raises:
        ModelError: calls nested too deep, or too many operations.
    """
    if depth > DEEPEST:
        raise ModelError(f"calls nested deeper than {DEEPEST}")
    document = scope.document
    body = document.part(function, "body")
    for binding in bindings(scope, body):
        variable = document.part(binding, "var")
        value = document.part(binding, "value")
        scope.values[variable] = evaluated(scope, value, document.name(variable), depth)
    if document.kind(body) == "SeqExpr":
        body = document.part(body, "body")
    return evaluated(scope, body, "output", depth)


def evaluated(scope: RelaxScope, at: int, stem: str, depth: int) -> list[str]:
    """Return the values of an expression, several for a tuple.

    Args:
        scope: values so far.
        at: number of the node of the expression.
        stem: name of its result.
        depth: number of calls of functions around it.
    """
    document = scope.document
    # variables, and constants that were read before
    if at in scope.values:
        return scope.values[at]
    scope.count()
    match document.kind(at):
        case "Constant" | "GenericConst":
            scope.values[at] = [stored(scope, at, stem)]
            return scope.values[at]
        case "Tuple":
            parts = document.listed(document.part(at, "fields"))
            return [v for p in parts for v in evaluated(scope, p, stem, depth)]
        case "TupleGetItem":
            source, index = document.part(at, "tuple_value", "tuple"), document.data(at)["index"]
            return [evaluated(scope, source, stem, depth)[index]]
        case "ShapeExpr":
            call = RelaxCall(
                scope,
                stem,
                stem,
                "shape",
                args=[],
                attributes={},
                outputs=[],
                operands=lambda _: [],
            )
            return [call.extents(document.sizes(at))]
        case "Call":
            return lower_call(scope, at, stem, depth)
        case kind if kind in LITERALS:
            value = document.plain(at)
            dtype = DataType.FLOAT if isinstance(value, float) else DataType.INT64
            return [scope.builder.constant((value,), dtype, is_scalar=True)]
        case "If":  # an unknown operator: the work of the branches is not counted
            operands = evaluated(scope, document.part(at, "cond"), stem, depth)
            return unknown(scope, stem, "If", operands, scope.metas(at))
        case kind:
            raise ValueError(f"an expression {kind}")


def stored(scope: RelaxScope, at: int, stem: str) -> str:
    """Return a constant; its elements only if they are few."""
    (meta,) = scope.metas(at)
    payload = scope.document.elements(at, meta)
    name = scope.builder.fresh(f"{stem}_constant")
    is_parameter = payload is None and meta.is_float
    scope.builder.stored(name, meta, is_parameter=is_parameter, payload=payload)
    return name


def lower_call(scope: RelaxScope, at: int, stem: str, depth: int) -> list[str]:
    """Lower a call; one without a lowering becomes an unknown operator."""
    document = scope.document
    callee = document.part(at, "op")
    arguments = document.listed(document.part(at, "args"))
    # a call is one of an operator, or of a function of the module by its variable
    function = scope.functions.get(callee, callee)
    if document.kind(function) == "Function":
        formals = document.listed(document.part(function, "params"))
        given = [evaluated(scope, a, stem, depth) for a in arguments]
        scope.values.update(zip(formals, given, strict=True))
        return lower_function(scope, function, depth + 1)
    operator = document.text(callee) if document.kind(callee) == "Op" else "function"
    operator = operator.removeprefix("relax.")
    outputs = scope.metas(at)
    if operator in KERNELS:
        operator, arguments = kernel_of(document, arguments)
        types = document.listed(document.part(at, "ty_args", "sinfo_args"))
        # the types of the results are arguments of a call of a kernel
        outputs = [m for t in types for m in document.metas(t)] or outputs
    attributes = document.attributes(document.part(at, "attrs"))
    path = f"{operator.rpartition('.')[2]}_{stem}"
    call = RelaxCall(
        scope,
        stem,
        path,
        operator,
        arguments,
        attributes,
        outputs,
        lambda given: evaluated(scope, given, stem, depth),
    )
    return lowered_call(call)


def kernel_of(document: RelaxDocument, arguments: list[int]) -> tuple[str, list[int]]:
    """Return the name and operands of the kernel that a call names."""
    kernel, *operands = arguments
    name = (
        document.name(kernel)
        if document.kind(kernel) == "GlobalVar"
        else document.text(document.part(kernel, "global_symbol"))
    )
    if operands and document.kind(operands[0]) == "Tuple":
        operands = document.listed(document.part(operands[0], "fields"))
    # TVM numbers further kernels of one name: add, add1, add2
    plain = re.sub(r"\d+$", "", name)
    return (plain if plain in OF_KERNELS else f"kernel.{name}"), operands


def lowered_call(call: RelaxCall) -> list[str]:
    """Return the results of a call by its lowering, or as an unknown operator without one."""
    scope, builder = call.scope, call.builder
    start = len(builder.graph.node)
    lowering = LOWERINGS.find(call.operator)
    if lowering is not None:
        with call.attempt(scope.values):
            values = lowering(call)
            results = [values] if isinstance(values, str) else list(values)
            if len(results) < len(call.outputs):
                raise ValueError("fewer results than the call has")
            return settled(call, start, results)
    document = scope.document
    operands = [v for a in call.args if document.kind(a) not in LITERALS for v in call.operands(a)]
    return unknown(scope, call.name, call.operator, operands, call.outputs)


def unknown(
    scope: RelaxScope, stem: str, operator: str, operands: list[str], outputs: list[Meta]
) -> list[str]:
    """Return the results of an operator without a lowering, a node with its operands."""
    name = operator.rpartition(".")[2]
    call = RelaxCall(scope, stem, f"{name}_{stem}", operator, [], {}, outputs, lambda _: [])
    start = len(scope.builder.graph.node)
    results = call.several(name, operands, len(outputs), domain="relax")
    return settled(call, start, results)


def settled(call: RelaxCall, start: int, results: list[str]) -> list[str]:
    """Return results with the names and types of the program.

    Args:
        call: the call.
        start: index of the first node that the call became.
        results: values of the results; a lowering may make more than the call has.
    """
    builder, outputs = call.builder, call.outputs
    names = [builder.reserved(call.name) for _ in outputs]
    return builder.settle(start, results[: len(outputs)], names, outputs)
