"""Checkpoint of a small language model, for tests of GNN+LLM."""

from __future__ import annotations

from pathlib import Path

import pytest


def checkpoint(folder: Path, kind: str) -> Path:
    """A language model with random weights, as transformers saves one."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from perfc_lab.papers.gnn_llm.language_model import make_tokenizer
    from perfc_lab.papers.gnn_llm.presets import DecoderShape

    shape = DecoderShape(300, 32, 64, 2, 2, 1024)
    make_tokenizer(["The graph contains 12 nodes"], shape).save_pretrained(folder)
    config, network = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
    }[kind]
    torch.manual_seed(0)
    network(
        config(
            vocab_size=shape.vocabulary,
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            eos_token_id=1,
            bos_token_id=None,
            pad_token_id=0,
            max_position_embeddings=shape.context,
        )
    ).save_pretrained(folder)
    return folder
