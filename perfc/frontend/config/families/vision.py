"""Read encoders of images, alone or with an encoder of text: ViT, DeiT, CLIP.

Defaults of keys are those of the configuration classes of transformers.
"""

from __future__ import annotations

from dataclasses import replace

from ..keys import Keys
from ..model import (
    Activation,
    OutputHead,
    PatchEmbedding,
    Stack,
    TokenEmbedding,
)
from ._layers import biased_mlp, layer_norm, pre_norm
from .bert import own_attention, task


def tower(keys: Keys, *, extra: int, is_patch_biased: bool, has_first_norm: bool = False) -> Stack:
    """Return an encoder of patches, whose layers are normalised before.

    Args:
        keys: keys of the encoder.
        extra: learned tokens in front of the patches.
        is_patch_biased: whether the projection of patches has a bias.
        has_first_norm: whether the embedding is normalised.
    """
    hidden = keys.whole("hidden_size", default=768)
    attention = own_attention(keys, hidden)
    mlp = biased_mlp(keys, width=4 * hidden)
    image, patch = keys.whole("image_size", default=224), keys.whole("patch_size", default=16)
    norm = layer_norm(hidden)
    embedding = PatchEmbedding(
        image,
        patch,
        channels=keys.whole("num_channels", default=3),
        extra=extra,
        is_biased=is_patch_biased,
        has_positions=True,
        norm=norm if has_first_norm else None,
    )
    layers = (pre_norm(norm, attention, mlp),) * keys.layers("num_hidden_layers")
    return Stack("image", hidden, embedding, layers, norm)


def vit(keys: Keys) -> tuple[Stack, ...]:
    """Return ViT or DeiT, with the head that the configuration's class has."""
    # DeiT has a distillation token besides the class token
    stack = tower(keys, extra=2 if keys.text("model_type") == "deit" else 1, is_patch_biased=True)
    if not keys.flag("qkv_bias", default=True):
        raise keys.unsupported("ViT without 'qkv_bias' is not modeled")
    # transformers writes a name per label, or its default of two labels
    labels = len(keys.get("id2label") or {}) or keys.whole("num_labels", default=2)
    # a key of masked image modeling, read so that it counts as known, without effect on the heads
    keys.whole("encoder_stride", default=16)
    head = OutputHead(labels, is_biased=True, is_first_token=True)
    pooler = OutputHead(0, inner=stack.hidden, activation=Activation.TANH, is_first_token=True)
    is_classifier = task(keys) == "ImageClassification"
    return (replace(stack, heads=(head,) if is_classifier else (pooler,)),)


def clip(keys: Keys) -> tuple[Stack, ...]:
    """Return CLIP: both encoders, each projected to one vector."""
    text, image = keys.inner("text_config"), keys.inner("vision_config")
    if text is None or image is None:
        raise keys.unsupported("CLIP needs 'text_config' and 'vision_config'")
    width = keys.whole("projection_dim", default=512)
    words = _text(text, is_causal=True)
    picture = tower(image, extra=1, is_patch_biased=False, has_first_norm=True)
    # only the class token is normalised behind the last layer
    last = layer_norm(picture.hidden)
    return (
        replace(words, heads=(OutputHead(width, is_first_token=True),)),
        replace(picture, norm=None, heads=(OutputHead(width, is_first_token=True, before=last),)),
    )


def _text(keys: Keys, *, is_causal: bool) -> Stack:
    """Return CLIP's encoder of text."""
    hidden = keys.whole("hidden_size", default=512)
    attention = replace(own_attention(keys, hidden), is_causal=is_causal)
    mlp = biased_mlp(keys, width=2048, usual="quick_gelu")
    embedding = TokenEmbedding(
        keys.whole("vocab_size", default=49408),
        hidden,
        keys.whole("max_position_embeddings", default=77),
    )
    norm = layer_norm(hidden)
    layers = (pre_norm(norm, attention, mlp),) * keys.layers("num_hidden_layers")
    return Stack("text", hidden, embedding, layers, norm)


READERS = {
    "vit": vit,
    "deit": vit,
    "clip": clip,
}
