"""What a command prints for programs, as lines of a golden file.

The first line of ``tests/golden/commands/*.leaves`` is the command. Every object or list whose
elements are plain stands on a line of its own::

    $ perfc analyze model.onnxtxt --target a100 --output-format json
    [0]
    assumptions: dtype "f32", launch "graph", launch_s 2e-06
    views[3].rows[0]: 0, "conv", 1.5e-06

The number in brackets is the exit code. Files that a command writes, ``OUT.json``, ``OUT.onnx`` or
``OUT.toml``, follow with their names. Numbers may differ by a millionth. Of a page of HTML, which
a command writes to ``PAGE``, it is the data that the page draws. Other formats stand as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import onnx
import onnx.printer

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
PASSING = frozenset({"perfc", "version", "schema", "digest", "elapsed_s"})
"""Keys of what differs from release to release, or from run to run."""


def leaves(command: str, printed: str) -> str:
    """The golden file of a command by what it printed, its exit code in brackets at the end."""
    text, _, code = printed.rstrip("\n").rpartition("[")
    page = DATA.search(text)
    content = page[1] if page else text
    is_json = content.startswith(("{", "["))
    assert page or not is_json or is_indented(content), f"{command}: not indented by twos"
    stated = lines_of("", json.loads(content)) if is_json else [text]
    return "".join(f"{line.rstrip()}\n" for line in (command, f"[{code}", *stated))


def is_indented(content: str) -> bool:
    """Whether a document of several lines is laid out as all are: two spaces for each level."""
    depths = {len(line) - len(line.lstrip(" ")) for line in content.splitlines()}
    return depths == {0} or (2 in depths and not any(depth % 2 for depth in depths))


def written(path: Path) -> str:
    """A file that a command wrote: a model as ONNX text, JSON as its leaves, others as they are."""
    match path.suffix:
        case ".onnx":
            model = onnx.load(path, load_external_data=False)
            model.producer_version = ""
            text = onnx.printer.to_text(model)
        case ".json":
            text = "\n".join(lines_of("", json.loads(path.read_text(encoding="utf-8"))))
        case _:
            text = path.read_text(encoding="utf-8")
    return f"## {path.name}\n" + "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def lines_of(path: str, value: Json) -> Iterator[str]:
    """Lines of a value that stands at a path."""
    match value:
        case dict():
            named = {k: v for k, v in value.items() if k not in PASSING}
            children = [(f"{path}.{k}" if path else k, k, v) for k, v in named.items()]
            separator = " "
        case list():
            children = [(f"{path}[{i}]", "", v) for i, v in enumerate(value)]
            separator = ""
        case _:
            yield f"{path}: {json.dumps(value)}"
            return
    plain = [(k, v) for _, k, v in children if not isinstance(v, dict | list)]
    if plain or not children:
        words = (f"{k}{separator}{json.dumps(v, ensure_ascii=False)}" for k, v in plain)
        yield f"{path}: {', '.join(words)}"
    for place, _, child in children:
        if isinstance(child, dict | list):
            yield from lines_of(place, child)
