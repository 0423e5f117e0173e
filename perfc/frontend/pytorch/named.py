"""PyTorch modules by name, ``package.module:Name``: exported in a separate process."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from perfc.common.cache_folder import cached
from perfc.common.version import installation, version_of
from perfc.errors import AbsentError, MissingExtraError, ModelError
from perfc.ir import Module

from ..reading.module_name import NamedModule, is_catalogued, is_named, require_code
from ..reading.process import answer_of

T = TypeVar("T")
LONGEST_S = 600
"""Maximum seconds of an export."""
TENSOR = "tensor of shape"
"""Key of a tensor in a request."""
HINT = "as in timm:resnet50 or model.py:Net"
"""Examples of names of modules, for errors."""


def named_module(model: NamedModule, dims: Mapping[str, int]) -> Module:
    """Return the module of a name; the user's cache has the exports of models of libraries.

    Args:
        model: name and inputs.
        dims: sizes by name: ``batch`` and ``seq`` where no input is given.

    Raises:
        ModelError: it may not run, cannot be imported, created or exported, or that takes too long.
        MissingExtraError: PyTorch is not installed.
    """
    read = partial(module_from, model)
    # a symbolic batch serves all; a module without a symbol is exported for each batch
    if "batch" in dims and is_cached(model):
        plain = read_export(model, {k: n for k, n in dims.items() if k != "batch"}, read)
        if plain.symbols:
            return plain
    return read_export(model, dims, read)


def is_cached(model: NamedModule) -> bool:
    """Return True for a model of a library, whose exports the user's cache has."""
    # an existing path is a folder with a configuration, which may change
    path = os.path.join(model.folder, model.name.partition(":")[2])
    return is_catalogued(model) and not os.path.exists(path)


def read_export(model: NamedModule, dims: Mapping[str, int], read: Callable[[bytes], T]) -> T:
    """Return the result of ``read`` for the bytes of an export, as `exported` returns them.

    Raises:
        ModelError: it may not run, cannot be imported, created or exported, or that takes too long.
        MissingExtraError: PyTorch is not installed.
    """
    if not is_named(model.name):
        raise ModelError(f"{model.name} names no PyTorch module", hint=HINT)
    require_code(model)
    export = partial(exported, model, dims)
    if not is_cached(model):
        return read(export())
    from ..formats import configurations

    catalog, _, name = model.name.partition(":")
    # the path of a cached configuration has its commit, so that another commit is exported again
    versions = version_of("torch"), version_of(catalog), configurations().cached(name)
    # exports of older versions of the exporter or of the libraries are not reused
    code = [path.stat().st_mtime_ns for path in sorted(Path(__file__).parent.glob("*.py"))]
    key = request_of(model, dims), installation(), versions, code
    return cached("exports", repr(key), read, export)


def request_of(model: NamedModule, dims: Mapping[str, int]) -> str:
    """Return the request to the process that exports a module, as JSON."""
    request = {
        "name": model.name,
        "inputs": model.inputs,
        "kwargs": arguments_of(model.kwargs),
        "dims": {**dims},
        "input": model.input,
        "examples": model.examples,
    }
    return json.dumps(request, default=described)


def exported(model: NamedModule, dims: Mapping[str, int]) -> bytes:
    """Return a line of JSON with the answer of a module's export, then its archive.

    Raises:
        ModelError: it cannot be imported, created or exported, or that takes too long.
        MissingExtraError: PyTorch is not installed.
    """
    library, hint = ("JAX", "jax.export") if model.is_jax else ("PyTorch", "torch.export.save")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pt2")
        answer = answer_of(
            "perfc.frontend.stablehlo.export" if model.is_jax else "perfc.frontend.pytorch.worker",
            [str(path)],
            where=model.name,
            late=(f"{library} did not export it in {LONGEST_S} s", f"save it yourself: {hint}"),
            longest_s=LONGEST_S,
            request=request_of(model, dims),
            folder=model.folder,
            # only the worker of PyTorch has `prepare`, which a process that stays calls
            is_kept=not model.is_jax,
        )
        # errors come back in the answer, as exceptions do not cross processes
        checked(answer, model.name, "--jax" if model.is_jax else "a module")
        archive = path.read_bytes() if path.exists() else b""
    return json.dumps(answer).encode() + b"\n" + archive


def module_from(model: NamedModule, entry: bytes) -> Module:
    """Return the module of an export.

    Raises:
        ModelError: its archive is damaged.
    """
    from ..formats import ReadOptions, by_name, format_of
    from .torch_program import module_of, with_examples

    # JSON has no line break, an archive may have many
    head, _, archive = entry.partition(b"\n")
    answer, name = json.loads(head), model.name.rpartition(":")[2]
    if model.is_jax:
        module = by_name("stablehlo").lower_functions(answer["functions"], model.name)
        module = with_examples(module, {}, answer.get("batch"))
    elif answer.get("is_relax"):
        module = format_of(archive).lower(archive, ReadOptions())
    else:
        module = module_of(archive, name, answer.get("batch"), model.folder)
    module = replace(module, graph=replace(module.graph, name=name))
    # deployment fields that the trainer in the file configures, such as its optimizer
    trainer_fields = tuple(answer.get("step", {}).items())
    origin = replace(
        module.origin, path=model.name, digest=digest_of(module), trainer=trainer_fields
    )
    return replace(module, origin=origin)


def arguments_of(kwargs: str) -> dict[str, Any]:
    """Return the arguments of a module from a JSON object; none for "".

    Raises:
        ModelError: it is not a JSON object.
    """
    try:
        arguments = json.loads(kwargs or "{}")
    except ValueError as error:
        raise ModelError(f"--kwargs is no JSON: {error}", hint='{"width": 64}') from None
    if not isinstance(arguments, dict):
        raise ModelError("--kwargs is no JSON object", hint='{"width": 64}')
    return arguments


def checked(answer: dict[str, Any], where: str, what: str = "a module") -> dict[str, Any]:
    """Return the answer of `worker.answer_to`.

    Args:
        answer: the answer.
        where: name of the module.
        what: beginning of the error for a package that is not installed, as in "a module needs".

    Raises:
        MissingExtraError: the answer is a package that is not installed.
        ModelError: the answer is an error.
    """
    if "missing" in answer:
        from perfc.common.extras import install, install_package

        missing = answer["missing"]
        hint = install("tvm") if missing == "tvm" else install_package(missing)
        raise MissingExtraError(f"{what} needs {missing}", hint=hint)
    if "error" in answer:
        kind = AbsentError if answer.get("is_absent") else ModelError
        raise kind(answer["error"], hint=answer.get("hint", ""), where=where)
    return answer


def digest_of(module: Module) -> str:
    """Return the SHA-256 of the text of a module, without the archive that it was read from."""
    from perfc.ir.syntax.text import print_module

    text = print_module(replace(module, origin=type(module.origin)()), has_sources=False)
    return hashlib.sha256(text.encode()).hexdigest()


def described(value: Any) -> dict[str, Any] | str:
    """Return a tensor or array as its shape and element type, for JSON; a type as its name.

    Raises:
        ModelError: it is neither.
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return {TENSOR: [int(n) for n in value.shape], "dtype": described(value.dtype)}
    name = str(value).removeprefix("torch.")
    if not name.isidentifier():
        raise ModelError(f"{type(value).__name__} is no shape, tensor or scalar")
    return name
