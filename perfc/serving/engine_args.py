"""Read command lines and deployment files of serving engines into options of ``perfc llm``."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.common.toml_file import read_text
from perfc.errors import ParseError
from perfc.ir import frozen
from perfc.serving.engine_commands import (
    WHERE,
    EngineCommand,
    commands_in,
    documents_in,
    engine_at,
    flag_tables,
    text_of,
    workers_in,
)

LARGEST_BYTES = 1 << 18
"""Maximum bytes of a script or deployment file; PyYAML and shlex are slow."""
DEGREES = frozenset({"tp", "pp", "dp", "ep", "nodes"})
"""Options of degrees of parallelism, and of nodes."""
_DATA = data_next_to(__file__)
COUNTS = frozenset(_DATA["counts"])
"""Options whose values are whole numbers."""
FORMATS: Mapping[str, str] = _DATA["formats"]
"""Formats of weights by engines' quantization methods."""
AS_STORED = frozenset(_DATA["as_stored"])
"""Values of engines' options that keep the format of the checkpoint."""
HALVES = frozenset(_DATA["halves"])
"""Values of engines' options for 16 bits; bfloat16 and float16 take equally long."""
SCALES = {"k": 1e3, "m": 1e6, "K": 1 << 10, "M": 1 << 20}
"""Suffixes of numbers in vLLM's options: ``1k`` is 1000, ``1K`` is 1024."""


