"""``--view modules``: the tree of modules agrees with the run, and repeats equal blocks once."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc import cli

MODELS = Path(__file__).parents[3] / "examples" / "models"
GPT2, RESNET = (str(MODELS / f"{name}.onnx.gz") for name in ("gpt2", "resnet50"))


@pytest.mark.parametrize("model", [GPT2, RESNET])
@pytest.mark.parametrize("train", ["", "adamw"])
def test_a_module_is_the_sum_of_the_kernels_inside_it(model: str, train: str) -> None:
    report = perfc.analyze(model, "a100", batch=2, train=train)
    root, *inside = report.views.module_tree
    kernels = report.views.kernels
    assert (root.path, root.depth, root.count) == ("", 0, 1)
    assert (root.mac, root.parameters) == (report.macs, report.parameters)
    assert root.time_s == pytest.approx(sum(k.time_s for k in kernels))
    assert root.share == pytest.approx(sum(k.share for k in kernels))
    for at, row in enumerate(inside):
        below = [r for r in inside[at + 1 :] if r.path.startswith(f"{row.path}/")]
        children = [r for r in below if r.depth == row.depth + 1]
        assert sum(r.time_s for r in children) <= row.time_s * (1 + 1e-9)
        assert sum(r.parameters for r in children) <= row.parameters
        assert all(r.count % row.count == 0 for r in children)


def test_equal_blocks_are_one_row() -> None:
    report = perfc.analyze(GPT2, "a100", batch=2)
    rows = {r.path: r for r in report.views.module_tree}
    block = rows["m/transformer/h/0"]
    assert (block.name, block.count) == ("0 to 11", 12)
    assert "m/transformer/h/1" not in rows
    # weights and biases of attention, of the perceptron and of two normalizations
    assert block.parameters == 12 * (768 * 768 * 12 + 768 * (3 + 1 + 4 + 1) + 4 * 768)
    assert block.output == "f32[256, 768]"
    inner = rows["m/transformer/h/0/mlp/c_fc"]
    assert (inner.name, inner.count, inner.mac) == ("c_fc", 12, 12 * 256 * 768 * 3072)


def test_blocks_of_other_extents_stay_apart() -> None:
    rows = perfc.analyze(RESNET, "a100", batch=2).views.module_tree
    layer = [(r.name, r.count) for r in rows if r.depth == 2 and r.path.startswith("layer3/")]
    assert layer == [("0", 1), ("1 to 5", 5)]


def test_the_tree_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", GPT2, "--batch", "2", "--view", "modules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:7] == ["·"] * 4 + ["0", "to", "11"] for line in lines)


def test_a_name_of_many_parts_has_a_tree_of_few() -> None:
    from onnx import TensorProto, helper

    node = helper.make_node("Relu", ["x"], ["y"], name="n/" * 100_000)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    report = perfc.analyze(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    assert len(report.views.module_tree) < 64
