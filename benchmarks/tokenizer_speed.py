"""What a tokenizer takes for a token of a prompt, on one core.

Prompts are made as clients of serving benchmarks make them: consecutive tokens of the vocabulary,
decoded. The tokenizer is one of bytes, as language models have them, learned here from the texts of
this repository. It needs transformers' `tokenizers`.

    python benchmarks/tokenizer_speed.py
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

VOCABULARY = 32_000
LENGTHS = (1024, 8192)
REPEATS = 8


def main() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    root = Path(__file__).resolve().parent.parent
    texts = sorted(str(p) for kind in ("*.md", "*.py") for p in root.rglob(kind))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, show_progress=False, initial_alphabet=alphabet
    )
    tokenizer.train(texts, trainer)
    size, draw = tokenizer.get_vocab_size(), random.Random(0)
    for length in LENGTHS:
        each_s: list[float] = []
        for _ in range(REPEATS):
            start = draw.randrange(size)
            text = tokenizer.decode([(start + i) % size for i in range(length)])
            before_s = time.process_time()
            count = len(tokenizer.encode(text).ids)
            each_s.append((time.process_time() - before_s) / count)
        print(f"{length} tokens of {size}: {1e6 * min(each_s):.2f} us a token")


if __name__ == "__main__":
    main()
