"""Growth of predicted times, which fails only where the interval says so."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import onnx
import pytest

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
