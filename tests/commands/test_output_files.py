"""The suffix of an output file is its format, in every command.

Of `perfc eval` only the output runs: what takes tables stands for nothing here.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import click
import onnx
import pytest
from openpyxl import load_workbook

import perfc
from perfc import cli
from perfc_lab.board import Score
from perfc_lab.distributed.scores import DistributedEvidence as Runs
from perfc_lab.serving.scores import ServingEvidence
from perfc_lab.trees.experiment import TreeComparison

from .invocations import CALLS, commands, prepare

FOLDERS = {
    "bulk",
    "data build",
    "data export",
    "data fetch",
    "data import",
    "eval gnn-llm",
    "eval papers",
    "train checkpoint",
    "train gnn-llm",
    "train graph",
    "train serving",
    "train training",
    "train trees",
}
"""Commands whose ``-o`` is a folder."""
STRANGE = (".pdf", ".png", ".parquet", ".yaml", ".sh")
SUFFIXES: dict[str, list[str]] = tomllib.loads(
    (Path(perfc.__file__).parent / "common/formats.toml").read_text(encoding="utf-8")
)


def suffixes(form: str) -> list[str]:
    return SUFFIXES.get(form, [f".{form}"])


KNOWN = {s for name in (*SUFFIXES, "json", "csv", "svg", "xlsx") for s in suffixes(name)}
EVERY = [*sorted(KNOWN), ".HTML", *STRANGE]


def output_of(command: click.Command) -> click.Parameter | None:
    return next((p for p in command.params if "-o" in p.opts), None)


WRITING = [name for name, c in commands() if output_of(c) is not None and name not in FOLDERS]
FORMED = [name for name, c in commands() if any(p.name == "form" for p in c.params)]


class Little:
    """An experiment of one figure."""

    name = title = held_out = "little"

    def evaluate(self, *_: object) -> Iterator[Score]:
        yield Score("a part", "all", 1, 0.1, 0.1, 1.0, 1.0, 2.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("doors")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        prepare(path)
        yield path


@pytest.fixture
def _laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluations of nothing."""
    for place, answer in {
        "training.experiments.chosen": (Little(),),
        "training.graphs.bench.evaluated": [],
        "serving.scores.gathered": ServingEvidence((), ()),
        "serving.batch_scores.answers_of": (),
        "distributed.scores.gathered": Runs((), {}),
        "distributed.scoreboard.link_scores": (),
        "trees.experiment.compared": TreeComparison((), (), (), ()),
        "serving.scoreboard.replays": (),
        "serving.scoreboard.llama_cpp": (),
    }.items():
        monkeypatch.setattr(f"perfc_lab.{place}", lambda *_, answer=answer, **__: answer)
    monkeypatch.setattr("perfc.analyzers.graph.dataset.load", lambda *_: None)


def call(name: str, *more: str) -> int:
    return cli.run([*name.split(), *CALLS[name].split(), *more])


def holds(form: str, content: bytes) -> bool:
    """Whether a file is of a format."""
    text = "" if form in ("onnx", "xlsx") else content.decode()
    match form:
        case "xlsx":
            sheet = load_workbook(io.BytesIO(content))["rows"]
            return sheet.max_column > 0 and sheet.max_row > 1
        case "json" | "gitlab" | "trace":
            json.loads(text)
        case "sarif":
            return "runs" in json.loads(text)
        case "csv":
            rows = list(csv.reader(io.StringIO(text)))
            return len(rows) > 1 and len(rows[0]) > 1 and len({len(r) for r in rows}) == 1
        case "html":
            return text.lower().startswith("<!doctype html>")
        case "svg" | "junit":
            root = ElementTree.fromstring(text).tag
            return root.endswith("svg") if form == "svg" else root.startswith("testsuite")
        case "markdown":
            return any(line.startswith(("#", "|", "<!--")) for line in text.splitlines())
        case "ir":
            return text.startswith("perfir 1")
        case "target":
            return "name" in tomllib.loads(text)
        case "onnx":
            import gzip

            packed = content[:2] == b"\x1f\x8b"
            onnx.load_from_string(gzip.decompress(content) if packed else content)
        case _:
            return not text.lstrip().startswith(("{", "<"))
    return True


