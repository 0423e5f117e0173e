"""Command lines and deployment files of serving engines, read into options of ``perfc llm``."""

from __future__ import annotations

import json
import math
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from perfc.common.extras import install_package
from perfc.common.toml_file import read_text
from perfc.errors import MissingExtraError, ParseError
from perfc.ir.record import frozen

FLAGS = Path(__file__).with_name("engine_flags.toml")
WHERE = "--engine-args"
MOST_NODES, DEEPEST = 50_000, 64
"""Largest deployment file: entries and nesting."""
DEGREES = frozenset({"tp", "pp", "dp", "ep", "nodes"})
COUNTS = frozenset({
    "max_num_seqs", "token_budget", "recorded_tokens", "loras", "lora_rank", "draft_tokens",
})  # fmt: skip
FORMATS = {
    "fp8": "fp8", "w8a8_fp8": "fp8", "modelopt": "fp8", "modelopt_fp4": "nvfp4", "nvfp4": "nvfp4",
    "awq": "awq", "awq_marlin": "awq", "gptq": "gptq", "gptq_marlin": "gptq", "w8a8_int8": "int8",
    "bitsandbytes": "bitsandbytes", "mxfp4": "mxfp4",
}  # fmt: skip
"""Formats of weights by the names that engines give to methods of quantization."""
AS_STORED = frozenset({"compressed-tensors", "auto", "none", "null", ""})
HALVES = frozenset({"auto", "half", "float16", "bfloat16"})
SCALES = {"k": 1e3, "m": 1e6, "K": 1 << 10, "M": 1 << 20}


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
        """Notes for a report: the values that were read, and the flags that are not modeled."""
        values = {**self.parallel, **self.options}
        shown = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in values.items()) or "defaults"
        read = f"read from the engine's arguments: {self.runtime}, {shown}"
        missing = f"engine arguments that are not modeled: {', '.join(self.unmodeled)}"
        return (read, missing) if self.unmodeled else (read,)


@frozen
class _EngineCommand:
    """A command of a deployment file."""

    words: tuple[str, ...]
    is_prefill: bool = False
    replicas: int = 1


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(FLAGS.read_text(encoding="utf-8"))


def read_engine_args(text: str) -> EngineArgs:
    """Read the command line of an engine, or a file with it: a script, YAML or JSON.

    YAML is of Kubernetes, Dynamo or llm-d. Workers for prefill become ``prefill_gpus``, replicas
    become data parallelism.

    Raises:
        ParseError: no engine is called, a value is invalid, or the file cannot be read.
        MissingExtraError: YAML without PyYAML.
    """
    is_file = len(text) < 4096 and "\n" not in text and Path(text).is_file()
    path = Path(text) if is_file else None
    content = read_text(path) if path else text
    if path is None or path.suffix not in (".yaml", ".yml", ".json"):
        workers = [_EngineCommand(w) for w in _commands(content)]
    else:
        workers = [w for tree in _documents(content, path) for w in _workers(tree, {}, 1, False)]
    where = str(path) if path else WHERE
    if not workers:
        hint = "such as vllm serve MODEL, python -m sglang.launch_server, trtllm-serve MODEL"
        raise ParseError("calls no serving engine", where=where, hint=hint)
    folder = path.parent if path else Path()
    decoding = next((w for w in workers if not w.is_prefill), workers[0])
    made = _FlagReader(decoding, where, folder).engine_args()
    prefill = [w for w in workers if w.is_prefill and w is not decoding]
    gpus = sum(w.replicas * _ranks(_FlagReader(w, where, folder).engine_args()) for w in prefill)
    options = {**made.options, **({"prefill_gpus": gpus} if gpus else {})}
    replicas = decoding.replicas * made.parallel.get("dp", 1)
    parallel = {**made.parallel, **({"dp": replicas} if replicas > 1 else {})}
    return EngineArgs(made.runtime, made.model, options, parallel, made.unmodeled)


def _ranks(args: EngineArgs) -> int:
    return math.prod(args.parallel.get(k, 1) for k in ("tp", "pp", "dp", "attention_dp"))


