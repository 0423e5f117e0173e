"""Compare models of configurations with transformers' own, built without memory on the meta device.

python benchmarks/llm_configs.py [NAME ...] [--golden tests/golden/llm_configs.json] [--recent]

For each shipped configuration: parameters, bytes of the cache of one sequence, and matrix
multiply–accumulates of a prompt and of a step of decoding. Those of transformers are what torch
counts in the eager model, where every query meets every key: ours are counted the same way, masks
left out of account, and the head on one token. Left out on both sides is what transformers writes
out inside a layer with a state: the scan, the convolution before it, and Mamba's projection to time
steps. Its caches of latent attention hold expanded keys, and those of Falcon copies, so that these
are not compared. Needs the extra ``runs``.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOKENS, TARGET = 160, 8
"""Tokens of a prompt, and of the decoder of encoder-decoder models."""
EDGE = 448
"""Pixels along an edge of an image where a tower reads any size."""
NATIVE = ("qwen2_5_vl",)
OF_A_SIZE = ("mistral3",)
"""Families whose images come with their sizes, which the meta device has none of."""
NOT_RUN, READS_ALL = "step3p5", "gemma4_text"
"""Families that choose experts by values, and whose layers skip tokens that no head reads."""
TIES_ALWAYS = ("t5", "mt5")
"""transformers 5 shares the head of T5 1.1 with its embedding, though the published weights have
both: model cards and configurations count them separately."""
DECODERS = ("CausalLM", "LMHead")
"""Parts of class names of models that generate text."""
NARROW = "model.decoder.project_out"
"""Projection before the head of OPT, which runs on all tokens of a prompt."""
SCANS = (
    "MambaMixer",
    "Mamba2Mixer",
    "BambaMixer",
    "FalconH1Mixer",
    "GatedDeltaNet",
    "MambaLayer",
    "DeltaAttention",
    "ShortConv",
    "MambaMixer2",
    "JambaMambaMixer",
)
FOLDER = Path(__file__).resolve().parent.parent / "perfc" / "frontend" / "config" / "configs"


def config_of(keys: dict[str, Any]) -> Any:
    """Return transformers' configuration, with attention and experts that torch counts."""
    from transformers import AutoConfig

    given = {k: v for k, v in keys.items() if k not in ("model_type", "quantization_config")}
    given.pop("torch_dtype", None)
    config = AutoConfig.for_model(keys["model_type"], **given)
    for part in (config, *(getattr(config, n, None) for n in ("text_config", "vision_config"))):
        if part is not None:
            part._attn_implementation = "eager"
            part._experts_implementation = "batched_mm"
    return config


UNDER_ANOTHER_NAME = {
    "kimi_k2": "deepseek_v3",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
    "phi4mm": "phi3",
}
"""Families of language models that transformers has a class of another name for."""
ABSENT = ("bailing_moe_v2",)
"""Families that transformers has no class for: model cards have their numbers."""


def part_of(config: dict[str, Any], *, has_tower: bool) -> dict[str, Any]:
    """Return the configuration of what perfc reads: the language model alone if it has no tower."""
    inner = config.get("text_config")
    if inner is None or has_tower:
        return config
    tied = {k: v for k, v in config.items() if k == "tie_word_embeddings"}
    return {**tied, **inner, "architectures": ["TextForCausalLM"]}


