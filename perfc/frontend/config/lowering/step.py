"""Describe one forward pass of a serving engine: its tokens, caches, and the symbols of both."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TypeAlias

from perfc.ir import Basis, Dim, SymbolDecl, Value, mutable, record, symbol

BATCH, SEQ, PAST = "batch", "seq", "past"
DECODES, CONTEXT, SOURCE, TARGET = "decodes", "context", "source", "target"
"""Names of symbols; `ForwardStep` says which step has which, and what they count."""


class ForwardStep(Enum):
    """A pass through the model."""

    PREFILL = "prefill"
    """``batch`` prompts of ``seq`` tokens each. Encoders run in it too: BERT and ViT alone, those
    of T5 and Whisper with ``target`` first tokens of the decoder."""
    TRAINING = "training"
    """``batch`` samples of ``seq`` tokens each, with the scores of every token and no caches. A
    decoder behind an encoder reads ``target`` tokens, as many as the encoder where not given."""
    EXTEND = "extend"
    """``seq`` new tokens of each of ``batch`` sequences, behind ``past`` cached ones."""
    DECODE = "decode"
    """``decodes`` sequences with one new token each (or ``new_tokens``) behind ``context`` cached
    ones. Behind an encoder, keys of its ``source`` tokens are cached, too."""
    MIXED = "mixed"
    """`EXTEND` and `DECODE` in one pass, as chunked prefill has it."""

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


# defaults and limits; only caches may be empty
DECLARED = {
    BATCH: SymbolDecl(BATCH, 1, basis=Basis.BATCH),
    SEQ: SymbolDecl(SEQ, 2048, basis=Basis.SEQUENCE),
    PAST: SymbolDecl(PAST, 2048, lo=0, basis=Basis.CACHE),
    DECODES: SymbolDecl(DECODES, 1, basis=Basis.BATCH),
    CONTEXT: SymbolDecl(CONTEXT, 2048, lo=0, basis=Basis.CACHE),
    SOURCE: SymbolDecl(SOURCE, 2048, basis=Basis.SEQUENCE),
    TARGET: SymbolDecl(TARGET, 1, basis=Basis.SEQUENCE),
}


def extent(name: str, most: int = 0) -> Dim:
    """Return the symbol ``name`` with upper limit ``most``; 0 for no limit."""
    return symbol(name, DECLARED[name].lo, most or None)


@record
class Tokens:
    """Tokens of one stack in one pass.

    Args:
        prompts: sequences with many new tokens, 0 for none.
        length: new tokens of each prompt.
        past: cached tokens of each prompt.
        decodes: sequences in decode, 0 for none.
        context: cached tokens of each sequence in decode.
        new_tokens: new tokens of each sequence in decode.
    """

    prompts: Dim = 0
    length: Dim = 0
    past: Dim = 0
    decodes: Dim = 0
    context: Dim = 0
    new_tokens: int = 1

    @property
    def rows(self) -> Dim:
        """Return all new tokens."""
        return self.prompts * self.length + self.decodes * self.new_tokens

    @property
    def sequences(self) -> Dim:
        """Return all sequences."""
        return self.prompts + self.decodes

    @property
    def has_prompts(self) -> bool:
        """Return True if some sequences have many new tokens."""
        return self.prompts != 0

    @property
    def has_decodes(self) -> bool:
        """Return True if some sequences are decoded."""
        return self.decodes != 0


Pair: TypeAlias = "tuple[Value | None, Value | None]"
"""Keys and values of a cache, None without one."""


@mutable
class Running:
    """The values that every layer of a stack reads in one pass.

    Args:
        tokens: numbers of prompts, decodes and tokens of the pass.
        lengths: tokens of each prompt, [prompts]; None without prompts.
        ends: where each sequence ends in the rows; None where no layer has a state.
        positions: positions of each token.
        encoded: output of the encoder; None where there is none or it is cached.
        source: tokens that the encoder has for each sequence.
        is_cached: whether keys and values are cached for later tokens; False in training, whose
            heads read every token.
        layer: number of the layer that is lowered.
        rows: for each layer, the rows of `PerLayerEmbedding`, [tokens, width].
        keys: keys and values of the last layer of each kind of attention, which others share.
        caches: the caches of that layer, of prompts and of decoded sequences.
        max_positions: longest sequence of the model, the rows of its tables of angles; 0 if
            unknown.
    """

    tokens: Tokens
    lengths: Value | None = None
    ends: Value | None = None
    positions: Value | None = None
    encoded: Value | None = None
    source: Dim = 0
    is_cached: bool = True
    max_positions: int = 0
    layer: int = 0
    rows: list[Value] = field(default_factory=list)
    keys: dict[tuple[bool, int], tuple[Value, Value]] = field(default_factory=dict)
    caches: dict[tuple[bool, int], tuple[Pair, Pair]] = field(default_factory=dict)
