"""Growth of predicted times, which fails only where the interval says so."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import onnx
import pytest

from perfc.ir.facts import Origin
from perfc.review.check.config import Level, LimitRule
from perfc.review.check.lock.baseline import BaselineCase, Entry
from perfc.review.check.verdict import BaselineStatus, Outcome, judge
from perfc.review.diff.figures import Figure, Metric
from perfc.view.report.units import Unit, parse_limit

from .projects import BUDGETS, models, said

EXAMPLES = Path(__file__).parents[3] / "examples" / "models"


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
    said(capsys, "check", "--write-baseline")
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
    assert said(capsys, "check", "--write-baseline")[0] == 0
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
    assert said(capsys, "check", "--write-baseline")[0] == 0
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
