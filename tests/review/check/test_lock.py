"""The lock file: whatever was done to it, it reads back; what it says is checked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from .projects import BUDGETS, models, put, said

TARGETS = ("a100", "t4")
STEPS = ("check --write-baseline models/a.onnx", "check --write-baseline")


def budgets(targets: tuple[str, ...], rules: str = 'flop = { fail = "+20%" }') -> str:
    return "".join(
        f'[[budget]]\nmodel = "models/*.onnx"\ntarget = "{t}"\ndims = {{ n = 4 }}\n{rules}\n'
        for t in targets
    )


def locked(project: Path) -> dict[str, object]:
    return tomllib.loads((project / "perfc.lock").read_text(encoding="utf-8"))


def shown(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    code, out, err = said(capsys, "check", "--show-baseline", "--output-format", "json")
    assert code == 0, err
    result: list[dict[str, object]] = json.loads(out)["models"]
    return result


@pytest.mark.parametrize("targets", [TARGETS[:1], TARGETS], ids=["one-target", "targets"])
@pytest.mark.parametrize("names", [("a",), ("a", "b", "c")], ids=["one-model", "models"])
@pytest.mark.parametrize("changed", [(), ("a",), ("a", "b")], ids=["same", "one", "two"])
@pytest.mark.parametrize("step", STEPS)
def test_a_lock_reads_back_after_every_command(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    targets: tuple[str, ...],
    names: tuple[str, ...],
    changed: tuple[str, ...],
    step: str,
) -> None:
    (project / "perfc.toml").write_text(budgets(targets))
    (project / "models" / "b.onnx").unlink()
    for name in names:
        put(project, name, 16)
    assert said(capsys, "check", "--write-baseline")[0] == 0
    for name in set(changed) & set(names):
        put(project, name, 64)
    first = {(m["path"], m["target"]): m["figures"]["flop"] for m in shown(capsys)}
    assert len(first) == len(names) * len(targets)
    code, _, err = said(capsys, *step.split())
    assert code == 0, err
    now = {(m["path"], m["target"]): m["figures"]["flop"] for m in shown(capsys)}
    again = changed if step != STEPS[0] else changed[:1]
    grown = {f"models/{n}.onnx" for n in set(again) & set(names)}
    assert {p for p, t in now if now[p, t] != first[p, t]} == grown
    code, _, err = said(capsys, "check")
    assert code == int(set(changed) & set(names) != set(again) & set(names)), err
    before = (project / "perfc.lock").read_bytes()
    assert "unchanged" in said(capsys, "check", "--write-baseline", "models/a.onnx")[1]
    assert (project / "perfc.lock").read_bytes() == before


def test_a_changed_target_is_told_of_the_models_measured_on_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = (Path(__file__).parents[3] / "perfc/targets/t4.toml").read_text()
    (project / "my.toml").write_text(re.sub(r'(?m)^name = ".*"', 'name = "mine"', own, count=1))
    (project / "perfc.toml").write_text(budgets(("my.toml",)))
    assert said(capsys, "check", "--write-baseline")[0] == 0
    (project / "my.toml").write_text((project / "my.toml").read_text() + "# changed\n")
    assert said(capsys, "check", "--write-baseline", "models/a.onnx")[0] == 0
    code, _, err = said(capsys, "check")
    assert (code, err) == (0, "")
    digests = {m["path"]: m["target_digest"] for m in locked(project)["model"]}  # type: ignore[attr-defined]
    assert len(digests) == len(set(digests.values())) == 2
    # a file is named from the folder of the budgets, wherever the command runs
    os.chdir(project / "models")
    assert said(capsys, "check")[0] == 0


@pytest.mark.parametrize(
    "content",
    [
        "as it was\n",
        "",
        "schema = 1\n[target.a]\n[target.a]\n",
        "<<<<<<< HEAD\n=======\n>>>>>>> b\n",
    ],
)
def test_a_damaged_lock_is_written_anew_and_nothing_else_is(
    project: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    lock = project / "perfc.lock"
    lock.write_text(content)
    for args in (("check",), ("check", "--write-baseline", "models/a.onnx")):
        code, _, err = said(capsys, *args)
        assert (code, err.count("\n")) == (2, 1)
        assert "perfc.lock" in err
    assert lock.read_text() == content
    assert said(capsys, "check", "--write-baseline")[0] == 0
    assert said(capsys, "check")[0] == 0


def test_a_newer_lock_is_not_overwritten(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "check", "--write-baseline")
    lock = project / "perfc.lock"
    lock.write_text(re.sub(r"schema = \d+", "schema = 99", lock.read_text()))
    before = lock.read_bytes()
    code, _, err = said(capsys, "check", "--write-baseline")
    assert (code, "update perfc" in err) == (2, True)
    assert lock.read_bytes() == before


def test_a_lock_of_the_first_schema_is_read(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    lock = project / "perfc.lock"
    text = re.sub(r"schema = \d+", "schema = 1", lock.read_text())
    digest = re.search(r'target_digest = "(\w+)"\n', text)
    assert digest is not None
    text = text.replace(digest[0], "")
    lock.write_text(text + f'\n[target.a100-sxm4-80gb]\ndigest = "{digest[1]}"\n')
    code, out, err = said(capsys, "check")
    assert (code, err) == (0, "")
    assert "2 same" in out


@pytest.mark.parametrize(
    "name", ["\U0001f600", "é \u202e x", 'q"uo\\te', "a#b=c]", "tab\tx", "n\nl", "{n}"]
)
def test_any_name_of_a_file_reads_back(
    project: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    put(project, name, 16)
    assert said(capsys, "check", "--write-baseline")[0] == 0
    text = (project / "perfc.lock").read_text(encoding="utf-8")
    assert all(c.isprintable() or c == "\n" for c in text), "a reviewer sees every character"
    assert f"models/{name}.onnx" in {m["path"] for m in shown(capsys)}
    assert "3 same" in said(capsys, "check")[1]


@pytest.mark.parametrize("symbol", ["a b", "s[0]", "é", "2n"])
def test_any_name_of_a_symbol_reads_back(
    project: Path, capsys: pytest.CaptureFixture[str], symbol: str
) -> None:
    (project / "perfc.toml").write_text(BUDGETS.replace("n = 4", f'"{symbol}" = 4'))
    put(project, "a", 16, batch=symbol)
    put(project, "b", 16, batch=symbol)
    code, _, err = said(capsys, "check", "--write-baseline")
    assert code == 0, err
    first = shown(capsys)
    (project / "perfc.toml").write_text(BUDGETS.replace("n = 4", f'"{symbol}" = 8'))
    said(capsys, "check", "--write-baseline")
    assert [2 * m["figures"]["flop"] for m in first] == [
        m["figures"]["flop"] for m in shown(capsys)
    ]  # type: ignore[operator]


def test_a_name_that_is_no_text_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (project / "models" / "a.onnx").read_bytes()
    try:
        Path(os.fsdecode(bytes(project / "models") + b"/\xff.onnx")).write_bytes(source)
    except OSError:
        pytest.skip("this file system has only names that are text")
    code, _, err = said(capsys, "check", "--write-baseline")
    assert (code, err.count("\n")) == (2, 1)
    assert "not UTF-8" in err
    assert not (project / "perfc.lock").exists()
    assert said(capsys, "check")[0] == 0


HUGE = str(2**70)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (r"flop = \d+", "flop = -1", "flop = -1 is no figure"),
        (r"flop = \d+", "flop = nan", "flop = nan is no figure"),
        (r"flop = \d+", "flop = inf", "flop = inf is no figure"),
        (r"flop = \d+", f"flop = {HUGE}", "flop is beyond"),
        (r"flop = \d+", "flop = true", "flop is not a number"),
        (r"kernels = \d+", "kernels = -0.5", "kernels = -0.5 is no figure"),
        (r"unknown_share = \S+", "unknown_share = 1.5", "no share"),
        (r"time_s_interval = \[[^]]*\]", "time_s_interval = [1, 2]", "not within its interval"),
        (r"time_s_interval = \[[^]]*\]", "time_s_interval = [1]", "not two numbers"),
        (r"time_s_interval = \[[^]]*\]", "time_s_interval = 3", "not two numbers"),
        (r"time_s_interval = \[[^]]*\]", "time_s_interval = [-1.0, 1.0]", "no figure"),
        (r"(?<=\[model.dims\]\n)n = 4", f"n = {HUGE}", "dims.n is no extent"),
        (r"(?<=\[model.sizes\]\n)n = 4", "n = -4", "sizes.n is no extent"),
        (r"(?<=\[model.sizes\]\n)n = 4", 'n = "4"', "sizes.n is no extent"),
        (r"(?<=\[model.dims\]\n)n = 4", "n = 4.0", "dims.n is no extent"),
        (r'path = "models/b.onnx"', 'path = "../b.onnx"', "leads out"),
        (r'path = "models/b.onnx"', 'path = "/etc/b.onnx"', "leads out"),
        (r'path = "models/b.onnx"', 'path = "models/a.onnx"', "stands twice"),
        (r'(?m)^digest = "\w+"', "digest = 3", "digest is not a string"),
        (r'target_digest = "\w+"', "", "'target_digest' is missing"),
        (r"kernels = \d+", 'lower_bounds = ["flops"]', "no list of figures"),
        (r"kernels = \d+", "lower_bounds = 3", "no list of figures"),
    ],
)
def test_what_no_figure_can_be_is_refused_with_its_line(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    said(capsys, "check", "--write-baseline")
    lock = project / "perfc.lock"
    head, second = lock.read_text().rsplit("[[model]]", 1)
    match = re.search(old, second)
    assert match is not None, second
    lock.write_text(f"{head}[[model]]{second[: match.start()]}{new}{second[match.end() :]}")
    lines = lock.read_text().splitlines()
    code, _, err = said(capsys, "check")
    assert (code, err.count("\n")) == (2, 1), err
    assert words in err
    result = re.match(r"error: perfc\.lock:(\d+): ", err)
    assert result is not None, err
    line = int(result[1])
    assert line > head.count("\n"), "the line is of the model that is wrong"
    key = new.partition(" =")[0] or "[[model]]"
    assert key in lines[line - 1] or "missing" in words, (lines[line - 1], key)


@pytest.mark.parametrize("key", ["flop", "time_s", "peak_memory_bytes"])
def test_a_limit_against_a_figure_that_the_lock_lacks_is_no_pass(
    project: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    metric = {"flop": "flop", "time_s": "time", "peak_memory_bytes": "peak_memory"}[key]
    text = budgets(("a100",), f'{metric} = {{ warn = "+1%", fail = "+5%" }}')
    (project / "perfc.toml").write_text(text)
    said(capsys, "check", "--write-baseline")
    lock = project / "perfc.lock"
    head, second = lock.read_text().rsplit("[[model]]", 1)
    lock.write_text(f"{head}[[model]]{re.sub(rf'(?m)^{key} = .*$', '', second)}")
    put(project, "b", 64)
    code, out, err = said(capsys, "check")
    assert (code, err.count("\n")) == (2, 1), out
    assert err.startswith(f"error: perfc.lock:{head.count(chr(10)) + 1}: no {key} of models/b.onnx")
    assert "perfc.toml:5" in err
    for form in ("json", "csv", "markdown", "github", "gitlab", "junit"):
        code, out, _ = said(capsys, "check", "--output-format", form)
        assert (code, f"no {key}" in out.replace("\\_", "_")) == (2, True), form
    assert said(capsys, "check", "--write-baseline", "models/b.onnx")[0] == 0
    assert said(capsys, "check")[0] == 0


def test_a_limit_on_what_nobody_knows_is_said_and_incomplete(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "perfc.toml").write_text(budgets(("generic-x86-64",), 'energy = { max = "1 mJ" }'))
    code, out, _ = said(capsys, "check")
    assert code == 0
    assert "perfc.toml:5: energy of models/a.onnx is not known" in " ".join(out.split())
    assert said(capsys, "check", "--strict")[0] == 3


def unknown_operator(root: Path, name: str, channels: int) -> None:
    model = models.convolutional(channels)
    model.opset_import.add(domain="my.own", version=1)
    node = next(n for n in model.graph.node if n.op_type == "Sigmoid")
    node.op_type, node.domain = "Strange", "my.own"
    (root / "models" / f"{name}.onnx").write_bytes(model.SerializeToString())


def test_lower_bounds_are_written_read_and_said(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown_operator(project, "a", 16)
    rules = 'flop = { fail = "+5%" }\nparameters = { fail = "+0%" }'
    (project / "perfc.toml").write_text(budgets(("a100",), rules))
    said(capsys, "check", "--write-baseline")
    first, second = locked(project)["model"]  # type: ignore[misc]
    assert "flop" in first["lower_bounds"]
    assert "parameters" not in first["lower_bounds"]
    assert "lower_bounds" not in second
    assert "unchanged" in said(capsys, "check", "--write-baseline", "models/b.onnx")[1]
    assert locked(project)["model"] == [first, second]
    bounds = {m["path"]: m["lower_bounds"] for m in shown(capsys)}
    assert bounds == {"models/a.onnx": first["lower_bounds"], "models/b.onnx": []}
    assert "≥" in said(capsys, "check", "--show-baseline")[1]
    assert said(capsys, "check", "--strict")[0] == 3
    # all is known of the next one: the growth may be of what was not counted before
    put(project, "a", 64)
    code, out, _ = said(capsys, "check")
    assert (code, "only a lower bound" in " ".join(out.split())) == (1, True)
    _, out, _ = said(capsys, "check", "--output-format", "json")
    result = {f["metric"]: f["outcome"] for f in json.loads(out)["results"][0]["findings"]}
    assert result == {"flop": "warn", "parameters": "fail"}
    figures = {f["metric"]: f for f in json.loads(out)["results"][0]["figures"]}
    assert (figures["flop"]["is_bound"], figures["flop"]["baseline_is_bound"]) == (False, True)
    rows = [r for r in said(capsys, "check")[1].splitlines() if "flop" in r and "≥" in r]
    assert rows, "the old figure is shown as the least it can have been"


def test_the_lock_of_a_revision_is_checked_likewise(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    lock = project / "perfc.lock"
    good = lock.read_text()
    lock.write_text(good.replace("flop = ", "flop = -", 1))
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for args in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *args], check=True, cwd=project)
    lock.write_text(good)
    code, _, err = said(capsys, "check", "--against", "HEAD")
    assert (code, "HEAD:perfc.lock:" in err, err.count("\n")) == (2, True, 1)
