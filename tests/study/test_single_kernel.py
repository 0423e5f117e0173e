"""``perfc op``: one kernel by its extents goes through the analysis of every model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.errors import ParseError

SIZES: dict[str, dict[str, int]] = {
    "matmul": {"m": 512, "n": 256, "k": 128},
    "conv": {"channels": 16, "filters": 32, "height": 14, "width": 28},
    "attention": {"heads": 8, "seq": 128},
    "experts": {"tokens": 16, "hidden": 256, "inner": 128, "chosen": 2, "experts": 8},
    "softmax": {"rows": 64, "columns": 512},
    "norm": {"rows": 64, "columns": 512},
    "elementwise": {"elements": 100_000},
}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(["op", *words])
    return code, *capsys.readouterr()


def words_of(kind: str) -> list[str]:
    return [w for n, v in SIZES[kind].items() for w in (f"--{n.replace('_', '-')}", str(v))]


@pytest.mark.parametrize("kind", SIZES)
def test_every_kind_is_one_kernel_with_floor_prediction_and_range(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, kind, *words_of(kind), "-t", "h100", "--output-format", "json")
    assert code == 0, err
    tree = json.loads(out)
    assert (tree["schema"], tree["work"]["count"]) == ("perfc-op/1", 1)
    row = tree["rows"][0]
    assert 0 < row["floor_s"] <= row["low_s"] <= row["time_s"] <= row["high_s"]
    verdict = perfc.op(kind, "h100", **SIZES[kind]).verdict
    assert (row["time_s"], row["floor_s"]) == (verdict.time_s, verdict.floor_s)


def test_counts_are_those_of_the_problem() -> None:
    assert str(perfc.op("matmul", m=5, n=7, k=11).cost.work.mac) == "k*m*n"
    report = perfc.op("matmul", m=5, n=7, k=11, batch=3)
    assert report.roofline.kernels[0].counts.mac == 3 * 5 * 7 * 11
    conv = perfc.op("conv", batch=2, channels=8, filters=16, height=6, width=9, kernel=5, stride=2)
    assert sum(k.counts.mac for k in conv.roofline.kernels) == 2 * 16 * 3 * 5 * 8 * 25
    full, causal = (perfc.op("attention", heads=4, seq=64, function=f) for f in ("full", "causal"))
    assert full.roofline.kernels[0].counts.mac == 2 * 4 * 64 * 64 * 64
    assert causal.roofline.floor_s <= full.roofline.floor_s
    shared = perfc.op("attention", heads=8, kv_heads=2, seq=1, keys=512)
    assert shared.views.kernels[0].read_bytes.value == 4 * 64 * (8 + 2 * 2 * 512)


def test_the_same_product_in_a_file_takes_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(
        '<ir_version: 9, opset_import: ["" : 18]>\n'
        "g (float[512,128] a, float[128,256] b) => (float[512,256] y) { y = MatMul (a, b) }"
    )
    for way in ({}, {"dtype": "f16"}, {"runtime": "eager", "tf32": False}):
        alone = perfc.op("matmul", "a100", **SIZES["matmul"], **way)
        whole = perfc.analyze(path, "a100", predictor="kernels", host_launch=0, **way)
        assert alone.verdict.expected == whole.verdict.expected


def test_a_session_around_a_kernel_is_no_part_of_it() -> None:
    alone = perfc.op("matmul", "h100", m=4096, n=4096, k=4096, dtype="bf16")
    assert alone.prediction.total.predictor == ""
    kernels_s = sum(kernel.time_s for kernel in alone.prediction.kernels)
    assert alone.prediction.total.time_s == pytest.approx(kernels_s)


def test_the_command_says_what_python_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = "matmul", "--m", "4096", "--n", "4096", "--k", "4096", "--dtype", "bf16", "-t", "h100"
    code, out, _ = said(capsys, *words, "--output-format", "json")
    assert code == 0
    alone = perfc.op("matmul", "h100", m=4096, n=4096, k=4096, dtype="bf16")
    (row,) = json.loads(out)["rows"]
    assert row["time_s"] == alone.prediction.total.time_s


def test_several_targets_give_a_row_each(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "matmul", *words_of("matmul"), "-t", "h100,t4", "--dtype", "f16")
    assert code == 0
    assert out.splitlines()[0] == "perfc: matmul on 2 machines, m = 512, k = 128, n = 256, ort, f16"
    for part in ("33.6 Mflop", "448 KiB", "h100-sxm5-80gb", "limited by", "confidence: "):
        assert part in out
    code, out, _ = said(capsys, "norm", *words_of("norm"), "--function", "rms_norm")
    assert code == 0
    assert out.startswith("perfc: rms_norm on 1 machine")


def test_sizes_of_the_project_are_those_of_its_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perfc.toml").write_text('[deployment]\nbatch = 8\nseq = 9\ntarget = "t4"\n')
    code, out, err = said(capsys, "matmul", *words_of("matmul"), "--output-format", "json")
    assert code == 0, err
    assert json.loads(out)["rows"][0]["target"] == "t4"
    assert json.loads(out)["work"]["mac"] == 512 * 256 * 128


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("matmul --m 4", "--n: matmul needs n: columns of the second"),
        ("matmul --m 4 --n 4 --k 0", "--k: k = 0 is no extent"),
        ("matmul --m x", "'x' is not a valid integer"),
        ("matmull --m 1", "no kernel 'matmull'; there are matmul, conv"),
        ("conv --channels 3 --filters 8 --height 8 --width 8 --groups 2", "do not divide into 2"),
        ("attention --heads 3 --seq 8 --kv-heads 2", "3 heads do not share 2 keys"),
        ("norm --rows 1 --columns 4 --function foo", "no function 'foo' of norm"),
        ("softmax --rows 2 --columns 3 --seq 4", "softmax has no extent 'seq'"),
        ("softmax --rows 99999999999999 --columns 3", "is no extent (1 to 2^40)"),
        ("softmax --rows 2 --columns 3 --value x=1", "--value is of a model's input"),
        ("matmul --m 4 --n 4 --k 4 -t h1000", "no such target 'h1000'"),
        ("matmul --m 4 --n 4 --k 4 -o x.pdf", "is not named as any format"),
    ],
)
def test_wrong_input_is_one_line(
    capsys: pytest.CaptureFixture[str], words: str, expected: str
) -> None:
    code, out, err = said(capsys, *words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_python_says_the_same() -> None:
    with pytest.raises(ParseError, match="no kernel 'gemm'"):
        perfc.op("gemm", m=1)
    with pytest.raises(ParseError, match="no whole number"):
        perfc.op("softmax", rows=1.5, columns=2)


def collected(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(["op", "collective", *words])
    return code, *capsys.readouterr()


def test_a_collective_has_a_row_for_every_machine(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--bytes", "64MiB", "--ranks", "8", "-t", "h100,a100,t4", "--output-format", "json"]
    code, out, _ = collected(capsys, *asked)
    assert code == 0
    rows = {r["target"]: r for r in json.loads(out)["rows"]}
    assert list(rows) == ["h100-sxm5-80gb", "a100-sxm4-80gb", "t4"]
    for r in rows.values():
        assert 0 < r["floor_s"] <= r["low_s"] <= r["time_s"] <= r["high_s"]
        assert r["bytes_per_s"] == pytest.approx((64 << 20) / r["time_s"])
    # NVLink of an H100 carries 450 GB/s one way, that of an A100 300 GB/s
    assert rows["h100-sxm5-80gb"]["floor_s"] == pytest.approx((64 << 20) / 450e9, rel=0.01)
    assert rows["a100-sxm4-80gb"]["floor_s"] == pytest.approx((64 << 20) / 300e9, rel=0.01)
    assert [r["is_extrapolating"] for r in rows.values()] == [False, False, True]
    text = collected(capsys, *asked[:-2])[1]
    assert "all-reduce of 64.0 MiB, bf16, 8 ranks" in text
    assert "nothing like it was measured on t4" in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--ranks", "1"], "--ranks: ranks = 1 is none (2 or more)"),
        (["--ranks", "8", "--nodes", "3"], "8 ranks do not spread over 3 nodes"),
        (["--ranks", "8", "--operation", "gossip"], "no collective 'gossip' (there are all-reduce"),
        (["--ranks", "8", "-t", "cpu"], "a processor, not a GPU"),
        (["--ranks", "8", "--bytes", "+5%"], "--bytes: '+5%' is no size"),
        (["--ranks", "8", "--bytes", "many"], "--bytes: 'many' is not a number with a unit"),
        (["--ranks", "8", "--bytes", "0B"], "--bytes: bytes = 0 is none (1 or more)"),
        (["--ranks", "8", "--batch", "2"], "a collective has no --batch"),
    ],
)
def test_a_collective_that_is_none_is_one_line(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = collected(capsys, "--bytes", "1MiB", *more)
    assert code == 2
    assert said in err
