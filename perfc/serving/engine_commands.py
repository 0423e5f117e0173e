"""Find commands of serving engines in shell scripts and deployment files (YAML, JSON)."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from perfc.common.extras import install_package
from perfc.errors import MissingExtraError, ParseError
from perfc.ir import frozen

FLAGS = Path(__file__).with_name("engine_flags.toml")
"""Commands, images and flags of each engine."""
WHERE = "--engine-args"
MOST_NODES, DEEPEST, MOST_FILLED = 50_000, 64, 1 << 14
"""Limits of a deployment file, which is untrusted: entries, nesting, and characters of variables in
one container."""
VARIABLE = re.compile(r"\$[({]?(\w+)[)}]?")
"""A variable of the shell in a command: ``$PORT``, ``${PORT}``."""
ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
"""A variable set in front of a command: ``MODEL=llama vllm serve``."""
CONTINUED = re.compile(r"[\\`^][ \t\r]*\n")
"""End of a line that continues in the next, in sh, PowerShell and cmd."""
MOST_QUOTES = 3
"""Maximum nesting of commands in quotes."""


@frozen
class EngineCommand:
    """Command that starts an engine, and the replicas of its worker.

    Args:
        words: words of the command.
        is_prefill: True if the worker runs prefill only (disaggregated serving).
        replicas: number of such workers.
    """

    words: tuple[str, ...]
    is_prefill: bool = False
    replicas: int = 1


@cache
def flag_tables() -> Mapping[str, Mapping[str, Any]]:
    """Return the flags of each engine."""
    return tomllib.loads(FLAGS.read_text(encoding="utf-8"))


def commands_in(script: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command of a shell script that calls an engine.

    Variables that the script sets are replaced; a quoted command, as of ``sh -c``, is read too.
    """
    # separators of commands, line ends included, become words
    lines = CONTINUED.sub(" ", script)
    reader = shlex.shlex(lines, posix=True, punctuation_chars="\n;&|")
    reader.whitespace, reader.whitespace_split = " \t\r", True
    try:
        words = list(reader)
    except ValueError as error:
        raise ParseError(f"is no command line: {error}", where=WHERE) from None
    names: dict[str, str] = {}
    command: list[str] = []
    for word in [*words, ";"]:  # the last command ends as well
        if word.strip("\n;&|"):
            command.append(word)
            continue
        names |= {m[1]: m[2] for m in map(ASSIGNED.fullmatch, command) if m}
        calls = []
        # a quoted argument may be a script, unless it is printed
        if (
            not call_at(command)
            and depth < MOST_QUOTES
            and command[:1] not in (["echo"], ["printf"])
        ):
            quoted = (w for w in command if " " in w or "\n" in w)
            calls = [call for w in quoted for call in commands_in(w, depth + 1)]
        if not calls and engine_at(command):
            calls = [filled(command, names)]
        yield from calls
        command = []