def test_every_output_that_is_a_file_knows_its_formats() -> None:
    for name, command in commands():
        option = output_of(command)
        if option is None or name in FOLDERS:
            continue
        if name != "adapt":  # a folder with --graphs
            assert getattr(option.type, "forms", ()), name
    assert {name for name, c in commands() if not isinstance(c, click.Group)} >= set(CALLS)
    assert set(WRITING) == set(CALLS), "a new command needs a call"


def test_every_format_can_be_written_to_a_file() -> None:
    assert set(FORMED) <= set(WRITING)


@pytest.mark.parametrize("name", [name for name in WRITING if not name.startswith("eval")])
def test_suffix_is_the_format_or_an_error_that_lists_them(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_all(name, folder, capsys)


@pytest.mark.usefixtures("_laboratory")
@pytest.mark.parametrize("name", [name for name in WRITING if name.startswith("eval")])
def test_suffixes_of_evaluations_are_formats_too(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_all(name, folder, capsys)


def write_all(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Call a command with a file of every suffix: it has the format, or is an error."""
    if name == "measure":
        pytest.importorskip("onnxruntime")
    option = output_of(dict(commands())[name])
    assert option is not None
    forms = getattr(option.type, "forms", ("target",))
    forms = [f for f in forms if not (name == "lint" and f == "onnx")]
    for suffix in EVERY:
        path = folder / f"out-{name.replace(' ', '-')}{suffix}"
        fits = [f for f in forms if suffix.lower().endswith(tuple(suffixes(f)))]
        form = next((f for f in fits if suffix.lower() in suffixes(f)), next(iter(fits), None))
        if form == "svg" and name == "roofline":
            pytest.importorskip("vl_convert")
        capsys.readouterr()
        code = call(name, "-o", str(path))
        said = capsys.readouterr()
        if form is None:
            assert code == 2, (name, suffix, said.out)
            assert said.err.count("\n") == 1
            assert all(suffixes(f)[0] in said.err for f in forms), said.err
            assert not path.exists()
        else:
            assert code in (0, 1), (name, suffix, said.err)
            assert holds(form, path.read_bytes()), (name, suffix)
            path.unlink()


@pytest.mark.parametrize("name", FORMED)
def test_suffix_and_format_must_agree(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = next(p for p in dict(commands())[name].params if p.name == "form")
    assert isinstance(option.type, click.Choice)
    for form in option.type.choices:
        for other in option.type.choices:
            suffix = suffixes(other)[0]
            if suffix in suffixes(form):
                continue
            path = folder / f"wrong{suffix}"
            assert call(name, "--output-format", form, "-o", str(path)) == 2
            error = capsys.readouterr().err
            assert error.count("\n") == 1
            assert f"not named as {form}" in error
            assert not path.exists()


@pytest.mark.parametrize("form", ["json", "sarif", "gitlab", "junit", "github", "csv"])
def test_formats_that_share_a_suffix_are_asked_for(form: str, folder: Path) -> None:
    path = folder / f"again{suffixes(form)[-1]}"
    assert call("lint", "--output-format", form, "-o", str(path), "--exit-zero") == 0
    assert holds(form, path.read_bytes())


def test_a_mended_model_is_named_as_a_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("lint", "--fix", "-o", "mended.json") == 2
    assert ".onnx" in capsys.readouterr().err
    assert call("lint", "--fix", "-o", "mended.onnx") in (0, 1)


def test_a_name_without_a_suffix_takes_what_is_asked_for(folder: Path) -> None:
    assert call("analyze", "-o", "bare") == 0
    assert holds("text", Path("bare").read_bytes())
    assert call("analyze", "--output-format", "json", "-o", "bare") == 0
    assert holds("json", Path("bare").read_bytes())


@pytest.mark.parametrize(
    "more",
    [
        ("--statistics", "-o", "s.sarif"),
        ("--statistics", "--output-format", "json"),
        ("--fix", "--output-format", "json"),
    ],
)
def test_what_is_only_text_refuses_other_formats(
    more: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("lint", *more) == 2
    assert "prints text" in capsys.readouterr().err
    assert not Path("s.sarif").exists()


@pytest.mark.parametrize("args", ["trace --command x.py -o report.json", "ops --markdown -o x.txt"])
def test_options_that_say_a_format_count_as_asking(
    args: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(args.split()) == 2
    assert "is not named as" in capsys.readouterr().err
