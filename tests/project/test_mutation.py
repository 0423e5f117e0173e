"""The script that draws faults: what it draws is a program, and it tells killed from surviving."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests.mutation import tests_of
from tests.mutation.__main__ import (
    Fate,
    confirmed,
    copy_tree,
    failing,
    fate_of,
    run_tests,
    spent_s,
    summary,
)
from tests.mutation.mutants import FOLDERS, Fault, Mutant, draw, mutants
from tests.mutation.tests_of import MAP, stages

ROOT = Path(__file__).resolve().parents[2]
CODE = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from x import y


def bound(values: list[int], most: int = 3) -> int:
    \"\"\"At most 3.\"\"\"
    total = 0
    for v in values:
        if v > 0 and not total >= most:
            total += v
    print("é", total + 1)
    return min(total, most)
"""
TEST = """\
from perfc.passes.bound import bound


def test_large_values_are_bounded():
    assert bound([2, 9]) == 3
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {
        "perfc/__init__.py": "",
        "perfc/passes/__init__.py": "",
        "perfc/passes/bound.py": CODE,
        "tests/passes/test_bound.py": TEST,
        "tests/golden/.keep": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


PATH = Path("perfc/passes/bound.py")


def by_kind(tree: Path, fault: Fault) -> list[tuple[str, str]]:
    return [(m.old, m.new) for m in mutants(tree, PATH) if m.fault is fault]


def test_every_kind_of_fault_is_found_and_nothing_that_only_checkers_read(tree: Path) -> None:
    assert {m.fault for m in mutants(tree, PATH)} == set(Fault)
    compared = [("v > 0", "(v >= 0)"), ("total >= most", "(total > most)")]
    assert by_kind(tree, Fault.COMPARISON) == compared
    assert by_kind(tree, Fault.CONSTANT) == [("3", "(4)"), ("0", "(1)"), ("0", "(1)"), ("1", "(2)")]
    assert by_kind(tree, Fault.EXTREMUM) == [("min", "(max)")]
    assert by_kind(tree, Fault.OPERATOR) == [("total + 1", "(total - 1)")]


def test_a_fault_is_one_change_and_leaves_a_program(tree: Path) -> None:
    text = (tree / PATH).read_text(encoding="utf-8")
    for mutant in mutants(tree, PATH):
        changed = mutant.applied(text)
        assert changed != text
        ast.parse(changed)
        assert changed.startswith(text[: mutant.start])
        assert changed.endswith(text[mutant.stop :])


def test_a_copy_is_a_repository_of_its_own(tmp_path: Path) -> None:
    copy = copy_tree(tmp_path / "copy")
    root = ["git", "-C", str(copy / "tests"), "rev-parse", "--show-toplevel"]
    found = subprocess.run(root, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).samefile(copy)
    assert (copy / "perfc/ir").is_symlink()
    assert (copy / "tests/conftest.py").read_bytes() == (ROOT / "tests/conftest.py").read_bytes()


def test_a_draw_is_the_same_for_the_same_seed_and_even_over_folders() -> None:
    first, again, other = (draw(ROOT, 12, seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert [m.path.parts[0] for m in first] == [f for f in FOLDERS for _ in range(3)]
    assert len({m.fault for m in first}) >= 5


def test_tests_of_a_file_are_those_named_after_it_or_importing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tests_of, "MAP", "nobody wrote one")
    near, far = stages(ROOT, Path("passes/roofline/streams.py"), 1)
    assert "tests/passes/test_streams.py" in near
    assert "tests/golden" in near
    assert "tests/data/test_fetch.py" not in near
    assert far == ["tests/passes"]


def test_a_map_of_the_repository_is_read_in_a_copy_of_it(tmp_path: Path, tree: Path) -> None:
    coverage = pytest.importorskip("coverage")
    data = coverage.CoverageData(str(tree / MAP))
    data.set_context("tests/passes/test_bound.py::test_large_values_are_bounded|run")
    data.add_lines({str(tmp_path / "elsewhere" / PATH): [9, 10]})
    data.set_context("tests/test_other.py::test_that_imported_it_first|run")
    data.add_lines({str(tmp_path / "elsewhere" / PATH): [1, 7]})
    data.set_context("tests/passes/test_gone.py::test_that_was_deleted|run")
    data.add_lines({str(tmp_path / "elsewhere" / PATH): [9]})
    data.write()
    (tree / "tests/test_other.py").write_text("def test_that_imported_it_first():\n    pass\n")
    known = "tests/passes/test_bound.py::test_large_values_are_bounded"
    other = "tests/test_other.py::test_that_imported_it_first"
    assert stages(tree, PATH, 9) == [[known]]
    assert stages(tree, PATH, 1) == [[known], [other]], "a line that runs on import"
    lister = tree / "tests/test_lists.py"
    lister.write_text("from perfc.passes import load_all\n", encoding="utf-8")
    tests_of.test_files.cache_clear()
    assert stages(tree, PATH, 1) == [[known], [str(lister.relative_to(tree))], [other]]
    assert stages(tree, PATH, 9) == [[known]]
    assert stages(tree, Path("perfc/passes/__init__.py"), 1) != [[known]]


def test_a_fixture_of_a_file_is_that_of_all_its_tests(tmp_path: Path) -> None:
    one, other = "tests/a.py::test_one", "tests/a.py::test_other[x|y]"
    assert tests_of.asked_for([f"{one}|run", f"{other}|run", "|"]) == {one, other}
    assert tests_of.asked_for([f"{one}|setup"]) == {one, "tests/a.py"}
    each = [f"{one}|setup", f"{other}|setup"]
    assert tests_of.asked_for(each) == {one, other}, "every test sets it up for itself"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a.py").write_text("def test_one():\n    pass\n")
    there = ("tests/a.py", one, other, "tests/b.py::test_one")
    assert [tests_of.is_there(tmp_path, name) for name in there] == [True, True, False, False]


@pytest.mark.parametrize(
    ("fault", "old", "fate"),
    [
        (Fault.EXTREMUM, "min", Fate.KILLED),
        (Fault.COMPARISON, "v > 0", Fate.SURVIVED),
        (Fault.RETURN, "return min(total, most)", Fate.KILLED),
    ],
)
def test_a_fault_is_killed_or_survives(
    fault: Fault, old: str, fate: Fate, tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clean = tmp_path_factory.mktemp("clean")
    for path in tree.rglob("*.py"):
        (clean / path.relative_to(tree)).parent.mkdir(parents=True, exist_ok=True)
        (clean / path.relative_to(tree)).write_bytes(path.read_bytes())
    (mutant,) = (m for m in mutants(tree, PATH) if m.fault is fault and m.old == old)
    assert fate_of(mutant, tree, clean, 60)[0] is fate
    assert (tree / PATH).read_text(encoding="utf-8") == CODE


def test_a_test_that_fails_anyway_hides_no_other(tree: Path, tmp_path: Path) -> None:
    name = "tests/passes/test_bound.py::test_nobody_mended_it"
    (tree / "tests/passes/test_bound.py").write_text(
        TEST.replace(
            "import bound\n", "import bound\n\ndef test_nobody_mended_it():\n    assert 0\n"
        )
    )
    clean = tmp_path / "clean"
    copytree(tree, clean, ignore=ignore_patterns("clean"))
    (mutant,) = (m for m in mutants(tree, PATH) if m.fault is Fault.EXTREMUM)
    broken: set[str] = set()
    fate, how = fate_of(mutant, tree, clean, 60, broken)
    assert (fate, broken) == (Fate.KILLED, {name})
    assert how.endswith("::test_large_values_are_bounded")


def test_a_file_that_cannot_be_imported_kills(tree: Path, tmp_path: Path) -> None:
    coverage = pytest.importorskip("coverage")
    clean = tmp_path / "clean"
    copytree(tree, clean, ignore=ignore_patterns("clean"))
    data = coverage.CoverageData(str(clean / MAP))
    data.set_context("tests/passes/test_bound.py::test_large_values_are_bounded|run")
    data.add_lines({str(clean / PATH): [1]})
    data.write()
    old = "from typing import TYPE_CHECKING"
    mutant = Mutant(PATH, 1, Fault.STATEMENT, 0, len(old), old, "import nothing_of_that_name")
    fate, how = fate_of(mutant, tree, clean, 60)
    assert (fate, how.partition(":")[0]) == (Fate.KILLED, "not collected")


def test_a_test_whose_parameters_changed_is_asked_for_without_them(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "tests/passes/test_bound.py::test_large_values_are_bounded[before]"
    monkeypatch.setattr("tests.mutation.__main__.stages", lambda *_: [[name]])
    (mutant,) = (m for m in mutants(tree, PATH) if m.fault is Fault.EXTREMUM)
    assert fate_of(mutant, tree, tree, 60)[0] is Fate.KILLED


def test_a_test_that_fails_without_the_fault_kills_nothing(tree: Path) -> None:
    result = [m for m in mutants(tree, PATH) if m.fault in (Fault.EXTREMUM, Fault.RETURN)]
    bad, good = "tests/passes/test_bound.py", "tests/passes/test_limit.py"
    (tree / good).write_text(TEST)
    (tree / bad).write_text(TEST.replace("== 3", "== 4"))
    name = "::test_large_values_are_bounded"
    fates = [
        (result[0], Fate.KILLED, bad + name),
        (result[1], Fate.KILLED, good + name),
        (result[1], Fate.SURVIVED, ""),
    ]
    assert [fate for _, fate, _ in confirmed(fates, tree, 60)] == [
        Fate.LATE,
        Fate.KILLED,
        Fate.SURVIVED,
    ]
    assert failing(["tests/nothing.py::test_gone"], tree, 60) == {"tests/nothing.py::test_gone"}


def test_a_test_that_fails_after_another_only_does_not_fail(tree: Path) -> None:
    first, second = "tests/passes/test_a_sets.py", "tests/passes/test_b_reads.py"
    (tree / first).write_text("import os\ndef test_sets():\n    os.environ['LEFT'] = 'it'\n")
    (tree / second).write_text(
        "import os\ndef test_reads():\n    assert 'LEFT' not in os.environ\n"
    )
    names = [f"{first}::test_sets", f"{second}::test_reads"]
    assert run_tests(tree, names, 60, is_all=True)[0] != 0
    assert failing(names, tree, 60) == set()


def test_time_is_the_processors(tree: Path) -> None:
    test = tree / "tests/passes/test_bound.py"
    test.write_text("def test_for_ever():\n    while True:\n        pass\n")
    before_s = spent_s()
    assert run_tests(tree, [str(test)], 2)[0] is None
    assert 1.5 < spent_s() - before_s < 3


def test_the_summary_counts_by_folder_and_by_kind() -> None:
    one = Mutant(Path("ir/a.py"), 1, Fault.CONSTANT, 0, 1, "1", "2")
    two = Mutant(Path("passes/b.py"), 1, Fault.CONSTANT, 0, 1, "1", "2")
    text = summary([(one, Fate.KILLED), (two, Fate.SURVIVED), (two, Fate.LATE)])
    rows = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert rows["ir"][1:] == ["1", "1", "0", "0", "100", "%"]
    assert rows["passes"][1:] == ["2", "0", "1", "1", "0", "%"]
    assert rows["all"][1:] == ["3", "1", "1", "1", "50", "%"]
    assert f"survived: {two}" in text