def built(keys: dict[str, Any]) -> Any:
    """Return the model on the meta device."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    family = UNDER_ANOTHER_NAME.get(keys["model_type"], keys["model_type"])
    named = getattr(transformers, keys["architectures"][0], None)
    config = config_of({**keys, "model_type": family})
    with torch.device("meta"):
        if family == "step3p5":
            from transformers.models.step3p7 import modeling_step3p7

            model = modeling_step3p7.Step3p7TextModel(config)
            model.lm_head = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        elif named is not None and family == keys["model_type"]:
            model = named(config)
        else:
            text = transformers.AutoModelForCausalLM
            model = text.from_config(config)  # type: ignore[no-untyped-call]
    return model.eval()


def inputs_of(keys: dict[str, Any], tokens: int, target: int) -> dict[str, Any]:
    """Return one prompt, image or spectrogram."""
    import torch

    def ids(n: int) -> Any:
        return torch.ones((1, n), dtype=torch.long, device="meta")

    family = keys["model_type"]
    if family == "whisper":
        sound = torch.empty((1, keys["num_mel_bins"], 3000), device="meta")
        return {"input_features": sound, "decoder_input_ids": ids(target)}
    if family in ("vit", "deit", "clip"):
        edge = keys.get("image_size") or keys["vision_config"]["image_size"]
        image = {"pixel_values": torch.empty((1, 3, edge, edge), device="meta")}
        return {**image, "input_ids": ids(77)} if family == "clip" else image
    feed = {"input_ids": ids(tokens)}
    if family in ("t5", "mt5", "bart"):
        feed["decoder_input_ids"] = ids(target)
    return feed


def counted(model: Any, run: Callable[[], Any], rows: int = 1, tokens: int = 1) -> tuple[int, Any]:
    """Return multiply–accumulates of a run with the head on one token, and what it returns.

    Args:
        model: whose modules are counted separately.
        run: what is counted.
        rows: tokens that the head was run on.
        tokens: of the prompt.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        result = run()
    by_module = counter.get_flop_counts()
    root = type(model).__name__

    def total(name: str) -> int:
        return sum(by_module.get(name, {}).values())

    flop = counter.get_total_flops()
    for head, n in (("lm_head", rows), ("embed_out", rows), ("proj_out", rows), (NARROW, tokens)):
        spent = total(f"{root}.{head}")
        flop -= spent - spent // n
    modules = dict(model.named_modules())
    for name, module in modules.items():
        if any(s in type(module).__name__ for s in SCANS):
            children = [f"{root}.{name}.{child}" for child, _ in module.named_children()]
            # what the mixer does itself is its scan; its projections are modules
            flop -= total(f"{root}.{name}") - sum(map(total, children))
        if type(module).__name__ == "Llama4TextExperts":
            # it runs every expert on every token, with zeros where it was not chosen
            config = getattr(model.config, "text_config", model.config)
            spent, chosen = total(f"{root}.{name}"), config.num_experts_per_tok
            flop -= spent - spent * chosen // module.num_experts
    return flop // 2, result  # a multiply-accumulate is two operations


def cache_bytes(cache: Any) -> int | None:
    """Return the bytes of keys and values that transformers keeps of one sequence, in 16 bits."""
    cache = getattr(cache, "self_attention_cache", cache)
    elements = 0
    for layer in getattr(cache, "layers", []):
        for tensor in (getattr(layer, "keys", None), getattr(layer, "values", None)):
            elements += 0 if tensor is None else tensor.numel()
    return 2 * elements


