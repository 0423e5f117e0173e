"""Names in files speak neither to the terminal, nor to the pipeline, nor to the page they reach."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import click
import numpy as np
import onnx
import pytest
from markdown_it import MarkdownIt
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc import cli

from .invocations import BUDGETS, NCU, TRACE, commands

FRONTEND = Path(__file__).parents[2] / "perfc" / "frontend"
CONFIGS = FRONTEND / "config" / "configs"
PIPELINES = FRONTEND / "diffusion" / "pipelines"
FILE = "=m\x1b[31m\n::error::a\u202e<img src=x onerror=a()>`|@org##vso[task]"
"""Name of the model's file, without what no file system takes."""
PARTS = (
    "\x1b]0;owned\x07",  # title of the terminal
    "\x1b]52;c;b3duZWQ=\x07",  # its clipboard
    "\x9b31m\x7f\x08",
    "\u202egnp\u2066.exe\u200b",  # turns the direction of writing
    "\n::stop-commands::INJECTED",
    "\r##[add-mask]x ##vso[task.setvariable variable=x]y ##teamcity[z]",
    "<img src=x onerror=alert(1)></script><script>alert(2)</script>",
    "`|[a](http://example.org)*_@org/team",
    "]]>&\"'\ufffe\ud7ff",
    "%0A%25\\",
)
"""Each behind a sign that a spreadsheet takes for the beginning of a formula."""


def named(stem: str) -> str:
    return f"=2+5;{stem}{''.join(PARTS)}"


