"""Sizes in budgets mean what ``--dim`` means: none is dropped in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .projects import BUDGETS, put, said


def sizes(project: Path, dims: str) -> None:
    (project / "perfc.toml").write_text(BUDGETS.replace("{ n = 4 }", dims))


@pytest.mark.parametrize("command", [("check",), ("check", "--write-baseline")])
@pytest.mark.parametrize("more", [(), ("models/a.onnx",)], ids=["all", "one"])
def test_a_size_that_leaves_a_symbol_open_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], more: tuple[str]
) -> None:
    for name in "ab":
        put(project, name, 16, batch="s72")
    sizes(project, "{ rows = 8 }")
    code, out, err = said(capsys, *command, *more)
    assert code == 2, out
    for line in err.splitlines()[: 1 if more else 2]:
        assert (
            "dims.rows of perfc.toml:4 is not a symbol of the model, whose s72 is not given" in line
        )
        assert "x" in line
        assert "models/" in line
    assert not (project / "perfc.lock").exists()


def test_a_misspelt_size_is_an_error_with_a_guess(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        put(project, name, 16, batch="batch")
    sizes(project, "{ bacth = 8 }")
    code, _, err = said(capsys, "check")
    assert (code, err.count("did you mean batch?")) == (2, 2)
    # also where the model's own symbols are all given, and where it has none
    sizes(project, "{ batch = 8, bacth = 8 }")
    code, _, err = said(capsys, "check")
    assert (code, err.count("\n")) == (2, 1)
    assert "perfc.toml:4: dims.bacth is not a symbol of any model of the budget" in err
    assert said(capsys, "analyze", "models/a.onnx", "--dim", "batch=8,bacth=8")[0] == 2


def test_a_size_for_models_without_symbols_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx

    for name in "ab":
        path = project / "models" / f"{name}.onnx"
        model = onnx.load(path, load_external_data=False)
        for v in (*model.graph.input, *model.graph.output):
            v.type.tensor_type.shape.dim[0].dim_value = 2
        path.write_bytes(model.SerializeToString())
    code, _, err = said(capsys, "check")
    assert (code, "their symbols: none" in err) == (2, True)
    assert said(capsys, "check", "--write-baseline")[0] == 2
    assert not (project / "perfc.lock").exists()


def test_models_of_one_glob_may_have_other_symbols_where_all_are_given(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, "b", 16, batch="s72")
    sizes(project, "{ n = 4, s72 = 4 }")
    code, out, _ = said(capsys, "check")
    assert code == 0
    said_once = " ".join(out.split())
    for model, name in (("a", "s72"), ("b", "n")):
        note = f"dims.{name} is not a symbol of 1 of 2 models, whose sizes are all given"
        assert f"perfc.toml:4: {note}: models/{model}.onnx" in said_once
    _, out, _ = said(capsys, "check", "--output-format", "json")
    tree = json.loads(out)
    assert len(tree["notes"]) == 3
    work = {
        r["model"]: next(f["value"] for f in r["figures"] if f["metric"] == "flop")
        for r in tree["results"]
    }
    sizes(project, "{ n = 8, s72 = 8 }")
    _, out, _ = said(capsys, "check", "--output-format", "json")
    for r in json.loads(out)["results"]:
        flop = next(f["value"] for f in r["figures"] if f["metric"] == "flop")
        assert flop == 2 * work[r["model"]]


def test_one_model_of_a_glob_that_a_size_leaves_open_stops_the_gate(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, "b", 16, batch="s72")
    code, out, err = said(capsys, "check")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: models/b.onnx: dims.n of perfc.toml:4 is not a symbol")
    assert "models/a.onnx" in out, "the others are checked"
    for form in ("json", "csv", "markdown", "github", "gitlab", "junit"):
        code, out, _ = said(capsys, "check", "--output-format", form)
        assert (code, "s72" in out) == (2, True), form
    code, _, _ = said(capsys, "check", "models/a.onnx")
    assert code == 0


def test_the_cache_does_not_hide_what_is_said_of_sizes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes(project, "{ n = 4, m = 2 }")
    first = said(capsys, "check")
    assert first[0] == 2
    assert said(capsys, "check")[2] == first[2]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(str(2**70), "2^70"), (str(2**63), str(2**63)), ('"8"', "'8'"), ("true", "True")]
    + [(value, value) for value in ("-1", "8.0", "[8]", "inf")],
)
@pytest.mark.parametrize("form", ["dims = {{ n = {} }}", "[budget.dims]\nn = {}"])
def test_what_is_no_extent_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], value: str, shown: str, form: str
) -> None:
    text = f'[[budget]]\nmodel = "models/*.onnx"\n{form.format(value)}\n'
    (project / "perfc.toml").write_text(text)
    line = 1 + next(i for i, s in enumerate(text.splitlines()) if "n =" in s)
    code, _, err = said(capsys, "check")
    told = f"dims.n = {shown} is no extent (a whole number from 0 to 2^63 - 1)"
    assert (code, err) == (2, f"error: perfc.toml:{line}: {told}\n")