def theirs(name: str) -> dict[str, int | None]:
    """Return the numbers of transformers for a shipped configuration."""
    from perfc.frontend.config import read_config

    stored = json.loads((FOLDER / f"{name}.json").read_text())
    keys = part_of(stored, has_tower=read_config(name).tower is not None)
    if keys["model_type"] in ABSENT:
        return {"parameters": None}
    model = built(keys)
    learned = sum(p.numel() for p in model.parameters() if p.requires_grad)
    counts: dict[str, int | None] = {"parameters": learned}
    if keys["model_type"] == NOT_RUN:
        return counts
    has_images = "vision_config" in keys and keys["model_type"] != "clip"
    is_decoder = has_images or any(part in keys["architectures"][0] for part in DECODERS)
    is_pair = "ConditionalGeneration" in keys["architectures"][0] and not has_images
    if has_images and keys["model_type"] not in OF_A_SIZE:
        counts["image_macs"] = image_macs(model, keys)
    feed = inputs_of(keys, TOKENS, TARGET)
    rows = TARGET if is_pair else TOKENS if is_decoder else 1
    if keys["model_type"] in TIES_ALWAYS and keys.get("tie_word_embeddings") is False:
        counts["parameters"] = None
    caching: dict[str, int] = {"use_cache": True} if is_decoder or is_pair else {}
    names = inspect.signature(model.forward).parameters
    if "logits_to_keep" in names and keys["model_type"] != READS_ALL:
        caching["logits_to_keep"], rows = 1, 1
    is_latent = "kv_lora_rank" in keys
    is_sparse = "index_topk" in keys
    macs, result = counted(model, lambda: model(**feed, **caching), rows, TOKENS)
    # of an indexer transformers computes scores, and then attention to all, expanded
    counts["prefill_macs"] = None if is_sparse else macs
    cache = getattr(result, "past_key_values", None)
    if cache is None:
        cache = getattr(result, "cache_params", None)
    if not (is_decoder or is_pair):
        return counts
    # of latents transformers keeps what they expand to, of Falcon's grouped heads their copies
    is_copied = is_latent or bool(keys.get("new_decoder_architecture"))
    counts["cache_bytes"] = None if is_copied else cache_bytes(cache)
    counts["decode_macs"] = None if is_latent else decode_macs(model, result, cache)
    return counts


def image_macs(model: Any, keys: dict[str, Any]) -> int:
    """Return the MACs of one image of the tower's size, or of `EDGE` pixels: tower and projector.

    Towers that read any size compute with positions, so that theirs are run, on weights that hold
    nothing.
    """
    import torch

    vision = keys["vision_config"]
    edge = EDGE if keys["model_type"] in NATIVE else vision["image_size"]
    along = edge // vision["patch_size"]
    is_native = keys["model_type"] in NATIVE
    device = "cpu" if is_native else "meta"
    if is_native:
        model.model.visual.to_empty(device=device)
    if "spatial_patch_size" in vision:
        # patches come flat; only their grid has numbers
        width = 3 * vision["temporal_patch_size"] * vision["patch_size"] ** 2
        feed: dict[str, Any] = {
            "pixel_values": torch.zeros((along * along, width), device=device),
            "image_grid_thw": torch.tensor([[1, along, along]]),
        }
    else:
        feed = {"pixel_values": torch.empty((1, 3, edge, edge), device="meta")}
    reader = getattr(model, "model", model)
    macs = counted(model, lambda: reader.get_image_features(**feed))[0]
    if keys["model_type"] == "llama4":
        # its last product is no part of what gives the features
        tokens = (along * vision["pixel_shuffle_ratio"]) ** 2
        weight = model.multi_modal_projector.linear_1.weight
        macs += int(tokens) * weight.numel()
    model.to(device="meta")
    return macs


def decode_macs(model: Any, result: Any, cache: Any) -> int:
    """Return the MACs of one further token."""
    import torch

    token = torch.ones((1, 1), dtype=torch.long, device="meta")
    names = inspect.signature(model.forward).parameters
    key = next(n for n in ("past_key_values", "cache", "cache_params") if n in names)
    if "encoder_outputs" in names:
        states = (result.encoder_last_hidden_state,)
        feed = {"decoder_input_ids": token, "encoder_outputs": states}
    else:
        feed = {"input_ids": token}
    return counted(model, lambda: model(**feed, **{key: cache}, use_cache=True))[0]


