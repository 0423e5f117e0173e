"""Heads of queries that share keys, under engines whose kernels read these anew for each head."""

from __future__ import annotations

from dataclasses import replace

from perfc.frontend.config import LanguageModel
from perfc.frontend.config.mixers import Attention
from perfc.frontend.config.model import Branch, Layer, Residual, mixers
from perfc.passes.runtimes import Serving
from perfc.passes.runtimes import runtime as runtime_named

KERNELS: tuple[tuple[tuple[int, int], frozenset[int]], ...] = (
    ((0, 7), frozenset()),
    ((0, 10), frozenset({8})),
    ((0, 11), frozenset({8, 16})),
)
"""Versions of TensorRT-LLM before which a kernel reads keys once for groups of so many heads alone.
Sources: TensorRT-LLM, blogs/XQA-kernel.md, by which that kernel came; decoderXQARunner.h and
decoderXQAImplPrecompiled.cpp, ``nbQHeadsPerKV``."""


def reads_keys_anew(model: LanguageModel, runtime: str, version: str) -> bool:
    """Whether a step of decoding reads keys and values once for each head of queries.

    Args:
        model: that is served.
        runtime: by its name.
        version: of it; "" for the newest, which reads them once.
    """
    numbers = tuple([int(n) for n in version.split(".")[:2] if n.isdigit()])
    if runtime_named(runtime).serving is not Serving.TRTLLM or len(numbers) < 2:
        return False
    once = next((groups for until, groups in KERNELS if numbers < until), None)
    if once is None:
        return False
    shared = {a.heads // a.kv_heads for a in _attentions(model)}
    return bool(shared - once - {1})


def ungrouped(model: LanguageModel) -> LanguageModel:
    """The model with keys and values of its own for each head of queries."""
    stacks = tuple(
        [
            replace(stack, layers=tuple([_layer(layer) for layer in stack.layers]))
            for stack in model.stacks
        ]
    )
    return replace(model, stacks=stacks)


def _attentions(model: LanguageModel) -> list[Attention]:
    decoder = model.decoder
    layers = set(decoder.layers) if decoder is not None else set()
    return [m for layer in layers for m in mixers(layer) if isinstance(m, Attention)]


def _layer(layer: Layer) -> Layer:
    return tuple([_residual(residual) for residual in layer])


def _residual(residual: Residual) -> Residual:
    return replace(residual, branches=tuple([_branch(b) for b in residual.branches]))


def _branch(branch: Branch) -> Branch:
    mixer = branch.mixer
    if not isinstance(mixer, Attention):
        return branch
    return replace(branch, mixer=replace(mixer, kv_heads=mixer.heads))
