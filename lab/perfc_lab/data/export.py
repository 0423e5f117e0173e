"""Export timm's models as compressed ONNX files without weights, for the rows of its benchmark."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

from perfc.common.extras import install
from perfc.common.whole_file import write_whole
from perfc.errors import MissingExtraError, PerfcError
from perfc.frontend.pytorch.torch_module import as_run, silenced, why

EXAMPLES = 2
"""Batch of the export: exporters take 1 for an extent that broadcasts."""
KEPT_ELEMENTS = 64
"""Elements up to which a stored tensor keeps its contents, since it may be a shape or axes that
other shapes follow from; larger ones keep name, type, shape."""
STRIPPED = "stripped"
"""External file that larger tensors point to, and that is never written."""
Say = Callable[[str], None]


def export(pairs: Iterable[tuple[str, int]], folder: Path, say: Say) -> list[tuple[str, str]]:
    """Write ``timm__NAME__SIZE.onnx.gz`` for models at sizes; existing files stay.

    Args:
        pairs: names of models, with the height and width of their images.
        folder: folder of the files.
        say: called for each.

    Returns:
        What could not be exported, and why.

    Raises:
        MissingExtraError: timm or PyTorch's exporter is not installed.
    """
    create_model = creator()
    failed: list[tuple[str, str]] = []
    for name, size in pairs:
        path = folder / f"timm__{name}__{size}.onnx.gz"
        if path.is_file():
            continue
        try:
            content = exported(create_model, name, size)
        except PerfcError as error:
            failed.append((path.name, str(error)))
            continue
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        say(str(path))
    return failed


def creator() -> Callable[..., Any]:
    """Return the function of timm that builds a model.

    Raises:
        MissingExtraError: timm, or a package that it needs, is not installed.
    """
    try:
        import onnxscript  # noqa: F401
        from timm import create_model
    except ImportError as error:
        hint = install("timm")
        raise MissingExtraError(f"timm's models need {error.name}", hint=hint) from None
    create: Callable[..., Any] = create_model
    return create


def exported(create_model: Callable[..., Any], name: str, size: int) -> bytes:
    """Return a model as a compressed ONNX file without weights, its batch a symbol.

    Raises:
        PerfcError: timm cannot build it, or PyTorch cannot export it.
    """
    import torch

    with silenced():
        try:
            model = built(create_model, name, size)
            # zeros: only shapes are traced
            images = torch.zeros(EXAMPLES, channels(model), size, size)
            # any batch, up to one that is far above those of the benchmark
            shapes = ({0: torch.export.Dim("batch", min=1, max=1 << 16)},)
            with as_run(model):
                program = torch.onnx.export(
                    model,
                    (images,),
                    dynamo=True,
                    optimize=False,
                    verbose=False,
                    dynamic_shapes=shapes,
                )
        # models and exporters raise errors of any kind
        except Exception as error:
            raise PerfcError(f"{name} at {size} cannot be exported: {why(error)}") from None
    if program is None:
        raise PerfcError(f"PyTorch exported nothing of {name}")
    return compressed(stripped(program.model_proto))


def built(create_model: Callable[..., Any], name: str, size: int) -> Any:
    """Return the model, with its size if it takes one, and untrained weights."""
    # models of any size raise TypeError, as their constructors have no ``img_size``
    with suppress(TypeError):
        return create_model(name, img_size=size, exportable=True)
    return create_model(name, exportable=True)


def channels(model: Any) -> int:
    """Return the number of channels of the model's images."""
    config = getattr(model, "default_cfg", None) or {}
    return int(config.get("input_size", (3,))[0])


def stripped(proto: Any) -> Any:
    """Return an ONNX file without the contents of large stored tensors."""
    from onnx import TensorProto

    for tensor in proto.graph.initializer:
        if prod(tensor.dims) <= KEPT_ELEMENTS:
            continue
        stub = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        stub.data_location = TensorProto.EXTERNAL
        stub.external_data.add(key="location", value=STRIPPED)
        tensor.CopyFrom(stub)
    return proto


def compressed(proto: Any) -> bytes:
    """Return a compressed file, the same bytes every time."""
    buffer = io.BytesIO()
    # the header of gzip without a time and a file name
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as stream:
        stream.write(proto.SerializeToString())
    return buffer.getvalue()
