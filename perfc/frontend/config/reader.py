"""Read a configuration file into a `LanguageModel`, with the reader of its family.

A family is what ``model_type`` names. Its reader is a function in ``families/``, or a row: an entry
of data that lists keys and layers, and needs no code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError, suggestion

from ..checkpoints.sources import ModelSource, read_source
from .families import _rows
from .keys import Keys
from .model import NEAREST_FAMILY, Experts, LanguageModel, Stack, mixers
from .quantization import quantization_of, stored_quantization

PREDICTORS = ("num_nextn_predict_layers", "num_mtp_modules")
"""Keys of the number of layers that predict tokens beyond the next."""
ENCODER = "EncoderModel"
"""End of the name of a class that leaves the decoder of its family out, as T5EncoderModel."""
PADDLE = "a program of Paddle 3: convert it to ONNX with paddle2onnx"
HERE = os.path.dirname(__file__)
_LISTED = data_next_to(__file__)
DTYPES = frozenset(_LISTED["dtypes"])
"""Element types that a configuration may name."""
NEUTRAL: tuple[object, ...] = (None, False, 0, 1, 0.0, 1.0, "", [], {})
"""Values under which a key changes nothing."""
HARMLESS = frozenset(_LISTED["harmless"])
"""Keys that one family reads and that change no computation if another family's file has them."""
_READER = re.compile(r'^    "([\w.-]+)": \w+,$', re.MULTILINE)
"""Entries of a family's ``READERS``: which families a file reads, without importing all of them."""
_KEY = re.compile(r'keys\.\w+\(\s*((?:"\w+"(?:,\s*)?)+)')
"""Keys that a family's file reads."""


def read_config(source: str | os.PathLike[str], like: str = "") -> LanguageModel:
    """Return the model that a configuration describes.

    Args:
        source: path of a config.json, of a folder that holds one, or of weights, a name of
            ``shipped()``, or ``organization/name`` of the hub.
        like: family to read it like; "" for its own, or for the nearest to an unknown one.

    Raises:
        ModelError: it cannot be read, is not a configuration, or its family is not supported.
    """
    return model_of(read_source(os.fspath(source)), like)


def model_of(given: ModelSource, like: str = "") -> LanguageModel:
    """Return the model that a configuration describes, with the weights of its file.

    Raises:
        ModelError: it is not a configuration, or its family is not supported.
    """
    model = described(given.config, given.name, given.path, like)
    if given.stored is None:
        return model
    return replace(model, quantization=stored_quantization(given.stored))


def described(config: dict[str, Any], name: str, where: str, like: str = "") -> LanguageModel:
    """Return the model of a configuration, given as an object.

    Raises:
        ModelError: its family is not known, or a key is missing, wrong, or of another family.
    """
    keys = Keys(config, where)
    classes = keys.texts("architectures") or ()
    family = keys.text("model_type")
    if not family:
        family = _of_class(classes[0]) if classes else ""
    if not family:
        is_paddle = "base_code" in config
        hint = PADDLE if is_paddle else "is this the config.json of a model?"
        what = "neither 'model_type' nor 'architectures' says what it is"
        raise ModelError(what, where=where, hint=hint)
    parts = _like(keys, family, like) if like else _parts(keys, family)
    # some readers return stacks alone, others also a tower and the parts that are left out
    stacks, tower, left_out = parts if isinstance(parts[0], tuple) else (parts, None, ())
    assert all(isinstance(s, Stack) for s in stacks)
    # the class is more specific than the family: it may have the encoder alone
    if classes and classes[0].endswith(ENCODER):
        stacks = tuple(s for s in stacks if not s.is_decoder)
    # keys that an unknown family's row leaves unread are listed in ``left_out`` instead
    if is_known(keys, family) and not like:
        check_unread(keys, family)
    # keys that no reader uses are checked too: a value of a wrong kind means a damaged file
    for holder in (keys, keys.inner("text_config"), keys.inner("vision_config")):
        if holder is not None:
            holder.check_kinds()
    dtype = _dtype(keys)
    check_experts(keys, stacks)
    text = keys.inner("text_config") or keys
    return LanguageModel(
        name,
        family,
        classes[0] if classes else "",
        dtype,
        stacks,
        max_positions=text.whole(*POSITIONS, default=0),
        quantization=quantization_of(keys),
        left_out=left_out,
        predictors=keys.whole(*PREDICTORS, default=0, least=0),
        tower=tower,
        context=_context(keys),
        state_type=next(filter(None, map(text.text, STATES)), ""),
    )


