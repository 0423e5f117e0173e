"""Read the training rows of the shipped trees: served models, and passes measured on an H200.

A pass reads a batch of sequences once, as K. Panner Selvam's thesis measured encoders (Section
6.4).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from perfc.analyzers.features.rows import DataError
from perfc.frontend.config import LanguageModel

from ...datasets.h200 import energy_j, number, settings_and_rows
from ...serving import ServedRow, ServingQuantity
from ...serving.replay import model_of
from ...serving.tables import TABLES
from ...tables import target_of
from ..rows import Target, TreeRow, features_of, tokens_per_s, tree_row

FILES = "h200/nlp*.csv.gz"
"""Files of the campaign on an H200."""
PASSES = "passes"
"""Source of their rows."""
PREFIX = "hf:"
"""Start of the names of models of transformers in the files."""
NAMES: Mapping[str, str] = {
    "llama3-8b": "llama-3-8b",
    "llama2-7b": "llama-2-7b",
    "llama-1b": "llama-3.2-1b",
    "llama-3b": "llama-3.2-3b",
}
"""Names of configurations by those of the campaign, where they differ."""
# PyTorch's names of the precisions
DTYPES: Mapping[str, str] = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
# precisions by the campaign's names; TF32 is stored as f32
PRECISIONS: Mapping[str, str] = {"fp32": "f32", "tf32": "f32", "fp16": "f16", "bf16": "bf16"}


def served_rows(name: str, folder: Path) -> Iterator[TreeRow]:
    """Yield throughput and energy of a table of served models.

    Raises:
        DataError: the table is missing.
    """
    for served in TABLES[name](folder):
        if model_of(served.model) is None:
            continue
        rate = tokens_per_s(served)
        if math.isfinite(rate):
            yield replace(tree_row(served, Target.THROUGHPUT, rate), source=name)
        if ServingQuantity.ENERGY_J in served.measured:
            row = tree_row(served, Target.ENERGY, served.measured[ServingQuantity.ENERGY_J])
            yield replace(row, source=name)


def pass_rows(folder: Path) -> Iterator[TreeRow]:
    """Yield throughput, memory and energy of eager passes; decoding steps have memory alone.

    Raises:
        DataError: no campaign, or files that are none.
    """
    paths = sorted(folder.glob(FILES))
    if not paths:
        raise DataError("no campaign", where=str(folder / FILES))
    for path in paths:
        head, lines = settings_and_rows(path)
        target = target_of(head["gpu"])
        for cells in csv.DictReader(lines):
            yield from _of_pass(cells, target, head.get("transformers", ""))


def _of_pass(cells: Mapping[str, str], target: str, version: str) -> Iterator[TreeRow]:
    """Yield the rows of one measured pass, whose cells have the names of the file's columns."""
    precision = PRECISIONS.get(cells["prec"])
    if not cells["eager_ms"] or precision is None or cells["mode"] == "train":
        return
    name = cells["name"].removeprefix(PREFIX)
    length = int(cells["size"]) + int(cells["ctx"])
    served = pass_of(NAMES.get(name, name), target, precision, int(cells["batch"]), length, version)
    if (published := model_of(served.model)) is None:
        return
    model = with_precision(published, precision)
    timed = {ServingQuantity.TTFT_S: float(cells["eager_ms"]) / 1e3}
    served, features = replace(served, measured=timed), features_of(served, model)
    row = TreeRow(PASSES, served.model, target, Target.MEMORY, 0.0, features, served)
    yield replace(row, value=number(cells["peak_alloc"]))
    if cells["mode"] == "decode":
        return
    tokens = int(cells["batch"]) * int(cells["size"])
    yield replace(row, target=Target.THROUGHPUT, value=1e3 * tokens / float(cells["eager_ms"]))
    if math.isfinite(spent_j := energy_j(cells, target)):
        yield replace(row, target=Target.ENERGY, value=spent_j / tokens)


def pass_of(
    model: str, target: str, precision: str, batch: int, length: int, version: str = ""
) -> ServedRow:
    """Return a pass of a model over a batch of sequences, in eager PyTorch."""
    return ServedRow(
        PASSES,
        f"{model} {precision} {batch} {length}",
        model,
        target,
        "transformers",
        version,
        precision,
        cache="",
        tensor=1,
        expert=1,
        attention_data=1,
        engines=1,
        isl=length,
        osl=0,
        concurrency=batch,
        is_static=True,
        prefill=(),
        is_eager=True,
        measured={},
    )


def precision_name(model: LanguageModel) -> str:
    """Return the published precision of a model, as `PRECISIONS` names it."""
    return {name: short for short, name in DTYPES.items()}.get(model.dtype, model.dtype)


def with_precision(model: LanguageModel, precision: str) -> LanguageModel:
    """Return a model in another 32- or 16-bit precision; other formats leave it as it is."""
    return replace(model, dtype=DTYPES.get(precision, model.dtype))


def is_encoder(model: LanguageModel) -> bool:
    """Return True if a model generates no tokens."""
    return model.decoder is None
