"""Load a causal language model from a local folder, or train a small decoder on texts.

Folders are those of `transformers`, with weights in safetensors. Nothing is downloaded, and no code
of a folder is run.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from perfc.analyzers.graph.predictor import Say
from perfc.errors import PerfcError

from .extra import need_extra
from .lessons import NAMES
from .loop import StageRecipe, learn
from .presets import DecoderShape

LARGE_PARAMETERS = 1 << 30
"""Minimum parameters of a model that is loaded in 16 bits, or on a GPU in 4."""
# special tokens of the small decoder
END, PADDING = "<end>", "<padding>"
TOKENS_PER_STEP = 4096
"""Tokens of a training step of the small decoder."""
TEXT_RATE = 2e-3
"""Learning rate of the small decoder."""
IGNORED = -100
"""Label of a token without a loss, that of `transformers`."""


@dataclass(frozen=True, eq=False)
class CausalLanguageModel:
    """A causal language model with its tokenizer.

    Args:
        network: network of `transformers`.
        tokenizer: tokenizer of `transformers`.
        folder: folder that it was read from.
    """

    network: nn.Module
    tokenizer: Any
    folder: Path

    @property
    def width(self) -> int:
        """Return the width of an embedding."""
        return int(self.network.config.hidden_size)  # type: ignore[union-attr,arg-type]

    @property
    def embedding(self) -> nn.Module:
        """Return the embedding of tokens."""
        module: nn.Module = self.network.get_input_embeddings()  # type: ignore[operator]
        return module

    @property
    def place(self) -> torch.device:
        """Return the device of the embedding."""
        return next(self.embedding.parameters()).device

    @property
    def end(self) -> int:
        """Return the token that ends an answer."""
        return int(self.tokenizer.eos_token_id)

    def ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of a text, without those that begin or end a document."""
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids of tokens, up to the end of the answer."""
        tokens = list(ids)
        if self.end in tokens:
            tokens = tokens[: tokens.index(self.end)]
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))


def load_language_model(folder: Path) -> CausalLanguageModel:
    """Return a causal language model of a local folder, as `transformers` saves it.

    Models of more than `LARGE_PARAMETERS` weights have 16 bits, or 4 on a GPU with bitsandbytes.

    Raises:
        MissingExtraError: transformers or peft is not installed.
        PerfcError: the folder has no such model.
    """
    need_extra()
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    where = os.fspath(folder)
    if not (folder / "config.json").is_file():
        raise PerfcError("no language model", where=where, hint="name a folder with a config.json")
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(folder, **local)
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
        loaded = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            use_safetensors=True,
            attn_implementation=attention(),
            **_held(folder),
            **local,
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PerfcError(f"no language model that can be read: {line}", where=where) from None
    if tokenizer.eos_token_id is None:
        raise PerfcError("the tokenizer has no token that ends a text", where=where)
    return CausalLanguageModel(loaded, tokenizer, folder)


def _held(folder: Path) -> dict[str, Any]:
    """Return the options of `transformers` that set the type and place of the weights."""
    # files of large models have 2 bytes per weight
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    if size < 2 * LARGE_PARAMETERS:
        return {"dtype": torch.float32}
    if torch.cuda.is_available():
        try:
            import bitsandbytes  # noqa: F401
            from transformers import BitsAndBytesConfig
        except ImportError:
            return {"dtype": torch.bfloat16, "device_map": 0}
        four_bits = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
        return {"quantization_config": four_bits, "device_map": 0}
    return {"dtype": torch.bfloat16}


def attention() -> str:
    """Return the implementation of attention: plain products on a CPU, whose gradient is faster."""
    return "sdpa" if torch.cuda.is_available() else "eager"


def make_tokenizer(texts: Iterable[str], shape: DecoderShape, words: Iterable[str] = ()) -> Any:
    """Build a tokenizer of byte pairs from text, with every digit a separate token.

    Merges may span words, so that mostly one token is between two numbers of a summary. That halves
    the length of answers.

    Args:
        texts: texts to learn the merges from.
        shape: shape of the decoder, with the number of tokens.
        words: words that are a token each.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    vocabulary = sorted(set(words))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=shape.vocabulary - len(vocabulary),
        # in this order they are the tokens 0 and 1, as `fresh_decoder` sets them
        special_tokens=[PADDING, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # texts are split at the words, so that no merge contains a word; `$^` matches nothing
    between = (
        re.compile(rf"\b(?:{'|'.join(map(re.escape, vocabulary))})\b")
        if vocabulary
        else re.compile("$^")
    )
    tokenizer.train_from_iterator((part for t in texts for part in between.split(t)), trainer)
    tokenizer.add_tokens(
        [AddedToken(word, single_word=True, normalized=False) for word in vocabulary]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=PADDING)


def fresh_decoder(shape: DecoderShape, seed: int) -> nn.Module:
    """Return a small decoder of Llama's architecture with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    options: dict[str, Any] = {"attn_implementation": attention()}
    config = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
        **options,
    )
    return LlamaForCausalLM(config)


def train_decoder(
    texts: Sequence[str],
    shape: DecoderShape,
    folder: Path,
    recipe: StageRecipe,
    *,
    seed: int,
    say: Say,
) -> CausalLanguageModel:
    """Return a small decoder and its tokenizer, trained on texts and written into a folder.

    Args:
        texts: texts to learn from.
        shape: shape of the decoder.
        folder: folder of the language model, which has a checkpoint during the training.
        recipe: length of the training.
        seed: random seed of the weights and the order of texts.
        say: gets the loss now and then.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    need_extra()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(texts, shape, NAMES)
    tokenizer.save_pretrained(folder)
    network = fresh_decoder(shape, seed)
    model = CausalLanguageModel(network, tokenizer, folder)
    network.train()

    def batches(order: random.Random) -> Iterator[Tensor]:
        chosen = order.sample(range(len(texts)), len(texts))  # all, in random order
        yield from packed((texts[i] for i in chosen), model, shape.context // 4)

    learn(
        network,
        [(network.parameters(), TEXT_RATE)],
        batches,
        next_token_loss(network),
        recipe,
        seed=seed,
        folder=folder / "checkpoint",
        say=say,
    )
    network.eval()
    network.save_pretrained(folder)  # type: ignore[operator]
    return model


def next_token_loss(network: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return a function for the cross entropy of each next token in texts."""

    # `transformers` shifts the labels by one token
    def loss(ids: Tensor) -> Tensor:
        value: Tensor = network(input_ids=ids, labels=ids).loss
        return value

    return loss


def packed(texts: Iterable[str], model: CausalLanguageModel, length: int) -> Iterator[Tensor]:
    """Yield the tokens of texts, one text after another, as batches ``[rows, length]``.

    Rows need no padding, as a text may continue in the next row. The last tokens, fewer than a
    batch, are dropped.
    """
    rows, filled = max(TOKENS_PER_STEP // length, 1), []
    for text in texts:
        filled += [*model.ids(text), model.end]
        while len(filled) >= rows * length:
            yield torch.tensor(filled[: rows * length]).reshape(rows, length)
            filled = filled[rows * length :]
