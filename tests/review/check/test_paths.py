"""Paths of a project's settings lead nowhere else, and names of files match as people mean."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from perfc.review.check import globs
from perfc.review.check.globs import is_match

from .projects import BUDGETS, said


@pytest.fixture
def inside(project: Path) -> Path:
    """The project in a folder of its own, so that there is an outside."""
    root = project / "inside"
    root.mkdir()
    for name in ("perfc.toml", "models"):
        (project / name).rename(root / name)
    return root


@pytest.fixture(autouse=True)
def _there(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(inside)


def configured(inside: Path, line: str) -> None:
    (inside / "perfc.toml").write_text(f"{line}\n{BUDGETS}")


@pytest.mark.parametrize(
    "command", [("check",), ("check", "--write-baseline"), ("check", "--show-baseline")]
)
@pytest.mark.parametrize(
    "lock", ["../x.lock", "a/../../x.lock", "{outside}/x.lock", "link/x.lock", "linked.lock"]
)
def test_the_lock_stays_in_the_project(
    inside: Path, capsys: pytest.CaptureFixture[str], lock: str, command: tuple[str, ...]
) -> None:
    outside = inside.parent
    (inside / "link").symlink_to(outside)
    (inside / "linked.lock").symlink_to(outside / "x.lock")
    (inside / "a").mkdir()
    configured(inside, f'lock = "{lock.format(outside=outside)}"')
    before = sorted(outside.iterdir())
    code, _, err = said(capsys, *command)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: perfc.toml:1: lock = ")
    assert "leads out of the project" in err
    assert sorted(outside.iterdir()) == before


@pytest.mark.parametrize("lock", ["3", '""', "[]", '"a\\u0000b"'])
def test_a_lock_that_is_no_name_is_refused(
    inside: Path, capsys: pytest.CaptureFixture[str], lock: str
) -> None:
    configured(inside, f"lock = {lock}")
    code, _, err = said(capsys, "check", "--write-baseline")
    assert (code, err) == (2, "error: perfc.toml:1: lock is not the name of a file\n")


@pytest.mark.parametrize("lock", ["perfc.toml", "models/a.onnx", "notes.txt", "other.toml"])
def test_the_lock_replaces_no_other_file(
    inside: Path, capsys: pytest.CaptureFixture[str], lock: str
) -> None:
    (inside / "notes.txt").write_text("what I know\n")
    (inside / "other.toml").write_text("[table]\nkey = 1\n")
    configured(inside, f'lock = "{lock}"')
    before = (inside / lock).read_bytes()
    for command in (
        ("check", "--write-baseline"),
        ("check", "--write-baseline", "models/a.onnx"),
        ("check",),
    ):
        code, _, err = said(capsys, *command)
        assert (code, err.count("\n")) == (2, 1)
        assert (inside / lock).read_bytes() == before


@pytest.mark.parametrize("lock", ["perfc.lock", "ci/perfc.lock", "base.toml"])
def test_a_lock_may_have_any_name_inside(
    inside: Path, capsys: pytest.CaptureFixture[str], lock: str
) -> None:
    (inside / "ci").mkdir()
    configured(inside, f'lock = "{lock}"')
    for _ in range(2):
        code, _, err = said(capsys, "check", "--write-baseline")
        assert (code, err) == (0, "")
    (inside / lock).write_text((inside / lock).read_text() + "= damaged\n")
    assert said(capsys, "check", "--write-baseline")[0] == 0
    assert said(capsys, "check")[0] == 0


def test_a_cache_that_leads_out_is_not_used(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = inside.parent / "precious"
    outside.mkdir()
    (inside / ".perfc_cache").symlink_to(outside)
    assert said(capsys, "check")[0] == 0
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "glob", ["../*.onnx", "/x/*.onnx", "a/../../*.onnx", "models/../../x.onnx"]
)
def test_globs_stay_in_the_project(
    inside: Path, capsys: pytest.CaptureFixture[str], glob: str
) -> None:
    configured(inside, "")
    (inside / "perfc.toml").write_text(BUDGETS.replace("models/*.onnx", glob))
    code, _, err = said(capsys, "check")
    assert (code, "leads out of the project" in err) == (2, True)


def test_a_model_outside_is_no_model_of_the_project(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (inside / "perfc.toml").write_text(BUDGETS.replace("models/*.onnx", "**/*.onnx"))
    (inside.parent / "x.onnx").write_bytes((inside / "models" / "a.onnx").read_bytes())
    code, out, _ = said(capsys, "check", "../x.onnx")
    assert (code, "no budget is about it" in out) == (0, True)
    assert said(capsys, "check", "--write-baseline", "../x.onnx")[0] == 2
    assert not (inside / "perfc.lock").exists()


@pytest.mark.parametrize("glob", ["models/**.onnx", "**x/*.onnx"])
def test_stars_in_a_name_are_an_error_with_its_line(
    inside: Path, capsys: pytest.CaptureFixture[str], glob: str
) -> None:
    (inside / "perfc.toml").write_text(BUDGETS.replace("models/*.onnx", glob))
    code, _, err = said(capsys, "check")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: perfc.toml:2: ")


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("./models/*.onnx", "models/a.onnx", True),
        ("models//*.onnx", "models/a.onnx", True),
        ("**/*.onnx", "../a.onnx", False),
        ("**/m/**/*.onnx", "a/m/b/c/x.onnx", True),
        ("**/m/**/*.onnx", "m/x.onnx", True),
        ("**/m/**/*.onnx", "a/x.onnx", False),
        ("**", "a/b.onnx", True),
        ("models/[!a].onnx", "models/a.onnx", False),
        ("models/a.onnx", "models/a.onnx/b.onnx", False),
    ],
)
def test_globs_match_as_they_find(glob: str, path: str, matches: bool) -> None:
    assert is_match(path, glob) is matches


def test_a_hostile_glob_compares_each_name_with_each_part_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []

    def counting(name: str, part: str) -> bool:
        compared.append(name)
        return fnmatchcase(name, part)

    monkeypatch.setattr(globs, "fnmatchcase", counting)
    assert not is_match("/".join("a" * 12), "**/a/" * 12 + "b")
    # with backtracking thousands: as many as there are ways to choose folders for the stars
    assert 12 < len(compared) <= 12 * 13
    assert not is_match("a" * 255, "*a" * 100 + "b")


def test_a_key_of_many_parts_is_an_error(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("perfc.toml", "perfc.lock"):
        (inside / name).write_text("a." * 400_000 + "a = 1\n")
        code, _, err = said(capsys, "check")
        assert (code, f"{name}:1: a key of more than 64 parts" in err) == (2, True)
        code = said(capsys, "lint", "models/a.onnx", "--exit-zero")[0]
        assert code == (2 if name == "perfc.toml" else 0)
        (inside / "perfc.toml").write_text(BUDGETS)
