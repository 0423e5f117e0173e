"""Tools of `perfc mcp` that change code: patches of a PyTorch module, proposed and priced.

`schema` describes a tool to an agent, `answer` runs it: ``propose`` is `perfc lint --patch`,
``price`` is `perfc diff --patch` for each patch.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from perfc.errors import PerfcError
from perfc.frontend.reading.module_name import is_named

from . import _tools

PRICE = "price"
"""Tool that takes patches; its answer is JSON."""
TOOLS: Mapping[str, str] = {
    "propose": "Propose edits of a module's code that save time, as patches with prices.",
    PRICE: "Price patches of one module, the fastest first: bounds, predictions with intervals, "
    "and causes with lines; times are in seconds, energies in joules, sizes in bytes.",
}
"""Summaries of the tools."""
MOST_PATCHES = 8
"""Maximum patches of a call; each is priced by one run of `perfc diff`."""
OPTIONS = ("target", "runtime", "dtype", "batch", "seq", "input", "kwargs")
"""Options of ``perfc analyze`` that an agent may give with a patch."""
FIGURES = ("new", "delta", "delta_low", "delta_high")
"""Figures of a total that an answer has; with more, it would not have room for all patches."""
LONGEST_PATCH = 100_000
"""Maximum characters of all patches of a call together."""


def schema(tool: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    options, text = _tools.schema("diff")["properties"], {"type": "string"}
    properties = {name: options[name] for name in OPTIONS}
    properties["model"] = text | {"description": "package.module:Name or path.py:Name"}
    required = ["model"]
    if tool == PRICE:
        # one patch may be given without its array
        several = {"type": ["array", "string"], "items": text}
        properties["patches"] = several | {"minItems": 1, "maxItems": MOST_PATCHES}
        required.append("patches")
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


async def answer(
    tool: str, arguments: Mapping[str, Any], root: Path, run: Callable[[list[str]], Awaitable[str]]
) -> str:
    """Return patches as text, or prices as JSON.

    Args:
        tool: name of the tool.
        arguments: arguments as the client sends them.
        root: folder of the module.
        run: runs the words after ``perfc`` and returns the output.

    Raises:
        PerfcError: wrong arguments, or the only patch cannot be priced.
    """
    properties = schema(tool)["properties"]
    for name, value in arguments.items():
        if name not in properties:
            hint = f"there are {', '.join(properties)}"
            raise PerfcError(f"no argument {name[:64]!r} of {tool}", hint=hint)
        _tools.check_type(name, value, properties[name])
    module = arguments.get("model") or ""
    if not is_named(module):
        raise PerfcError(f"model: {module[:64]!r} is no module", hint="as in net.py:Net")
    options = {name: arguments[name] for name in OPTIONS if name in arguments}
    if tool != PRICE:
        options |= {"files": [module], "patch": True}
        return await run(_tools.command_line("lint", options, root, is_code=True))
    given = arguments.get("patches")
    patches = [given] if isinstance(given, str) else given or []
    if not 0 < len(patches) <= MOST_PATCHES or sum(map(len, patches)) > LONGEST_PATCH:
        limit = f"{MOST_PATCHES} of {LONGEST_PATCH:,} characters together"
        raise PerfcError(f"patches: {tool} takes at most {limit}")
    options |= {"old": module, "output_format": "json"}
    line = _tools.command_line("diff", options, root, is_code=True)
    prices = [await priced(k, patch, line, run) for k, patch in enumerate(patches)]
    if len(prices) == 1 and "error" in prices[0]:
        raise PerfcError(prices[0]["error"])
    # patches without a price last
    prices.sort(key=lambda m: m["totals"]["time"]["new"] if "totals" in m else float("inf"))
    return json.dumps({"patches": prices})


async def priced(
    k: int, patch: str, line: list[str], run: Callable[[list[str]], Awaitable[str]]
) -> dict[str, Any]:
    """Return totals and causes of patch ``k``, or the error that it has in place of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "given.patch")
        path.write_text(patch, encoding="utf-8")
        try:
            # the option goes right behind the command, before ``--`` and the model
            tree = json.loads(await run([*line[:1], f"--patch={path}", *line[1:]]))
        except PerfcError as error:
            return {"patch": k, "error": str(error)}
    totals = {t["metric"]: {key: t[key] for key in FIGURES} for t in tree["totals"]}
    # causes come with the largest first; the named ones make 90 % of the change, and three of them
    # leave room for all patches in an answer
    return {"patch": k, "totals": totals, "causes": [c for c in tree["blame"] if c["is_named"]][:3]}
