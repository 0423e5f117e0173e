"""Tools that change code: patches of a PyTorch module proposed, priced and compared."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from perfc.errors import PerfcError
from perfc.frontend.reading.module_name import is_named

from . import _tools

TOOLS: Mapping[str, tuple[str, int]] = {
    "propose": ("Propose edits of a module's code that save time, as patches with prices.", 0),
    "price": ("Price a patch: bounds, predictions with intervals, and causes with lines.", 1),
    "compare_patches": ("Price several patches of one module, the fastest first.", 8),
}
"""Summaries of the tools, with the most patches that each takes."""
OPTIONS = ("target", "runtime", "dtype", "batch", "seq")
LONGEST_PATCH = 100_000
"""Characters of a patch."""


def schema(tool: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    options, text = _tools.schema("diff")["properties"], {"type": "string"}
    properties = {name: options[name] for name in OPTIONS}
    properties["module"] = text | {"description": "package.module:Name or path.py:Name"}
    properties["input"] = {"type": "array", "items": text, "description": "8x3x224x224"}
    properties["kwargs"] = text | {"description": "JSON object of arguments of the class"}
    required, most = ["module"], TOOLS[tool][1]
    if most:
        properties["patches"] = {"type": "array", "items": text, "minItems": 1, "maxItems": most}
        required.append("patches")
    return {"type": "object", "properties": properties, "required": required}


async def answer(
    tool: str, arguments: Mapping[str, Any], root: Path, run: Callable[[list[str]], Awaitable[str]]
) -> str:
    """Return patches as text, or prices as JSON.

    Raises:
        PerfcError: wrong arguments, or the only patch cannot be priced.
    """
    given, most = dict(arguments), TOOLS[tool][1]
    module, inputs, kwargs, patches = (
        given.pop(name, "") for name in ("module", "input", "kwargs", "patches")
    )
    if not is_named(str(module)):
        raise PerfcError(f"module: {str(module)[:64]!r} is none", hint="as in net.py:Net")
    if bool(patches) != bool(most) or len(patches) > most or len(str(patches)) > LONGEST_PATCH:
        limit = f"{most} of {LONGEST_PATCH:,} characters together"
        raise PerfcError(f"patches: {tool} takes at most {limit}")
    line = (
        _tools.command_line(
            "diff", given | {"old": module, "output_format": "json"}, root, is_code=True
        )
        if most
        else _tools.command_line(
            "lint", given | {"files": [module], "patch": True}, root, is_code=True
        )
    )
    line[1:1] = [f"--input={shape}" for shape in inputs] + [f"--kwargs={kwargs}"] * bool(kwargs)
    if not most:
        return await run(line)
    made = [await priced(k, str(p), line, run) for k, p in enumerate(patches)]
    if len(made) == 1 and "error" in made[0]:
        raise PerfcError(made[0]["error"])
    made.sort(key=lambda m: m["totals"]["time"]["new"] if "totals" in m else float("inf"))
    return json.dumps({"patches": made}, indent=1)


async def priced(
    k: int, patch: str, line: list[str], run: Callable[[list[str]], Awaitable[str]]
) -> dict[str, Any]:
    """Return totals and causes of a patch, or why it has none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "given.patch")
        path.write_text(patch, encoding="utf-8")
        try:
            tree = json.loads(await run([*line[:1], f"--patch={path}", *line[1:]]))
        except PerfcError as error:
            return {"patch": k, "error": str(error)}
    totals = {t["metric"]: t for t in tree["totals"]}
    return {"patch": k, "totals": totals, "causes": [c for c in tree["blame"] if c["is_named"]][:8]}
