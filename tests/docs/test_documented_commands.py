"""Every command line of the README and of the documentation is run here, or at least parsed.

The lines of a page run in order in a folder of their own, beside the files that the page talks of.
``ONLY_PARSED`` says which do not run, and why. Pages for contributors are followed to the letter by
``test_contributing.py``.
"""

from __future__ import annotations

import glob
import gzip
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click
import onnx
import pytest

from perfc import cli
from tests.review.lint.models import blemished

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LAB_DOCS = ROOT / "lab" / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *LAB_DOCS.rglob("*.md")])
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
OTHER_LANGUAGES = ("python", "toml", "yaml", "json")
SPAN = re.compile(r"`(perfc [^`]+)`")
SCRIPT = re.compile(
    r"\bpython (?:-m ((?:benchmarks|tests)[\w.]*)|((?:benchmarks|examples)/[\w/]+\.py))"
)
FOLLOWED = {DOCS / "contributing", LAB_DOCS / "contributing"}
FINDINGS = {"lint": (0, 1)}
"""Commands that may have findings; the others end with 0."""
SILENT = {"--comment"}
"""What writes a file of another option, or has nothing to say where nothing changed."""

ONLY_PARSED: Mapping[str, str] = {
    r"calibrate (?!--device fake)": "measures a machine for minutes",
    r"measure": "runs a model for ten seconds, after a probe of the machine",
    r"adapt": "needs rows that were measured on the machine",
    r"data (export|fetch|build|import|stats)": "needs the network, or what it brought",
    r"train": "needs tables that are not shipped, and minutes to hours",
    r"dev web": "needs the registries",
    r"ui": "serves until it is interrupted",
    r"eval": "needs tables that are not shipped",
    r"analyze .*--predictor (weights|stages)/": "needs weights that perfc train wrote",
    r"trace .*--model": "needs the trace of that model",
    r"roofline .*--measured measured\.json": "needs what perfc measure wrote",
}
"""Beginnings of the lines that do not run, behind ``perfc``, with the reason."""

PLACEHOLDERS: Mapping[str, str] = {
    "MODEL": "model.onnx",
    "NODE": "#0",
    "OLD": "old.onnx",
    "NEW": "new.onnx",
    "FILE": "model.onnx",
    "FILES": "model.onnx",
    "MODELS": "models",
    "TARGET": "a100",
    "DIR": "tables",
    "SPLIT": "family",
    "op NAME": "op matmul",
    "ops NAME": "ops Conv",
    "--predictor NAME": "--predictor seernet",
    r"list\|show\|add\|validate": "list",
}
"""What prose writes in the place of a name, and a name."""


FEWER: Mapping[str, str] = {
    "-t all": "-t a100,t4",
    "-t h100,b200,l40s --slo": "-t l4 --dtype f8 --slo",
    "--target a100,h100,l4": "--target a100,l4",
    "-t h100,l40s --rate 50": "-t h100 --dtype f8 --osl 8 --rate 50",
    "--rate 3 --runtime sglang": "--rate 3",
}
"""Choices that take long, many of them targets each as long as the first, and what runs instead."""


class Line(NamedTuple):
    """A command line of a page, with what the page shows below it."""

    number: int
    text: str
    shown: list[str]

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)[1:]

    @property
    def reason(self) -> str | None:
        """Why it is not run."""
        behind = self.text.removeprefix("perfc ")
        return next((why for start, why in ONLY_PARSED.items() if re.match(start, behind)), None)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def lines(page: Path) -> list[Line]:
    """Command lines in a page's blocks of code."""
    text, result = page.read_text(encoding="utf-8"), list[Line]()
    for block in FENCE.finditer(text):
        if block[2] in OTHER_LANGUAGES:
            continue
        first = text.count("\n", 0, block.start(3)) + 1
        is_session = re.search(r"^\s*\$ ", block[3], re.MULTILINE) is not None
        for number, row in enumerate(block[3].splitlines(), first):
            if is_session and not row.lstrip().startswith("$ "):
                if result and row.strip():
                    result[-1].shown.append(row.strip())
                continue
            for part in re.split(r"&&|;", row.strip().removeprefix("$ ")):
                if part.strip().startswith("perfc "):
                    result.append(Line(number, part.strip(), []))
    return result


def spans(page: Path) -> Iterator[Line]:
    """Commands within sentences and tables."""
    text = page.read_text(encoding="utf-8")
    prose = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for number, row in enumerate(prose.splitlines(), 1):
        for span in SPAN.findall(row):
            yield Line(number, span, [])


def parse(words: list[str]) -> None:
    """Let click read a command, its options and their choices, without calling it."""
    command: click.Command = cli.cli
    path = "perfc"
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        with click.Context(command, info_name=path) as context:
            _, inner, words = command.resolve_command(context, words)
        assert inner is not None
        command, path = inner, f"{path} {inner.name}"
    if words and words != ["--help"]:
        command.make_context(path, words)


def named(text: str) -> str:
    """A span with names where prose has placeholders."""
    for placeholder, name in PLACEHOLDERS.items():
        text = re.sub(rf"(?<!\w){re.escape(placeholder)}(?![\w.])", lambda _, n=name: n, text)
    return text


def expanded(word: str) -> list[str]:
    """What a shell makes of a pattern."""
    return sorted(glob.glob(word)) or [word]