def filled(words: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return words with the values of known variables.

    Raises:
        ParseError: the values are too long.
    """
    if sum(len(names.get(n, "")) for w in words for n in VARIABLE.findall(w)) > MOST_FILLED:
        raise ParseError("has too long variables", where=WHERE)
    return tuple(VARIABLE.sub(lambda m: names.get(m[1], m[0]), word) for word in words)


def engine_at(words: Sequence[str]) -> tuple[str, int] | None:
    """Return the engine that a command calls and the index of its first argument.

    A call has precedence over the image of a container, as it replaces the entry point.
    """
    return call_at(words) or image_at(words)


def call_at(words: Sequence[str]) -> tuple[str, int] | None:
    """Return the engine that is called by name, and the index of its first argument."""
    for i, word in enumerate(words):
        for engine, table in flag_tables().items():
            for command in map(str.split, table["commands"]):
                # a program may be called by its path
                end = i + len(command)
                if [word.rpartition("/")[2], *words[i + 1 : end]] == command:
                    return engine, end
    return None


def image_at(words: Sequence[str]) -> tuple[str, int] | None:
    """Return the engine of a container's image, and the index of its first argument."""
    for i, word in enumerate(words):
        # without digest or tag
        image = "/" + re.sub(r"(@|:[^/]*$).*", "", word)
        for engine, table in flag_tables().items():
            if any(image.endswith(f"/{known}") for known in table.get("images", ())):
                return engine, i + 1
    return None


def documents_in(content: str, path: Path) -> list[Any]:
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


def workers_in(
    tree: Any,
    names: Mapping[str, str],
    replicas: int,
    is_prefill: bool,
    depth: int = 0,
    budget: list[int] | None = None,
) -> Iterator[EngineCommand]:
    """Yield the engine commands of a deployment file, with the replicas of their workers.

    Args:
        tree: part of the file.
        names: environment variables of outer parts.
        replicas: replicas that outer parts give.
        is_prefill: True within a worker for prefill.
        depth: nesting of the part.
        budget: remaining number of entries, shared by all calls.
    """
    budget = [MOST_NODES] if budget is None else budget
    budget[0] -= 1
    if depth > DEEPEST or budget[0] < 0:
        raise ParseError("has too many or too deep entries", where=WHERE)
    if isinstance(tree, list):
        for item in tree:
            yield from workers_in(item, names, replicas, is_prefill, depth + 1, budget)
    if not isinstance(tree, dict):
        return
    # inner parts see the variables of outer parts, as a container sees the variables of its pod
    names = {**names, **_environment(tree)}
    count = tree.get("replicas")  # ignored unless it is a plausible number
    replicas = count if isinstance(count, int) and 0 < count < 1 << 16 else replicas
    for words in _container(tree, names):
        yield EngineCommand(words, is_prefill or _prefills(words), replicas)
    # llm-d names the model and the degrees of parallelism outside of its containers
    artifacts = tree.get("modelArtifacts")
    if isinstance(artifacts, dict) and isinstance(artifacts.get("uri"), str):
        names = {**names, "MODEL_URI": re.sub(r"^\w+://", "", artifacts["uri"])}
    degrees = tree.get("parallelism")
    if isinstance(degrees, dict):
        names = {**names, **{f"PARALLEL_{k}": text_of(v) for k, v in degrees.items()}}
    for key, value in tree.items():
        prefills = is_prefill or (isinstance(value, dict) and "prefill" in text_of(key).lower())
        yield from workers_in(value, names, replicas, prefills, depth + 1, budget)


def _environment(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables of a container."""
    listed = tree.get("env") or tree.get("envs")
    rows = [r for r in listed if isinstance(r, dict)] if isinstance(listed, list) else []
    return {text_of(r.get("name")): text_of(r["value"]) for r in rows if "value" in r}


def text_of(value: object) -> str:
    """Return a scalar of a file as a word; "" for anything else and for huge integers."""
    # `str` raises an error for integers of thousands of digits
    is_short = isinstance(value, int) and abs(value) < 1 << 64
    return str(value) if is_short or isinstance(value, str | float) else ""


def _container(tree: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the engine commands of one container."""
    words: list[str] = []
    for key in ("command", "args"):
        given = tree.get(key)
        words += given if isinstance(given, list) else [given] if isinstance(given, str) else []
    words = [text_of(word) for word in words]
    words = [*filled(words, names)]
    # llm-d starts vLLM itself: the arguments of the container follow the model
    if tree.get("modelCommand") == "vllmServe":
        keys = [(k, f"PARALLEL_{k}") for k in ("tensor", "data")]
        degrees = [f"--{k}-parallel-size={names[name]}" for k, name in keys if name in names]
        yield ("vllm", "serve", names.get("MODEL_URI", ""), *words, *degrees)
    elif engine_at(words) and not any("\n" in w or " -" in w for w in words):
        yield tuple(words)
    else:
        # a word with a line end or an option inside is a script, which may call an engine
        calls = [c for w in words if " " in w or "\n" in w for c in commands_in(w)]
        image = text_of(tree.get("image"))
        if not calls and engine_at([image]):
            # a string is split as a shell splits it, a list has separate words already
            is_list = any(isinstance(tree.get(key), list) for key in ("command", "args"))
            calls = [(image, *words)] if is_list else list(commands_in(" ".join([image, *words])))
        yield from calls


def _prefills(words: Sequence[str]) -> bool:
    """Return True if a command starts a worker for prefill only: of Dynamo, of SGLang."""
    line = " ".join(words).replace("=", " ")
    return "--is-prefill-worker" in line or "--disaggregation-mode prefill" in line