def hostile_model() -> onnx.ModelProto:
    """A small model with every kind of name that a file can bring."""
    batch, x, h, r, t, y, w = (named(s) for s in ("n", "x", "h", "r", "t", "y", "w"))
    nodes = [
        helper.make_node("MatMul", [x, w], [h], name=named("product")),
        helper.make_node("Relu", [h], [r], name=f"::error::{named('relu')}"),
        helper.make_node("Transpose", [r], [t], name=named("there"), perm=[1, 0]),
        helper.make_node("Transpose", [t], [y], name=named("back"), perm=[1, 0]),
        helper.make_node(
            named("Strange"),
            [y],
            [named("z")],
            name=named("odd"),
            domain=named("my"),
            **{named("text"): named("value")},
        ),
    ]
    graph = helper.make_graph(
        nodes,
        named("graph"),
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [batch, 64])],
        [helper.make_tensor_value_info(named("z"), TensorProto.FLOAT, [batch, 32])],
        [numpy_helper.from_array(np.ones((64, 32), np.float32), w)],
        doc_string=named("doc"),
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(named("my"), 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    model.producer_name = model.domain = model.doc_string = named("producer")
    helper.set_model_props(model, {named("key"): named("value")})
    return model


def hostile_pipeline(folder: Path) -> None:
    """A folder of diffusers whose index names what it pleases; its graphs come with perfc."""
    stated = json.loads((PIPELINES / "pixart-sigma-xl-2-1024.json").read_text())
    index: dict[str, object] = {"_class_name": named("Pipeline")}
    for part, config in stated["parts"].items():
        known = config.get("_class_name") or named("T5EncoderModel")
        index[part] = [named("library"), known]
        (folder / part).mkdir(parents=True)
        (folder / part / "config.json").write_text(json.dumps(config))
    (folder / "model_index.json").write_text(json.dumps(index))


MODEL = f"{FILE}.onnx"
CONFIG = f"{FILE}.json"
PIPELINE = f"{FILE}.d"
BAD = "bad-::error::\x1b]0;x\x07.onnx"
CALLS: dict[str, tuple[str, ...]] = {
    "analyze": (MODEL, "--all-views", "--top", "all"),
    "analyze --quiet": (MODEL, "--target", "a100"),
    "check --show-baseline": (),
    "bulk": (MODEL, BAD, "-t", "a100", "--no-predict", "-o", "rows"),
    "check": ("--why",),
    "compare": (MODEL, "changed.onnx", "-t", "a100,t4"),
    "compare --price": (MODEL, "changed.onnx", "-t", "a100,t4", "--items", "1e6"),
    "mig": (MODEL, "-t", "a100"),
    "check --comment": ("check.json", "--policy", "always"),
    "diff": (MODEL, "changed.onnx"),
    "diffusion": (PIPELINE, "-t", "h100"),
    "explain": (MODEL, "1"),
    "fit": (MODEL, "-t", "a100", "--batch", "4"),
    "dev ir": (MODEL,),
    "lint": (MODEL, BAD, "--min-gain", "0"),
    "plan": (CONFIG, "--gpus", "2", "-t", "h100", "--seq", "64", "--global-batch", "8"),
    "llm search": (CONFIG, "-t", "l4", "--dtype", "half", "--isl", "2048", "--osl", "8"),
    "llm serve": (CONFIG, "-t", "h100", "--isl", "64", "--osl", "8"),
    "measure": ("plain.onnx", "--target", "a100", "--repeat", "1", "--min-time", "0"),
    "trace --arch sm_80": ("report.csv", "--target", "a100"),
    "dev opt": (MODEL, "--passes", "shapes,canonicalize"),
    "dev reduce": (MODEL, "--node", "1"),
    "roofline": ("a100", "--model", "plain.onnx"),
    "sweep": ("plain.onnx", "--dim", f"{named('n')}=1:4"),
    "trace": ("trace.json",),
}
"""Arguments of the commands that show names out of files."""
NAMELESS = {
    "adapt",
    "calibrate",
    "dev completion",
    "data build",
    "data export",
    "data fetch",
    "data import",
    "data list",
    "data sets",
    "data stats",
    "eval fusion",
    "eval gnn-llm",
    "eval graph",
    "eval op",
    "eval papers",
    "eval batches",
    "eval serving",
    "eval training",
    "eval trees",
    "init",
    "dev ops",
    *(name for name, _ in commands() if name.startswith("op ")),
    "dev passes",
    "dev schema",
    "dev web",
    "mcp",
    "ui",
    "targets add",
    "targets list",
    "targets show",
    "targets validate",
    "train gnn-llm",
    "train graph",
    "train op",
    "train checkpoint",
    "train serving",
    "train training",
    "train trees",
}
"""Commands that read no names of others, or have tests of their own below."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("names")
    model = hostile_model()
    (path / MODEL).write_bytes(model.SerializeToString())
    (path / BAD).write_bytes(b"no model")
    shutil.copy(CONFIGS / "gpt2.json", path / CONFIG)
    hostile_pipeline(path / PIPELINE)
    plain = hostile_model()
    del plain.graph.node[-1], plain.opset_import[1:]
    plain.graph.output[0].name = named("y")
    (path / "plain.onnx").write_bytes(plain.SerializeToString())
    model.graph.node[1].op_type = "Erf"
    (path / "changed.onnx").write_bytes(model.SerializeToString())
    budgets = BUDGETS.replace('flop = { fail = "+5%" }', 'flop = { max = "1" }\ntime = "1 ns"')
    (path / "perfc.toml").write_text(budgets)
    text = NCU.read_text().replace("ampere_sgemm", named("kernel").replace('"', "'"))
    (path / "report.csv").write_text(re.sub("\r|\n(?=::)", "", text))
    traced = json.loads(TRACE.read_text(encoding="utf-8"))
    traced["deviceProperties"][0]["name"] = named("device")
    for at, event in enumerate(traced["traceEvents"]):
        event["name"] = named(f"kernel {at}")
    (path / "trace.json").write_text(json.dumps(traced), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        (path / BAD).rename(path / "kept")
        assert cli.run(["check", "--write-baseline"]) == 0
        (path / "kept").rename(path / BAD)
        cli.run(["check", "--output-format", "json", "-o", "check.json"])
        yield path


FORMS = {
    "analyze --quiet": ["text", "json"],
    "check --comment": [""],
    "check --show-baseline": ["text", "json", "markdown"],
    "compare --price": ["text", "json", "markdown", "html"],
    "trace --arch sm_80": ["text", "json", "csv", "markdown"],
}
"""Formats of the answers that have fewer than their command."""


def forms_of(name: str) -> list[str]:
    if name in FORMS:
        return FORMS[name]
    command = dict(commands())[name.partition(" --")[0]]
    option = next((p for p in command.params if p.name == "form"), None)
    if option is None or not isinstance(option.type, click.Choice):
        return [""]
    # a spreadsheet is no text: tests/view/test_spreadsheets.py
    return [form for form in option.type.choices if form != "xlsx"]


def shown(text: str, form: str) -> None:
    """Nothing in ``text`` is more than text where it is shown."""
    strange = {c for c in text if not c.isprintable()} - {"\n"}
    if form == "html":
        # scripts of others have odd characters of their own
        strange &= set("\x1b\x07\x08\x7f\x9b\u202e\u2066")
    assert not strange, strange
    if form not in ("html", "svg"):
        assert not re.search(r"##\w*\[", text)
        for line in text.splitlines():
            assert not line.lstrip().startswith("INJECTED"), line
            if form != "github":
                assert not line.lstrip().startswith("::"), line
    match form:
        case "html":
            page = Page()
            page.feed(text)
            assert "onerror" not in page.attributes
            assert not any(s.startswith("alert(") for s in page.scripts)
        case "json" | "gitlab" | "trace" | "sarif":
            json.loads(text)
        case "junit" | "svg":
            ElementTree.fromstring(text)
        case "csv":
            for cell in (c for row in csv.reader(io.StringIO(text)) for c in row):
                assert cell[:1] not in set("=+-@") or is_number(cell), cell
        case "markdown":
            marked(text)
        case "github":
            for line in text.splitlines():
                assert re.match(r"::(error|warning|notice) file=[^\n:,]*,line=1,title=", line), line
        case _:
            pass


def marked(text: str) -> None:
    """A page of Markdown has no link, no image, no element but ours, and tells nobody."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    tokens += [child for t in tokens for child in t.children or ()]
    assert not {t.type for t in tokens} & {"link_open", "image", "fence", "code_block", "hr"}
    for t in tokens:
        if t.type.startswith("html"):
            ours = re.sub(r"<!-- perfc-comment -->|</?(sub|details|summary)>|why", "", t.content)
            assert not ours.strip(), ours
        if t.type == "text":
            assert not re.search(r"@\w|#\d|://|\bwww\.\w", t.content), t.content


class Page(HTMLParser):
    """What a browser would make of a page: attributes of its elements, and its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: set[str] = set()
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts.append(data.strip())


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_every_command_that_shows_names_is_called() -> None:
    assert {name for name, _ in commands()} == {n.partition(" --")[0] for n in CALLS} | NAMELESS


@pytest.mark.parametrize("form", forms_of("plan"))
def test_names_in_a_scaling_curve_are_only_text(
    form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["plan", "--curve", CONFIG, "-t", "h100", "--seq", "64", "--gpus", "1,2"]
    assert cli.run([*args, "--output-format", form]) == 0
    out, err = capsys.readouterr()
    assert len(out) > 40
    shown(out, form)
    shown(err, "text")


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in CALLS for form in forms_of(name)]
)
def test_names_are_only_text(
    name: str, form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "measure":
        pytest.importorskip("onnxruntime")
    if name == "roofline" and form == "svg":
        pytest.importorskip("vl_convert")
    capsys.readouterr()
    asked = ("--output-format", form) if form else ()
    code = cli.run([*name.split(), *CALLS[name], *asked])
    out, err = capsys.readouterr()
    assert code in (0, 1) or BAD in CALLS[name] or name == "check", err
    assert "bug in perfc" not in err
    assert len(out) > 40
    shown(out, form)
    shown(err, "text")
    if name == "measure" or not asked:
        return
    path = folder / "out"
    assert cli.run([*name.split(), *CALLS[name], *asked, "-o", str(path)]) == code
    shown(path.read_text(encoding="utf-8"), form)


@pytest.mark.parametrize(
    "args",
    [
        ("analyze", "broken.onnx"),
        ("explain", "broken.onnx", "0"),
        ("dev", "ir", "broken.onnx", "--passes", "shapes"),
        ("lint", "broken.onnx"),
        ("lint", "broken.onnx", "--fix"),
        ("dev", "reduce", "broken.onnx", "--error"),
        ("diff", "broken.onnx", "broken.onnx"),
        ("sweep", "broken.onnx", "--dim", f"{named('n')}=1:4"),
        ("measure", "broken.onnx"),
        ("analyze", "-q", "broken.onnx", "--target", "a100"),
        ("explain", MODEL, named("nobody")),
        ("analyze", MODEL, "--dim", f"{named('nothing')}=3"),
        ("analyze", MODEL, "--value", f"{named('nothing')}=3"),
        ("analyze", MODEL, "--target", named("target").replace("/", "")),
        ("analyze", named("no file").replace("/", "")),
        (named("command"),),
        ("analyze", MODEL, named("--option")),
        ("check", "--against", named("HEAD")),
        ("diff", f"{named('HEAD')}:x.onnx", MODEL),
        ("check", "--write-baseline", named("no model").replace("/", "")),
        ("check", "--comment", "strange.json"),
        ("trace", "strange.csv"),
        ("trace", "strange.json"),
    ],
)
def test_errors_are_only_text(
    args: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = hostile_model()
    model.graph.initializer[0].CopyFrom(
        numpy_helper.from_array(np.ones((3, 32), np.float32), named("w"))
    )
    (folder / "broken.onnx").write_bytes(model.SerializeToString())
    (folder / "strange.json").write_text(json.dumps({"schema": named("schema")}))
    (folder / "strange.csv").write_text(f'"ID","Kernel Name"\n"{named("0")}","x"\n')
    capsys.readouterr()
    code = cli.run(list(args))
    out, err = capsys.readouterr()
    assert (code, bool(err)) == (2, True) or args[0] in ("lint", "dev"), out
    shown(out, "text")
    shown(err, "text")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "name", ["analyze", "check", "diff", "explain", "lint", "roofline", "trace"]
)
def test_a_terminal_gets_colors_and_nothing_else(name: str, folder: Path) -> None:
    pty = pytest.importorskip("pty")
    chunks: list[bytes] = []

    def read(descriptor: int) -> bytes:
        chunks.append(os.read(descriptor, 1 << 16))
        return chunks[-1]

    code = (
        f"import os, sys; os.chdir({str(folder)!r});"
        "os.environ.update(TERM='xterm-256color', COLUMNS='100');"
        f"sys.path.insert(0, {str(Path(cli.__file__).parents[1])!r});"
        "sys.stderr = open(os.devnull, 'w');"
        f"from perfc import cli; sys.exit(cli.run({[*name.split(), *CALLS[name]]!r}))"
    )
    saved = os.dup(1)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 1)
        try:
            pty.spawn([sys.executable, "-c", code], read, lambda _: b"")
        finally:
            os.dup2(saved, 1)
            os.close(saved)
    text = b"".join(chunks).decode().replace("\r\n", "\n")
    assert len(text) > 40
    shown(re.sub(r"\x1b\[[0-9;]*m", "", text), "text")


def test_the_text_form_of_the_ir_reads_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for passes in ("", "shapes"):
        capsys.readouterr()
        assert cli.run(["dev", "ir", MODEL, "--passes", passes]) == 0
        text = capsys.readouterr().out
        assert text.isascii()
        Path("again.pir").write_text(text)
        assert cli.run(["dev", "ir", "again.pir", "--passes", ""]) == 0
        assert capsys.readouterr().out == text
        nodes = perfc.analyze("again.pir").source.graph.nodes
        assert {v.name for n in nodes for v in n.results} >= {named(s) for s in "hrz"}


def test_nothing_is_written_past_the_one_place() -> None:
    """Whoever prints by other means is listed here, with what it prints."""
    known = {
        "perfc/common/plain_text.py": {"echo"},  # the place
        "perfc/commands/cli.py": {"print"},  # of what it shields
        "perfc/__main__.py": {"print"},  # byte code in the user's cache, before perfc is there
        "perfc/commands/shared/output.py": {"write"},  # likewise; and pages of HTML and SVG
        "perfc/commands/shared/help.py": {"echo"},  # perfc's own words
        "perfc/commands/dev/completion.py": {"echo"},  # a script
        "perfc/commands/analysis/roofline.py": {
            "echo"
        },  # a plot with colors, its names made printable
        "perfc/view/report/formats/terminal.py": {"print"},  # spans made printable
        "perfc/measuring/measure/worker.py": {"print"},  # to the process that started it
    }
    root = Path(cli.__file__).parent
    result: dict[str, set[str]] = {}
    for path in root.rglob("*.py"):
        if any(p.is_symlink() for p in path.parents if p.is_relative_to(root)):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name("print")):
                    result.setdefault(str(path.relative_to(root.parent)), set()).add("print")
                case ast.Call(
                    func=ast.Attribute(
                        ast.Name("click" | "console"), ("echo" | "secho" | "print") as a
                    )
                ):
                    result.setdefault(str(path.relative_to(root.parent)), set()).add(a)
                case ast.Call(
                    func=ast.Attribute(ast.Attribute(ast.Name("sys"), "stdout" | "stderr"), "write")
                ):
                    result.setdefault(str(path.relative_to(root.parent)), set()).add("write")
                case _:
                    pass
    assert result == known