def is_known(keys: Keys, family: str) -> bool:
    """Return True if a family has a reader, or its configuration wraps that of a language model."""
    return family in families() or _rows.inside(keys) is not None


def _like(keys: Keys, family: str, row: str) -> Any:
    """Return the layers of a configuration, read by the row that ``--like`` names.

    Raises:
        ModelError: there is no such family, or it needs a key that is missing.
    """
    if row not in _rows.rows():
        raise _unknown(row, "--like")
    inner = _rows.inside(keys) or keys
    # another `Keys`: the keys that this row reads do not count as read by the family
    stacks = _rows.reader_of(row)(Keys(inner.values, keys.where))
    return stacks, None, (_assumption(inner, family, row),)


def _parts(keys: Keys, family: str) -> Any:
    """Return what the reader of a family returns; for an unknown family, what a near row reads.

    The nearest row leaves the fewest keys unread, of those that some family reads. All keys that
    it leaves unread are listed among the parts that are left out.

    Raises:
        ModelError: the family is unknown, and no row reads the configuration.
    """
    if family in families():
        parts = reader_of(family, keys.where)(keys)
        without = _rows.rows().get(family, {}).get("without", ())
        return (parts, None, tuple(without)) if without else parts
    if is_known(keys, family):
        return _file("wrapped").unwrapped(keys)
    given = {n for n, v in keys.values.items() if v not in NEUTRAL}
    # keys that no family reads say nothing about which row is near
    known_keys = given & set(_structural()) - HARMLESS
    # among rows that leave equally many keys unread: Llama first, then rows that read fewer keys
    size = {row: len(_rows.keys_of(row)) for row in _rows.rows()}
    unread = {row: len(known_keys - _rows.keys_of(row)) for row in size}
    rows = sorted(size, key=lambda row: (unread[row], row != "llama", size[row]))
    for row in rows[:NEAREST]:
        try:
            stacks = _rows.reader_of(row)(Keys(keys.values, keys.where))
        except ModelError:
            continue
        return stacks, None, (_assumption(keys, family, row),)
    raise _unknown(family, keys.where)


def _assumption(keys: Keys, family: str, row: str) -> str:
    """Return the words that name the row which reads an unknown family, and the unread keys."""
    given = {n for n, v in keys.values.items() if v not in NEUTRAL}
    beyond = sorted(given - _rows.keys_of(row) - HARMLESS - IRRELEVANT)
    more = f" and {len(beyond) - SHOWN} more" if len(beyond) > SHOWN else ""
    listed = f"without its keys {', '.join(beyond[:SHOWN])}{more}" if beyond else "with all keys"
    return f"{family[:64]}, {NEAREST_FAMILY} {row}, {listed}"


NEAREST = 5
"""Rows that are tried for an unknown family: the nearest may need a key that is missing."""
SHOWN = 64
"""Unread keys that are listed."""
IRRELEVANT = frozenset(_LISTED["irrelevant"])
"""Keys that no description depends on."""


def _dtype(keys: Keys) -> str:
    """Return the element type of the weights; bfloat16 if the file names none.

    Raises:
        ModelError: the name is not one of an element type.
    """
    name = next((n for n in ("torch_dtype", "dtype") if keys.text(n)), "")
    plain = keys.text(name).rpartition(".")[2] if name else ""
    if plain not in DTYPES:
        raise ModelError(
            f"{name!r} is {plain[:32]!r}, no element type",
            where=keys.where,
            hint=f"known: {', '.join(sorted(DTYPES - {''}))}",
        )
    return plain if plain and plain != "auto" else "bfloat16"


