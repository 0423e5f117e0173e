"""Explanations show the pass's own numbers, each with where it is from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli

MODELS = Path(__file__).parents[2] / "examples" / "models"
RESNET = str(MODELS / "resnet50.onnx.gz")
A100 = ("-t", "a100", "--batch", "8")
Said = Callable[..., tuple[int, str, str]]
PRODUCT = 8 * 64 * 112 * 112 * 3 * 7 * 7


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Exit code, output and messages of ``perfc explain``."""

    def explain(*words: str) -> tuple[int, str, str]:
        code = cli.run(["explain", *words])
        return code, *capsys.readouterr()

    return explain


def told(said: Said, *words: str) -> Any:
    code, out, err = said(*words, "--output-format", "json")
    assert code == 0, err
    return json.loads(out)


def test_the_formula_of_a_convolution_is_filled_with_its_numbers(said: Said) -> None:
    found = told(said, RESNET, "/conv1/Conv", *A100)
    counts = {c["name"]: c for c in found["counts"]}
    mac = counts["mac"]
    assert (mac["formula"], mac["filled"]) == ("n*k*p*q*(c//g)*r*s", "8*64*112*112*3*7*7")
    assert (mac["value"], mac["symbolic"]) == (PRODUCT, "118013952*batch")
    sizes = [t["nbytes"] or 0 for t in found["operands"]]
    assert counts["read_bytes"]["filled"] == " + ".join(map(str, sizes))
    assert counts["read_bytes"]["value"] == sum(sizes) == 4 * (8 * 3 * 224**2 + 64 * 3 * 7 * 7)
    assert found["symbols"]["batch"] == {"value": 8, "origin": "given", "label": "batch"}
    half = told(said, RESNET, "/conv1/Conv", *A100, "--dtype", "f16")
    assert half["kernel"]["dtype"] == "f16"
    assert half["operands"][0]["type"].startswith("f16")


@pytest.mark.parametrize(
    ("model", "how"),
    [
        ("resnet50", A100),
        ("gpt2", ("-t", "t4", "--runtime", "eager")),
        ("gpt2", ("-t", "a100", "--train", "sgd")),
    ],
)
def test_kernels_are_explained_by_their_numbers(
    model: str, how: tuple[str, ...], said: Said
) -> None:
    """Filled formulas are the counted values, amounts over rates the times of ceilings."""
    path = str(MODELS / f"{model}.onnx.gz")
    total = told(said, path, "kernel:0", *how)["kernel"]["total"]
    for number in range(1, total, total // 3):
        found = told(said, path, f"kernel:{number}", *how)
        kernel = found["kernel"]
        assert (kernel["index"], kernel["total"]) == (number, total)
        assert found["name"] in kernel["nodes"]
        for count in found["counts"]:
            assert not count["filled"] or eval(count["filled"]) == count["value"], count
        for line in ("floor", "sustained"):
            ceilings = [c for c in kernel["ceilings"] if c["line"] == line]
            for one in ceilings:
                assert one["amount"] / one["rate"]["value"] == pytest.approx(one["time_s"])
                assert one["rate"]["key"]
                assert one["rate"]["source"]
            assert sum(c["binds"] for c in ceilings) <= 1
            longest = max(ceilings, key=lambda c: c["time_s"])
            assert longest["binds"] or (line == "sustained" and kernel["launch_gap_s"])
    code, _, err = said(path, f"kernel:{total}", *how)
    assert (code, f"no kernel {total} (kernel:0 to kernel:{total - 1})" in err) == (2, True)


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("/conv1/Cnov", "did you mean /conv1/Conv"),
        ("conv99", "did you mean /conv1/Conv or "),
        ("conv1", "17 nodes match 'conv1'"),
        ("#999", "its 175 nodes are #0 to #174"),
    ],
)
def test_a_wrong_name_says_what_could_have_been_meant(wanted: str, hint: str, said: Said) -> None:
    code, _, err = said(RESNET, wanted)
    assert (code, hint in err) == (2, True), err


def test_nodes_are_found_by_name_output_position_and_part(said: Said) -> None:
    names = {told(said, RESNET, w, *A100)["name"] for w in ("/conv1/Conv", "0", "#0")}
    assert names == {"/conv1/Conv"}
    found = told(said, RESNET, "layer4.2/conv3", *A100)
    assert found["name"] == "/layer4/2/conv3/Conv"
    backward = told(said, RESNET, "/conv1/Conv.grad", *A100, "--train", "sgd", "--runtime", "eager")
    assert backward["name"].startswith("/conv1/Conv.grad")
    assert backward["kernel"]


def test_the_kernel_that_the_first_screen_names_is_explained(
    said: Said, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["analyze", RESNET, *A100]) == 0
    (wanted,) = re.findall(r"perfc explain MODEL (kernel:\d+)", capsys.readouterr().out)
    views = perfc.analyze(RESNET, "a100", batch=8).views
    row = views.kernels[int(wanted.partition(":")[2])]
    head = said(RESNET, wanted, *A100)[1].splitlines()
    assert head[0].startswith(f"kernel {row.index} of {len(views.kernels)}: {row.label}")
    alike = [r.predicted.time_s for r in views.kernels if r.alike == row.alike]
    assert sum(alike) >= max(r.predicted.time_s for r in views.kernels)


NETWORK = """<ir_version: 9, opset_import: ["" : 18, "acme" : 1]>
g (float[n, s, 4] x) => (float[a, b] y, float[n, s, 4] z, w) {
  found = NonZero (x)
  cast = Cast <to = 1> (found)
  y = Exp (cast)
  lost = Tanh (x)
  view = Flatten (x)
  z = Mul (x, x)
  w = acme.Mystery (view)
}
"""


def test_what_nobody_can_count_is_said(tmp_path: Path, said: Said) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(NETWORK)
    sized = (str(path), "-t", "a100", "--dim", "n=3")
    view = told(said, *sized, "view")
    assert view["counts"] == []
    assert view["note"] == "a view: moves no data and takes no time"
    assert view["symbols"] == {
        "n": {"value": 3, "origin": "given", "label": "batch n"},
        "s": {"value": 128, "origin": "assumed", "label": "sequence s"},
    }
    bound = told(said, *sized, "cast")
    assert bound["symbols"]["u1"] == {"value": 0, "origin": "bound", "label": "u1"}
    counts = {c["name"]: (c["value"], c["symbolic"], c["origin"]) for c in bound["counts"]}
    assert counts["read_bytes"] == (0, "24*u1", "bound")
    assert counts["write_bytes"] == (0, "12*u1", "bound")
    twice = told(said, *sized, "z", "--dim", "s=2")
    reads = next(c for c in twice["counts"] if c["name"] == "read_bytes")
    assert (reads["value"], reads["filled"], reads["symbolic"]) == (96, "96", "16*n*s")
    assert told(said, *sized, "w")["note"].startswith("coverage: ")
    assert told(said, *sized, "lost")["note"].startswith("does not run: ")
