"""GGUF files against the configurations of the same networks: flop, parameters, bytes of weights.

    python benchmarks/gguf_models.py --work FOLDER [NAME...]

Needs the ``gguf`` package, which writes the header of each file; its data are a hole of the disk.
Keys and extents are those of llama.cpp's converters, from the configuration. Most matrices have the
type of the file, values and down projections a wider one, vectors and routers f32.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGUFWriter
from gguf import GGMLQuantizationType as Type

import perfc
from perfc.frontend.checkpoints.json_file import loaded
from perfc.frontend.checkpoints.sources import located
from perfc.frontend.config import precision_of, read_config
from perfc.frontend.config.facts import parameters, weight_bytes
from perfc.ir.symbolic.evaluate import evaluate

MODELS = """llama-3.2-1b:llama:q4_k llama-3.1-8b:llama:q4_k llama-3.3-70b:llama:q5_k
mistral-7b-v0.3:llama:q8_0 mixtral-8x7b:llama:q4_0 qwen2.5-7b:qwen2:q6_k qwen3-8b:qwen3:iq4_xs
qwen3-30b-a3b:qwen3moe:q2_k qwen1.5-moe-a2.7b:qwen2moe:q3_k gemma-2-9b:gemma2:q4_k
gemma-3-12b:gemma3:iq3_s phi-4-mini:phi3:bf16 deepseek-v3:deepseek2:iq1_m gpt-oss-20b:gpt-oss:mxfp4
mamba-2.8b:mamba:f16"""
WIDER = {"q4_k": "q6_k", "q2_k": "q3_k", "q3_k": "q5_k", "iq4_xs": "q5_k", "iq3_s": "q4_k"}
"""Types of sensitive matrices in a file of each type."""
WIDE = ("ffn_gate_inp", "ssm_a", "ssm_conv1d")
"""Matrices in f32."""
KEYS = """max_position_embeddings:context_length hidden_size:embedding_length
num_hidden_layers:block_count intermediate_size:feed_forward_length num_experts:expert_count
num_attention_heads:attention.head_count num_key_value_heads:attention.head_count_kv
head_dim:attention.key_length sliding_window:attention.sliding_window state_size:ssm.state_size
num_local_experts:expert_count n_routed_experts:expert_count num_experts_per_tok:expert_used_count
moe_intermediate_size:expert_feed_forward_length n_shared_experts:expert_shared_count
shared_expert_intermediate_size:expert_shared_feed_forward_length rotary:rope.dimension_count
first_k_dense_replace:leading_dense_block_count conv_kernel:ssm.conv_kernel inner:ssm.inner_size
time_step_rank:ssm.time_step_rank q_lora_rank:attention.q_lora_rank mla:attention.key_length_mla
kv_lora_rank:attention.kv_lora_rank v_head_dim:attention.value_length_mla"""
Shapes = dict[str, tuple[int, ...]]


def mixer(c: dict[str, Any], arch: str) -> Shapes:
    """Return the tensors before the MLP of a layer, the contracted extent last."""
    h = c["hidden_size"]
    if arch == "mamba":
        m, rank, states, taps = (
            c[k] for k in ("inner", "time_step_rank", "state_size", "conv_kernel")
        )
        return {"ssm_in": (2 * m, h), "ssm_conv1d": (m, taps), "ssm_conv1d.bias": (m,),
                "ssm_x": (rank + 2 * states, m), "ssm_dt": (m, rank), "ssm_dt.bias": (m,),
                "ssm_a": (m, states), "ssm_d": (m,), "ssm_out": (h, m)}  # fmt: skip
    heads, d = c["num_attention_heads"], c["head_dim"]
    if arch == "deepseek2":
        low, rank, rope = c["q_lora_rank"], c["kv_lora_rank"], c["rotary"]
        return {"attn_q_a": (low, h), "attn_q_a_norm": (low,), "attn_q_b": (heads * c["mla"], low),
                "attn_kv_a_mqa": (rank + rope, h), "attn_kv_a_norm": (rank,),
                "attn_k_b": (heads, rank, c["mla"] - rope), "attn_output": (h, heads * d),
                "attn_v_b": (heads, c["v_head_dim"], rank)}  # fmt: skip
    q, kv = heads * d, c["num_key_value_heads"] * d
    separate: Shapes = {"attn_q": (q, h), "attn_k": (kv, h), "attn_v": (kv, h)}
    tensors: Shapes = {"attn_qkv": (q + 2 * kv, h)} if arch == "phi3" else separate
    tensors = {**tensors, "attn_output": (h, q)}
    if arch in ("qwen2", "qwen2moe", "gpt-oss"):
        tensors |= {f"{name}.bias": rows[:1] for name, rows in separate.items()}
    if arch in ("qwen3", "qwen3moe", "gemma3"):
        tensors |= {"attn_q_norm": (d,), "attn_k_norm": (d,)}
    return tensors | (
        {"attn_output.bias": (h,), "attn_sinks": (heads,)} if arch == "gpt-oss" else {}
    )


def layer(c: dict[str, Any], arch: str, i: int) -> Shapes:
    """Return the tensors of layer ``i``."""
    h, inner, e = c["hidden_size"], c.get("intermediate_size", 0), c["experts"]
    tensors: Shapes = {"attn_norm": (h,), **mixer(c, arch)}
    if arch == "mamba":
        return tensors
    tensors["post_attention_norm" if arch == "gpt-oss" else "ffn_norm"] = (h,)
    if arch.startswith("gemma"):
        tensors |= {"post_attention_norm": (h,), "post_ffw_norm": (h,)}
    if not e or i < c.get("first_k_dense_replace", 0):
        up: Shapes = {"ffn_up": (2 * inner, h)} if arch == "phi3" else {
            "ffn_gate": (inner, h), "ffn_up": (inner, h)}  # fmt: skip
        return {**tensors, **up, "ffn_down": (h, inner)}
    m = c.get("moe_intermediate_size", inner)
    s = c.get("shared_expert_intermediate_size", m * c.get("n_shared_experts", 0))
    up = {"ffn_gate_exps": (e, m, h), "ffn_up_exps": (e, m, h)}
    each: Shapes = {**up, "ffn_down_exps": (e, h, m)}
    tensors |= {"ffn_gate_inp": (e, h), **each}
    if arch == "gpt-oss":
        tensors |= {f"{n}.bias": s[:2] for n, s in each.items()} | {"ffn_gate_inp.bias": (e,)}
    if s:
        tensors |= {"ffn_gate_shexp": (s, h), "ffn_up_shexp": (s, h), "ffn_down_shexp": (h, s)}
    return tensors | {"deepseek2": {"exp_probs_b.bias": (e,)}, "qwen2moe": {
        "ffn_gate_inp_shexp": (h,)}}.get(arch, {})  # fmt: skip


def written(name: str, arch: str, kind: str, path: Path) -> int:
    """Write the GGUF file of a shipped configuration; return the bytes of its tensors."""
    c = {k: v for k, v in loaded(located(name)[0]).items() if v is not None}
    h, heads = c["hidden_size"], c.get("num_attention_heads")
    c["head_dim"] = c.get("v_head_dim") or c.get("head_dim") or (h // heads if heads else None)
    c["experts"] = c.get("num_local_experts") or c.get("num_experts") or c.get("n_routed_experts")
    share = c.get("partial_rotary_factor", 1)
    c["rotary"] = c.get("qk_rope_head_dim") or (int(c["head_dim"] * share) if heads else None)
    c["mla"] = c["qk_nope_head_dim"] + c["rotary"] if arch == "deepseek2" else None
    c["inner"] = c["intermediate_size"] if arch == "mamba" else None
    tables: Shapes = {"token_embd": (c["vocab_size"], h), "output_norm": (h,)}
    if not read_config(name).stacks[-1].heads[0].is_tied:
        tables["output"] = (c["vocab_size"], h)
    for i in range(c["num_hidden_layers"]):
        tables |= {f"blk.{i}.{key}": shape for key, shape in layer(c, arch, i).items()}
    writer, total = GGUFWriter(path, arch), 0
    for ours, theirs in (pair.split(":") for pair in KEYS.split()):
        if isinstance(c.get(ours), int):
            writer.add_uint32(f"{arch}.{theirs}", c[ours])
    for key, shape in tables.items():
        stem = key.rpartition("blk.")[2].partition(".")[2]
        is_wide = stem.startswith(("attn_v", "ffn_down")) or key == "output"
        t = Type["F32" if len(shape) == 1 or "." in stem or stem in WIDE
                 else (WIDER.get(kind, kind) if is_wide else kind).upper()]  # fmt: skip
        # as llama.cpp has it where rows are no whole blocks
        t = Type.Q8_0 if shape[-1] % GGML_QUANT_SIZES[t][0] else t
        elements, (block, each) = int(np.prod(shape)), GGML_QUANT_SIZES[t]
        nbytes = elements // block * each
        suffix = "" if "." in stem or stem in ("ssm_a", "ssm_d") else ".weight"
        row = GGML_QUANT_SIZES[t][1] * shape[-1] // block
        writer.add_tensor_info(key + suffix, (*shape[:-1], row), np.dtype("u1"), nbytes, t)
        total += nbytes
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + total + 64 * len(tables))
    return total


def facts(model: str) -> tuple[int, int, int]:
    """Return multiply-accumulates of a pass, parameters, and bytes of the weights."""
    described = read_config(model)
    report = perfc.analyze(model, "rtx4090", runtime="llamacpp", dims={"batch": 1, "seq": 512})
    stored = weight_bytes(described, precision_of(described.dtype, described.quantization))
    return evaluate(report.cost.work.mac, report.env), parameters(described).resident, stored


def main() -> None:
    """Print a row for each network, and how many are right."""
    parser = argparse.ArgumentParser(description="GGUF files against configurations.")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    given, right, rows = parser.parse_args(), 0, [m.split(":") for m in MODELS.split()]
    rows = [r for r in rows if not given.names or r[0] in given.names]
    print("network type flop parameters bytes")
    for name, arch, kind in rows:
        path = given.work / f"{name}-{kind}.gguf"
        nbytes = written(name, arch, kind, path)
        (mac, count, stored), (wanted, known, _) = facts(str(path)), facts(name)
        is_right = abs(mac / wanted - 1) <= 0.005 and stored == nbytes and count == known
        right += is_right
        print(name, kind, f"{mac / wanted - 1:+.3%} {count - known:+} {stored - nbytes:+}")
    print(f"{right} of {len(rows)}: flop within 0.5 %, parameters and bytes exact")


if __name__ == "__main__":
    main()
