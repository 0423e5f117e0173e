"""Pipelines from a folder as diffusers saves it, or by a shipped name. Weights are not opened."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfc.errors import ModelError, suggestion
from perfc.frontend.checkpoints.json_file import loaded
from perfc.frontend.checkpoints.sources import FILE

from .pipeline import DiffusionPipeline, PartRole, Picture, PipelinePart

HERE = Path(__file__).parent / "pipelines"
INDEX = "model_index.json"
MOST_LAYERS, LARGEST_NUMBER = 1 << 10, 1 << 24
"""Maxima in a configuration; published denoisers have up to some hundred layers."""
ROLES: Mapping[str, PartRole] = {
    "text_encoder": PartRole.PROMPT,
    "text_encoder_2": PartRole.PROMPT,
    "text_encoder_3": PartRole.PROMPT,
    "transformer": PartRole.DENOISER,
    "unet": PartRole.DENOISER,
    "vae": PartRole.DECODER,
}
"""Parts that run on the device, by the names that pipelines have for them."""
EDGE, FRAMES, STEPS, TOKENS = 1024, 1, 20, 300
"""Edge, frames, steps and tokens of a pipeline from a folder, whose index has none: those of
PixArt-Sigma and SANA."""


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped pipelines."""
    return tuple(sorted(path.stem for path in HERE.glob("*.json")))


def read_pipeline(source: str | os.PathLike[str]) -> DiffusionPipeline:
    """Return the pipeline of a folder, or of a shipped name.

    Raises:
        ModelError: there is none, or it is of an unknown kind.
    """
    path = Path(source)
    if path.is_dir():
        return of_folder(path)
    name = os.fspath(source)
    if name.lower() in shipped():
        return described(name.lower(), loaded(str(HERE / f"{name.lower()}.json")))
    # names have versions and sizes behind them, so that even similar ones differ much
    hint = suggestion(name.lower(), shipped(), cutoff=0.4)
    raise ModelError(f"no pipeline or folder {name[:64]!r}", hint=hint)


def of_folder(folder: Path) -> DiffusionPipeline:
    """Return the pipeline whose parts are in folders next to its index.

    Raises:
        ModelError: no index, or a part without its configuration.
    """
    index = loaded(str(folder / INDEX))
    pipeline: dict[str, Any] = {"pipeline": index.get("_class_name"), "parts": {}}
    for name in ROLES:
        entry = index.get(name)
        # an entry is a library and a class; both are null for a part that is not used
        if not isinstance(entry, list) or len(entry) != 2 or not all(entry):
            continue
        config = loaded(str(folder / name / FILE))
        pipeline["parts"][name] = {**config, "_class_name": str(entry[1])}
    return described(folder.resolve().name, pipeline)


def described(name: str, description: Mapping[str, Any]) -> DiffusionPipeline:
    """Return the pipeline that a file describes.

    Raises:
        ModelError: it has no denoiser or no decoder, or a part without a class.
    """
    parts = description.get("parts")
    if not isinstance(parts, dict):
        raise ModelError("a pipeline without parts", where=name)
    networks = tuple(_parts(name, parts))
    picture = Picture(
        description.get("height", EDGE),
        description.get("width", EDGE),
        description.get("frames", FRAMES),
    ).checked()
    pipeline = DiffusionPipeline(
        name,
        str(description.get("pipeline")),
        networks,
        picture,
        description.get("steps", STEPS),
        description.get("tokens", TOKENS),
        description.get("guided", True),
    )
    # `part` raises the error for a missing part
    for role in (PartRole.DENOISER, PartRole.DECODER):
        pipeline.part(role)
    return pipeline


def _parts(name: str, parts: Mapping[str, Any]) -> Iterator[PipelinePart]:
    """Yield the networks of a description, without keys that begin with an underscore."""
    for key, role in ROLES.items():
        config = parts.get(key)
        if not isinstance(config, dict):
            continue
        # prompt encoders are of transformers, which names classes in `architectures`
        class_name = config.get("_class_name") or next(iter(config.get("architectures", ())), None)
        if not isinstance(class_name, str):
            raise ModelError("a part without a class", where=f"{name}: {key}")
        sizes = {k: v for k, v in config.items() if not k.startswith("_")}
        require_sizes(sizes, f"{name}: {key}")
        yield PipelinePart(key, role, class_name, sizes)


def require_sizes(config: Mapping[str, Any], where: str) -> None:
    """Raise an error for implausibly large networks, which libraries would build layer by layer.

    Raises:
        ModelError: a number of layers or another whole number is beyond all published ones.
    """
    for key, value in config.items():
        most = MOST_LAYERS if "layers" in key or "blocks" in key else LARGEST_NUMBER
        numbers = value if isinstance(value, list) else [value]
        if len(numbers) > MOST_LAYERS or any(isinstance(n, int) and abs(n) > most for n in numbers):
            raise ModelError(
                f"{key[:64]!r} is beyond what is built", where=where, hint=f"at most {most}"
            )