@frozen
class EngineArgs:
    """Options of an engine's command line in terms of ``perfc.llm``.

    Args:
        runtime: name of the engine.
        model: model that it serves.
        options: keyword arguments of ``perfc.llm``.
        parallel: degrees of parallelism by option.
        unmodeled: flags that may affect performance and are not modeled, as written.
    """

    runtime: str
    model: str
    options: Mapping[str, Any]
    parallel: Mapping[str, int]
    unmodeled: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes for a report: the values that were read, and flags that are not modeled."""
        values = {**self.parallel, **self.options}
        shown = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in values.items()) or "defaults"
        read = f"read from the engine's arguments: {self.runtime}, {shown}"
        missing = f"engine arguments that are not modeled: {', '.join(self.unmodeled)}"
        return (read, missing) if self.unmodeled else (read,)


def read_engine_args(text: str) -> EngineArgs:
    """Read the command line of an engine, or a file with it: a script, YAML or JSON.

    YAML is that of Kubernetes, Dynamo or llm-d. Workers for prefill become ``prefill_gpus`` with
    the parallelism of the first one; replicas become data parallelism.

    Raises:
        ParseError: no engine is called, a value is invalid, or the file cannot be read.
        MissingExtraError: YAML without PyYAML.
    """
    # `Path.is_file` raises for a text longer than a file name may be
    path = Path(text) if os.path.isfile(text) else None
    content = read_text(path, LARGEST_BYTES) if path else text
    if path is None or path.suffix not in (".yaml", ".yml", ".json"):
        workers = [EngineCommand(w) for w in commands_in(content)]
    else:
        workers = [
            worker
            for tree in documents_in(content, path)
            for worker in workers_in(tree, names={}, replicas=1, is_prefill=False)
        ]
    where = str(path) if path else WHERE
    if not workers:
        hint = "such as vllm serve MODEL, python -m sglang.launch_server, trtllm-serve MODEL"
        raise ParseError("calls no serving engine", where=where, hint=hint)
    folder = path.parent if path else Path()
    decoding = next((w for w in workers if not w.is_prefill), workers[0])
    decode_args = _FlagReader(decoding, where, folder).engine_args()
    prefill = [w for w in workers if w.is_prefill and w is not decoding]
    prefill_args = [_FlagReader(w, where, folder).engine_args() for w in prefill]
    gpus = sum(w.replicas * _ranks(args) for w, args in zip(prefill, prefill_args, strict=True))
    options = decode_args.options
    if prefill_args:
        # replicas, as dp, are part of the number of GPUs
        degrees = [f"{k}={n}" for k, n in prefill_args[0].parallel.items() if k != "dp"]
        options = {
            **options,
            "prefill_gpus": gpus,
            "prefill_parallel": ",".join(degrees) or "tp=1",
        }
    replicas = decoding.replicas * decode_args.parallel.get("dp", 1)
    parallel = {**decode_args.parallel, **({"dp": replicas} if replicas > 1 else {})}
    return EngineArgs(
        decode_args.runtime, decode_args.model, options, parallel, decode_args.unmodeled
    )


def _ranks(args: EngineArgs) -> int:
    """Return the number of GPUs of a worker; experts are divided among the same GPUs."""
    return math.prod(args.parallel.get(k, 1) for k in ("tp", "pp", "dp", "attention_dp"))


class _FlagReader:
    """Reads the flags of one command."""

    def __init__(self, worker: EngineCommand, where: str, folder: Path) -> None:
        call = engine_at(worker.words)
        assert call is not None
        self.runtime, start = call
        self.table, self.where, self.folder = flag_tables()[self.runtime], where, folder
        self.rest = list(worker.words[start:])
        self.model = ""
        self.options: dict[str, Any] = {}
        self.degrees: dict[str, int] = {}
        self.unmodeled: list[str] = []
        self.switched: set[str] = set()  # switches of parallelism, which `_parallel` combines
        self.is_in_file = False

    def engine_args(self) -> EngineArgs:
        """Return the options of the command."""
        for name, value in self._pairs():
            self._add(name, value)
        if not self.model or "$" in self.model:
            raise ParseError(f"model is {self.model!r}", where=self.where, hint="name the model")
        return EngineArgs(
            self.runtime, self.model, self.options, self._parallel(), tuple(self.unmodeled)
        )

    def _pairs(self) -> Iterator[tuple[str, str]]:
        """Yield flags with their values; the model without a flag has the name ``model``."""
        words = self.rest[1:] if self.rest[:1] == ["serve"] else self.rest
        i = 0
        while i < len(words):
            word = words[i]
            i += 1
            if not re.match(r"--?[A-Za-z]", word):
                if not self.model:
                    yield "model", word
                continue
            flag, has_value, value = word.partition("=")
            name = flag.lstrip("-").replace("_", "-")
            # a switch takes no value: the next word is an argument
            takes_value = name not in self.table["switches"] and not has_value
            if takes_value and i < len(words) and not re.match(r"--?[A-Za-z]", words[i]):
                value = words[i]
                i += 1
            yield name, value

    def _add(self, name: str, value: str) -> None:
        """Add a flag: as an option, or to the flags that are not modeled."""
        option = self.table["options"].get(name)
        if option is None and name.startswith("speculative-config."):
            self._speculate({name.partition(".")[2].replace("-", "_"): value})
        elif option is None:
            if name not in self.table["without_effect"]:
                self.unmodeled.append(f"--{name} {value}".strip())
        elif not self._set(option, name, value):
            self.unmodeled.append(f"--{name} {value}".strip())

    def _set(self, option: str, name: str, value: str) -> bool:
        """Set an option; return False if the value is not modeled."""
        match option:
            case "model":
                self.model = value
            case _ if option in DEGREES:
                self.degrees[option] = self._count(name, value)
            case "max_model_len" if value == "0":
                pass  # llama.cpp: as long as the model's positions
            case "max_model_len":
                is_auto = value in ("auto", "-1")
                self.options[option] = "auto" if is_auto else self._count(name, value)
            case "token_budget" if value.startswith("-"):
                # SGLang: -1 turns chunked prefill off
                self.options["batching"] = "whole-prompts"
            case _ if option in COUNTS:
                self.options[option] = self._count(name, value)
            case "utilization" | "cpu_offload_gb":
                self.options[option] = self._number(name, value)
            # fp8_e5m2 and other spellings of fp8; q8_0 and other blocks of GGML
            case "kv_dtype" if value.startswith(("fp8", "q", "nvfp4")):
                self.options[option] = "fp8" if value.startswith("fp8") else value
            case "dtype" if value in FORMATS:
                self.options[option] = FORMATS[value]
            case "kv_dtype" | "dtype":
                return value in AS_STORED or (option == "kv_dtype" and value in HALVES)
            case "dtype-16":  # option for the type of activations
                return value in HALVES
            case "flash_attention" if value != "auto":
                self.options[option] = value not in ("off", "0", "false")
            case "no-kv-offload":
                self.options["kv_offload"] = False
            case "whole-prompts" | "mixed" if value.lower() != "false":
                self.options["batching"] = option
            case "ep-all" | "ep-tensor" | "attention-dp" | "attention-tp":
                if value.lower() not in ("false", "none"):
                    self.switched.add(option)
            case "draft-model":
                self.options["draft"] = value
            case "speculation":
                self._speculate(self._json(name, value))
            case "file" if not self.is_in_file:
                self._read_file(value)
            case "file":
                return False
        # other values of the last cases, such as a switch set to "false", are defaults
        return True

    def _speculate(self, given: Mapping[str, Any]) -> None:
        """Set speculative decoding from the fields of vLLM's ``speculative_config``."""
        for key, value in given.items():
            match key:
                case "num_speculative_tokens":
                    self.options["draft_tokens"] = self._count(key, str(value))
                case "model":
                    self.options["draft"] = str(value)
                case "method" if value in ("mtp", "deepseek_mtp", "eagle", "eagle3", "draft_model"):
                    pass
                case _:
                    self.unmodeled.append(f"speculative-config.{key} {value}")

    def _read_file(self, name: str) -> None:
        """Add the options of a file that the command names."""
        path = self.folder / name
        if not path.is_file():
            self.unmodeled.append(f"file {name} (not found)")
            return
        self.is_in_file = True  # a file must not name another one
        for tree in documents_in(read_text(path, LARGEST_BYTES), path):
            for key, value in _flat(tree):
                self._add(key.replace("_", "-"), text_of(value))
        self.is_in_file = False

    def _parallel(self) -> dict[str, int]:
        """Return the degrees in the terms of perfc.

        Engines derive the division of experts and attention from tensor and data parallelism.
        """
        degrees = dict(self.degrees)
        tensor, data = degrees.get("tp", 1), degrees.get("dp", 1)
        if "ep-all" in self.switched:
            degrees |= {"ep": tensor * data, "attention_dp": data, "dp": 1}
        if "ep-tensor" in self.switched:
            degrees["ep"] = tensor
        # SGLang's tensor ranks include the ranks of all of its attention groups
        if "attention-dp" in self.switched and data > 1:
            degrees |= {"tp": max(tensor // data, 1), "attention_dp": data, "dp": 1}
        # TensorRT-LLM's switch makes each tensor rank a separate group for attention
        if "attention-tp" in self.switched and tensor > 1:
            degrees |= {"tp": 1, "attention_dp": tensor}
        return {key: n for key, n in degrees.items() if n > 1}

    def _count(self, name: str, value: str) -> int:
        """Return the value of an option that is a positive integer of 31 bits."""
        number = self._number(name, value)
        if number != int(number) or not 1 <= number < 1 << 31:
            raise ParseError(f"{name} is {value[:32]!r}", where=self.where, hint="a whole number")
        return int(number)

    def _number(self, name: str, value: str) -> float:
        """Return the value of an option, which may end in a factor, as in ``8k``."""
        scale = SCALES.get(value[-1:], 1)
        try:
            number = float(value[:-1] if value[-1:] in SCALES else value) * scale
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ParseError(f"{name} is {value[:32]!r}", where=self.where, hint="a number")
        return number

    def _json(self, name: str, value: str) -> Mapping[str, Any]:
        """Return the value of an option that is a JSON object."""
        try:
            tree = json.loads(value)
        except (ValueError, RecursionError):
            tree = None
        if not isinstance(tree, dict):
            raise ParseError(f"{name} is no JSON object", where=self.where)
        return tree


def _flat(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the entries of nested objects with dotted keys."""
    # the limit bounds recursion; no option nests as deep
    if not isinstance(tree, dict) or prefix.count(".") > 8:
        return
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{text_of(key)}.")
        else:
            yield f"{prefix}{text_of(key)}", value