def ours(name: str) -> dict[str, int | None]:
    """Return the same of perfc's module."""
    from perfc.frontend.config import (
        ForwardStep,
        ServingPrecision,
        lower,
        lower_images,
        read_config,
    )
    from perfc.frontend.config.facts import cache_bytes as held
    from perfc.frontend.config.facts import parameters
    from perfc.ir.graph import Module
    from perfc.ir.ops.recurrent.causal_conv import VarlenCausalConvWithState
    from perfc.ir.ops.recurrent.linear_attention import GatedDeltaNet
    from perfc.ir.ops.recurrent.state_space import StateSpaceScan
    from perfc.ir.symbolic.evaluate import evaluate
    from perfc.passes.inference.shapes import Shapes
    from perfc.passes.manager import Analyses
    from perfc.passes.roofline.cost import Cost

    model = read_config(name)
    sizes = {
        "batch": 1,
        "seq": TOKENS,
        "target": TARGET,
        "decodes": 1,
        "context": TOKENS,
        "source": TOKENS,
    }
    if len(model.stacks) == 2 and model.decoder is None:
        sizes["seq"] = 77
    if model.decoder is not None and len(model.stacks) == 2:
        sizes["context"] = TARGET

    def macs(lowered: Module) -> int:
        am = Analyses()
        module = am.apply(Shapes(), lowered)
        costs = am.get(Cost(), module).nodes
        inside = (GatedDeltaNet, StateSpaceScan, VarlenCausalConvWithState)
        parts = [
            c.work.mac
            for n, c in costs.items()
            if not isinstance(n.op, inside) and not n.name.endswith(".mamba.time")
        ]
        return sum(int(evaluate(mac, sizes)) for mac in parts)

    counts: dict[str, int | None] = {
        "parameters": parameters(model).resident,
        "prefill_macs": macs(lower(model, ForwardStep.PREFILL, ServingPrecision())),
    }
    if model.decoder is not None:
        length = TARGET if len(model.stacks) == 2 else TOKENS
        counts["cache_bytes"] = held(model, length, ServingPrecision())
        counts["decode_macs"] = macs(lower(model, ForwardStep.DECODE, ServingPrecision()))
    if model.tower is not None:
        counts["image_macs"] = macs(lower_images(model, ServingPrecision()))
    return counts


FAR = 100_000
"""A context beyond every short window, at which a further token's bytes are counted."""


def recent() -> None:
    """Print parameters, active ones and bytes of the cache of a further token, in 16 bits."""
    from perfc.common.fitted import data_next_to
    from perfc.frontend.config import ServingPrecision, read_config
    from perfc.frontend.config.facts import cache_bytes as held
    from perfc.frontend.config.facts import parameters

    half, names = ServingPrecision(), data_next_to(__file__)
    for name in (*names["uncompared"], *names["compared"]):
        model = read_config(name)
        count = parameters(model)
        token = held(model, FAR + 1, half) - held(model, FAR, half)
        parts = f"without {', '.join(model.left_out)}" if model.left_out else ""
        print(f"{name:22} {count.resident:>17,} {count.active:>16,} {token:>9,} {parts}")


def main() -> int:
    """Print the table; with ``--golden`` write what transformers has."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--recent", action="store_true")
    options = parser.parse_args()
    if options.recent:
        recent()
        return 0
    names = options.names or sorted(p.stem for p in FOLDER.glob("*.json"))
    golden: dict[str, dict[str, int | None]] = {}
    wrong = 0
    for name in names:
        try:
            golden[name] = theirs(name)
        except Exception as error:
            print(f"{name:28} transformers: {type(error).__name__}: {str(error)[:160]}", flush=True)
            wrong += 1
            continue
        counts = ours(name)
        shown: list[str] = []
        for key, value in golden[name].items():
            other = counts[key]
            share = 0.0 if value == other else abs((other or 0) / value - 1) if value else 1.0
            is_exact = key in ("parameters", "cache_bytes")
            is_bad = value is not None and (value != other if is_exact else share > 1e-3)
            wrong += is_bad
            words = "not compared" if value is None else f"{share:.4%}" if not is_exact else ""
            shown.append(f"{key} {other}{f' against {value}' if is_bad else ''} {words}")
        print(f"{name:28} {' · '.join(shown)}", flush=True)
    if options.golden is not None:
        if options.names and options.golden.exists():
            golden = {**json.loads(options.golden.read_text(encoding="utf-8")), **golden}
        text = (
            json.dumps(golden, indent=0, sort_keys=True).replace("\n", " ").replace("}, ", "},\n")
        )
        options.golden.write_text(text + "\n")
    print(f"{len(golden)} configurations, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
