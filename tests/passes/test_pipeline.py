"""Pipelines as strings, passes by file name, the manager and its instruments."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import perfc.passes
import perfc.passes.pipeline
from perfc.errors import ParseError, PassError
from perfc.ir import DType, Module, Node
from perfc.ir.record import frozen
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module
from perfc.passes import Analysis, Transform
from perfc.passes.manager import Analyses, DumpTo, PrintAfter, Timing, VerifyEach
from perfc.passes.pipeline import (
    Pipeline,
    describe,
    facts_of,
    list_passes,
    parse_pipeline,
)

TEXT = """\
perfir 1
module @m

graph @main(%x: f32[2]) {
  %1 = relu(%x) : f32[2]
  return %1
}
"""


class Level(Enum):
    LOW = "low"
    HIGH = "high-er"


@frozen
class Counts:
    table: dict[Node, int]

    def facts(self) -> dict[Node, dict[str, object]]:
        return {n: {"n": c} for n, c in self.table.items()}


@frozen
class Tally(Analysis[Counts]):
    """Numbers the nodes."""

    start: int = 0
    ratio: float = 1.0
    label: str = ""
    dtype: DType | None = None
    level: Level = Level.LOW
    keep_all: bool = False
    is_on: bool = True
    sizes: tuple[int, ...] = ()
    dims: tuple[tuple[str, int], ...] = ()

    def run(self, module: Module, am: Analyses) -> Counts:
        return Counts({n: self.start + i for i, n in enumerate(module.graph)})


@frozen
class Doubled(Analysis[int]):
    requires = (Tally,)
    declares: bool = True

    def run(self, module: Module, am: Analyses) -> int:
        other = Tally() if self.declares else Undeclared()
        return 2 * len(am.get(other, module).table)


class Undeclared(Analysis[Counts]):
    def run(self, module: Module, am: Analyses) -> Counts:
        return Counts({})


class Renamed(Transform):
    def run(self, module: Module, am: Analyses) -> Module:
        return replace(module, graph=replace(module.graph, name="renamed"))


class Breaks(Transform):
    def run(self, module: Module, am: Analyses) -> Module:
        return replace(module, graph=replace(module.graph, inputs=()))


class Fails(Transform):
    def run(self, module: Module, am: Analyses) -> Module:
        raise IndexError("tuple index out of range")


CLASSES = (Tally, Doubled, Undeclared, Renamed, Breaks, Fails)


@pytest.fixture(autouse=True)
def as_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each class above as if it stood in a file of its own among the passes."""
    for cls in CLASSES:
        name = cls.__name__.lower()
        (tmp_path / f"{name}.py").write_text(
            f'class {cls.__name__}({cls.__bases__[0].__name__}):\n    """Test pass."""\n'
        )
        module = ModuleType(f"perfc.passes.{name}")
        vars(module).update(globals())
        monkeypatch.setitem(sys.modules, f"perfc.passes.{name}", module)
        monkeypatch.setattr(cls, "__module__", f"perfc.passes.{name}")
    monkeypatch.setattr(perfc.passes.pipeline, "__path__", [*perfc.passes.__path__, str(tmp_path)])


@pytest.fixture
def module() -> Module:
    return parse_module(TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tally",
        "tally,renamed,tally",
        "tally{start=-3,ratio=0.5,label=a100}",
        'tally{label="a b, {}"}',
        'tally{label="8gb"}',
        'tally{label="true"}',
        "tally{dtype=f16,level=high-er,keep-all,is-on=false}",
        "tally{sizes=[1,2],dims=[[batch,8],[seq,128]]}",
        "tally{ratio=inf}",
    ],
)
def test_a_pipeline_prints_as_it_was_written(text: str) -> None:
    assert str(parse_pipeline(text)) == text


passes = st.builds(
    Tally,
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.none() | st.sampled_from(DType),
    st.sampled_from(Level),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(), max_size=3).map(tuple),
    st.lists(st.tuples(st.text(max_size=3), st.integers()), max_size=2).map(tuple),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(passes, min_size=1, max_size=3))
def test_any_passes_print_to_a_string_that_parses_to_them(drawn: list[Tally]) -> None:
    pipeline = Pipeline(tuple(drawn))
    assert parse_pipeline(str(pipeline)) == pipeline


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tall", "pipeline:1:1: no pass tall (did you mean tally?)"),
        ("tally{begin=1}", "pipeline:1:1: tally: no field begin (it has start, ratio"),
        ("tally{start=x}", "pipeline:1:1: tally: start is int, not 'x'"),
        ("tally{dtype=f31}", "tally: dtype is DType | none, not 'f31'"),
        ("tally{level=mid}", "tally: level is Level, not 'mid'"),
        ("tally{start=1", "pipeline:1:14: expected ',' or '}'"),
        ("tally{start 1}", "pipeline:1:12: expected ',' or '}', found '1'"),
        ("tally,", "pipeline:1:7: expected a pass"),
        ("tally renamed", "pipeline:1:6: expected ',', found 'renamed'"),
        ("tally;", "pipeline:1:6: stray ';'"),
        ("../tally", "no pass ../tally"),
        ("manager", "no pass manager"),
        ("tally{sizes=" + "[" * 20, "expected a value"),
        ("x" * 20_000, "pipeline: longer than 10000 characters"),
    ],
)
def test_errors_name_the_column_and_what_there_is(text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_pipeline(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("tally{start=}", 13, "expected a value, found '}'"),
        ("tally{start=", 13, "expected a value"),
        ("tally{start=,}", 13, "expected a value, found ','"),
        ("tally{start={}}", 13, "expected a value, found '{'"),
        ("tally{sizes=[", 14, "expected a value"),
        ("tally{sizes=[,]}", 14, "expected a value, found ','"),
        ("tally{sizes=[1", 15, "expected ',' or ']'"),
        ("tally{sizes=[1 2]}", 15, "expected ',' or ']', found '2'"),
        ("tally{sizes=" + "[" * 10, 22, "expected a value, found '['"),
        ("tally{sizes=" + "[" * 9, 22, "expected a value"),
        ('tally{label="\\x"}', 13, "bad escape in a string"),
        ("tally{", 7, "expected an option or '}'"),
        ("tally{=1}", 7, "expected an option or '}', found '='"),
        ("tally{1=2}", 7, "expected an option or '}', found '1'"),
        ("tally{start=1", 14, "expected ',' or '}'"),
        ("tally{start=1,", 15, "expected an option or '}'"),
        ("tally}", 6, "expected ',', found '}'"),
        ("=,", 1, "expected a pass, found '='"),
        ('"tally"', 1, "expected a pass, found '\"tally\"'"),
        ("tally,", 7, "expected a pass"),
    ],
)
def test_an_error_says_what_was_expected_and_what_is_there(
    text: str, column: int, message: str
) -> None:
    with pytest.raises(ParseError) as error:
        parse_pipeline(text)
    assert str(error.value) == f"pipeline:1:{column}: {message}"


