"""Process that imports a PyTorch module by name and writes the archive of its program.

Usage: ``python -m perfc.frontend.pytorch.worker ARCHIVE ANSWER``, with the request on standard
input as ``named`` writes it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from importlib import import_module, util
from itertools import count
from pathlib import Path
from traceback import StackSummary
from typing import Any

from perfc.errors import AbsentError, ModelError
from perfc.ir.graph import CHECKPOINTED

from ..reading.module_name import SOURCE_FOLDERS
from . import is_torch_module
from .catalogs import CATALOGS, LOADED, parameters_of
from .constructions import foreign_files, record_constructions
from .named import TENSOR
from .torch_inputs import Call, Extents, call_of, dtype_of, inferred, positions_of
from .torch_module import archive_of, why, with_autocast
from .trainers import trained

MOST_FRAMES = 8
"""Maximum frames of the user's code in a stack trace, the innermost ones."""
YOUNG_OBJECTS = 100_000
"""Number of new objects after which the garbage collector searches for garbage."""
SEQUENCE = 128
"""Number of tokens of a language model without given inputs."""
FRAMES = 16
"""Number of pictures of a video without given inputs, as models of torchvision are trained on."""


def main() -> None:
    """Write the answer to the request on standard input."""
    archive, reply = (Path(p) for p in sys.argv[1:3])
    # an export makes many objects and hardly any garbage: the collector took an eighth of the time
    gc.set_threshold(YOUNG_OBJECTS)
    request = json.load(sys.stdin, object_hook=tensor_or_dict)

    def make() -> dict[str, Any]:
        archive_names_as_traced()
        return exported(request, archive)

    reply.write_text(json.dumps(answer_to(make)), encoding="utf-8")


def prepare() -> None:
    """Import the libraries with catalogs, and what an export imports, by a small export."""
    import torch

    archive_names_as_traced()
    for library in CATALOGS:
        with suppress(Exception):  # it is not installed, or does not fit another one
            getattr(import_module(library), "PreTrainedModel", None)
    archive_of(torch.nn.Linear(1, 1), Call((torch.zeros(2, 1),), {}), 1)


def archive_names_as_traced() -> None:
    """Let PyTorch save programs without renaming a copy of them, which takes half of the time."""
    serialize: Any = import_module("torch._export.serde.serialize")
    if hasattr(serialize, "canonicalize"):
        serialize.canonicalize = lambda program, *_, **__: program


