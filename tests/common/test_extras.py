"""Optional packages: hints that work, and a base installation that never ends in a traceback."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from perfc import cli
from perfc.common import extras

from ..commands.invocations import CALLS, prepare

ROOT = Path(__file__).resolve().parents[2]
CODE = ("perfc", "ir", "passes", "analyzers", "kernels")
OPTIONAL = (
    *("cupy", "onnxruntime", "onnxscript", "openpyxl", "pandas", "plotext", "pyarrow", "torch"),
    *("diffusers", "peft", "torch_geometric", "transformers", "vl_convert"),
    *("xgboost", "yaml"),
)
MORE = {
    "bulk": "model.onnx --no-predict -o rows",
    "check --write-baseline": "",
    "dev completion": "bash",
    "data build": "timm --data .",
    "data fetch": "timm --url /nowhere",
    "data list": "",
    "data sets": "",
    "data stats": "timm --graphs .",
    "help": "check",
    "init": "model.onnx",
    "dev passes": "",
    "targets add": "a100.toml",
    "targets validate": "a100.toml",
    "eval gnn-llm": "--graphs . --stages .",
    "train gnn-llm": "--graphs .",
    "train graph": "--predictor pmgns --graphs .",
    "train op": "matmul --data .",
}
"""Commands without an output file of their own."""
TO = {"adapt": "-o my.toml"}
DEEPER = (
    "roofline a100 -o x.svg",
    "roofline a100 -o x.html",
    "measure model.onnx --runtime eager",
    "measure model.onnx --append rows.parquet",
    "adapt --target a100 --from rows.parquet -o my.toml",
    "calibrate --device cuda:0 -o my.toml",
    "lint model.onnx --fix",
    "analyze model.onnx -o x.html",
    "analyze model.onnx --runtime eager --dtype f16",
    "eval graph --graphs . --predictor pmgns",
)


def sources() -> Iterator[Path]:
    for folder in CODE:
        yield from (p for p in (ROOT / folder).rglob("*.py") if not p.is_symlink())


def hints() -> Iterator[tuple[Path, ast.Call]]:
    for path in sources():
        text = path.read_text(encoding="utf-8") if path.name != "extras.py" else ""
        # few files have one, and to parse all takes seconds
        for node in ast.walk(ast.parse(text if "install(" in text or "required(" in text else "")):
            match node:
                case ast.Call(func=ast.Name(id="install")):
                    yield path, node
                case ast.Call(func=ast.Name(id="required"), args=[package, _, extra, *_]):
                    assert isinstance(package, ast.Constant)
                    only = ast.Constant(str(package.value).partition("_")[0])
                    yield path, ast.Call(node.func, [extra], [ast.keyword("only", only)])
                case _:
                    pass


def test_every_hint_names_an_extra_that_exists() -> None:
    result = list(hints())
    assert len(result) > 10
    for path, call in result:
        for name in call.args:
            if isinstance(name, ast.Constant):
                assert extras.requirements().get(name.value), (path, name.value)
        only = next((k.value for k in call.keywords if k.arg == "only"), None)
        if only is not None:
            assert isinstance(only, ast.Constant)
            of = [name.value for name in call.args if isinstance(name, ast.Constant)] or [""]
            assert re.search(rf"'{only.value}[^']*>=", extras.install(*of, only=only.value))


def test_no_text_tells_to_install_what_is_not_published() -> None:
    for path in sources():
        assert not re.search(r"['\"]perfc\[\w", path.read_text(encoding="utf-8")), path
    folders = ("docs", "lab/docs")
    docs = [page for folder in folders for page in (ROOT / folder).rglob("*.md")]
    pages = [ROOT / "README.md", *docs, *(ROOT / ".github").rglob("*.yml")]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip install\s[^\n`&]*['\"\s]perfc\b(?!['/])", text), path


def test_metadata_and_project_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    of_project = extras.requirements()
    monkeypatch.setattr(extras, "PYPROJECT", Path("/nowhere/at/all.toml"))
    try:
        extras.declared()
    except PackageNotFoundError:
        pytest.skip("not installed")
    extras.requirements.cache_clear()
    try:
        of_metadata = extras.requirements()
    finally:
        extras.requirements.cache_clear()

    def plain(result: dict[str, tuple[str, ...]]) -> dict[str, set[tuple[str, ...]]]:
        return {
            extra: {tuple(sorted(re.split(r"(?=[<>=!])|,", r))) for r in group}
            for extra, group in result.items()
        }

    assert plain(dict(of_metadata)) == plain(dict(of_project))


def test_installed_package_answers_without_its_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "perfc-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: perfc\nVersion: 9\n"
        "Requires-Dist: numpy>=1\n"
        "Requires-Dist: one>=2; sys_platform == 'nowhere'\n"
        "Requires-Dist: two>=3; sys_platform != 'nowhere'\n"
        "Requires-Dist: onnxruntime>=7; extra == 'ort'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(extras, "PYPROJECT", tmp_path / "pyproject.toml")
    extras.requirements.cache_clear()
    try:
        assert extras.install("ort") == "pip install 'onnxruntime>=7'"
        assert extras.install(extras.BASE) == "pip install 'numpy>=1' 'two>=3'"
        assert extras.install(extras.BASE, only="two") == "pip install 'two>=3'"
    finally:
        extras.requirements.cache_clear()


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small inputs, where no optional package can be imported."""
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    (tmp_path / "a100.toml").write_bytes((ROOT / "perfc/targets/a100-sxm4-80gb.toml").read_bytes())
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in OPTIONAL:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(extras, "absent", lambda extra: ["pandas"])
    monkeypatch.setattr("perfc_lab.data.fetch.absent", lambda extra: ["pandas"])
    return tmp_path


def test_every_command_of_the_home_page_is_tried() -> None:
    table = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`perfc ([a-z]+)", table))
    tried = {name.split()[0] for name in (*CALLS, *MORE)}
    assert len(named) > 15
    assert named <= tried


@pytest.mark.parametrize(
    "line", [*(f"{n} {a} {TO.get(n, '')}" for n, a in (CALLS | MORE).items()), *DEEPER], ids=str
)
def test_base_installation_says_in_one_line_what_mends_it(
    line: str, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    code = cli.run(line.split())
    error = capsys.readouterr().err
    assert "a bug in perfc" not in error, error
    assert "ModuleNotFoundError" not in error
    if code == 2:
        assert error.startswith("error: ")
        assert error.count("\n") == 1
        assert re.search(
            r"pip install '[\w-]+(\[gnn\]'|[<>=])|no such|no data set|cannot|there already", error
        ), error


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("roofline v100 -o x.svg", "vl-convert-python"),
        ("measure model.onnx --target a100", "onnxruntime"),
        ("calibrate --device cuda:0 -o x.toml", "cupy-cuda12x"),
        ("data fetch timm", "pandas"),
        ("lint model.onnx --fix", "onnxruntime"),
    ],
)
def test_hint_is_the_requirement_itself(
    line: str, requirement: str, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(line.split()) == 2
    error = capsys.readouterr().err
    declared = (r for group in extras.requirements().values() for r in group)
    wanted = next(r for r in declared if r.startswith(requirement))
    assert f"'{wanted}'" in error


def test_sources_are_listed_without_any_extra(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["data", "list"]) == 0
    assert "timm_benchmark.parquet" in capsys.readouterr().out
