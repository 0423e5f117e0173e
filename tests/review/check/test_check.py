"""Budgets, baselines and what is said of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from perfc.errors import ParseError
from perfc.ir.facts import Origin
from perfc.review.check import comment, pipelines, run, views
from perfc.review.check.config import Level, LimitRule, load
from perfc.review.check.globs import is_match
from perfc.review.check.limits import parse_limit
from perfc.review.check.lock import lock_file as lock
from perfc.review.check.lock.baseline import BaselineCase, Entry
from perfc.review.check.pipelines import sarif
from perfc.review.check.verdict import BaselineStatus, Outcome, judge
from perfc.review.diff.figures import Figure, Metric
from perfc.view.report import annotation
from perfc.view.report.formats import markdown, text
from perfc.view.report.units import Unit

from .projects import BUDGETS, models, put, said

EXAMPLES = Path(__file__).parents[3] / "examples" / "models"


@pytest.mark.parametrize(
    ("written", "unit", "value"),
    [
        ("2.5 ms", Unit.SECOND, 2.5e-3),
        ("300us", Unit.SECOND, 3e-4),
        ("400 MiB", Unit.BYTE, 400 * 2**20),
        ("1 GB", Unit.BYTE, 1e9),
        ("8.2 Gflop", Unit.FLOP, 8.2e9),
        ("4.1G", Unit.MAC, 4.1e9),
        ("25 M", Unit.COUNT, 25e6),
        ("1%", Unit.SHARE, 0.01),
    ],
)
def test_a_limit_is_a_number_and_its_unit(written: str, unit: Unit, value: float) -> None:
    result = parse_limit(written, unit)
    assert result.value == pytest.approx(value)
    assert result.highest(None) == result.value


def test_a_limit_with_plus_is_against_the_baseline() -> None:
    assert parse_limit("+5%", Unit.FLOP).highest(200.0) == pytest.approx(210)
    assert parse_limit("+1 KiB", Unit.BYTE).highest(1024) == 2048
    assert parse_limit("+5%", Unit.FLOP).highest(None) is None


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("5%", Unit.FLOP),
        ("3 MB", Unit.SECOND),
        ("fast", Unit.SECOND),
        ("-1 ms", Unit.SECOND),
        ("1e999 s", Unit.SECOND),
        ("", Unit.BYTE),
        ("1.2.3 s", Unit.SECOND),
    ],
)
def test_what_is_no_limit_is_refused(written: str, unit: Unit) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_limit(written, unit)


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("models/*.onnx", "models/a.onnx", True),
        ("models/*.onnx", "models/x/a.onnx", False),
        ("models/**/*.onnx", "models/a.onnx", True),
        ("**/*.onnx", "models/x/a.onnx", True),
        ("**/*.onnx", "a.onnx", True),
        ("models/[ab].onnx", "models/c.onnx", False),
        ("models/?.onnx", "models/ab.onnx", False),
    ],
)
def test_globs_match_paths(glob: str, path: str, matches: bool) -> None:
    assert is_match(path, glob) is matches


@pytest.mark.parametrize(
    ("text_of", "line", "words"),
    [
        ('[[budget]]\nmodel = "*.onnx"\nflops = "1 G"\n', 3, "no key 'flops'"),
        ('[[budget]]\nmodel = "*.onnx"\n\n[[budget]]\ntime = { most = "1 s" }\n', 5, "'most'"),
        ('[[budget]]\ntime = "3 MB"\n', 2, "no unit of this kind"),
        ("[[budget]]\ntime = 3.5\n", 2, "not a limit"),
        ('[[budget]]\nmodel = "../x.onnx"\n', 2, "leads out"),
        ('[[budget]]\nmodel = "/etc/*.onnx"\n', 2, "leads out"),
        ('[[budget]]\ndims = { n = "x" }\n', 2, "is no extent"),
        ('[[budget]]\nflop = { max = "+5%" }\n', 2, "against the baseline"),
        ('[[budget]]\ntime = "1 s\n', 2, "not valid TOML"),
        ("budgets = 1\n", 1, "no key 'budgets'"),
    ],
)
def test_bad_budgets_are_one_line_with_key_and_line(
    project: Path, capsys: pytest.CaptureFixture[str], text_of: str, line: int, words: str
) -> None:
    (project / "perfc.toml").write_text(text_of)
    (project / "perfc.lock").write_text("as it was")
    for command in (["check"], ["baseline", "write"]):
        code, _, err = said(capsys, *command)
        assert code == 2
        assert f"perfc.toml:{line}" in err
        assert words in err
        assert err.count("\n") == 1
    assert (project / "perfc.lock").read_text() == "as it was"


def test_an_unknown_target_names_the_budget(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "perfc.toml").write_text(BUDGETS.replace("a100", "a1000"))
    code, _, err = said(capsys, "check")
    assert code == 2
    assert "perfc.toml:1" in err
    assert "a1000" in err


def test_budgets_can_be_in_pyproject(project: Path) -> None:
    body = BUDGETS.replace("[[budget]]", "[[tool.perfc.budget]]")
    (project / "perfc.toml").unlink()
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n" + body)
    result = load(project / "pyproject.toml")
    assert result.models() == ["models/a.onnx", "models/b.onnx"]
    assert {r.metric for r in result.budgets[0].rules} == {Metric.FLOP, Metric.PEAK_MEMORY}
    wrong = "[project]\nname = 'x'\n[[tool.perfc.budget]]\nmodle = 'x'\n"
    (project / "pyproject.toml").write_text(wrong)
    with pytest.raises(ParseError, match=r"pyproject.toml:4: no key 'modle'"):
        load(project / "pyproject.toml")


def test_a_baseline_is_sorted_and_reads_back(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "baseline", "write")[0] == 0
    first = (project / "perfc.lock").read_text()
    code, out, _ = said(capsys, "baseline", "write")
    assert (code, "unchanged" in out) == (0, True)
    known = lock.from_text(first, project / "perfc.lock")
    assert [c.model for c in known.entries] == ["models/a.onnx", "models/b.onnx"]
    assert lock.to_text(known.predictor, known.entries) == first
    code, out, _ = said(capsys, "check")
    assert code == 0
    assert "2 same; 0 analysed, 2 from the cache" in out
    code, out, _ = said(capsys, "baseline", "show")
    assert (code, "models/a.onnx" in out) == (0, True)


def test_a_model_whose_shapes_lie_in_another_file_is_analysed_every_time(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def put_beside(n: int) -> None:
        shape = numpy_helper.from_array(np.array([n, -1], np.int64), "s")
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64])
        nodes = [
            helper.make_node("Reshape", ["x", "s"], ["r"]),
            helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
            helper.make_node("MatMul", ["r", "t"], ["y"]),
        ]
        graph = helper.make_graph(nodes, "g", [x], [onnx.ValueInfoProto(name="y")], [shape])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (project / "models" / "c.bin").unlink(missing_ok=True)
        path = project / "models" / "c.onnx"
        onnx.save(made, path, save_as_external_data=True, size_threshold=0, location="c.bin")

    text = BUDGETS.replace("models/*.onnx", "models/c.onnx").replace("dims = { n = 4 }\n", "")
    (project / "perfc.toml").write_text(text)
    put_beside(2)
    said(capsys, "baseline", "write")
    written = (project / "models" / "c.onnx").read_bytes()
    code, out, _ = said(capsys, "check")
    assert (code, "1 analysed, 0 from the cache" in out) == (0, True)
    put_beside(16)
    assert (project / "models" / "c.onnx").read_bytes() == written
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)


def test_a_model_over_budget_fails_and_only_it_is_analysed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    put(project, "a", 64)
    code, out, _ = said(capsys, "check")
    assert code == 1
    assert "FAIL" in out
    assert "1 analysed, 1 from the cache" in out
    assert said(capsys, "check", "--exit-zero")[0] == 0
    code, out, _ = said(capsys, "check", "models/b.onnx")
    assert code == 0


def test_a_small_growth_is_noted_and_shrinking_is_not(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    put(project, "a", 17)
    code, out, _ = said(capsys, "check")
    assert code == 0
    assert "warn" in out
    put(project, "a", 8)
    code, out, _ = said(capsys, "check")
    assert code == 0
    assert "warn" not in out
    assert "models/a.onnx" in out, "what changed is shown all the same"


def test_new_removed_and_skipped_models_are_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    dense = models.model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [models.stored("w", (8, 8))],
        ["n", 8],
        ["n", 8],
    )
    (project / "models" / "c.onnx").write_bytes(dense.SerializeToString())
    (project / "models" / "b.onnx").unlink()
    (project / "other.onnx").write_bytes((project / "models" / "a.onnx").read_bytes())
    code, out, _ = said(capsys, "check", "--output-format", "json")
    tree = json.loads(out)
    standings = {r["model"]: r["standing"] for r in tree["results"]}
    assert standings == {
        "models/a.onnx": "same",
        "models/b.onnx": "removed",
        "models/c.onnx": "new",
    }
    assert tree["results"][1]["notes"] == ["the file is gone"]
    new = next(r for r in tree["results"] if r["standing"] == "new")
    assert all(f["baseline"] is None for f in new["figures"]), "new is not a change from 0"
    code, out, _ = said(capsys, "check", "other.onnx")
    assert (code, "skipped" in out) == (0, True)


def test_what_cannot_be_read_is_one_line_and_the_baseline_stays(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    before = (project / "perfc.lock").read_bytes()
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n"
    (project / "models" / "a.onnx").write_bytes(pointer)
    code, out, err = said(capsys, "check")
    assert code == 2
    assert "models/a.onnx: not an ONNX model but a git-LFS pointer" in err
    assert err.count("\n") == 1
    assert "1 same" in out, "the others are checked"
    code, _, err = said(capsys, "baseline", "write")
    assert code == 2
    assert "git lfs pull" in err
    assert (project / "perfc.lock").read_bytes() == before
    assert said(capsys, "check", "models/none.onnx")[0] == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("schema = 2", "schema = 99", "perfc.lock:2: schema 99 is newer"),
        ("schema = 2", "schema = 'x'", "no schema number"),
        ("flop = ", "flop = 'x' #", "not a number"),
        ('path = "models/a.onnx"', "", "'path' is missing"),
        ("schema = 2", "schema = = 2", "not valid TOML"),
    ],
)
def test_a_damaged_baseline_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    said(capsys, "baseline", "write")
    path = project / "perfc.lock"
    path.write_text(path.read_text().replace(old, new, 1))
    damaged = path.read_bytes()
    for command in (["check"], ["baseline", "update", "models/a.onnx"], ["baseline", "show"]):
        code, _, err = said(capsys, *command)
        assert code == 2
        assert words in err
        assert err.count("\n") == 1
    assert path.read_bytes() == damaged


def test_update_leaves_other_entries_as_they_are(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    before = (project / "perfc.lock").read_text().split("[[model]]")
    put(project, "a", 64)
    put(project, "b", 64)
    assert said(capsys, "baseline", "update", "models/a.onnx")[0] == 0
    after = (project / "perfc.lock").read_text().split("[[model]]")
    assert before[2] == after[2]
    assert before[1] != after[1]


def test_the_baseline_of_a_revision_is_compared_with(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *command], check=True, cwd=project)
    put(project, "a", 64)
    said(capsys, "baseline", "write")
    assert said(capsys, "check")[0] == 0, "the new baseline allows it"
    code, out, _ = said(capsys, "check", "--against", "HEAD", "--why")
    assert code == 1
    assert "conv1" in out, "the operator that explains it is named"
    code, _, err = said(capsys, "check", "--against", "nowhere")
    assert (code, "nowhere" in err) == (2, True)


def test_kernels_that_did_not_change_do_not_blur_a_prediction(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = BUDGETS.replace("flop =", 'time = { fail = "+0%" }\nkernels =').replace(
        "n = 4", "n = 1"
    )
    (project / "perfc.toml").write_text(budget)
    longer = models.convolutional(16)
    relu = next(n for n in longer.graph.node if n.name == "conv3")
    made = onnx.helper.make_node("Erf", ["between"], [relu.output[0]], "added")
    relu.output[0] = "between"
    longer.graph.node.insert(list(longer.graph.node).index(relu) + 1, made)
    said(capsys, "baseline", "write")
    (project / "models" / "a.onnx").write_bytes(longer.SerializeToString())
    code, out, _ = said(capsys, "check")
    assert (code, "within the 90 % interval of the difference" in " ".join(out.split())) == (
        0,
        True,
    )
    (project / "models" / "a.onnx").write_bytes(models.convolutional(16).SerializeToString())
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *command], check=True, cwd=project)
    (project / "models" / "a.onnx").write_bytes(longer.SerializeToString())
    assert said(capsys, "check")[0] == 1, "git has the old model: only the new kernel counts"


def entry(time: Figure, digest: str = "new", flop: float = 1.0) -> Entry:
    return Entry(digest, {Metric.TIME: time, Metric.FLOP: Figure(flop)}, "target")


def outcome_of(rule: LimitRule, new: Entry, old: Entry | None) -> Outcome:
    return judge(BaselineCase("m", "t"), [rule], new, old, ("p", "p")).outcome


def test_an_estimate_fails_only_where_the_interval_says_so() -> None:
    rule = LimitRule(Metric.TIME, Level.FAIL, parse_limit("+5%", Unit.SECOND))

    def estimate(value: float, width: float) -> Figure:
        return Figure(value, Origin.PREDICTED, False, value - width, value + width)

    old = entry(estimate(1.0, 0.1), "old")
    assert outcome_of(rule, entry(estimate(1.1, 0.1)), old) is Outcome.WARN
    assert outcome_of(rule, entry(estimate(2.0, 0.1)), old) is Outcome.FAIL
    assert outcome_of(rule, entry(estimate(1.01, 0.1)), old) is Outcome.PASS
    assert outcome_of(rule, entry(Figure(2.0, Origin.PREDICTED)), old) is Outcome.WARN
    fixed = LimitRule(Metric.TIME, Level.FAIL, parse_limit("1.5 s", Unit.SECOND))
    assert outcome_of(fixed, entry(estimate(1.6, 0.5)), None) is Outcome.WARN
    assert outcome_of(fixed, entry(estimate(1.6, 0.05)), None) is Outcome.FAIL


def test_a_growth_below_the_limit_for_sure_or_perhaps_does_not_fail() -> None:
    rule = LimitRule(Metric.TIME, Level.FAIL, parse_limit("+50%", Unit.SECOND))
    old = entry(Figure(1.0, Origin.PREDICTED, False, 0.9, 1.1), "old")
    sure = entry(Figure(1.6, Origin.PREDICTED, False, 1.3, 1.9))
    assert outcome_of(rule, sure, old) is Outcome.WARN, "it grew, perhaps by less than is allowed"
    assert outcome_of(rule, entry(Figure(3.0, Origin.PREDICTED, False, 2.5, 3.5)), old) is (
        Outcome.FAIL
    )


# one image waits for its host under ONNX Runtime, which hides some of the work
@pytest.mark.parametrize(("batch", "runtime"), [(1, "cudagraph"), (8, "ort"), (64, "ort")])
def test_work_that_a_predictor_of_whole_runs_hides_fails_on_time(
    project: Path, capsys: pytest.CaptureFixture[str], batch: int, runtime: str
) -> None:
    """Of small batches that predictor may say less for the model that does more."""
    plain = gzip.decompress((EXAMPLES / "resnet50.onnx.gz").read_bytes())
    (project / "perfc.toml").write_text(
        f'[[budget]]\nmodel = "r.onnx"\ntarget = "a100"\ndims = {{ batch = {batch} }}\n'
        f'runtime = "{runtime}"\ntime = {{ fail = "+10%" }}\n'
    )
    (project / "r.onnx").write_bytes(plain)
    assert said(capsys, "baseline", "write")[0] == 0
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *identity, *command], check=True, cwd=project)
    model = onnx.load_model_from_string(plain)
    stem = next(n for n in model.graph.node if n.op_type == "Conv")
    next(a for a in stem.attribute if a.name == "strides").ints[:] = [1, 1]
    del model.graph.value_info[:]
    (project / "r.onnx").write_bytes(model.SerializeToString())
    code, out, _ = said(capsys, "check")
    assert (code, stem.name in out) == (1, True)


def test_a_stem_with_four_times_the_work_fails_on_time(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gzip.decompress((EXAMPLES / "resnet50.onnx.gz").read_bytes())
    (project / "perfc.toml").write_text(
        # without a host, which one image waits for
        '[[budget]]\nmodel = "r.onnx"\ntarget = "a100"\nruntime = "cudagraph"\n'
        'time = { fail = "+5%" }\n'
    )
    (project / "r.onnx").write_bytes(plain)
    assert said(capsys, "baseline", "write")[0] == 0
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *command], check=True, cwd=project)
    model = onnx.load_model_from_string(plain)
    stem = next(n for n in model.graph.node if n.op_type == "Conv")
    next(a for a in stem.attribute if a.name == "strides").ints[:] = [1, 1]
    del model.graph.value_info[:]
    (project / "r.onnx").write_bytes(model.SerializeToString())
    code, out, _ = said(capsys, "check", "--output-format", "json")
    (result,) = json.loads(out)["results"]
    (finding,) = result["findings"]
    assert (code, finding["outcome"], finding["metric"]) == (1, "fail", "time")
    grown = finding["value"] - finding["baseline"]
    allowed = finding["limit"] - finding["baseline"]
    # a baseline has six digits
    assert allowed < finding["change_low"] <= 1.0001 * grown < finding["change_high"]
    assert stem.name in result["why"]
    for command in (["add", "-A"], ["commit", "-qm", "two"]):
        subprocess.run(["git", *identity, *command], check=True, cwd=project)
    code, out, _ = said(capsys, "check")
    assert (code, stem.name in out) == (1, True), "the commit of the baseline has the old model"


def test_a_changed_predictor_is_not_the_models_fault() -> None:
    rule = LimitRule(Metric.FLOP, Level.FAIL, parse_limit("+0%", Unit.FLOP))
    time = Figure(1.0)
    case = BaselineCase("m", "t")
    same = judge(case, [rule], entry(time, "d", 2.0), entry(time, "d", 1.0), ("new", "old"))
    assert same.outcome is Outcome.WARN
    assert same.standing is BaselineStatus.CHANGED
    assert "the baseline is from another version of perfc" in same.notes
    other = judge(case, [rule], entry(time, "e", 2.0), entry(time, "d", 1.0), ("new", "old"))
    assert other.outcome is Outcome.FAIL


def test_a_comment_says_what_a_check_found(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    said(capsys, "check", "--output-format", "json", "-o", "same.json")
    assert said(capsys, "comment", "same.json")[1] == "", "nothing changed: nothing to say"
    _, out, _ = said(capsys, "comment", "same.json", "--policy", "always")
    assert out.startswith(comment.MARKER)
    put(project, "a", 64)
    put(project, "c", 16)
    said(capsys, "check", "--output-format", "json", "-o", "worse.json")
    _, out, _ = said(capsys, "comment", "worse.json", "--policy", "on-fail")
    assert out.startswith(comment.MARKER)
    assert "models/a.onnx" in out
    assert "new model" in out
    (project / "odd.json").write_text("{}")
    code, _, err = said(capsys, "comment", "odd.json")
    assert (code, err.count("\n")) == (2, 1)


def test_names_cannot_write_markup(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "<img src=x>`|%0A\n::error::x @org [a](b)"
    put(project, name, 16)
    budgets = BUDGETS.replace("[[budget]]", '[[budget]]\nparameters = { max = "1" }')
    (project / "perfc.toml").write_text(budgets)
    assert said(capsys, "check", "--output-format", "json", "-o", "c.json")[0] == 1
    for policy in ("on-fail", "on-change"):
        _, out, _ = said(capsys, "comment", "c.json", "--policy", policy)
        assert out.count("&lt;img src=x&gt;\\`\\|%0A") == 2, "in the limits and among the new"
        assert "<img" not in out
        assert "@org" not in out
        assert not any(line.startswith("::") for line in out.splitlines())
    _, out, _ = said(capsys, "check", "--output-format", "github")
    lines = out.splitlines()
    assert len(lines) == 3, "one for each model, whatever their names"
    assert all(line.startswith("::error file=") for line in lines)
    assert "<img src=x>`|%250A%0A%3A%3Aerror%3A%3Ax @org [a](b)" in out
    _, out, _ = said(capsys, "check")
    assert "<img src=x>" in out
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())


def test_every_format_names_the_same_findings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    put(project, "a", 64)
    budgets = BUDGETS.replace("[[budget]]", '[[budget]]\ntraffic = { warn = "+0%" }')
    (project / "perfc.toml").write_text(budgets)
    config = load(project / "perfc.toml")
    shown = views.collect(run.check(config, (), against=run.opened(config)))
    messages = [f.message for r in shown.results for f in r.findings]
    assert len(messages) == 2, "of two limits on one metric the worse is said"
    plain = " ".join(text.render(views.document(shown), 400).split())
    assert all(" ".join(m.split()) in plain for m in messages)
    assert all(markdown.escaped(m) in markdown.render(views.document(shown)) for m in messages)
    tree = json.loads(views.to_json(shown))
    assert [f["message"] for r in tree["results"] for f in r["findings"]] == messages
    beside = list(pipelines.annotated(shown))
    lines = [line.replace("%25", "%") for line in annotation.github(beside).splitlines()]
    assert [line.rpartition("::")[2] for line in lines] == messages
    quality = json.loads(annotation.code_quality(beside))
    assert [q["description"].partition(": ")[2] for q in quality] == messages
    junit = ET.fromstring(pipelines.junit_xml(shown))
    assert [e.get("message") for e in junit.iter("failure")] == messages[:1]
    assert f"warning: {messages[1]}" in junit.findtext(".//system-out", "")
    log = sarif(shown)
    schema = Path(__file__).parents[2] / "fixtures" / "sarif" / "sarif-2.1.0.schema.json"
    jsonschema.validate(log, json.loads(schema.read_text(encoding="utf-8")))
    results = log["runs"][0]["results"]  # type: ignore[index, call-overload]
    assert [r["message"]["text"].partition(": ")[2] for r in results] == messages
    assert [r["level"] for r in results] == ["error", "warning"]
    posted = comment.render(tree)
    assert all(markdown.escaped(m) in posted for m in messages)


def test_every_format_has_the_same_numbers(project: Path) -> None:
    config = load(project / "perfc.toml")
    shown = views.collect(run.check(config, (), against=run.opened(config)))
    rows = list(csv.DictReader(io.StringIO(views.to_csv(shown))))
    figures = [(r, f) for r in shown.results for f in r.figures]
    assert len(figures) == len(rows) == 2 * len(Metric)
    for row, (r, f) in zip(rows, figures, strict=True):
        assert (row["model"], row["metric"], float(row["value"])) == (r.model, f.metric, f.value)
        assert row["low"] == ("" if f.low is None else str(f.low))
    tree = json.loads(views.to_json(shown))
    again = [f["value"] for r in tree["results"] for f in r["figures"]]
    assert again == [f.value for _, f in figures]
    written = lock.to_text(
        "p",
        {
            r.case: r.entry
            for r in run.check(config, (), against=run.opened(config)).results
            if r.entry
        },
    )
    for _, f in figures:
        if f.unit in ("flop", "mac", "bytes", "count"):
            assert f" = {f.value:.0f}\n" in written


def test_a_cache_that_lies_or_cannot_be_written_is_no_harm(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    files = [*(project / ".perfc_cache").glob("*.json")]
    kept = [path.read_text() for path in files]
    for lie in ("[" * 100_000, "-1", '"x"', "1e999"):
        for path, content in zip(files, kept, strict=True):
            is_text = lie.startswith("[")
            path.write_text(lie if is_text else re.sub(r'("flop": \[)\d+', rf"\g<1>{lie}", content))
        code, out, _ = said(capsys, "check")
        assert code == 0
        assert "2 same; 2 analysed" in out
    assert (project / ".perfc_cache" / ".gitignore").read_text() == "*\n"


def test_checking_imports_no_heavy_framework(project: Path) -> None:
    code = (
        "import sys\nfrom perfc.cli import run\nrun(['check'])\n"
        "bad = {'torch', 'onnx', 'xgboost', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'imported {bad}' if bad else 0)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["nothere.onnx", "models/nothere.onnx"])
def test_a_name_that_is_not_there_is_an_error(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "check", name)
    assert code == 2
    assert re.search(rf"error: {name}: [Nn]o such file", err)
    assert "all budgets met" not in out


def test_sizes_that_a_model_does_not_have_are_not_said_of_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = project / "perfc.toml"
    config.write_text(BUDGETS.replace("{ n = 4 }", "{ n = 4, rows = 2 }"))
    put(project, "b", 16, batch="rows")
    said(capsys, "baseline", "write")
    _, out, _ = said(capsys, "check", "--output-format", "json")
    a, b = json.loads(out)["results"]
    assert a["setting"].endswith("ort, n=4")
    assert b["setting"].endswith("ort, rows=2")
    config.write_text(BUDGETS.replace("dims = { n = 4 }", ""))
    _, out, _ = said(capsys, "check", "--output-format", "json")
    settings = {r["setting"] for r in json.loads(out)["results"] if r["standing"] == "new"}
    assert {s.rpartition(", ")[2] for s in settings} == {"batch=1 (assumed)"}


def test_why_is_told_whatever_sizes_the_budget_has(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = project / "perfc.toml"
    config.write_text(BUDGETS.replace("{ n = 4 }", "{ n = 4, rows = 2 }"))
    put(project, "b", 16, batch="rows")
    said(capsys, "baseline", "write")
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for args in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *args], check=True, cwd=project)
    put(project, "a", 64)
    _, out, _ = said(capsys, "check", "--why", "--output-format", "json")
    assert "conv1" in json.loads(out)["results"][0]["why"]


def test_no_output_depends_on_where_the_project_is(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "baseline", "write")
    put(project, "a", 64)
    for form in ("text", "json", "csv", "markdown", "github", "gitlab", "junit"):
        assert str(project) not in said(capsys, "check", "--output-format", form)[1], form
    assert str(project) not in said(capsys, "baseline", "show")[1]


def test_a_baseline_of_thousands_of_models_reads_back(project: Path) -> None:
    config = load(project / "perfc.toml")
    first = run.check(config, (), against=run.opened(config)).results[0]
    assert first.entry is not None
    entries = {
        BaselineCase(f"models/{i:04}.onnx", "a100-sxm4-80gb", dims=(("n", 4),)): first.entry
        for i in range(3_000)
    }
    config.lock.write_text(lock.to_text("p", entries), encoding="utf-8")
    assert config.lock.stat().st_size > 1 << 20
    assert run.opened(config).entries.keys() == entries.keys()
