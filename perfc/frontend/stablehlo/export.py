"""Process that imports a function of JAX by name and writes the operations of its program.

Usage: ``python -m perfc.frontend.stablehlo.export ARCHIVE ANSWER``, with the request on standard
input as `perfc.frontend.pytorch.named` writes it; no archive is written.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

from perfc.errors import ModelError

from ..pytorch.torch_inputs import dtype_name
from ..pytorch.worker import answer_to, named_object, shape_of
from .worker import functions

STORED = "parameters"
"""First part of the names of arguments that are parameters, by which `program` recognizes them."""
HINT = "--input 8x3x224x224, or a function example_inputs() in its file"
"""Ways to give inputs, for errors."""
Shapes: TypeAlias = "tuple[tuple[Any, ...], dict[str, Any]]"
"""Positional and named arguments of a call: trees of ``jax.ShapeDtypeStruct``."""


def main() -> None:
    """Write the answer to the request on standard input."""
    os.environ.update(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="-1")
    request = json.load(sys.stdin)
    answer = answer_to(lambda: exported(request))
    Path(sys.argv[-1]).write_text(json.dumps(answer), encoding="utf-8")


def exported(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operations of the requested function, and its batch.

    Raises:
        ModelError: no such function, or no inputs of it.
        ImportError: JAX is not installed.
    """
    jax: Any = import_module("jax")
    where, _, name = str(request["name"]).rpartition(":")
    named_function, kwargs = named_object(where, name), request["kwargs"]
    args, named = arguments_of(named_function, request["inputs"])
    function = named_function(**kwargs) if isinstance(named_function, type) else named_function
    with_scopes([function, *called_by(function)])
    # a class was called with these arguments, a function gets them with its inputs
    if kwargs and function is named_function:
        function = functools.partial(named_function, **kwargs)
    if not callable(function):
        raise ModelError(f"{name} is {type(function).__name__}, not a function")
    if hasattr(function, "init") and hasattr(function, "apply"):  # of Flax
        variables = jax.eval_shape(function.init, jax.random.key(0), *args, **named)
        function, args = function.apply, (variables, *args)
    try:
        return program(function, args, named, has_batch=True)
    except Exception:
        # a function that compares its batch with a number holds for that batch only
        return program(function, args, named, has_batch=False)


def called_by(function: Any) -> list[Any]:
    """Return the objects outside of a function that it refers to, which may be modules of NNX."""
    if not inspect.isfunction(function):
        return []
    names = inspect.getclosurevars(function)
    return [*names.nonlocals.values(), *names.globals.values()]


