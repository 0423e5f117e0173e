"""``--batch`` and ``--seq``: the first extents of a model, whatever its file calls them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import perfc
from perfc import cli
from perfc.deployment.extents import axis_of, described
from perfc.errors import ParseError
from perfc.frontend import load

onnx = pytest.importorskip("onnx")
TOKENS = """
<ir_version: 9, opset_import: ["" : 18]>
tokens (int64[{b},{s}] input_ids, int64[{b},{s}] attention_mask) => (float[{b},{s},32] y)
{{
  x = Gather (table, input_ids)
  m = Cast <to = 1> (attention_mask)
  axis = Constant <value = int64[1] {{-1}}> ()
  n = Unsqueeze (m, axis)
  z = Mul (x, n)
  y = MatMul (z, w)
}}
"""
IMAGES = """
<ir_version: 9, opset_import: ["" : 18]>
images (float[2,3,8,8] x) => (float[2,{out}] y)
{{
  shape = Constant <value = int64[2] {{{shape}}}> ()
  flat = Reshape (x, shape)
  y = MatMul (flat, w)
}}
"""


def stored(path: Path, text: str, **weights: tuple[int, ...]) -> str:
    model = onnx.parser.parse_model(text)
    for name, shape in weights.items():
        tensor = onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name)
        model.graph.initializer.append(tensor)
    path.write_bytes(model.SerializeToString())
    return str(path)


def tokens(folder: Path, batch: str = "s72", seq: str = "s70") -> str:
    text = TOKENS.format(b=batch, s=seq)
    return stored(folder / "tokens.onnx", text, table=(100, 32), w=(32, 32))


def images(folder: Path, shape: str) -> str:
    return stored(folder / "images.onnx", IMAGES.format(out=5, shape=shape), w=(192, 5))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(list(words))
    return code, *capsys.readouterr()


def work(capsys: pytest.CaptureFixture[str], *words: str) -> float:
    code, out, err = said(capsys, "analyze", *words, "--output-format", "json")
    assert code == 0, err
    return float(json.loads(out)["summary"]["mac"]["value"])


def test_batch_and_sequence_of_symbols_with_any_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tokens(tmp_path)
    one = work(capsys, model, "--batch", "1", "--seq", "16")
    assert one == 16 * 32 * 32
    assert work(capsys, model, "--batch", "8", "--seq", "64") == 8 * 4 * one
    assert work(capsys, model, "--dim", "s72=8,s70=64") == 8 * 4 * one
    report = perfc.analyze(model, batch=8, seq=64)
    assert dict(report.given) == {"s72": 8, "s70": 64}
    assert dict(perfc.analyze(model, dims={"batch": 8, "seq": 64}).env) == dict(report.env)
    _, out, _ = said(capsys, "analyze", model, "--batch", "8")
    assert " · batch s72 8 · sequence s70 128 · " in out.splitlines()[0]


def test_numbers_in_the_file_change_where_the_model_lets_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tokens(tmp_path, "1", "16")
    assert work(capsys, model, "--batch", "8") == 8 * work(capsys, model)
    assert work(capsys, model, "--batch", "8", "--seq", "64") == 32 * work(capsys, model)
    assert str(perfc.analyze(model, batch=8).cost.work.mac) == "16384*batch"
    free = images(tmp_path, "0, -1")
    assert work(capsys, free, "--batch", "8") == 4 * work(capsys, free)
    for shape in ("2, 192", "2, -1"):
        code, _, err = said(capsys, "analyze", images(tmp_path, shape), "--batch", "8")
        assert (code, err.count("\n")) == (2, 1)
        assert "--batch: the model is exported at batch 2 and cannot be run at 8" in err
    # nothing contradicts itself here, but what comes out is that of one batch
    text = (
        IMAGES.format(out=5, shape="-1, 192")
        .replace(
            "flat, w)",
            "flat, w)\n  half = Constant "
            "<value = int64[1] {2}> ()\n  zero = Constant <value = int64[1] {0}> ()\n"
            "  y = Slice (all, zero, half)",
        )
        .replace("y = MatMul", "all = MatMul")
    )
    code, _, err = said(
        capsys, "analyze", stored(tmp_path / "cut.onnx", text, w=(192, 5)), "--batch", "8"
    )
    assert code == 2
    assert "output y: f32[2, 5] stays as it is" in err


def test_dim_batch_means_the_batch_where_no_symbol_is_called_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tokens(tmp_path)
    code, out, err = said(capsys, "analyze", model, "--dim", "batch=8", "--view", "assumptions")
    assert (code, err.count("\n")) == (0, 1)
    assert "note: no symbol is called batch in input_ids[s72, s70]" in err
    assert "batch s72, sequence s70" in err
    assert "batch s72 = 8 (given)" in out
    assert said(capsys, "analyze", model, "--batch", "8")[2] == ""
    assert said(capsys, "analyze", tokens(tmp_path, "batch"), "--dim", "batch=8")[2] == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--dim", "bacth=8"), "did you mean batch? its inputs: input_ids[s72, s70]"),
        (("--dim", "s71=8"), "batch s72, sequence s70"),
        (("--batch", "x"), "'x' is no size"),
        (("--batch", ""), "is no size"),
        (("--batch", "0"), "0 runs nothing"),
        (("--batch", "-1"), "is no size"),
        (("--batch", "1:8"), "is not NAME=N"),
        (("--batch", "8", "--dim", "batch=4"), "batch is given as 8 and as 4"),
    ],
)
def test_a_size_that_is_none_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], expected: str
) -> None:
    code, out, err = said(capsys, "analyze", tokens(tmp_path), *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_an_image_has_no_sequence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "analyze", images(tmp_path, "0, -1"), "--seq", "8")
    assert code == 2
    assert "no sequence in the inputs of the model (its inputs: x[2, 3, 8, 8])" in err


def test_a_file_says_them_too_and_a_misspelt_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model, file = tokens(tmp_path), tmp_path / "perfc.toml"
    expected = work(capsys, model, "--batch", "8", "--seq", "64")
    for text in ("batch = 8\nseq = 64\n", "dims = { batch = 8, seq = 64 }\n"):
        file.write_text(f"[deployment]\n{text}")
        assert work(capsys, model) == expected
    assert work(capsys, model, "--batch", "16") == 2 * expected
    file.write_text("[deployment]\ndims = { bacth = 8 }\n")
    code, _, err = said(capsys, "analyze", model)
    assert code == 2
    assert "did you mean batch?" in err
    assert "perfc.toml:2" in err
    file.write_text("[deployment]\nbatch = 8\ndims = { batch = 4 }\n")
    assert "batch is given as 8 and as 4" in said(capsys, "analyze", model)[2]
    file.write_text("[deployment]\nbacth = 8\n")
    assert "did you mean batch?" in said(capsys, "analyze", model)[2]


def test_budgets_are_checked_at_their_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tokens(tmp_path)
    flop: list[float] = []
    for sizes in ("batch = 8\nseq = 16", "dims = { batch = 16, seq = 16 }"):
        (tmp_path / "perfc.toml").write_text(f'[[budget]]\n{sizes}\nflop = "1 Gflop"\n')
        code, out, err = said(capsys, "check", "--output-format", "json")
        assert code == 0, err
        result = json.loads(out)["results"][0]
        flop.append(next(f["value"] for f in result["figures"] if f["metric"] == "flop"))
    assert flop[1] == 2 * flop[0] > 0


def test_sweep_diff_and_predict_take_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tokens(tmp_path)
    _, out, _ = said(
        capsys,
        "sweep",
        model,
        "--batch",
        "1:4:*2",
        "--seq",
        "16",
        "--output-format",
        "json",
        "--no-predict",
    )
    points = json.loads(out)["points"]
    assert [p["dims"] for p in points] == [{"batch": b, "seq": 16} for b in (1, 2, 4)]
    assert [p["mac"] for p in points] == [b * 16 * 32 * 32 for b in (1, 2, 4)]
    code, out, _ = said(capsys, "diff", model, "--batch", "1", "--to", "batch=8")
    assert code == 0
    assert "s72 1 -> 8" in out
    code, out, err = said(capsys, "analyze", "-q", model, "--batch", "8", "--seq", "16")
    assert code == 0, err
    assert " tokens/s" in out
    assert perfc.predict(model, batch=4, seq=16).batch == 4
    assert re.search(r"a100, batch 8, s70 \d+, ", perfc.predict(model, batch=8).how)


@pytest.mark.parametrize("shape", ["t, b, 128", "10, b, 128", "parts, b, 128"])
def test_the_batch_is_the_axis_that_the_header_calls_so(
    shape: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = """<ir_version: 9, opset_import: ["" : 18]>
    steps (float[SHAPE] x) => (float[SHAPE] y) { y = MatMul (x, w) }"""
    model = stored(tmp_path / "steps.onnx", text.replace("SHAPE", shape), w=(128, 128))
    _, out, _ = said(capsys, "analyze", model, "--batch", "16")
    assert " · batch b 16 · " in out.splitlines()[0]
    assert perfc.predict(model, batch=16).batch == 16
    if shape[0] == "t":
        assert work(capsys, model, "--batch", "4", "--seq", "8") == 4 * 8 * 128 * 128
    result = ("--output-format", "json", "--no-predict")
    _, out, _ = said(capsys, "compare", model, "-t", "a100,h100", "--batch", "16")
    assert "batch b = 16" in out
    _, out, _ = said(capsys, "sweep", model, "--batch", "4:16:*4", *result)
    assert [p["dims"] for p in json.loads(out)["points"]] == [{"batch": 4}, {"batch": 16}]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perfc.toml").write_text('[[budget]]\nbatch = 16\nflop = "1 Gflop"\n')
    code, out, err = said(capsys, "check")
    assert code == 0, out + err


def test_a_file_with_a_number_is_not_measured_at_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, "measure", tokens(tmp_path, "1"), "--batch", "8")
    assert code == 2
    assert "--batch: the file has a number there" in err


def test_what_a_torch_export_calls_its_extents(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Tokens(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(100, 32)
            self.head = torch.nn.Linear(32, 5)

        def forward(self, input_ids: object, attention_mask: object) -> object:
            return self.head(self.table(input_ids) * attention_mask.unsqueeze(-1))  # type: ignore[attr-defined]

    path = tmp_path / "export.onnx"
    example = torch.ones(2, 8, dtype=torch.long)
    free = dict.fromkeys((0, 1), torch.export.Dim.DYNAMIC)
    torch.onnx.export(
        Tokens().eval(),
        (example, example),
        str(path),
        dynamo=True,
        verbose=False,
        dynamic_shapes=(free, free),
    )
    module = load(path)
    names = {s.name for s in module.symbols}
    assert not names & {"batch", "seq"}
    assert "batch" in described(module)
    small, large = perfc.analyze(path, batch=1, seq=8), perfc.analyze(path, batch=4, seq=16)
    assert {*small.given} == {*axis_of(module, "batch").keys, *axis_of(module, "seq").keys} <= names
    assert large.roofline.floor_s > small.roofline.floor_s


def test_places_decide_what_is_the_batch(tmp_path: Path) -> None:
    model = """
    <ir_version: 9, opset_import: ["" : 18]>
    seq2seq (int64[b0,e] input_ids, int64[b0,e2] attention_mask, int64[b1,d] decoder_input_ids,
             float[2] scale) => (int64[b0,e] y) { y = Identity (input_ids) }
    """
    path = tmp_path / "m.onnxtxt"
    path.write_text(model)
    module = load(path)
    assert axis_of(module, "batch").keys == ("b0", "b1")
    assert axis_of(module, "seq").keys == ("e", "d")
    with pytest.raises(ParseError, match="no symbol 'q'"):
        perfc.analyze(path, dims={"q": 1})


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "--quiet"),
        ("analyze", "--full"),
        ("explain", "y"),
        ("sweep", "--dim", "s72=1,2", "--no-predict"),
        ("compare", "-t", "a100,h100"),
        ("diff", "tokens.onnx", "--to", "batch=16"),
        ("roofline", "a100", "--model"),
    ],
)
def test_axes_are_named_wherever_extents_are_shown(
    words: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens(tmp_path)
    monkeypatch.chdir(tmp_path)
    command, *rest = words
    given = [] if command == "sweep" else ["--batch", "8"]
    order = [*rest, "tokens.onnx"] if command == "roofline" else ["tokens.onnx", *rest]
    code, out, err = said(capsys, command, *order, *given)
    assert code in (0, 1), err
    alone = re.findall(r"(?<!batch )s72 (?:=|->|[0-9])|(?<!sequence )s70 =(?! 128 .sequence)", out)
    assert not alone, out
    if words[-1] != "--quiet":
        assert "batch s72" in out


def test_a_budget_says_axes_by_the_names_that_they_are_given_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, "check", "tokens.onnx", "--batch", "4")
    assert code == 0, err
    assert "batch=4, seq=128 (assumed)," in out
    assert "s72=4, seq=128 (assumed)," in said(capsys, "check", "tokens.onnx", "--dim", "s72=4")[1]


def test_a_measurement_names_its_axes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    code, out, err = said(
        capsys,
        "measure",
        tokens(tmp_path),
        "--batch",
        "2",
        "--seq",
        "16",
        "--repeat",
        "1",
        "--min-time",
        "0.01",
        "--target",
        "a100",
    )
    assert code == 0, err
    assert "batch s72 = 2, sequence s70 = 16" in " ".join(out.split())
