"""State spaces, alone or beside attention: Mamba, Jamba, Bamba, Falcon-H1, Nemotron-H, Granite."""

from __future__ import annotations

from dataclasses import replace

from ..keys import Keys
from ..model import Branch, Experts, Layer, Mamba, Mamba2, Mixer, Mlp, Residual, Stack
from ._layers import activation, decoder, pre_norm, rms
from .llama import gated, grouped


def mamba(keys: Keys) -> tuple[Stack, ...]:
    """Mamba and Falcon Mamba, whose time steps and projections are normalised."""
    hidden = keys.whole("hidden_size", "d_model")
    inner = keys.whole("intermediate_size", default=keys.whole("expand", default=2) * hidden)
    is_falcon = keys.text("model_type") == "falcon_mamba"
    state = Mamba(
        inner, keys.whole("state_size", default=16), keys.whole("conv_kernel", default=4),
        _rank(keys, "time_step_rank", hidden), keys.flag("use_conv_bias", default=True),
        keys.flag("use_bias"), is_falcon, not is_falcon,
    )  # fmt: skip
    norm = rms(hidden)
    layers = (pre_norm(norm, state),) * keys.layers("num_hidden_layers", "n_layer")
    return decoder(keys, layers, hidden, norm, is_tied=True)


def _rank(keys: Keys, name: str, hidden: int) -> int:
    """Return the rank of the projection to time steps; ``auto`` is a sixteenth of the width."""
    value = keys.get(name)
    return -(-hidden // 16) if value in (None, "auto") else keys.whole(name)


def mamba2(keys: Keys) -> tuple[Stack, ...]:
    """Mamba 2."""
    hidden = keys.whole("hidden_size")
    keys.whole("expand", default=2)
    state = Mamba2(
        keys.whole("num_heads"), keys.whole("head_dim"), keys.whole("n_groups", default=1),
        keys.whole("state_size"), keys.whole("conv_kernel", default=4),
        keys.flag("use_conv_bias", default=True), keys.flag("use_bias"),
    )  # fmt: skip
    norm = rms(hidden)
    return decoder(keys, (pre_norm(norm, state),) * keys.layers("num_hidden_layers"), hidden, norm)


def jamba(keys: Keys) -> tuple[Stack, ...]:
    """Jamba: one attention in eight layers, experts in every other one."""
    hidden, count = keys.whole("hidden_size"), keys.layers("num_hidden_layers")
    attention = replace(grouped(keys), rotary_dim=0)
    state = Mamba(
        keys.whole("mamba_expand", default=2) * hidden, keys.whole("mamba_d_state", default=16),
        keys.whole("mamba_d_conv", default=4), _rank(keys, "mamba_dt_rank", hidden),
        keys.flag("mamba_conv_bias", default=True), keys.flag("mamba_proj_bias"), True,
    )  # fmt: skip
    mlp = gated(keys)
    experts = Experts(
        keys.whole("num_experts", default=16), keys.whole("num_experts_per_tok", default=2),
        mlp.inner, mlp.activation,
    )  # fmt: skip
    period, offset = keys.whole("attn_layer_period", default=8), keys.whole(
        "attn_layer_offset", default=4, least=0
    )  # fmt: skip
    every, first = keys.whole("expert_layer_period", default=2), keys.whole(
        "expert_layer_offset", default=1, least=0
    )  # fmt: skip
    norm = rms(hidden)
    layers = [
        pre_norm(
            norm, attention if i % period == offset else state,
            experts if i % every == first and experts.count > 1 else mlp,
        )
        for i in range(count)
    ]  # fmt: skip
    return decoder(keys, layers, hidden, norm)


def inner_state(keys: Keys, *, is_normed: bool = True, is_biased: bool = False) -> Mamba2:
    """Return a Mamba 2 layer from keys as in Bamba's configuration."""
    heads = keys.whole("mamba_n_heads", default=128)
    hidden = keys.whole("hidden_size")
    expanded = keys.whole("mamba_expand", default=2) * hidden
    inner = keys.whole("mamba_d_ssm", default=expanded)
    given = keys.get("mamba_d_head")
    head_dim = inner // heads if given in (None, "auto") else keys.whole("mamba_d_head")
    if head_dim * heads != inner:
        raise keys.unsupported(f"{heads} heads of {head_dim} do not make {inner} channels")
    return Mamba2(
        heads, head_dim, keys.whole("mamba_n_groups", default=1),
        keys.whole("mamba_d_state", default=256), keys.whole("mamba_d_conv", default=4),
        keys.flag("mamba_conv_bias", default=True),
        keys.flag("mamba_proj_bias", default=is_biased), is_normed,
    )  # fmt: skip


def bamba(keys: Keys) -> tuple[Stack, ...]:
    """Bamba: Mamba 2 with attention in some layers, half of a head rotated."""
    hidden, count = keys.whole("hidden_size"), keys.layers("num_hidden_layers")
    where = set(keys.wholes("attn_layer_indices") or ())
    attention, state, mlp = grouped(keys, rotary=0.5), inner_state(keys), gated(keys)
    norm = rms(hidden)
    layers = [pre_norm(norm, attention if i in where else state, mlp) for i in range(count)]
    return decoder(keys, layers, hidden, norm)


def falcon_h1(keys: Keys) -> tuple[Stack, ...]:
    """Falcon-H1: Mamba 2 and attention side by side in every layer."""
    norm = rms(keys.whole("hidden_size"))
    is_normed = keys.flag("mamba_rms_norm")
    state = inner_state(keys, is_normed=is_normed, is_biased=keys.flag("projectors_bias"))
    both = Residual((Branch(state), Branch(grouped(keys))), before=norm)
    layer: Layer = (both, *pre_norm(norm, gated(keys)))
    return decoder(keys, (layer,) * keys.layers("num_hidden_layers"), norm.width, norm)


def granite_hybrid(keys: Keys) -> tuple[Stack, ...]:
    """Granite 4: Mamba 2 with attention in some layers, experts beside a shared MLP."""
    hidden, count = keys.whole("hidden_size"), keys.layers("num_hidden_layers")
    kinds = keys.texts("layer_types") or keys.texts("layers_block_type") or ("mamba",) * count
    is_rotated = keys.text("position_embedding_type") == "rope"
    attention = grouped(keys)
    attention = attention if is_rotated else replace(attention, rotary_dim=0)
    state = inner_state(keys)
    function = activation(keys, "hidden_act", default="silu")
    shared = Mlp(keys.whole("shared_intermediate_size", default=1024), function)
    experts = keys.whole("num_local_experts", default=8, least=0)
    chosen, inner = keys.whole("num_experts_per_tok", default=2, least=min(experts, 1)), keys.whole(
        "intermediate_size"
    )  # fmt: skip
    mlp: Mixer = Experts(experts, chosen, inner, function, shared=shared) if experts else shared
    norm = rms(hidden)
    layers = [
        pre_norm(norm, attention if "attention" in kind else state, mlp) for kind in kinds[:count]
    ]
    return decoder(keys, layers, hidden, norm)


LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
LEGACY = {"linear_attention": "mamba", "full_attention": "attention"}


def nemotron_h(keys: Keys) -> tuple[Stack, ...]:
    """Nemotron-H: one mixer a layer, as a pattern of letters says."""
    hidden = keys.whole("hidden_size")
    keys.whole("expand", default=2)
    keys.layers("num_hidden_layers")
    pattern = keys.text("hybrid_override_pattern")
    kinds = [LETTERS.get(letter, letter) for letter in pattern[:10_000]] or [
        LEGACY.get(kind, kind) for kind in keys.texts("layers_block_type") or ()
    ]
    function = activation(keys, "mlp_hidden_act", default="relu2")
    is_biased = keys.flag("mlp_bias")
    state = Mamba2(
        keys.whole("mamba_num_heads", default=128), keys.whole("mamba_head_dim", default=64),
        keys.whole("n_groups", default=8), keys.whole("ssm_state_size", default=128),
        keys.whole("conv_kernel", default=4), keys.flag("use_conv_bias", default=True),
        keys.flag("use_bias"),
    )  # fmt: skip
    keys.flag("mamba_proj_bias")
    mixers: dict[str, Mixer] = {
        "mamba": state,
        "attention": replace(grouped(keys), rotary_dim=0),
        "mlp": Mlp(keys.whole("intermediate_size"), function, False, is_biased),
    }
    if "moe" in kinds:
        inner = keys.whole("moe_intermediate_size")
        shared = keys.whole("moe_shared_expert_intermediate_size", default=inner)
        mixers["moe"] = Experts(
            keys.whole("n_routed_experts"), keys.whole("num_experts_per_tok"), inner, function,
            False, shared=Mlp(shared, function, False), is_choice_biased=True,
        )  # fmt: skip
    strange = sorted(set(kinds) - set(mixers))
    if strange or not kinds:
        raise keys.unsupported(f"no layer {(strange or ['nothing'])[0][:20]!r} in Nemotron-H")
    norm = rms(hidden)
    return decoder(keys, [pre_norm(norm, mixers[kind]) for kind in kinds], hidden, norm)


READERS = {
    "mamba": mamba,
    "falcon_mamba": mamba,
    "mamba2": mamba2,
    "jamba": jamba,
    "bamba": bamba,
    "falcon_h1": falcon_h1,
    "granitemoehybrid": granite_hybrid,
    "nemotron_h": nemotron_h,
}