def _commands(script: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command of a shell script that calls an engine."""
    reader = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars="\n;&|")
    reader.whitespace, reader.whitespace_split = " \t\r", True
    try:
        words = list(reader)
    except ValueError as error:
        raise ParseError(f"is no command line: {error}", where=WHERE) from None
    command: list[str] = []
    for word in [*words, ";"]:
        if not word.strip("\n;&|"):
            if _engine_at(command):
                yield tuple(command)
            command = []
        else:
            command.append(word)


def _engine_at(words: Sequence[str]) -> tuple[str, int] | None:
    """Return the engine that a command calls and the index of its first argument."""
    for i, word in enumerate(words):
        rest = " ".join([word.rpartition("/")[2], *words[i + 1 : i + 2]])
        for engine, table in _tables().items():
            for command in table["commands"]:
                if rest == command or f"{rest} ".startswith(f"{command} "):
                    return engine, i + 1 + command.count(" ")
    return None


def _documents(content: str, path: Path) -> list[Any]:
    """Return the documents of a YAML or JSON file."""
    try:
        if path.suffix == ".json":
            return [json.loads(content)]
        import yaml
    except ImportError:
        raise MissingExtraError("YAML needs PyYAML", hint=install_package("pyyaml")) from None
    except (ValueError, RecursionError) as error:
        raise ParseError(f"is no JSON: {error}", where=str(path)) from None
    try:
        return list(yaml.safe_load_all(content))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ParseError(f"is no YAML: {str(error).splitlines()[0]}", where=str(path)) from None


def _workers(
    tree: Any, names: Mapping[str, str], replicas: int, is_prefill: bool, depth: int = 0,
    budget: list[int] | None = None,
) -> Iterator[_EngineCommand]:  # fmt: skip
    """Yield the engine commands of a deployment file, with the replicas of their workers."""
    budget = [MOST_NODES] if budget is None else budget
    budget[0] -= 1
    if depth > DEEPEST or budget[0] < 0:
        raise ParseError("has too many or too deep entries", where=WHERE)
    if isinstance(tree, list):
        for one in tree:
            yield from _workers(one, names, replicas, is_prefill, depth + 1, budget)
    if not isinstance(tree, dict):
        return
    names = {**names, **_environment(tree)}
    count = tree.get("replicas")
    replicas = count if isinstance(count, int) and 0 < count < 1 << 16 else replicas
    for words in _container(tree, names):
        yield _EngineCommand(words, is_prefill or _prefills(words), replicas)
    uri = tree.get("modelArtifacts", {})
    if isinstance(uri, dict) and isinstance(uri.get("uri"), str):
        names = {**names, "MODEL_URI": re.sub(r"^\w+://", "", uri["uri"])}
    degrees = tree.get("parallelism")
    if isinstance(degrees, dict):
        names = {**names, **{f"PARALLEL_{k}": str(v) for k, v in degrees.items()}}
    for key, value in tree.items():
        prefills = is_prefill or (isinstance(value, dict) and "prefill" in str(key).lower())
        yield from _workers(value, names, replicas, prefills, depth + 1, budget)


def _environment(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables of a container."""
    listed = tree.get("env") or tree.get("envs")
    rows = [r for r in listed if isinstance(r, dict)] if isinstance(listed, list) else []
    return {str(r.get("name")): str(r["value"]) for r in rows if "value" in r}


def _container(tree: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the engine commands of one container."""
    words: list[str] = []
    for key in ("command", "args"):
        given = tree.get(key)
        words += given if isinstance(given, list) else [given] if isinstance(given, str) else []
    words = [_filled(str(word), names) for word in words]
    if tree.get("modelCommand") == "vllmServe":
        yield ("vllm", "serve", names.get("MODEL_URI", ""), *words, *_llm_d_degrees(names))
    elif _engine_at(words) and not any("\n" in w or " -" in w for w in words):
        yield tuple(words)
    else:
        for word in words:
            if any(c in word for c in (" ", "\n")):
                yield from _commands(word)


def _llm_d_degrees(names: Mapping[str, str]) -> Iterator[str]:
    for name in ("tensor", "data"):
        if f"PARALLEL_{name}" in names:
            yield f"--{name}-parallel-size={names[f'PARALLEL_{name}']}"


def _filled(word: str, names: Mapping[str, str]) -> str:
    """Return a word with the variables of its container filled in."""
    return re.sub(r"\$[({]?(\w+)[)}]?", lambda m: names.get(m[1], m[0]), word)


def _prefills(words: Sequence[str]) -> bool:
    line = " ".join(words).replace("=", " ")
    return "--is-prefill-worker" in line or "--disaggregation-mode prefill" in line


class _FlagReader:
    """Reads the flags of one command."""

    def __init__(self, worker: _EngineCommand, where: str, folder: Path) -> None:
        at = _engine_at(worker.words)
        assert at is not None
        self.runtime, start = at
        self.table, self.where, self.folder = _tables()[self.runtime], where, folder
        self.rest = list(worker.words[start:])
        self.model = ""
        self.options: dict[str, Any] = {}
        self.degrees: dict[str, int] = {}
        self.unmodeled: list[str] = []
        self.switched: set[str] = set()

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
            takes = name not in self.table["switches"] and not has_value
            if takes and i < len(words) and not re.match(r"--?[A-Za-z]", words[i]):
                value = words[i]
                i += 1
            yield name, value

    def _add(self, name: str, value: str) -> None:
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
            case "max_model_len":
                is_auto = value in ("auto", "-1")
                self.options[option] = "auto" if is_auto else self._count(name, value)
            case "token_budget" if value.startswith("-"):
                self.options["batching"] = "whole-prompts"
            case _ if option in COUNTS:
                self.options[option] = self._count(name, value)
            case "utilization":
                self.options[option] = self._number(name, value)
            case "kv_dtype" if value.startswith("fp8"):
                self.options[option] = "fp8"
            case "dtype" if value in FORMATS:
                self.options[option] = FORMATS[value]
            case "kv_dtype" | "dtype":
                return value in AS_STORED or (option == "kv_dtype" and value in HALVES)
            case "dtype-16":
                return value in HALVES
            case "whole-prompts" | "mixed":
                self.options["batching"] = option
            case "ep-all" | "attention-dp" | "attention-tp":
                if value.lower() != "false":
                    self.switched.add(option)
            case "draft-model":
                self.options["draft"] = value
            case "speculation":
                self._speculate(self._json(name, value))
            case "file":
                self._read_file(value)
        return True

    def _speculate(self, given: Mapping[str, Any]) -> None:
        """Set speculative decoding from the fields of vLLM's configuration of it."""
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
        for tree in _documents(read_text(path), path):
            for key, value in _flat(tree):
                self._add(key.replace("_", "-"), str(value))

    def _parallel(self) -> dict[str, int]:
        """Return the degrees in the terms of perfc."""
        degrees = dict(self.degrees)
        tensor, data = degrees.get("tp", 1), degrees.get("dp", 1)
        if "ep-all" in self.switched:
            degrees |= {"ep": tensor * data, "attention_dp": data, "dp": 1}
        if "attention-dp" in self.switched and data > 1:
            degrees |= {"tp": max(tensor // data, 1), "attention_dp": data, "dp": 1}
        if "attention-tp" in self.switched and tensor > 1:
            degrees |= {"tp": 1, "attention_dp": tensor}
        return {key: n for key, n in degrees.items() if n > 1}

    def _count(self, name: str, value: str) -> int:
        number = self._number(name, value)
        if number != int(number) or not 1 <= number < 1 << 31:
            raise ParseError(f"{name} is {value[:32]!r}", where=self.where, hint="a whole number")
        return int(number)

    def _number(self, name: str, value: str) -> float:
        scale = SCALES.get(value[-1:], 1)
        try:
            number = float(value[:-1] if value[-1:] in SCALES else value) * scale
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ParseError(f"{name} is {value[:32]!r}", where=self.where, hint="a number")
        return number

    def _json(self, name: str, value: str) -> Mapping[str, Any]:
        try:
            tree = json.loads(value)
        except (ValueError, RecursionError):
            tree = None
        if not isinstance(tree, dict):
            raise ParseError(f"{name} is no JSON object", where=self.where)
        return tree


def _flat(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the entries of nested objects with dotted keys."""
    if not isinstance(tree, dict) or prefix.count(".") > 8:
        return
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
