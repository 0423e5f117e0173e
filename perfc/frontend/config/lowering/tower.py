"""Lower a tower of images: patches, layers, and the products to tokens of the language model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from perfc.ir import Dim, DType, Module, Value
from perfc.ir.ops import ReduceMean, Split, Transpose

from ..model import Attention, LanguageModel, Layer, Projector, Tower
from .builder import Builder
from .mlp import activated
from .stack import embedded, layers, running
from .step import BATCH, DECLARED, Running, Tokens, extent

SIDE_BY_SIDE = Transpose(perm=(0, 1, 3, 2, 4, 5))
"""Move the patches of a square next to each other: from [image, row of squares, row in the square,
column of squares, column in the square, width] to both indices of squares before both inside."""


def lower_tower(b: Builder, model: LanguageModel) -> Module:
    """Return all images of a step, ``batch`` of them, as tokens of the language model.

    Raises:
        ModelError: the model reads no images, or does not divide so.
    """
    tower = model.tower
    if tower is None:
        b.refuse("the model reads no images, or its tower is none perfc knows")
    patches, name = tower.patches, tower.stack.name
    count = extent(BATCH) * tower.tiles
    tokens = Tokens(count, patches.tokens)
    run = running(b, tokens, model, tower.stack, is_cached=False)
    # towers may rotate patches, unlike other stacks of images
    run.positions = b.input(f"{name}.positions", DType.I64, (tokens.rows,))
    run.max_positions = patches.tokens
    x, _ = embedded(b, tower.stack, run)
    windows: dict[int, Running] = {}
    for number, layer in enumerate(tower.stack.layers):
        chunk = next(_chunks(layer), 0)
        # layers with equal windows share their lengths
        if chunk and chunk not in windows:
            windows[chunk] = _windowed(b, run, tower, chunk)
        layer_run = windows.get(chunk, run)
        x = layers(b, x, tower.stack, layer_run, ((number, _whole(layer)),))
    x = b.norm(x, tower.stack.norm, f"{name}.norm")
    # learned tokens are not passed on to the language model
    if patches.extra:
        inside = b.shaped(x, (count, patches.tokens, -1), f"{name}.by_image")
        sizes = (patches.extra, patches.tokens - patches.extra)
        x = _cut_rows(b, inside, sizes, f"{name}.patches_alone")
    return b.module([_projected(b, x, tower, count)], [DECLARED[BATCH]])


def _chunks(layer: Layer) -> Iterator[int]:
    """Yield the patches of a window for each attention in windows."""
    for residual in layer:
        for branch in residual.branches:
            if isinstance(branch.mixer, Attention) and branch.mixer.chunk:
                yield branch.mixer.chunk


def _whole(layer: Layer) -> Layer:
    """Return the layer over sequences that are windows already."""
    return tuple(
        replace(
            residual,
            branches=tuple(
                replace(br, mixer=replace(br.mixer, chunk=0))
                if isinstance(br.mixer, Attention)
                else br
                for br in residual.branches
            ),
        )
        for residual in layer
    )


def _windowed(b: Builder, run: Running, tower: Tower, chunk: int) -> Running:
    """Return windows of images as separate sequences; at the edges they may have fewer patches."""
    patches = tower.patches
    # a window is a square of `chunk` patches; windows along an edge of the image, rounded up
    along = -(-(patches.image // patches.patch) // math.isqrt(chunk))
    # the mean over full windows and windows at the edges
    patches_each = patches.tokens // (along * along)
    tokens = Tokens(run.tokens.prompts * along * along, max(patches_each, 1))
    lengths = b.input(f"{tower.stack.name}.windows", DType.I32, (tokens.prompts,))
    return replace(run, tokens=tokens, lengths=lengths)


def _cut_rows(b: Builder, x: Value, sizes: tuple[int, int], name: str) -> Value:
    """Return the patches of each image without its learned tokens, which come first."""
    _, rest = b.several(Split(axis=1), (x, b.numbers(sizes)), name, ("learned", "patches"))
    return rest


def _projected(b: Builder, x: Value, tower: Tower, count: Dim) -> Value:
    """Return patches, merged and projected to the width of the language model, on every rank."""
    p, name, hidden = tower.projector, "projector", tower.stack.hidden
    along = tower.patches.image // tower.patches.patch
    x = b.norm(x, p.before, f"{name}.before")
    if p.merge > 1:
        x, hidden = _merged(b, x, p, (count, along // p.merge, hidden), name)
    x = b.norm(x, p.after, f"{name}.norm")
    for i, product in enumerate(p.products):
        x = b.product(x, (hidden, product.width), f"{name}.{i}", is_biased=product.is_biased)
        hidden = product.width
        if product.activation is not None:
            x = activated(b, x, product.activation, f"{name}.{i}.activation")
    return x


def _merged(
    b: Builder, x: Value, p: Projector, extents: tuple[Dim, int, int], name: str
) -> tuple[Value, int]:
    """Return the squares of patches as one token each."""
    count, along, hidden = extents
    grid = b.shaped(x, (count, along, p.merge, along, p.merge, hidden), f"{name}.grid")
    if p.is_mean:
        # over both indices inside a square
        mean = b.node(ReduceMean(keepdims=0), (grid, b.numbers((2, 4))), f"{name}.mean")
        return b.shaped(mean, (-1, hidden), f"{name}.pooled"), hidden
    turned = b.node(SIDE_BY_SIDE, (grid,), f"{name}.squares")
    merged_width = hidden * p.merge * p.merge
    return b.shaped(turned, (-1, merged_width), f"{name}.merged"), merged_width