def answer_to(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a function returns, or its error for `named.checked`."""
    try:
        return make()
    except ImportError as error:
        if error.name in ("torch", "timm", "torchvision", "transformers", "jax", "tvm"):
            return {"missing": error.name}
        return {"error": str(error), "is_absent": isinstance(error, ModuleNotFoundError)}
    except ModelError as error:
        is_absent = isinstance(error, AbsentError)
        return {"error": error.message, "hint": error.hint, "is_absent": is_absent}
    except Exception as error:
        hint = "a function of JAX: --jax" if {"jax", "torch"} <= {*sys.modules} else ""
        # an error of PyTorch may quote a whole program
        what = f"it cannot be made: {type(error).__name__}: {why(error)}"[:500]
        return {"error": what, "hint": hint}


def tensor_or_dict(value: dict[str, Any]) -> Any:
    """Return the tensor that `named.described` wrote; any other mapping unchanged."""
    if TENSOR not in value:
        return value
    import torch

    return torch.zeros(value[TENSOR], dtype=dtype_of(value["dtype"]), device="meta")


def exported(request: Mapping[str, Any], archive: Path) -> dict[str, Any]:
    """Write the archive of the requested module, and return its batch.

    Raises:
        ModelError: no such module, or PyTorch cannot export it.
        ImportError: PyTorch or the module is not installed.
    """
    with_helpers()
    with_checkpoints()
    constructed = record_constructions()
    try:
        return exported_on("meta", request, archive, constructed)
    except (ModelError, NotImplementedError, RuntimeError) as error:
        if "meta" not in str(error):
            raise
        # the constructor reads elements of a tensor, as for rates or widths from a `linspace`
        return exported_on("cpu", request, archive, constructed)


def exported_on(
    device: str, request: Mapping[str, Any], archive: Path, constructed: Mapping[int, str]
) -> dict[str, Any]:
    """Write the archive of a module that is made on a device, and return its batch."""
    import torch

    where, _, name = str(request["name"]).rpartition(":")
    dims = request["dims"]
    with torch.device(device), with_autocast():
        model, step = trained(made(where, name, request["kwargs"]))
        with_plain_masks()
        if is_relax(model):
            archive.write_text(import_module("tvm").ir.save_json(model), encoding="utf-8")
            return {"is_relax": True}
        if not is_torch_module(model):
            raise ModelError(f"{name} is {type(model).__name__}, not a PyTorch module")
        given = given_call(request["inputs"]) or call_of(request["input"], request["examples"])
        call = given or default_call(model, where, dims)
        # arguments that do not fit are an error here, not deep in the export
        call.bound(model)
        trainer_batch = step.pop("batch", None)
        batch_size = max(int(dims.get("batch", trainer_batch or 1)), 1)
        data, batch = archive_of(model, call, batch_size, has_lengths=True, constructed=constructed)
    archive.write_bytes(data)
    return {"batch": trainer_batch or batch, "step": {k: v for k, v in step.items() if v}}


def with_helpers() -> None:
    """Let stack traces of exported nodes include the functions that ``forward`` calls.

    PyTorch stores only the frames of ``forward``: an operator in a helper would have the line of
    the helper's call. A version of PyTorch without the method for it is left unchanged.
    """
    tracer: Any = import_module("torch.fx.proxy").TracerBase
    foreign = foreign_files()

    def user_frames(_self: Any, frames: StackSummary) -> StackSummary:
        near = [f for f in frames if not f.filename.startswith(foreign)]
        return StackSummary.from_list(near[-MOST_FRAMES:])

    if hasattr(tracer, "_filter_traceback_frames"):
        tracer._filter_traceback_frames = user_frames


def with_checkpoints() -> None:
    """Write the number of each call of activation checkpointing into the nodes inside.

    Exports lose the calls themselves.
    """
    module: Any = import_module("torch.utils.checkpoint")
    original, numbers = module.checkpoint, count(1)
    traceback: Any = import_module("torch.fx.traceback")

    @wraps(original)
    def numbered(*args: Any, **kwargs: Any) -> Any:
        with traceback.preserve_node_meta(), traceback.annotate({CHECKPOINTED: next(numbers)}):
            return original(*args, **kwargs)

    if hasattr(traceback, "annotate"):
        module.checkpoint = numbered


def with_plain_masks() -> None:
    """Let transformers create its masks without ``vmap``, with which no program can be saved.

    The exporter of transformers for ExecuTorch has such masks. Otherwise a model is traced
    strictly, which takes longer.
    """
    if "transformers" not in sys.modules:
        return
    try:
        masks = import_module("transformers.masking_utils").ALL_MASK_ATTENTION_FUNCTIONS
        plain = import_module("transformers.integrations.executorch").sdpa_mask_without_vmap
    except (ImportError, AttributeError):
        return
    masks.register("sdpa", plain)


def made(where: str, name: str, kwargs: Mapping[str, Any]) -> Any:
    """Return the module of a name.

    Args:
        where: a library with a catalog, an importable module, or a file.
        name: name in it.
        kwargs: arguments of the class or function.

    Raises:
        ModelError: nothing has that name, or a catalog would load weights, which may be a pickle.
    """
    if where in CATALOGS:
        loading = [key for key, value in kwargs.items() if value and key.startswith(LOADED)]
        if loading:
            hint = "times do not depend on weights"
            raise ModelError(f"{loading[0]} would load a file into {name}", hint=hint)
        os.environ["HF_HUB_OFFLINE"] = "1"  # no weights, and no kernels of the hub
        return CATALOGS[where](name, kwargs)
    owner = named_object(where, name)
    return owner if is_instance(owner) or is_relax(owner) else owner(**kwargs)


def named_object(where: str, name: str) -> Any:
    """Return the object of a name in an importable module or a file.

    Raises:
        ModelError: nothing has that name.
    """
    places = (os.path.dirname(os.path.abspath(where)),) if where.endswith(".py") else SOURCE_FOLDERS
    # a file imports from its folder, a module from the usual source folders
    sys.path[:0] = [place for place in places if os.path.isdir(place or ".")]
    owner = imported(where)
    for part in name.split("."):
        if not hasattr(owner, part):
            names = [n for n in getattr(owner, "__dict__", ()) if not n.startswith("_")][:8]
            raise AbsentError(f"{where} has no {name}", hint=f"it has {', '.join(names)}")
        owner = getattr(owner, part)
    return owner


def is_instance(candidate: Any) -> bool:
    """Return True for a module, as opposed to its class or a function that makes it."""
    return is_torch_module(candidate) and not isinstance(candidate, type)


def is_relax(candidate: Any) -> bool:
    """Return True for a module of TVM."""
    kind = type(candidate)
    return kind.__name__ == "IRModule" and kind.__module__.startswith("tvm.")


def imported(where: str) -> Any:
    """Return an imported module or file.

    Raises:
        ModelError: there is no such file.
    """
    if not where.endswith(".py"):
        return import_module(where)
    if not os.path.isfile(where):
        raise AbsentError(f"no file {where}")
    spec = util.spec_from_file_location(Path(where).stem, where)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    # classes of the file look up their module there
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def given_call(inputs: list[str]) -> Call | None:
    """Return the call of inputs that are given as text; None without inputs.

    Raises:
        ModelError: one does not parse.
    """
    import torch

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in inputs:
        name, sizes, kind = shape_of(text)
        tensor = torch.zeros(sizes, dtype=dtype_of(kind) if kind else None)
        if name:
            kwargs[name] = tensor
        else:
            args.append(tensor)
    return Call(tuple(args), kwargs) if inputs else None


def shape_of(text: str) -> tuple[str, list[int], str]:
    """Return name, extents and element type of an input; name and type may be empty.

    >>> shape_of("input_ids=8x128:i64")
    ('input_ids', [8, 128], 'i64')

    Raises:
        ModelError: it does not parse.
    """
    name, _, shape = text.rpartition("=")
    extents, _, kind = shape.partition(":")
    if not all(part.isdecimal() and int(part) > 0 for part in extents.split("x")):
        hint = "8x3x224x224 or input_ids=8x128:i64"
        raise ModelError(f"--input {text} is no shape", hint=hint)
    return name, [int(part) for part in extents.split("x")], kind


def default_call(model: Any, where: str, dims: Mapping[str, int]) -> Call:
    """Return the call of a module at its example inputs, else at the default inputs of its library.

    Raises:
        ModelError: its inputs are unknown.
    """
    examples = getattr(model, "example_inputs", getattr(model, "example_input_array", None))
    if examples is not None:
        example = examples() if callable(examples) else examples
        call = call_of(None, example)
        assert call is not None
        return call
    shape = (getattr(model, "pretrained_cfg", None) or {}).get("input_size")
    if shape or where == "torchvision":
        frames = (FRAMES,) if ".video." in type(model).__module__ else ()
        image = Extents(tuple(shape or (3, *frames, 224, 224)))
        # a picture for each required parameter, as optical flow has two
        required = [p for p in parameters_of(model.forward).values() if p.default is p.empty]
        return Call((image,) * len(required), {})
    try:
        return inferred(model, {"seq": min(SEQUENCE, positions_of(model)), **dims})
    except ModelError as error:
        hint = "--input 8x3x224x224, or a method example_inputs()"
        raise ModelError(error.message, hint=hint) from None


if __name__ == "__main__":
    main()
