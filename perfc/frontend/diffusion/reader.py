"""Pipelines from a folder as diffusers saves it, or by a shipped name. Weights are not opened."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from perfc.errors import ModelError
from perfc.frontend.config.reader import FILE, loaded

from .pipeline import DiffusionPipeline, PartRole, Picture, PipelinePart

HERE = Path(__file__).parent / "pipelines"
INDEX = "model_index.json"
MOST_LAYERS, LARGEST_NUMBER = 1 << 10, 1 << 24
"""Of a configuration; published denoisers have up to some hundred layers."""
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
"""Of a picture, where a folder says nothing: its index has no defaults."""


def shipped() -> tuple[str, ...]:
    """Names of the pipelines that come with perfc."""
    return tuple(sorted(path.stem for path in HERE.glob("*.json")))


def read_pipeline(source: str | os.PathLike[str]) -> DiffusionPipeline:
    """The pipeline of a folder, or of a shipped name.

    Raises:
        ModelError: there is none, or it is of no kind perfc knows.
    """
    path = Path(source)
    if path.is_dir():
        return of_folder(path)
    name = os.fspath(source)
    if name.lower() in shipped():
        return described(name.lower(), loaded(str(HERE / f"{name.lower()}.json")))
    near = get_close_matches(name.lower(), shipped(), 1, 0.4)
    hint = f"did you mean {near[0]}?" if near else "give a folder with a model_index.json"
    raise ModelError(f"no pipeline {name[:64]!r}", hint=hint)


def of_folder(folder: Path) -> DiffusionPipeline:
    """The pipeline whose parts lie in folders beside its index.

    Raises:
        ModelError: no index, or a part without its configuration.
    """
    index = loaded(str(folder / INDEX))
    stated: dict[str, Any] = {"pipeline": index.get("_class_name"), "parts": {}}
    for name in ROLES:
        entry = index.get(name)
        if not isinstance(entry, list) or len(entry) != 2 or not all(entry):
            continue
        config = loaded(str(folder / name / FILE))
        stated["parts"][name] = {**config, "_class_name": str(entry[1])}
    return described(folder.resolve().name, stated)


def described(name: str, stated: Mapping[str, Any]) -> DiffusionPipeline:
    """A pipeline from what a file says.

    Raises:
        ModelError: it has no denoiser or no decoder, or a part without a class.
    """
    parts = stated.get("parts")
    if not isinstance(parts, dict):
        raise ModelError("a pipeline without parts", where=name)
    found = tuple(_parts(name, parts))
    picture = Picture(
        stated.get("height", EDGE), stated.get("width", EDGE), stated.get("frames", FRAMES)
    ).checked()
    pipeline = DiffusionPipeline(
        name, str(stated.get("pipeline")), found, picture, stated.get("steps", STEPS),
        stated.get("tokens", TOKENS), stated.get("guided", True),
    )  # fmt: skip
    for role in (PartRole.DENOISER, PartRole.DECODER):
        pipeline.part(role)
    return pipeline


def _parts(name: str, parts: Mapping[str, Any]) -> Iterator[PipelinePart]:
    for key, role in ROLES.items():
        config = parts.get(key)
        if not isinstance(config, dict):
            continue
        stated = config.get("_class_name") or next(iter(config.get("architectures", ())), None)
        if not isinstance(stated, str):
            raise ModelError("a part without a class", where=f"{name}: {key}")
        kept = {k: v for k, v in config.items() if not k.startswith("_")}
        require_sizes(kept, f"{name}: {key}")
        yield PipelinePart(key, role, stated, kept)


def require_sizes(config: Mapping[str, Any], where: str) -> None:
    """Refuse networks that nobody built: libraries would build them layer by layer.

    Raises:
        ModelError: a number of layers or another whole number is beyond all published ones.
    """
    for key, value in config.items():
        most = MOST_LAYERS if "layers" in key or "blocks" in key else LARGEST_NUMBER
        numbers = value if isinstance(value, list) else [value]
        if len(numbers) > MOST_LAYERS or any(isinstance(n, int) and abs(n) > most for n in numbers):
            raise ModelError(f"{key[:64]!r} is beyond what is built", where=where,
                             hint=f"at most {most}")  # fmt: skip
