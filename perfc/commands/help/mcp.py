"""``perfc mcp``: serve the commands to an agent by the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from perfc.common.extras import install
from perfc.common.plugins import NO_CODE
from perfc.common.version import __version__
from perfc.errors import MissingExtraError, PerfcError
from perfc.frontend.reading.process import child_environment

from ..shared.listing import examples
from . import _patches, _prompts, _tools

TIMEOUT_S = 300.0
"""Seconds after which a command is stopped, so that an agent gets an answer."""
MOST_CHARACTERS = 20_000
"""Maximum characters of an answer, which an agent reads as a whole."""
WIDTH = "200"
"""Characters in a line of an answer, so wide that tables hide none of their columns."""
PARALLEL = 2
"""Commands that run at the same time, each in a process; further ones wait."""
INSTRUCTIONS = (
    "perfc predicts time, memory and cost of deep-learning models on machines without running "
    "them. Answers state units; a predicted number has an interval, a lower bound is computed. "
    "Files are relative to the root folder of the server."
)


@click.command("mcp", epilog=examples("mcp", "mcp --root ."))
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="Folder of the files that tools may read (default: the current folder).",
)
@click.option(
    "--allow-code",
    is_flag=True,
    help="Run modules in --root with patches that the client sends: any code of its choice.",
)
def command(root: Path, allow_code: bool) -> None:
    """Serve the commands as tools over standard input and output, until the client disconnects.

    Tools: analyze, compare, explain, roofline, sweep, mig, lint, check, diff, llm, plan, fit, op,
    targets. They read files in --root alone and write none. With --allow-code also propose and
    price.
    """
    if find_spec("mcp") is None:
        raise MissingExtraError("perfc mcp needs the MCP SDK", hint=install("mcp"))
    asyncio.run(serve(root.resolve(), is_code=allow_code))


async def serve(root: Path, *, is_code: bool) -> None:
    """Answer requests on standard input until it ends."""
    from mcp.server import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import (
        CallToolResult,
        GetPromptResult,
        ListPromptsResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        PromptMessage,
        ReadResourceResult,
        ResourceTemplate,
        TextContent,
        TextResourceContents,
        Tool,
    )

    slots = asyncio.Semaphore(PARALLEL)
    listed = [
        Tool(name=n, description=_tools.description(n), input_schema=_tools.schema(n))
        for n in _tools.TOOLS
    ]
    listed += [
        Tool(name=n, description=text, input_schema=_patches.schema(n))
        for n, text in (_patches.TOOLS if is_code else {}).items()
    ]

    async def list_tools(context: Any, params: Any) -> Any:
        return ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: Any) -> Any:
        arguments = params.arguments or {}
        try:
            async with slots:
                text = await answer(params.name, arguments, root, is_code=is_code)
        except PerfcError as error:
            return CallToolResult(
                content=[TextContent(type="text", text=f"error: {error}")], is_error=True
            )
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=json.loads(text) if is_json(params.name, arguments) else None,
        )

    async def list_prompts(context: Any, params: Any) -> Any:
        return ListPromptsResult(prompts=_prompts.listed())

    async def get_prompt(context: Any, params: Any) -> Any:
        try:
            text = _prompts.text_of(params.name, params.arguments or {})
        except PerfcError as error:
            raise refusal(error) from None
        content = TextContent(type="text", text=text)
        return GetPromptResult(messages=[PromptMessage(role="user", content=content)])

    async def list_templates(context: Any, params: Any) -> Any:
        words = "Full report of a model on a machine, with every view."
        template = ResourceTemplate(
            name="report", uri_template=_prompts.REPORT, description=words, mime_type="text/plain"
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(context: Any, params: Any) -> Any:
        uri = str(params.uri)
        try:
            async with slots:
                arguments = _prompts.report_of(uri)
                text = await answer("analyze", arguments, root, is_code=is_code)
        except PerfcError as error:
            raise refusal(error) from None
        contents = TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return ReadResourceResult(contents=[contents])

    server: Any = Server(
        "perfc",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def refusal(error: PerfcError) -> Exception:
    """Return the error of the protocol for wrong parameters, with the message in one line."""
    from mcp import MCPError
    from mcp_types import INVALID_PARAMS

    # without the SDK its types are unknown to the type checker
    refused: Exception = MCPError(INVALID_PARAMS, str(error))
    return refused


async def answer(
    tool: str, arguments: Mapping[str, Any], root: Path, *, is_code: bool = False
) -> str:
    """Return the output of the command of a tool.

    Raises:
        PerfcError: wrong arguments, an error of the command, or an answer that is too long for
            JSON.
    """
    if is_code and tool in _patches.TOOLS:
        text = await _patches.answer(tool, arguments, root, partial(ran, root))
    else:
        # without --allow-code, the process imports no module of the user
        line = _tools.command_line(tool, arguments, root, is_code=is_code)
        text = await ran(root, line, {} if is_code else {NO_CODE: "1"})
    # text can be cut off, JSON cannot
    if len(text) <= MOST_CHARACTERS:
        return text
    if is_json(tool, arguments):
        hint = "use the text format or fewer views"
        raise PerfcError(f"the answer has {len(text):,} characters", hint=hint)
    omitted = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}\n… {omitted:,} more characters"


def is_json(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Return True if the answer of a tool is a JSON document."""
    return tool == _patches.PRICE or arguments.get("output_format") == "json"


async def ran(root: Path, line: list[str], more: Mapping[str, str] | None = None) -> str:
    """Run a command in a separate process, with ``more`` variables, and return its output.

    Raises:
        PerfcError: an error of the command, or a timeout.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "perfc",
        *line,
        cwd=root,
        env={**child_environment(), **(more or {}), "NO_COLOR": "1", "COLUMNS": WIDTH},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
    except TimeoutError:
        raise PerfcError(f"{line[0]} took longer than {TIMEOUT_S:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text, message = (b.decode("utf-8", "replace").strip() for b in (output, errors))
    # exit codes 1, findings, and 3, an incomplete report, have an answer, unless there is only an
    # error message
    if process.returncode not in (0, 1, 3) or (not text and message):
        message = message or f"{line[0]} ended with code {process.returncode}"
        raise PerfcError(message.splitlines()[-1].removeprefix("error: "))
    return text
