"""``perfc mcp``: the client of the SDK calls every tool over standard input and output."""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import re
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click
import pytest

from perfc import cli
from perfc.commands.help import _tools
from perfc.errors import PerfcError

ROOT = Path(__file__).resolve().parents[2]
MODEL = "resnet50.onnx.gz"
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "analyze": ({"model": MODEL, "target": "a100", "batch": 8}, "predicted"),
    "compare": ({"models": [MODEL], "target": ["a100", "l4"], "batch": 1}, "l4"),
    "explain": ({"model": MODEL, "node": "/conv1/Conv"}, "flop"),
    "roofline": ({"model": MODEL, "target": "l4"}, "Tflop/s"),
    "sweep": ({"model": MODEL, "batch": "1:8", "slo": "10ms"}, "within 10.0 ms: batch 8"),
    "mig": ({"model": MODEL, "slo": "10ms"}, "1g.10gb"),
    "lint": ({"files": [MODEL]}, MODEL),
    "check": ({"files": MODEL}, "all budgets met"),
    "diff": ({"old": MODEL, "new": MODEL, "to": ["dtype=f16"], "top": 5}, "lower bound"),
    "llm": ({"model": "llama-3.1-8b", "isl": 128, "osl": 16}, "tokens/s"),
    "plan": ({"model": "llama-3.1-8b", "gpus": "16"}, "tokens"),
    "fit": ({"model": MODEL, "target": ["t4"]}, "MiB"),
    "op": ({"command": "matmul", "m": 512, "n": 512, "k": 512, "target": ["h100"]}, "µs"),
    "targets": ({"command": "show", "names": ["t4"]}, "T4"),
}
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("analyze", {}, "analyze needs 'model'"),
    ("analyze", {"model": "/etc/passwd"}, "outside of the root"),
    ("analyze", {"model": "../model.onnx"}, "leaves the root"),
    ("analyze", {"model": "link.onnx"}, "has a symbolic link"),
    ("analyze", {"model": "folder/model.onnx"}, "has a symbolic link"),
    ("analyze", {"model": "timm:resnet50"}, "is code to import"),
    (
        "analyze",
        {"model": MODEL, "output_format": "csv"},
        "output_format is 'csv' (one of text, json",
    ),
    ("analyze", {"model": MODEL, "target": ["/absent/machine.toml"]}, "outside of the root"),
    ("analyze", {"model": MODEL, "values": ["x=@../secret.json"]}, "no argument 'values'"),
    ("analyze", {"model": MODEL, "value": ["x=@../secret.json"]}, "leaves the root"),
    ("analyze", {"model": MODEL, "output": "x.html"}, "no argument 'output'"),
    ("check", {"files": MODEL, "write_baseline": True}, "no argument 'write_baseline'"),
    ("analyze", {"model": MODEL, "model_explorer": "x.json"}, "no argument 'model_explorer'"),
    ("diff", {"old": MODEL, "to": ["target=/absent/machine.toml"]}, "outside of the root"),
    (
        "analyze",
        {"model": MODEL, "target": 100},
        "target is '100', must be of type array or string",
    ),
    ("analyze", {"model": MODEL, "target": ["a1000000"]}, "no such target 'a1000000'"),
    ("analyze", {"model": MODEL, "full": "yes"}, "full is 'yes', must be of type boolean"),
    ("analyze", {"model": "absent.onnx"}, "absent.onnx"),
    ("analyze", {"model": "bad.onnx"}, "bad.onnx"),
    ("analyze", {"model": "--help"}, "--help"),
    ("compare", {"models": []}, "compare needs 'models'"),
    ("explain", {"model": MODEL, "node": "no_such_node"}, "no_such_node"),
    ("op", {"command": "matmull"}, "op needs a command, not 'matmull' (one of matmul"),
    ("op", {"command": "matmul", "m": 4}, "matmul needs n"),
    ("llm", {"command": "serve", "model": "llama-3.1-8b", "isl": 0}, "isl"),
    ("llm", {"command": "serve", "engine_args": "vllm serve x"}, "no argument 'engine_args'"),
    ("targets", {"command": "add"}, "needs a command, not 'add' (one of list, show)"),
    ("no_such_tool", {}, "no tool 'no_such_tool'"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a model, a file that is none, a link out of it, and a module of Python."""
    outside, root = (tmp_path_factory.mktemp(n) for n in ("outside", "root"))
    for place in (outside / "model.onnx", root / MODEL):
        shutil.copy(ROOT / "examples" / "models" / MODEL, place)
    (root / "link.onnx").symlink_to(outside / "model.onnx")
    (root / "folder").symlink_to(outside)
    (root / "bad.onnx").write_bytes(b"\xff\xfe\x00 no model")
    (root / "click.py").write_text("raise SystemExit('code of the root folder was imported')")
    return root


def with_client(folder: Path, use: Callable[[Any], Awaitable[None]], *options: str) -> None:
    """Start the server as an agent does, and use a client of the SDK."""
    pytest.importorskip("mcp")
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = os.pathsep.join(filter(None, [str(ROOT), *given]))

    async def session() -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "perfc", "mcp", "--root", str(folder), *options],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "NO_COLOR": "1"},
            cwd=str(ROOT),
        )
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            await client.initialize()
            await use(client)

    asyncio.run(session())


def test_every_tool_answers_a_client_of_the_sdk(folder: Path) -> None:
    async def use(client: Any) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(listed) == list(CALLS)
        for name, (arguments, expected) in CALLS.items():
            result = await client.call_tool(name, arguments)
            text = result.content[0].text
            assert not result.is_error, text
            assert expected in text, (name, text)
            assert len(text) < 8000, name
            assert "columns hidden" not in text, name
            assert listed[name].description

    with_client(folder, use)


def test_answers_as_json_are_documents_of_the_command(folder: Path) -> None:
    async def use(client: Any) -> None:
        arguments = {"model": MODEL, "target": ["t4"], "output_format": "json"}
        result = await client.call_tool("fit", arguments)
        assert json.loads(result.content[0].text)["schema"].startswith("perfc-fit/")
        assert result.structured_content == json.loads(result.content[0].text)

    with_client(folder, use)


def test_prompts_name_tools_and_reports_are_resources(folder: Path) -> None:
    tools = {
        "choose_machine": ("compare", "sweep"),
        "speed_up": ("analyze", "lint", "explain"),
        "review_change": ("diff", "check"),
        "size_serving": ("llm",),
        "size_training": ("fit", "plan"),
    }
    sdk = pytest.importorskip("mcp")

    async def use(client: Any) -> None:
        listed = {p.name: p for p in (await client.list_prompts()).prompts}
        assert listed.keys() == tools.keys()
        for name, prompt in listed.items():
            words = {a.name: f"<{a.name}>" for a in prompt.arguments}
            (message,) = (await client.get_prompt(name, words)).messages
            assert all(word in message.content.text for word in words.values())
            assert "{" not in message.content.text
            text = message.content.text
            for tool in tools[name]:
                assert re.search(rf"(?i)\b(call|then|and) {tool}\b|\({tool}\)", text), (name, tool)
                assert tool in CALLS
        with pytest.raises(sdk.MCPError, match="choose_machine needs slo"):
            await client.get_prompt("choose_machine", {"model": MODEL})
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "perfc://report/{target}/{+model}"
        (report,) = (await client.read_resource(f"perfc://report/l4/{MODEL}")).contents
        assert "bottlenecks" in report.text
        assert "NVIDIA L4" in report.text
        for wrong, message in (
            (f"perfc://report/a1000000/{MODEL}", "no such target"),
            (f"perfc://report/a100%2F9g.40gb/{MODEL}", "9g.40gb"),
            (f"perfc://report/l4/{MODEL}%232", f"{MODEL}#2"),
            ("perfc://report/l4/..%2Fmodel.onnx", "leaves the root"),
            ("perfc://report/l4", "no resource"),
        ):
            with pytest.raises(sdk.MCPError, match=message):
                await client.read_resource(wrong)

    with_client(folder, use)


def test_bad_input_is_one_clear_error(folder: Path) -> None:
    async def use(client: Any) -> None:
        for name, arguments, expected in WRONG:
            result = await client.call_tool(name, arguments)
            assert result.is_error, (name, arguments)
            assert len(result.content) == 1
            text = result.content[0].text
            assert expected in text, (arguments, text)
            assert text.count("\n") == 0
        good = await client.call_tool("targets", CALLS["targets"][0])
        assert not good.is_error

    with_client(folder, use)


NET = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, width=4096):
        super().__init__()
        self.inner = torch.nn.Linear(1024, width)
        self.outer = torch.nn.Linear(width, 1024)

    def forward(self, x):
        return self.outer(self.inner(x).relu())
"""


def patch(old: str, new: str, file: str = "net.py") -> str:
    lines = (t.splitlines(keepends=True) for t in (NET, NET.replace(old, new)))
    return "".join(difflib.unified_diff(*lines, f"a/{file}", f"b/{file}"))


def test_an_agent_searches_among_patches_where_code_may_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(NET)
    given = {"model": "net.py:Net", "input": "4096x1024", "target": "a100"}
    narrow, wide = patch("4096", "512"), patch("4096", "8192")

    async def use(client: Any) -> None:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed[-2:] == ["propose", "price"]
        proposed = await client.call_tool("propose", given)
        text = proposed.content[0].text
        assert "# autocast to bf16" in text or "# torch.compile" in text, text
        assert "+++ b/net.py" in text
        analyzed = await client.call_tool("analyze", given)
        assert "predicted" in analyzed.content[0].text, analyzed.content[0].text
        many = {"patches": [wide, narrow, patch("4096", "512", "../net.py"), "no patch"]}
        answer = await client.call_tool("price", given | many)
        made = answer.structured_content
        # of 8 patches at most, which share the characters of one answer
        assert len(answer.content[0].text) < 2 / 8 * 20_000
        assert [p["patch"] for p in made["patches"]] == [1, 0, 2, 3]
        time = made["patches"][0]["totals"]["time"]
        assert time["delta_low"] <= time["delta"] <= time["delta_high"] < 0
        assert made["patches"][0]["totals"]["floor"]["delta"] < 0
        assert {c["source"] for c in made["patches"][0]["causes"]} == {"net.py:11"}
        assert all("does not apply" in p["error"] for p in made["patches"][2:])
        for wrong, expected in (
            ({"patches": []}, "at most 8"),
            ({"patches": [wide] * 9}, "at most 8"),
            ({"patches": ["x" * 200_000]}, "100,000 characters"),
            ({"patches": [wide], "model": "/etc/passwd.py:Net"}, "outside of the root"),
            ({"patches": [wide], "model": "../net.py:Net"}, "leaves the root"),
            ({"patches": [wide], "model": "net.onnx"}, "as in net.py:Net"),
            ({"patches": [wide], "output": "x"}, "no argument 'output'"),
            ({"patches": "no patch"}, "does not apply"),
            ({"patches": [7]}, "must be of type string"),
            ({"patches": [wide], "model": None}, "as in net.py:Net"),
            ({"patches": [wide], "input": {}}, "must be of type array"),
            ({"patches": [wide], "input": ["4\0"]}, "has a zero byte"),
            ({"patches": [wide], "kwargs": {"width": 8}}, "must be of type string"),
        ):
            refused = await client.call_tool("price", given | wrong)
            assert refused.is_error
            assert expected in refused.content[0].text, refused.content[0].text

    with_client(tmp_path, use, "--allow-code")
    assert (tmp_path / "net.py").read_text() == NET


def test_schemas_are_those_of_the_options() -> None:
    for tool in _tools.TOOLS:
        schema = _tools.schema(tool)
        names = {n for c in _tools.commands_of(tool) for n, _ in c.parameters}
        assert set(schema["properties"]) - {_tools.KIND} == names
        assert json.loads(json.dumps(schema)) == schema
        assert not re.findall(r"\{\w+\}", json.dumps(schema))
    analyze = _tools.schema("analyze")
    assert analyze["required"] == ["model"]
    assert analyze["properties"]["target"]["type"] == ["array", "string"]
    assert "tensorrt" in analyze["properties"]["runtime"]["description"]
    assert analyze["properties"]["output_format"]["enum"] == ["text", "json"]
    assert _tools.schema("op")["properties"]["m"]["type"] == "integer"
    assert _tools.schema("llm")["properties"]["isl"] == {
        "type": "integer",
        "minimum": 1,
        "description": "Input sequence length: prompt tokens per request.",
    }


def test_a_new_option_of_a_command_is_in_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    command = _tools.commands_of("fit")[0].command
    extra = click.Option(["--extra-option"], type=click.FloatRange(0, 1), help="Extra.")
    monkeypatch.setattr(command, "params", [*command.params, extra])
    assert _tools.schema("fit")["properties"]["extra_option"] == {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "Extra.",
    }


@pytest.mark.parametrize(
    "text", ["a" * 5000, "a\0b", "~/x", "a/../../b", "x=@/etc/passwd", "a ../b"]
)
def test_paths_outside_of_the_root_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PerfcError):
        _tools.confined("value", text, tmp_path)
    assert _tools.confined("value", "a100/3g.40gb", tmp_path) == "a100/3g.40gb"


def test_without_the_sdk_the_error_names_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("perfc.commands.help.mcp.find_spec", lambda name: None)
    assert cli.run(["mcp"]) == 2
    error = capsys.readouterr().err
    assert "needs the MCP SDK" in error
    assert "pip install 'mcp>=2" in error
