"""Replay of one operator of a trace: operands as recorded, ATen alone, bounded memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from perfc.measuring.measure.runtimes.replay import ReplayRun
from perfc.measuring.trace.analyses.replay import operands_of
from perfc.measuring.trace.formats import read_trace
from perfc.measuring.trace.summary import summarized
from tests.measuring.trace.samples import chrome, kernel, operator, runtime, text_of

torch = pytest.importorskip("torch")
Call = tuple[str, list[Any], list[str], list[str], list[Any]]
"""Operator, extents, types, values and strides."""
TRANSPOSED: Call = (
    "aten::mm",
    [[8, 32], [32, 16]],
    ["float", "float"],
    ["", ""],
    [[32, 1], [1, 32]],
)
CALLS: dict[str, Call] = {
    "transposed": TRANSPOSED,
    "expanded": (
        "aten::add",
        [[4, 8], [4, 8], []],
        ["c10::BFloat16", "c10::BFloat16", "Scalar"],
        ["", "", "1"],
        [[8, 1], [0, 1], []],
    ),
    "list": (
        "aten::cat",
        [[[2, 4], [3, 4]], []],
        ["TensorList", "Scalar"],
        ["", "0"],
        [[[4, 1], [4, 1]], []],
    ),
    "rows": (
        "aten::embedding",
        [[50, 8], [700], [], [], []],
        ["float", "long int", "Scalar", "Scalar", "Scalar"],
        ["", "", "-1", "False", "False"],
        [[8, 1], [1], [], [], []],
    ),
    "flags": (
        "aten::convolution_backward",
        [[1, 4, 6, 6], [1, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], [], []],
        [
            "float",
            "float",
            "float",
            "ScalarList",
            "ScalarList",
            "ScalarList",
            "ScalarList",
            "Scalar",
            "ScalarList",
            "Scalar",
            "ScalarList",
        ],
        [
            "",
            "",
            "",
            "[4]",
            "[1, 1]",
            "[0, 0]",
            "[1, 1]",
            "False",
            "[0, 0]",
            "1",
            "[True, True, False]",
        ],
        [[]] * 11,
    ),
    "type": (
        "aten::_to_copy",
        [[6, 6], [], [], [], [], [], []],
        ["float", "Scalar", "", "", "", "Scalar", ""],
        ["", "15", "", "", "", "False", ""],
        [[6, 1]] + [[]] * 6,
    ),
    "place": ("aten::mul_", [[5, 5], [5, 5]], ["double", "double"], ["", ""], [[5, 1], [5, 1]]),
    "number": ("aten::fill_", [[9], []], ["int", "Scalar"], ["", ""], [[1], []]),
    "truth": (
        "aten::masked_fill",
        [[4, 4], [4, 4], []],
        ["c10::Half", "bool", "Scalar"],
        ["", "", "0."],
        [[4, 1], [4, 1], []],
    ),
}


def written(tmp_path: Path, *calls: Call) -> str:
    events: list[dict[str, Any]] = []
    for at, (name, dims, types, values, strides) in enumerate(calls):
        ts = 100.0 * at
        host = operator(name, ts, 20, number=at)
        host["args"] |= {
            "Input Dims": dims,
            "Input type": types,
            "Concrete Inputs": values,
            "Input Strides": strides,
        }
        launch = runtime("cudaLaunchKernel", ts + 5, 2, at)
        events += [host, launch, kernel(f"kernel_{at}", ts + 30, 50.0 - at, at)]
    path = tmp_path / "trace.json"
    path.write_text(text_of(chrome(*events)), encoding="utf-8")
    return str(path)


def loaded(tmp_path: Path, call: Call) -> ReplayRun:
    (k,) = summarized(read_trace(written(tmp_path, call)), is_bounded=False).kernels
    request = {"device": "cpu", "threads": 1, "seed": 0, "operator": k.operator}
    operands = json.loads(json.dumps(operands_of(k, "")))
    request |= {"arguments": operands, "room_bytes": 1 << 40}
    run = ReplayRun(request)
    run.load(profile=False)
    return run


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("perfc.measuring.measure.runtimes.replay.bound_memory", lambda _: None)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)
    torch.set_flush_denormal(False)


@pytest.mark.parametrize("name", CALLS)
def test_operands_are_those_of_the_trace(name: str, tmp_path: Path) -> None:
    call = CALLS[name]
    run = loaded(tmp_path, call)
    tensors = [a for a in run.args if isinstance(a, torch.Tensor)]
    dims = [d for d, t in zip(call[1], call[2], strict=True) if t[:6] != "Scalar" and d]
    strides = [s for s, d in zip(call[4], call[1], strict=True) if s and d]
    if name != "list":
        assert [list(t.shape) for t in tensors] == dims
        assert name == "flags" or [list(t.stride()) for t in tensors] == strides
    else:
        assert [list(t.shape) for t in run.args[0]] == dims[0]
    run.feed("")
    assert run.repeats >= 1
    assert run.step() > 0
    made = run.call(*run.args, **run.named)
    expected = {"transposed": (8, 16), "list": (5, 4), "rows": (700, 8), "truth": (4, 4)}
    if name in expected:
        assert tuple(made.shape) == expected[name]
    if name == "rows":
        assert 20 < int(run.args[1].max()) < 50
    if name == "type":
        assert made.dtype is torch.bfloat16
    if name == "flags":
        assert made[2] is None
    run.close()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("aten::no_such", [[2]], ["float"], [""], [[1]]), "no such operator"),
        (
            (
                "aten::index_select",
                [[4], [], [2]],
                ["float", "", "long int"],
                [""] * 3,
                [[1], [], [1]],
            ),
            "values of 'dim' are not recorded",
        ),
        (
            ("aten::mm", [[2, 3], [4, 5]], ["float"] * 2, [""] * 2, [[3, 1], [5, 1]]),
            "mat1 and mat2 shapes cannot be multiplied|size mismatch",
        ),
    ],
)
def test_what_pytorch_refuses_is_one_line(call: Call, why: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=why) as error:
        loaded(tmp_path, call).feed("")
    assert "\n" not in str(error.value)


def test_the_command_measures_a_row_of_the_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, CALLS["place"], TRANSPOSED)
    words = ["measure", "--replay", f"{path}#2", "--min-time", "0", "--repeat", "3"]
    assert cli.run([*words, "--output-format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["operator"] == "aten::mm"
    assert (made["schema"], made["row"], made["shapes"]) == ("perfc-replay/1", 2, "8×32, 32×16")
    assert made["traced_s"] == pytest.approx(49e-6)
    assert made["runs"] >= 3
    assert 0 < made["time_s"] < 1
    assert 0 < made["floor_s"] < made["traced_s"]
    assert made["target"] == "h100-sxm5-80gb"


@pytest.mark.parametrize(
    ("call", "place", "why"),
    [
        (TRANSPOSED, "#2", "no row 2: `perfc trace` has 1"),
        (TRANSPOSED, "", "no row of a trace (as in trace.json#17)"),
        (TRANSPOSED, "#0", "no row of a trace"),
        (("os::system", *TRANSPOSED[1:]), "#1", "os::system is no operator of ATen"),
        (("aten::mm.__class__", *TRANSPOSED[1:]), "#1", "is no operator of ATen"),
        (
            ("aten::mm", [[1 << 20, 1 << 20]] * 2, ["float"] * 2, [""] * 2, [[1 << 20, 1]] * 2),
            "#1",
            "more than half of the",
        ),
        (("aten::relu", [[4, 4]], ["float"], [""], [[1 << 39, 1 << 39]]), "#1", "more than half"),
        (("aten::relu", [[4]], ["c10::qint8x9"], [""], [[1]]), "#1", "no operand of type"),
        (("aten::relu", [[4]], ["float"], [""], [[-1]]), "#1", "no operand of type"),
        (("aten::item", [[]], [""], ["7"], [[]]), "#1", "no tensor of aten::item is recorded"),
    ],
)
def test_wrong_input_is_one_line_before_anything_runs(
    call: Call, place: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["measure", "--replay", written(tmp_path, call) + place]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err.count("\n") == 1
    assert why in captured.err


def test_a_model_and_a_row_are_not_measured_together(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["m.onnx", "--replay", "t.json#1"], []):
        assert cli.run(["measure", *words]) == 2
        assert "give MODEL, or --replay TRACE#ROW alone" in capsys.readouterr().err
