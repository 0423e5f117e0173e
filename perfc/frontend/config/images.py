"""Scale images of a prompt to what a tower reads, which gives their number of tokens."""

from __future__ import annotations

import math
from dataclasses import replace

from perfc.errors import ModelError, ParseError

from .model import ImageScaling, LanguageModel, Tower

LARGEST_EDGE = 1 << 14
"""Pixels along an edge of an image, at most."""


def with_images(model: LanguageModel, edge: int = 0) -> LanguageModel:
    """Return the model whose tower reads square images of ``edge`` pixels; 0 for its own size.

    A tower of one size scales every image to this size. A tower of tiles takes the fewest tiles
    that hold the image and, if there are several, a smaller copy of the whole image. Other towers
    round the edge to whole tokens.

    Raises:
        ModelError: the model reads no images.
        ParseError: no such size.
    """
    tower = model.tower
    if tower is None:
        raise ModelError(
            "the model reads no images, or its tower is none perfc knows", where=model.name
        )
    if not 0 <= edge <= LARGEST_EDGE:
        hint = f"1 to {LARGEST_EDGE} pixels along an edge"
        raise ParseError(f"images of {edge} pixels", where="--image-size", hint=hint)
    return replace(model, tower=scaled(tower, edge)) if edge else model


def scaled(tower: Tower, edge: int) -> Tower:
    """Return the tower for square images of ``edge`` pixels."""
    patches = tower.patches
    match tower.scaling:
        case ImageScaling.FIXED:
            return tower
        case ImageScaling.TILES:
            # the smallest square of tiles that holds the image without shrinking, else the largest
            along = min(-(-edge // patches.image), math.isqrt(tower.most))
            return replace(tower, tiles=1 if along == 1 else along * along + 1)
        case ImageScaling.NATIVE:
            # pixels along the edge of one token of the language model
            unit = patches.patch * tower.projector.merge
            max_along = tower.most // tower.projector.merge if tower.most else edge
            along = max(1, min(round(edge / unit), max_along))
            embedding = replace(patches, image=along * unit)
            return replace(tower, stack=replace(tower.stack, embedding=embedding))
