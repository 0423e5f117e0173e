"""Commands as tools of an agent: JSON Schemas of their options, and checked command lines.

`schema` describes a tool, `command_line` returns the words of a call, which `mcp` runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from perfc.common.fitted import data_next_to
from perfc.errors import PerfcError, suggestion
from perfc.frontend.reading.module_name import is_named
from perfc.ir import frozen

from ..shared import listing
from ..shared.deployment_option import DeploymentOption
from ..shared.names import Names, Nodes
from ..shared.output import OutputFile

_DATA = data_next_to(__file__)
TOOLS: Mapping[str, list[str]] = _DATA["tools"]
"""Commands that are tools; of groups also their subcommands, ``*`` for all."""
HIDDEN = frozenset(_DATA["hidden"])
"""Parameters that write models, change only the display, or read files that other files name;
output files are hidden by their type."""
NOT_FILES = frozenset({"node", "freeze", "lora"})
"""Parameters whose values are names of nodes, which may begin with a slash."""
FORMATS = ("text", "json")
"""Output formats that an agent may choose; others are for people or other programs."""
KIND = "command"
"""Property of the subcommand of a group."""
LONGEST_NAME = 4096
"""Maximum characters of the name of a file; Linux opens no longer path."""


@frozen
class ToolCommand:
    """A command, or one subcommand of a group, as a tool.

    Args:
        path: words after ``perfc``.
        command: its definition.
    """

    path: tuple[str, ...]
    command: click.Command

    @property
    def parameters(self) -> Iterator[tuple[str, click.Parameter]]:
        """Yield the visible parameters by the name of their property."""
        for parameter in self.command.params:
            is_hidden = parameter.name in HIDDEN or getattr(parameter, "hidden", False)
            if not is_hidden and not isinstance(parameter.type, OutputFile):
                yield property_name(parameter), parameter


def property_name(parameter: click.Parameter) -> str:
    """Return the name of a parameter in the schema: its long option with underscores."""
    if isinstance(parameter, click.Argument):
        return str(parameter.name)
    return max(parameter.opts, key=len).lstrip("-").replace("-", "_")


def commands_of(tool: str) -> list[ToolCommand]:
    """Return the commands behind a tool: itself, or the subcommands of a group.

    Raises:
        PerfcError: no such tool.
    """
    if tool not in TOOLS:
        raise PerfcError(f"no tool {tool[:64]!r}", hint=f"there are {', '.join(TOOLS)}")
    module = listing.module_of(tool)
    assert module is not None
    command = listing.command_of(module)
    if not isinstance(command, click.Group):
        return [ToolCommand((tool,), command)]
    names = list(command.commands) if TOOLS[tool] == ["*"] else TOOLS[tool]
    return [ToolCommand((tool, name), command.commands[name]) for name in names]


def default_of(tool: str) -> str | None:
    """Return the subcommand that a group runs if none is named."""
    module = listing.module_of(tool)
    return getattr(listing.command_of(module), "default", None) if module else None


def description(tool: str) -> str:
    """Return the summary of a command, from its file."""
    module = listing.module_of(tool)
    assert module is not None
    return listing.summary(module)


def schema(tool: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, from the options of its command."""
    commands = commands_of(tool)
    properties: dict[str, Any] = {}
    required: list[str] = []
    if len(commands) > 1:
        properties[KIND] = {"type": "string", "enum": [c.path[-1] for c in commands]}
        if default := default_of(tool):
            properties[KIND]["default"] = default
        else:
            required.append(KIND)
    for command in commands:
        for name, parameter in command.parameters:
            properties.setdefault(name, parameter_schema(parameter))
            # subcommands may lack a parameter that another one requires: `command_line` checks
            if parameter.required and len(commands) == 1:
                required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def parameter_schema(parameter: click.Parameter) -> dict[str, Any]:
    """Return the JSON Schema of one option or argument."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        result: dict[str, Any] = {"type": "boolean"}
    else:
        result = value_schema(parameter)
    if getattr(parameter, "multiple", False) or parameter.nargs == -1:
        # one value may be given without its array
        kinds = result["type"] if isinstance(result["type"], list) else [result["type"]]
        least = {"minItems": 1} if parameter.required else {}
        result = {"type": ["array", *kinds], "items": result, **least}
    text = getattr(parameter, "help", None)
    if isinstance(parameter, DeploymentOption):
        text = parameter.help_text()
    if text:
        result["description"] = " ".join(text.split())
    return result


def value_schema(parameter: click.Parameter) -> dict[str, Any]:
    """Return the JSON Schema of one value of a parameter."""
    match parameter.type:
        case click.Choice(choices=choices):
            names = [str(c) for c in choices]
            # ``form`` is the parameter of --output-format
            shown = [n for n in names if n in FORMATS] if parameter.name == "form" else names
            return {"type": "string", "enum": shown}
        case click.IntRange() | click.FloatRange() as ranged:
            ranged_type: dict[str, Any] = {
                "type": "integer" if isinstance(ranged, click.IntRange) else "number"
            }
            limits = (("minimum", ranged.min), ("maximum", ranged.max))
            return ranged_type | {key: value for key, value in limits if value is not None}
        case click.ParamType(name="integer"):
            return {"type": "integer"}
        case click.ParamType(name="float"):
            return {"type": "number"}
        case click.Path() | Names() | Nodes():
            return {"type": "string"}
        # texts that may consist of a number, as a size or a list of sizes
        case _:
            return {"type": ["string", "number"]}


def command_line(
    tool: str, arguments: Mapping[str, Any], root: Path, *, is_code: bool = False
) -> list[str]:
    """Return the words after ``perfc`` for a call of a tool.

    Args:
        tool: name of the tool.
        arguments: arguments that fit its schema.
        root: folder that contains all files; relative names are relative to it.
        is_code: whether models may be modules to import.

    Raises:
        PerfcError: an unknown tool or argument, a missing one, a value of the wrong type, a path
            outside the root, or a model that would be imported.
    """
    commands, given = commands_of(tool), dict(arguments)
    chosen = commands[0]
    if len(commands) > 1:
        names = [c.path[-1] for c in commands]
        name = given.pop(KIND, default_of(tool))
        if name not in names:
            raise PerfcError(
                f"{tool} needs a {KIND}, not {name!r}", hint=f"one of {', '.join(names)}"
            )
        chosen = commands[names.index(name)]
    parameters = dict(chosen.parameters)
    options: list[tuple[str, Any]] = []
    positional: list[tuple[str, Any]] = []
    for name, parameter in parameters.items():
        if parameter.required and given.get(name) in (None, [], ""):
            raise PerfcError(f"{' '.join(chosen.path)} needs {name!r}")
    for name, value in given.items():
        if name not in parameters:
            what = f"no argument {name[:64]!r} of {' '.join(chosen.path)}"
            raise PerfcError(what, hint=suggestion(name, parameters))
        check_type(name, value, parameter_schema(parameters[name]))
        (positional if isinstance(parameters[name], click.Argument) else options).append(
            (name, value)
        )
    # JSON objects have no order: arguments go in the order of the command
    positional.sort(key=lambda pair: list(parameters).index(pair[0]))
    # tools write no file, thus no cache either
    line = [*chosen.path, *(["--no-cache"] if "no_cache" in parameters else [])]
    for name, value in options:
        line += words(parameters[name], value, root)
    line.append("--")  # a value that begins with a hyphen is no option
    for name, value in positional:
        for word in value if isinstance(value, list) else [value]:
            if not is_code and name not in NOT_FILES and is_named(str(word)):
                hint = "a tool reads model files and shipped names"
                raise PerfcError(f"{name}: {word!r} is code to import", hint=hint)
            line.append(confined(name, str(word), root))
    return line


def words(option: click.Parameter, value: Any, root: Path) -> Iterator[str]:
    """Yield the words of one option with its value."""
    name = property_name(option)
    flag = max(option.opts, key=len)
    match value:
        case None:
            return
        case bool():
            negative = max(option.secondary_opts, key=len, default="")
            if chosen := flag if value else negative:
                yield chosen
        case _:
            for item in value if isinstance(value, list) else [value]:
                yield f"{flag}={confined(name, str(item), root)}"


def check_type(name: str, value: Any, wanted: Mapping[str, Any]) -> None:
    """Check a value against the schema of its argument.

    Raises:
        PerfcError: another type, or a value that is not listed.
    """
    kinds = [wanted["type"]] if isinstance(wanted["type"], str) else wanted["type"]
    match value:
        case None:
            return
        case list() if "items" in wanted:
            for item in value:
                check_type(name, item, wanted["items"])
            return
        case bool():  # before int, of which it is a subclass
            names = ["boolean"]
        case int():
            names = ["integer", "number"]
        case str() | float():
            names = ["string" if isinstance(value, str) else "number"]
        case _:
            names = []
    if not set(names) & set(kinds):
        text = f"must be of type {' or '.join(kinds)}"
        raise PerfcError(f"{name} is {str(value)[:64]!r}, {text}")
    if value not in wanted.get("enum", [value]):
        raise PerfcError(f"{name} is {value[:64]!r}", hint=f"one of {', '.join(wanted['enum'])}")


def confined(name: str, text: str, root: Path) -> str:
    """Return a value if every path in it stays in the root without symbolic links.

    Raises:
        PerfcError: a path that leaves the root, or one with a symbolic link.
    """
    if len(text) > LONGEST_NAME or "\0" in text:
        raise PerfcError(f"{name} is longer than {LONGEST_NAME} characters or has a zero byte")
    if name in NOT_FILES:
        return text
    # an option may hold several paths, as NAME=PATH or PATH,PATH
    for part in {text, *re.split(r"[=@,:\s]", text)}:
        if part.startswith("~") or ".." in Path(part).parts:
            raise PerfcError(f"{name}: {part[:64]!r} leaves the root")
        path = Path(os.path.normpath(root / part))
        if not path.is_relative_to(root):
            raise PerfcError(f"{name}: {part[:64]!r} is outside of the root")
        for place in (path, *path.parents):
            if place == root:
                break
            if place.is_symlink():
                raise PerfcError(f"{name}: {part[:64]!r} has a symbolic link")
    return text