def git(*words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"]
    subprocess.run(["git", *who, *words], check=True, capture_output=True)


def publish() -> None:
    """Commit what lies here, as the base branch has it too."""
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "as it is")
    git("update-ref", "refs/remotes/origin/main", "HEAD")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with the names that pages use."""
    folder = tmp_path_factory.mktemp("prepared")
    model = gzip.decompress((ROOT / "examples/models/resnet50.onnx.gz").read_bytes())
    for name in ("models", "tables", "graphs", "plots", "weights"):
        (folder / name).mkdir()
    for name in ("model.onnx", "old.onnx", "new.onnx", "models/a.onnx"):
        (folder / name).write_bytes(model)
    shutil.copy(ROOT / "examples/models/resnet50.onnx.gz", folder)
    shutil.copy(ROOT / "tests/fixtures/ncu/sections-2025.csv", folder / "report.csv")
    (folder / "ranks").mkdir(exist_ok=True)
    for name in ("trace.json", "old.json", "new.json", "ranks/rank0.json", "ranks/rank1.json"):
        source = "new.json" if name == "new.json" else "old.json"
        shutil.copy(ROOT / "tests/golden/trace" / source, folder / name)
    for name in ("train.py", "rows.csv.gz", "rows.parquet"):
        (folder / name).touch()
    for name in ("measured.json", "weights/seernet-timm-time_s.json"):
        (folder / name).write_text("{}")
    card = (ROOT / "perfc/targets/l4.toml").read_text(encoding="utf-8")
    for name in ("my", "my-card", "new", "corrected", "l4-measured"):
        text = re.sub(r'^name = ".*"$', f'name = "{name}"', card, count=1, flags=re.MULTILINE)
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    for name in ("examples", "perfc"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture
def scratch(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prepared files, where a page's lines run."""
    folder = tmp_path / "scratch"
    shutil.copytree(prepared, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "110")
    return folder


RUN = [page for page in PAGES if page.parent not in FOLLOWED and lines(page)]
NEEDS_GIT = ("check.md", "diff.md")


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_commands_of_a_page_run(
    page: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if page.name == "lint.md":
        onnx.save(blemished(), scratch / "model.onnx")
    if page.name in NEEDS_GIT:
        git("init", "-q")
        publish()
    for line in lines(page):
        where = f"{name_of(page)}:{line.number}: {line.text}"
        if line.reason is not None:
            parse(shlex.split(named(line.text), comments=True)[1:])
            continue
        if page.name in NEEDS_GIT:
            publish()
        text = reduce(lambda text, many: text.replace(many, FEWER[many]), FEWER, line.text)
        if text != line.text:
            parse(line.words)
        words = [name for word in Line(0, text, []).words for name in expanded(word)]
        if ".svg" in line.text:
            pytest.importorskip("vl_convert")
        code = cli.run(words)
        out, err = capsys.readouterr()
        assert code in FINDINGS.get(words[0], (0,)), (where, err)
        files = [Path(b) for a, b in pairwise(words) if a == "-o"]
        assert all(file.exists() for file in files), where
        assert files or out or SILENT & set(words), where
        printed = {row.strip() for row in (out + err).splitlines()}
        assert not [row for row in line.shown if row not in printed], (where, out)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_sentences_and_tables_are_understood(page: Path, scratch: Path) -> None:
    for line in spans(page):
        words = shlex.split(named(line.text))[1:]
        try:
            with suppress(click.MissingParameter):  # a sentence names what it is about alone
                parse(words)
        except (click.ClickException, click.exceptions.Exit) as error:
            if isinstance(error, click.BadOptionUsage) and error.option_name == words[-1]:
                continue  # named without its value
            text = getattr(error, "message", error)
            pytest.fail(f"{name_of(page)}:{line.number}: {line.text}: {text}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_scripts_that_a_page_names_are_there(page: Path) -> None:
    for module, script in SCRIPT.findall(page.read_text(encoding="utf-8")):
        path = ROOT / (f"{module.replace('.', '/')}" if module else script)
        assert path.is_file() or path.with_suffix(".py").is_file() or path.is_dir(), path


def test_what_the_page_of_numbers_shows_is_printed(
    scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS / "explain.md"
    (command,) = lines(page)
    assert cli.run(command.words) == 0
    printed = set(capsys.readouterr().out.splitlines())
    shown = [b[3] for b in FENCE.finditer(page.read_text(encoding="utf-8")) if b[2] == "text"]
    assert shown
    assert not [row for block in shown for row in block.splitlines() if row not in printed]


def test_every_reason_is_for_a_line() -> None:
    every = [line for page in RUN for line in lines(page)]
    assert set(ONLY_PARSED.values()) <= {line.reason for line in every}
    assert all(any(many in line.text for line in every) for many in FEWER)


def test_most_lines_run() -> None:
    result = [line for page in RUN for line in lines(page)]
    assert len(result) > 60
    assert sum(line.reason is None for line in result) > 0.6 * len(result)


@pytest.mark.parametrize(
    "text",
    [
        "perfc anlyze m.onnx",
        "perfc analyze m.onnx --no-such",
        "perfc analyze m.onnx --color pink",
        "perfc targets shw a100",
        "perfc op matmul --rows",
    ],
)
def test_what_click_refuses_is_seen(text: str) -> None:
    with pytest.raises(click.UsageError):
        parse(Line(1, text, []).words)


def test_lines_are_found_with_what_is_shown_below_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Say `perfc dev ops`.\n\n```\n$ perfc dev ops Conv   # one\n  shown\n"
        "$ perfc dev passes\n```\n\n"
        "```sh\ncd x && perfc dev schema; perfc data list\n```\n\n```python\nperfc dev ops\n```\n"
    )
    assert lines(page) == [
        (4, "perfc dev ops Conv   # one", ["shown"]),
        (6, "perfc dev passes", []),
        (10, "perfc dev schema", []),
        (10, "perfc data list", []),
    ]
    assert lines(page)[0].words == ["dev", "ops", "Conv"]
    assert [line.text for line in spans(page)] == ["perfc dev ops"]
