"""Read towers of images of language models: SigLIP, Llama 4, Qwen2.5-VL, Pixtral.

Defaults of keys are those of the configuration classes of transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..keys import Keys
from ..mixers import Activation, Attention, Mlp
from ..model import ImageScaling, PatchEmbedding, Projection, Projector, Stack, Tower
from ._layers import activation, biased_mlp, layer_norm, pre_norm, rms

PATCHES_ALONG = 1540 // 14
"""Most patches along an edge at native size, by Pixtral's processor: 1,540 pixels."""
QWEN_ALONG = 3584 // 14
"""Most patches along an edge of Qwen2.5-VL, whose processor allows 12,845,056 = 3,584² pixels."""
NATIVE_EDGE = 448
"""Default edge of an image of any size, in pixels; a multiple of the 28 pixels of one token."""


def tower_of(keys: Keys, vision: Keys, text: Keys) -> Tower | None:
    """Return the vision tower of a configuration; None without one, or for an unknown family."""
    if not vision.values:
        return None
    family = vision.text("model_type") or DEFAULTS.get(keys.text("model_type"), "")
    reader = TOWERS.get(family)
    return None if reader is None else reader(keys, vision, text.whole("hidden_size"))


def _attention(
    vision: Keys, heads: str = "num_attention_heads", *, is_biased: bool, is_rotated: bool
) -> Attention:
    """Return the attention of all patches to one another."""
    hidden, count = vision.whole("hidden_size"), vision.whole(heads)
    dim = vision.whole("head_dim", default=vision.divided(hidden, count, "heads"))
    return Attention(
        count,
        count,
        dim,
        rotary_dim=dim if is_rotated else 0,
        query_bias=is_biased,
        key_bias=is_biased,
        value_bias=is_biased,
        output_bias=is_biased,
        is_causal=False,
    )


