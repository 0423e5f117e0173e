"""StableHLO programs in messages of ONNX, which the lowering of ONNX models reads."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from perfc.common.extras import install_package
from perfc.errors import MissingExtraError, ModelError

from ..lowering.builder import GraphBuilder
from ..lowering.emitter import reading
from ..reading.process import answer_of
from ..reading.proto import FileOrigin, ProtoModel, ValueInfo
from ..reading.provenance import frames_of
from ..source import one_line, open_file
from .call import LOWERINGS, HloCall, HloScope, meta_of_type
from .control import FLOWS, bound

LONGEST_S = 300
"""Maximum seconds of parsing."""
MOST_BYTES = 1 << 28
"""Maximum bytes of a program; constants are in it."""
MOST_NODES = 200_000
"""Maximum operations; those of a function count at each call, which could double at each level."""
DEEPEST = 32
"""Maximum nesting of calls and of regions: a function of a damaged program may call itself."""
Frames: TypeAlias = "tuple[str, ...]"
"""Lines of the program that call an operation, outermost first."""
PLACE = re.compile(r'loc\("([^"]*)"(?!:)')
"""The name of a location, as in ``loc("jit(f)/dot"(#loc1))``; text before a colon is a file."""
STORED = re.compile(r"(params|parameters|variables|weights)\b")
"""Names of arguments that are trees of parameters."""
FEW = 4
"""Maximum float arguments of known extents that can all be data, as a state or a mask.

More of them are parameters; see `declare_inputs`.
"""


def read_stablehlo(path: str) -> ProtoModel:
    """Return a program in messages of ONNX.

    Args:
        path: path of text or bytecode of MLIR, or of bytes of ``jax.export``.

    Raises:
        ModelError: it does not parse, is too large, or that takes too long.
        MissingExtraError: JAX is not installed.
    """
    where = one_line(path)
    with open_file(path, where) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ModelError(f"a program of more than {MOST_BYTES >> 20} MiB", where=where)
    answer = answer_of(
        "perfc.frontend.stablehlo.worker",
        [os.path.abspath(path)],
        where=where,
        late=(f"not parsed in {LONGEST_S} s", "give a part of it"),
        longest_s=LONGEST_S,
        folder=None,  # an empty one, in which no module of the user hides a library
    )
    if "missing" in answer:
        hint = install_package("jax")
        raise MissingExtraError(f"needs {answer['missing']} to parse it", hint=hint, where=where)
    if "error" in answer:
        raise ModelError(answer["error"], hint="write it with jax.export", where=where)
    result = message_of(answer["functions"], where)
    result.origin = FileOrigin(path, len(data), hashlib.sha256(data).hexdigest())
    return result


def message_of(functions: Mapping[str, Any], where: str) -> ProtoModel:
    """Return the functions of a program in messages of ONNX.

    Raises:
        ModelError: they do not follow the specification; ``where`` is the program.
    """
    with reading(where, "not a program of StableHLO", "write it with jax.export"):
        return translated(functions)


def translated(functions: Mapping[str, Any]) -> ProtoModel:
    """Return the functions of a program in messages of ONNX.

    Raises:
        ModelError: calls nested too deep, or too many operations.
        LookupError, TypeError, ValueError: it does not follow the specification.
    """
    scope = HloScope(GraphBuilder(root=os.path.realpath(os.curdir)), dict(functions))
    # JAX calls the function of the program main; without one, the last function is the program
    main = functions["main"] if "main" in functions else list(functions.values())[-1]
    scope.builder.graph.name = "main"
    declare_inputs(scope, main["args"])
    for number in lower_block(scope, main, "", 0):
        meta = scope.metas[number]
        reader = HloCall(scope, "output", "output", {"in": [number], "out": [], "attrs": {}})
        scope.builder.graph.output.append(ValueInfo(reader.value(0), scope.builder.type(meta)))
    return scope.builder.model("stablehlo")


def declare_inputs(scope: HloScope, arguments: Sequence[Sequence[Any]]) -> None:
    """Add the arguments of the program as inputs or as parameters.

    Parameters are arguments with a usual name of parameters. In a program where some argument has
    unknown extents, which marks the data, float arguments of known extents are parameters too,
    if there are more than `FEW`.
    """
    metas = [meta_of_type(text) for _, text, _ in arguments]
    fixed = [m.is_float and m.rank > 0 and None not in m.sizes for m in metas]
    has_stored = sum(fixed) > FEW and any(None in m.sizes for m in metas)
    for (number, _, place), meta, is_fixed in zip(arguments, metas, fixed, strict=True):
        named = PLACE.match(place)
        name = scope.builder.fresh(named[1] if named else "argument")
        scope.metas[number], scope.plain[number] = meta, name
        if (has_stored and is_fixed) or (named and STORED.match(named[1])):
            scope.builder.stored(name, meta, is_parameter=True)
            continue
        scope.builder.input(name, meta)


def lower_block(
    scope: HloScope, block: Mapping[str, Any], prefix: str, depth: int, calls: Frames = ()
) -> list[int]:
    """Lower the operations of a block; return the numbers of its results.

    Args:
        scope: values of the program.
        block: arguments and operations.
        prefix: beginning of the names of its nodes.
        depth: number of calls and regions around it.
        calls: frames of the call. JAX writes a function once, with the lines of its first call:
            ``calls`` replaces as many of them.

    Raises:
        ModelError: calls nested too deep, or too many operations.
    """
    if depth > DEEPEST:
        raise ModelError(f"calls nested deeper than {DEEPEST}")
    for op in block["ops"]:
        scope.nodes += 1
        if scope.nodes > MOST_NODES:
            raise ModelError(f"more than {MOST_NODES} operations", hint="give a part of it")
        name = op["name"]
        if name.endswith(".return"):
            return list(op["in"])
        path = path_of(op["loc"], prefix, name)
        inner = frames_of(op["loc"], scope.builder.root)[::-1]
        # the frames around the function are those of this call, not of the first one
        frames = (*calls, *inner[len(calls) :])
        if name in ("func.call", "stablehlo.composite"):
            inline(scope, op, path, depth, frames)
        elif op["out"]:
            lower_operation(scope, op, path, depth, frames)
    return []


def inline(scope: HloScope, op: Mapping[str, Any], path: str, depth: int, frames: Frames) -> None:
    """Put a function in place of its call."""
    name = op["attrs"].get("callee") or op["attrs"]["decomposition"]
    function = scope.functions[name.lstrip("@")]
    # a second call of a function has the same numbers: it replaces the values of the first
    bound(scope, function, op["in"])
    results = lower_block(scope, function, path, depth + 1, frames)
    for (number, text), result in zip(op["out"], results, strict=True):
        scope.alias(number, result, meta_of_type(text))


def lower_operation(
    scope: HloScope, op: dict[str, Any], path: str, depth: int, frames: Frames
) -> None:
    """Lower one operation; one without a lowering becomes an unknown operator."""
    for number, text in op["out"]:
        scope.alias(number, None, meta_of_type(text))
    # its results and its nodes have the same name
    call = HloCall(scope, path, path, op)
    call.frames = frames
    domain, _, name = op["name"].partition(".")
    lowering = LOWERINGS.find(name) if domain in ("stablehlo", "chlo") else None
    if op["name"] in FLOWS:
        lower = partial(lower_block, scope, prefix=path, depth=depth + 1, calls=frames)
        lowering = partial(FLOWS[op["name"]], lower)
    if lowering is not None:
        # if the lowering fails, its nodes and its entries in these three tables of values are
        # removed, and the operation is unknown
        with call.attempt(scope.plain, scope.first, scope.small):
            lowering(call)
            return
    # a custom call is named by the function of its library
    target = op["attrs"].get("call_target_name") if name == "custom_call" else None
    operands = [call.value(at) for at in range(len(op["in"]))]
    results = call.several(str(target or name), operands, len(op["out"]), domain=domain)
    for at, value in enumerate(results):
        call.bind(value, at)


def path_of(place: str, prefix: str, name: str) -> str:
    """Return the path of an operation without the name of the compiled function.

    >>> path_of('loc("jit(f)/conv/add"(callsite("a"("a.py":1:2))))', "", "stablehlo.add")
    'conv/add'
    """
    named = PLACE.match(place)
    parts = [p for p in (named[1] if named else "").split("/") if p and not p.startswith("jit(")]
    # In a program with symbols, JAX wraps the function in another one, which calls it. This call
    # has no name, and adds no part to the path.
    plain = [] if name == "func.call" else [name.partition(".")[2]]
    return "/".join([*([prefix] if prefix else []), *(parts or plain)])