STATES = ("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
"""Keys of the type of recurrent states."""
POSITIONS = ("max_position_embeddings", "n_positions", "n_ctx", "max_target_positions")
"""Keys of the longest sequence: Llama and BERT, GPT-2, earlier GPT, Whisper."""
STRETCHED = frozenset({"linear", "dynamic", "yarn"})
"""Scalings of rotary embeddings that extend the context: it is the positions before scaling times
their factor. Source: vLLM, config/model.py, ``_get_and_verify_max_len``."""


def _context(keys: Keys) -> int:
    """Return a model's positions, with those that scaled rotations add; 0 if they are unlimited.

    Raises:
        ModelError: a value is not a number, or the factor is below 1.
    """
    text = keys.inner("text_config") or keys
    positions = text.whole(*POSITIONS, default=0)
    # ALiBi adds biases by distance, which exist for any length
    if text.get("alibi") is True:
        return 0
    scaling = text.inner("rope_scaling") or text.inner("rope_parameters") or Keys({}, keys.where)
    if (scaling.get("rope_type") or scaling.get("type")) not in STRETCHED:
        return positions
    factor = scaling.number("factor", 1.0)
    if factor < 1:
        raise scaling.wrong("factor", factor, "1 or more")
    # files have the positions before or after scaling: the larger number counts
    first = scaling.whole("original_max_position_embeddings", default=positions, least=0)
    return max(positions, int(first * factor))


def check_experts(keys: Keys, stacks: tuple[Stack, ...]) -> None:
    """Raise an error if a router chooses more experts than there are.

    Raises:
        ModelError: one does.
    """
    for m in {m for s in stacks for layer in set(s.layers) for m in mixers(layer)}:
        if isinstance(m, Experts) and not 1 <= m.chosen <= m.count:
            message = f"{m.chosen} experts of {m.count} are chosen for a token"
            raise ModelError(message, where=keys.where)


@cache
def families() -> dict[str, str]:
    """Return the file of each ``model_type``, by the text of the files; "" for a row of data."""
    files = dict.fromkeys(_rows.rows(), "")
    files |= dict.fromkeys(_rows.wrappers(), "wrapped")
    folder = os.path.join(HERE, "families")
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py") and not file.startswith("_"):
            with open(os.path.join(folder, file), encoding="utf-8") as source:
                text = source.read()
            # read as text, since importing all families would slow every start
            _, _, listed = text.partition("\nREADERS")
            files.update(dict.fromkeys(_READER.findall(listed), file.removesuffix(".py")))
    return files


def _of_class(name: str) -> str:
    """Return the family of a class such as ``LlamaForCausalLM``; the stem if none matches."""
    stem = re.split(r"For[A-Z]|LMHead|Model$|Config$", name)[0].lower()
    # names of classes have families in camel case: they are compared without separators
    plain = {family.replace("_", "").replace("-", ""): family for family in families()}
    return plain.get(stem, stem)


def reader_of(family: str, where: str) -> Callable[[Keys], Any]:
    """Return the function that reads a family.

    Raises:
        ModelError: no reader is of that family; its hint names the nearest one.
    """
    file = families().get(family)
    if file is None:
        raise _unknown(family, where)
    if not file:
        return _rows.reader_of(family)
    reader = _file(file).unwrapped if file == "wrapped" else _file(file).READERS[family]
    return cast("Callable[[Keys], Any]", reader)


def _file(name: str) -> ModuleType:
    """Return a module of readers, imported when it is used."""
    return import_module(f".families.{name}", __package__)


def _unknown(family: str, where: str) -> ModelError:
    """Return the error for a family without a reader; its hint names the nearest family."""
    hint = suggestion(family.lower(), sorted(families()))
    return ModelError(f"no family {family[:64]!r}", where=where, hint=hint)


def check_unread(keys: Keys, family: str) -> None:
    """Raise an error for a key that changes other families' computation and that this one ignores.

    Raises:
        ModelError: there is such a key; the hint names a family that reads it.
    """
    for name in sorted(set(keys.values) - keys.read):
        if name in HARMLESS or keys.values[name] in NEUTRAL or name not in _structural():
            continue
        readers = _structural()[name]
        from difflib import get_close_matches  # a slow import, only for an error

        # the nearest family, however different
        close = get_close_matches(family, readers, n=1, cutoff=0.0)
        raise ModelError(
            f"{name!r} is no part of the family {family}",
            where=keys.where,
            hint=f"it is of families like {close[0]}; set it to null if it means nothing here",
        )


@cache
def _structural() -> dict[str, tuple[str, ...]]:
    """Return the keys that some family reads, each with the families that read it."""
    readers: dict[str, list[str]] = {}
    for family in _rows.rows():
        for name in _rows.keys_of(family):
            readers.setdefault(name, []).append(family)
    folder = os.path.join(HERE, "families")
    for file in dict.fromkeys(filter(None, families().values())):
        with open(os.path.join(folder, f"{file}.py"), encoding="utf-8") as source:
            text = source.read()
        of_file = [family for family, other in families().items() if other == file]
        for name in {n for names in _KEY.findall(text) for n in re.findall(r'"(\w+)"', names)}:
            readers.setdefault(name, []).extend(of_file)
    return {name: tuple(each) for name, each in readers.items()}