def test_listing_reads_summaries_and_imports_nothing() -> None:
    code = (
        "import sys; from perfc.passes.pipeline import list_passes; found = list_passes();"
        "assert found and all(p.summary for p in found), found;"
        "assert 'perfc.passes.inference.shapes' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_listed_pass_loads_under_its_name() -> None:
    found = [p for p in list_passes() if p.summary != "Test pass."]
    assert {"shapes", "cost"} <= {p.name for p in found}
    for info in found:
        (made,) = parse_pipeline(info.name).passes
        assert isinstance(made, Transform) == (info.kind == "transform")
        assert str(Pipeline((made,))) == info.name


def test_files_that_define_no_pass_are_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.py"
    path.write_text("class Pipeline:\n    pass\n")
    assert describe("pipeline", path) is None
    assert not {"manager", "pipeline"} & {p.name for p in list_passes()}


def test_an_analysis_runs_once_for_equal_options(module: Module) -> None:
    am = Analyses()
    assert am.get(Tally(), module) is am.get(Tally(), module)
    assert am.get(Tally(start=1), module) is not am.get(Tally(), module)
    assert am.get(Undeclared(), module) is am.get(Undeclared(), module)


def test_a_changed_module_is_another_key(module: Module) -> None:
    am = Analyses()
    first = am.get(Tally(), module)
    renamed = am.apply(Renamed(), module)
    assert renamed.name == "renamed"
    assert am.get(Tally(), renamed) is not first


def test_preserved_analyses_follow_the_module(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Renamed, "preserves", (Tally,))
    am = Analyses()
    first = am.get(Tally(), module)
    assert am.get(Tally(), am.apply(Renamed(), module)) is first


def test_results_go_with_their_module() -> None:
    gc.freeze()  # what other tests left is not searched
    am = Analyses()
    module = parse_module(TEXT)
    am.get(Tally(), module)
    assert len(am._memo) == 1
    del module
    gc.collect()
    assert len(am._memo) == 0
    gc.unfreeze()


def test_using_an_analysis_that_is_not_declared_is_an_error(module: Module) -> None:
    assert Analyses().get(Doubled(), module) == 2
    with pytest.raises(PassError, match="Doubled uses Undeclared undeclared"):
        Analyses().get(Doubled(declares=False), module)


def test_a_failing_pass_is_named_with_those_before_it(module: Module) -> None:
    with pytest.raises(PassError) as error:
        parse_pipeline("tally,renamed,fails").run(module, Analyses())
    message = "pass fails: IndexError: tuple index out of range (after tally, renamed)"
    assert str(error.value) == message


def test_a_transform_that_breaks_the_module_is_named(module: Module) -> None:
    with pytest.raises(PassError, match=r"after pass breaks: .*%x is used before"):
        parse_pipeline("renamed,breaks").run(module, Analyses((VerifyEach(),)))


def test_instruments_see_every_step_once(module: Module, tmp_path: Path) -> None:
    timing, out = Timing(), io.StringIO()
    printing = PrintAfter(frozenset({"renamed"}), out)
    am = Analyses((timing, printing, DumpTo(tmp_path / "dump")))
    parse_pipeline("doubled,renamed,tally,tally").run(module, am)
    assert [(name, depth) for name, _, depth in timing.steps] == [
        ("tally", 1),
        ("doubled", 0),
        ("renamed", 0),
        ("tally", 0),
    ]
    assert out.getvalue().startswith("# after renamed\nperfir 1\nmodule @renamed\n")
    files = sorted(p.name for p in (tmp_path / "dump").iterdir())
    assert files == ["000-tally.pir", "001-doubled.pir", "002-renamed.pir", "003-tally.pir"]
    assert "    ! tally {n=0}\n" in (tmp_path / "dump" / "003-tally.pir").read_text()


def test_facts_come_from_the_pass_as_the_pipeline_has_it(module: Module) -> None:
    pipeline, am = parse_pipeline("tally{start=7}"), Analyses()
    facts = facts_of(["tally"], pipeline, module, am)
    assert "! tally {n=7}" in print_module(module, facts=facts)
    with pytest.raises(ParseError, match="renamed has no facts"):
        facts_of(["renamed"], pipeline, module, am)