def siglip(keys: Keys, vision: Keys, width: int) -> Tower:
    """Return Gemma 3's tower: one size, patches averaged to a fixed number of tokens."""
    hidden, patch = vision.whole("hidden_size"), vision.whole("patch_size", default=14)
    image, norm = vision.whole("image_size", default=896), layer_norm(hidden)
    mlp = biased_mlp(vision, usual="gelu_pytorch_tanh")
    layer = pre_norm(norm, _attention(vision, is_biased=True, is_rotated=False), mlp)
    embedding = PatchEmbedding(image, patch, channels=3, extra=0, has_positions=True)
    # patches are averaged in squares, whose edge follows from the number of resulting tokens
    tokens = keys.whole("mm_tokens_per_image", default=256)
    merge = keys.divided(image // patch, max(1, round(tokens**0.5)), "tokens along an edge")
    layers = (layer,) * vision.layers("num_hidden_layers")
    projector = Projector(merge, (Projection(width),), is_mean=True, after=rms(hidden))
    return Tower(Stack("image", hidden, embedding, layers, norm), projector, ImageScaling.FIXED)


def llama4(keys: Keys, vision: Keys, width: int) -> Tower:
    """Return Llama 4's tower: tiles of one size, patches side by side behind an MLP."""
    hidden, patch = vision.whole("hidden_size"), vision.whole("patch_size", default=14)
    image, norm = vision.whole("image_size", default=336), layer_norm(hidden)
    inner = vision.whole("intermediate_size")
    mlp = Mlp(inner, Activation.GELU, is_gated=False, is_biased=True)
    layer = pre_norm(norm, _attention(vision, is_biased=True, is_rotated=True), mlp)
    # by default there is an extra token, here the class token; the other towers have none
    embedding = PatchEmbedding(
        image, patch, channels=3, is_biased=False, has_positions=True, norm=norm
    )
    # a ratio of 0.5 joins two patches along each edge
    merge = max(1, round(1 / (vision.number("pixel_shuffle_ratio", 0.5) or 1.0)))
    products = (
        Projection(vision.whole("projector_input_dim", default=4096), activation=Activation.GELU),
        Projection(vision.whole("projector_output_dim", default=4096), activation=Activation.GELU),
        Projection(width),
    )
    layers = (layer,) * vision.layers("num_hidden_layers")
    stack = Stack("image", hidden, embedding, layers, norm)
    max_tiles = keys.whole("max_patches", default=16)
    return Tower(stack, Projector(merge, products), ImageScaling.TILES, max_tiles)


def qwen(_: Keys, vision: Keys, width: int) -> Tower:
    """Return Qwen2.5-VL's tower: images of any size, attention in windows but for a few layers."""
    hidden, patch = vision.whole("hidden_size"), vision.whole("patch_size", default=14)
    merge = vision.whole("spatial_merge_size", default=2)
    function = activation(vision, "hidden_act", default="silu")
    mlp = Mlp(vision.whole("intermediate_size"), function, is_biased=True)
    # layers in ``fullatt_block_indexes`` attend to all patches
    full = _attention(vision, "num_heads", is_biased=True, is_rotated=True)
    along = vision.whole("window_size", default=112) // patch
    whole = vision.wholes("fullatt_block_indexes") or (7, 15, 23, 31)
    norm = rms(hidden)
    layers = tuple(
        pre_norm(norm, full if i in whole else _windowed(full, along), mlp)
        for i in range(vision.layers("depth"))
    )
    # a still image is two frames of a film
    channels = 3 * vision.whole("temporal_patch_size", default=2)
    embedding = PatchEmbedding(NATIVE_EDGE, patch, channels, extra=0, is_biased=False)
    merged_width = hidden * merge * merge
    products = (
        Projection(merged_width, is_biased=True, activation=Activation.GELU),
        Projection(vision.whole("out_hidden_size", default=width), is_biased=True),
    )
    projector = Projector(merge, products, before=norm)
    stack = Stack("image", hidden, embedding, layers)
    return Tower(stack, projector, ImageScaling.NATIVE, QWEN_ALONG)


def _windowed(full: Attention, along: int) -> Attention:
    """Return attention within square windows with ``along`` patches at an edge, as chunks."""
    return replace(full, chunk=along * along)


def pixtral(keys: Keys, vision: Keys, width: int) -> Tower:
    """Return Mistral Small 3.1's tower: images of any size, patches merged by a product."""
    hidden, patch = vision.whole("hidden_size"), vision.whole("patch_size", default=14)
    function = activation(vision, "hidden_act", default="silu")
    mlp = Mlp(vision.whole("intermediate_size"), function)
    norm = rms(hidden)
    layer = pre_norm(norm, _attention(vision, is_biased=False, is_rotated=True), mlp)
    embedding = PatchEmbedding(NATIVE_EDGE, patch, channels=3, extra=0, is_biased=False, norm=norm)
    is_biased = keys.flag("multimodal_projector_bias")
    between = activation(keys, "projector_hidden_act", default="gelu")
    products = (
        Projection(hidden),
        Projection(width, is_biased, between),
        Projection(width, is_biased),
    )
    projector = Projector(keys.whole("spatial_merge_size", default=2), products, before=norm)
    layers = (layer,) * vision.layers("num_hidden_layers")
    stack = Stack("image", hidden, embedding, layers)
    return Tower(stack, projector, ImageScaling.NATIVE, PATCHES_ALONG)


TOWERS: Mapping[str, Callable[[Keys, Keys, int], Tower]] = {
    "siglip_vision_model": siglip,
    "llama4_vision_model": llama4,
    "qwen2_5_vl": qwen,
    "qwen2_5_vl_vision": qwen,
    "pixtral": pixtral,
}
DEFAULTS = {
    "gemma3": "siglip_vision_model",
    "llama4": "llama4_vision_model",
    "qwen2_5_vl": "qwen2_5_vl",
    "mistral3": "pixtral",
}
"""Family of the tower where the configuration names none."""