def with_scopes(candidates: Sequence[Any]) -> None:
    """Put the path of each module of NNX among ``candidates`` into the names of its operations.

    Linen, the older interface of Flax, does so itself.
    """
    nnx: Any = sys.modules.get("flax.nnx")
    if nnx is None:
        return
    modules = [m for m in candidates if isinstance(m, nnx.Module)]
    parts = [(m, *each) for m in modules for each in nnx.iter_modules(m)]
    scope = import_module("jax").named_scope
    paths = {id(part): (type(root).__name__, *path) for root, path, part in parts}
    # paths of the modules whose calls are running; the name of a scope is relative to the last one
    outer: list[tuple[Any, ...]] = [()]

    def scoped(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def in_scope(self: Any, *args: Any, **named: Any) -> Any:
            # a module without a path, as one made during the call, has that of the one around it
            path, depth = paths.get(id(self), outer[-1]), len(outer[-1])
            # JAX joins nested scopes: ("Net", "layers", 0) inside of ("Net",) is "layers/0"
            relative = path[depth:] if path[:depth] == outer[-1] else path
            outer.append(path)
            with scope("/".join(map(str, relative))):
                result = call(self, *args, **named)
            outer.pop()
            return result

        return in_scope

    classes: set[Any] = {cls for *_, part in parts for cls in type(part).__mro__}
    for cls in classes:
        if "__call__" in vars(cls):
            cls.__call__ = scoped(cls.__call__)


def arguments_of(given: Any, inputs: Sequence[str]) -> Shapes:
    """Return the arguments of a call.

    Args:
        given: the function or class.
        inputs: shapes as text; without any, ``example_inputs`` of the function or its file.

    Raises:
        ModelError: there are no inputs, or a shape does not parse.
    """
    jax: Any = import_module("jax")
    args, named = list[Any](), dict[str, Any]()
    for text in inputs:
        name, sizes, kind = shape_of(text)
        struct = jax.ShapeDtypeStruct(sizes, dtype_name(kind or "f32"))
        if name:
            named[name] = struct
        else:
            args.append(struct)
    if not inputs:
        owner = sys.modules.get(getattr(given, "__module__", ""))
        examples = getattr(given, "example_inputs", getattr(owner, "example_inputs", None))
        if examples is None:
            raise ModelError("no inputs of the function", hint=HINT)
        examples = examples() if callable(examples) else examples
        named = dict(examples) if isinstance(examples, Mapping) else {}
        # a tuple has all positional arguments, any other value is the only one
        args = [] if named else [*(examples if isinstance(examples, tuple) else (examples,))]
    # arrays become their shapes and types
    shapes: Shapes = jax.eval_shape(lambda *a, **k: (a, k), *args, **named)
    return shapes


def program(
    function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], *, has_batch: bool
) -> dict[str, Any]:
    """Return the operations of a function, and its batch.

    Parameters are arrays that the function refers to, and the leaves of the first argument if it is
    a tree and other arguments follow.

    Args:
        function: the function.
        args: positional arguments.
        named: arguments by name.
        has_batch: whether the first extent of inputs becomes a symbol.
    """
    jax: Any = import_module("jax")
    export: Any = import_module("jax.export")
    flat, tree = jax.tree_util.tree_flatten_with_path((args, named))
    names = [name_of(path, function) for path, _ in flat]
    # two keys of a path name the argument (in `args` or `named`, then which), the others a leaf of
    # its tree. A leaf is a parameter if its argument is a tree, is the first argument, and is not
    # the last one too
    is_stored = [
        len(path) > 2 and path[:2] == flat[0][0][:2] and path[:2] != flat[-1][0][:2]
        for path, _ in flat
    ]
    shapes, batch = [shape for _, shape in flat], None
    if has_batch:
        shapes, batch = symbolic_batch(shapes, is_stored)

    def flattened(*leaves: Any) -> Any:
        a, k = jax.tree_util.tree_unflatten(tree, leaves)
        return function(*a, **k)

    # arrays that a function refers to are constants, which JAX would write with all elements: large
    # ones become arguments
    closed = jax.make_jaxpr(flattened)(*shapes)
    # whole numbers and scalars stay in the program: they may be indices or extents
    is_large = [c.ndim > 0 and c.dtype.kind not in "iub" for c in closed.consts]
    large = [jax.ShapeDtypeStruct(c.shape, c.dtype) for c in compress(closed.consts, is_large)]

    def run(stored: Sequence[Any], *leaves: Any) -> Any:
        rest = iter(stored)
        consts = [
            next(rest) if is_argument else c
            for c, is_argument in zip(closed.consts, is_large, strict=True)
        ]
        return jax.core.eval_jaxpr(closed.jaxpr, consts, *leaves)

    exported_program = export.export(jax.jit(run))(large, *shapes)
    labels = [f"{STORED}.{i}" for i in range(len(large))]
    labels += [f"{STORED}.{n}" if s else n for n, s in zip(names, is_stored, strict=True)]
    operations = functions(exported_program.mlir_module().encode())
    # arguments that nothing reads are left out of the program
    for at, argument in zip(
        exported_program.module_kept_var_idx, operations["main"]["args"], strict=True
    ):
        # number, type and location: the name of an input is read from its location
        argument[2] = f'loc("{labels[at]}")'
    return {"functions": operations, "batch": batch}


def symbolic_batch(shapes: list[Any], is_stored: list[bool]) -> tuple[list[Any], int | None]:
    """Return shapes with the batch as a symbol, and the number that it has; None without one.

    The batch is the first extent of the first input; equal first extents of other inputs are too.
    """
    jax: Any = import_module("jax")
    pairs = list(zip(shapes, is_stored, strict=True))
    batch = next((s.shape[0] for s, stored in pairs if not stored and s.shape), None)
    (symbol,) = import_module("jax.export").symbolic_shape("batch")
    return [
        s
        if stored or s.shape[:1] != (batch,)
        else jax.ShapeDtypeStruct((symbol, *s.shape[1:]), s.dtype)
        for s, stored in pairs
    ], batch


def name_of(path: Sequence[Any], function: Callable[..., Any]) -> str:
    """Return the name of a leaf of the arguments: the parameter, and the keys in its tree."""
    keys = [str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in path[1:]]
    # positional arguments have their names in the signature
    if getattr(path[0], "idx", 1) == 0:
        try:
            names = [*inspect.signature(function).parameters]
        except (TypeError, ValueError):
            names = []
        keys[0] = names[int(keys[0])] if int(keys[0]) < len(names) else f"input{keys[0]}"
    return ".".join(keys)


if __name__ == "__main__":
    main()
