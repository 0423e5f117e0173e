"""Sources of configurations: files, folders, names that come with perfc, and the hub."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError
from perfc.frontend.checkpoints.hub import FILES, cached, downloaded, is_hub_id, plain_names
from perfc.frontend.checkpoints.json_file import content_of, loaded, parsed
from perfc.ir import record

from ..reading.magic import is_relax
from ..source import one_line
from .safetensors import files_of, has_safetensors, is_safetensors, types_of
from .stored import WeightFile

FILE = "config.json"
QUANTIZED = "hf_quant_config.json"
"""File of ModelOpt next to the configuration, with the quantization of weights."""
CONFIGS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "config", "configs")


@record
class ModelSource:
    """Content of one source.

    Args:
        path: path of the file.
        name: short name of the model.
        config: keys of its configuration.
        digest: SHA-256 of what was read.
        stored: tensors of a file of weights; None for a configuration alone.
    """

    path: str
    name: str
    config: dict[str, Any]
    digest: str
    stored: WeightFile | None = None


def read_source(source: str) -> ModelSource:
    """Return the content of a source.

    Raises:
        ModelError: there is no such source, it cannot be read, or it is no configuration.
    """
    path, name = located(source)
    if is_gguf(path):
        from .gguf import config_of

        config, stored, digest = config_of(path)
        return ModelSource(path, name, config, digest, stored)
    data = content_of(path)
    config = parsed(data, one_line(path))
    # the id of a variant, such as a quantized model, is a shipped configuration with other keys
    _, changes = published(source)
    if os.path.dirname(path) == CONFIGS and changes:
        config |= changes
        data += repr(changes).encode()
    quantized = os.path.join(os.path.dirname(path), QUANTIZED)
    if os.path.basename(path) == FILE and os.path.isfile(quantized):
        config.setdefault("quantization_config", loaded(quantized))
    # files of weights, if they are there, are more reliable on types than the configuration
    weights = source if os.path.isdir(source) or is_safetensors(source) else ""
    if is_hub_id(source) and path == cached(source):
        weights = os.path.dirname(path)
    if weights:
        _with_types(config, weights)
    return ModelSource(path, name, config, hashlib.sha256(data).hexdigest())


def _with_types(config: dict[str, Any], weights: str) -> None:
    """Set the element types of a configuration to the types in the files with its weights.

    Raises:
        ModelError: such a file is missing, ends early, or breaks its format.
    """
    types = types_of(files_of(weights))
    if types.dtype:
        config["torch_dtype"] = types.dtype
    # the type of most bytes counts: norms and scales may have other types
    if quantization := data_next_to(__file__)["types"].get(types.largest):
        config.setdefault("quantization_config", {**quantization})


def shipped() -> tuple[str, ...]:
    """Return the names of the configurations that come with perfc."""
    files = sorted(os.listdir(CONFIGS))
    return tuple(f.removesuffix(".json") for f in files if f.endswith(".json"))


def is_gguf(path: str) -> bool:
    """Return True for a file that begins as GGUF or has its suffix."""
    from ..formats import head_of

    return path.lower().endswith(".gguf") or head_of(path).startswith(b"GGUF")


def is_config(model: object) -> bool:
    """Return True for a file of a configuration or weights, a folder, or a name of a model."""
    if not isinstance(model, str | os.PathLike):
        return False
    from ..formats import head_of

    path = os.fspath(model)
    if path.lower().endswith(".json"):
        return not is_relax(head_of(path))
    if path.lower().endswith(".safetensors") or is_gguf(path):
        return True
    if os.path.isdir(path):
        return os.path.isfile(os.path.join(path, FILE)) or has_safetensors(path)
    # a name that only resembles a shipped one counts: its error suggests the shipped one
    is_named = is_hub_id(path) or published(path)[0] or nearest(path)
    return not os.path.exists(path) and bool(is_named)


def nearest(name: str) -> tuple[str, ...]:
    """Return the name alone if it is a shipped one, else shipped names similar to it.

    Empty for names of files.
    """
    plain = name.lower().rpartition("/")[2]
    if plain in shipped():
        return (plain,)
    if plain.endswith(FILES):
        return ()
    from difflib import get_close_matches

    # at most three names, of a similarity of three quarters or more
    return tuple(get_close_matches(plain, shipped(), 3, 0.75))


def located(source: str) -> tuple[str, str]:
    """Return path and short name of a configuration.

    Raises:
        ModelError: there is no configuration; the error suggests similar names.
    """
    if os.path.isdir(source) or is_safetensors(source):
        folder = source if os.path.isdir(source) else os.path.dirname(source)
        path = os.path.join(folder, FILE)
        if not os.path.isfile(path) and (os.path.isfile(source) or has_safetensors(folder)):
            hint = "copy it there from https://huggingface.co/ORG/NAME, or give ORG/NAME"
            raise ModelError("weights without a config.json", hint=hint, where=one_line(source))
        return path, os.path.basename(os.path.abspath(folder))
    stem = os.path.basename(source)
    if is_gguf(source):
        from .gguf import name_of

        return source, name_of(source)
    if os.path.exists(source) or source.lower().endswith(".json"):
        folder = os.path.basename(os.path.dirname(os.path.abspath(source)))
        return source, folder if stem == FILE else stem.removesuffix(".json")
    close = nearest(source)
    # the name itself is shipped
    if close == (source.lower().rpartition("/")[2],):
        return os.path.join(CONFIGS, f"{close[0]}.json"), close[0]
    hint = f"did you mean {' or '.join(close)}?" if close else "give the path of a config.json"
    if is_hub_id(source):
        return _on_hub(source, hint), stem
    if known := published(source)[0]:
        return os.path.join(CONFIGS, f"{known}.json"), stem
    raise ModelError(f"no configuration {source[:64]!r}", hint=hint)


def _on_hub(name: str, hint: str) -> str:
    """Return the path of the configuration of a name on the hub.

    The local cache comes first; a network that comes with perfc needs no download.

    Raises:
        ModelError: as `downloaded`.
    """
    if path := cached(name):
        return path
    known, _ = published(name)
    return os.path.join(CONFIGS, f"{known}.json") if known else downloaded(name, hint)


def published(name: str) -> tuple[str, dict[str, Any]]:
    """Return the name of the shipped configuration of a published id, and the keys that differ.

    The name is "" and there are no keys if the id is unknown.

    >>> published("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8")[0]
    'qwen3-30b-a3b'
    """
    name, table = name.lower(), data_next_to(__file__)
    changes: dict[str, Any] = {}
    for row in table["formats"]:
        # a suffix such as -FP8 names a quantization of the network whose name precedes it
        if match := re.fullmatch(f"({row.get('of', '')}.+){row['ending']}", name):
            name, changes = match[1], {"quantization_config": row["quantization_config"]}
            break
    for row in table["names"]:
        if match := re.fullmatch(f"(?:.*/)?{row['name']}", name):
            return match.expand(row["config"]), row.get("changes", {}) | changes
    network = next((n for n in plain_names(name) if n in shipped()), "")
    return network, changes if network else {}
