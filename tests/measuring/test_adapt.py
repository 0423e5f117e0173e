"""Few-shot adaptation: what a few measured kernels of a machine change."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.estimators import Execution
from perfc.analyzers.estimators.adapting import residuals
from perfc.analyzers.estimators.subject import (
    LaunchAmounts,
    of_texts,
    operands,
    operators,
    types,
)
from perfc.analyzers.intervals.adapt import (
    Adaptation,
    AdaptError,
    KernelResidual,
    adapt,
    enough,
    of_machine,
    posterior,
)
from perfc.analyzers.runs.prediction import predicted
from perfc.ir import Numbers
from perfc.machine import load_machine, validate
from perfc.measuring.adapt import adapt_target, lowered, probes, read
from perfc.measuring.measure.tables import dataset
from perfc.measuring.measure.tables.rows import MeasuredRow

from ..analyzers import flat_weights

BERT = Path(__file__).parents[2] / "examples" / "models" / "bert-base.onnx.gz"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    flat_weights.write(folder, "matmul", ("bf16",), ("a100",))
    return folder


def rows_of(factor: float, noise: float, count: int, seed: int = 0) -> list[KernelResidual]:
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        time_s = math.exp(rng.uniform(math.log(1e-5), math.log(1e-3)))
        measured_s = time_s * factor * math.exp(rng.gauss(0, noise))
        result.append(KernelResidual(rng.choice(("matmul", "softmax")), time_s, measured_s))
    return result


def table(path: Path, slower: float, count: int, weights: Path) -> Path:
    """Products on an L40S that take ``slower`` times what is predicted."""
    rng = random.Random(1)
    lines = ["class,dtype,time_s,m,n,k"]
    for _ in range(count):
        m, n, k = (2 ** rng.randint(5, 12) for _ in "mnk")
        path.write_text(f"class,dtype,time_s,m,n,k\nmatmul,bf16,1.0,{m},{n},{k}\n")
        (one,) = residuals(read(path), load_machine("l40s"), weights)
        lines.append(f"matmul,bf16,{one.predicted_s * slower},{m},{n},{k}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_offset_of_a_machine_is_found() -> None:
    result = adapt(rows_of(1.4, 0.05, 40))
    for name in ("matmul", "softmax"):
        assert result.corrections[name].at(1e-4) == pytest.approx(1.4, rel=0.06)
    assert result.corrections["any"].at(1e-4) == pytest.approx(1.4, rel=0.25)


def test_no_row_moves_nothing_and_one_moves_part_of_the_way() -> None:
    assert posterior([]).log_ratio("matmul", 1e-4) == 0
    one = posterior([KernelResidual("matmul", 1e-4, 2e-4)]).log_ratio("matmul", 1e-4)
    assert 0 < one < math.log(2)


def test_more_rows_make_the_interval_narrower() -> None:
    few, many = (adapt(rows_of(1.2, 0.1, n)).corrections["matmul"] for n in (4, 60))
    assert many.high_ratio / many.low_ratio < few.high_ratio / few.low_ratio


def test_intervals_hold_nine_of_ten() -> None:
    inside = total = 0
    for seed in range(10):
        c = adapt(rows_of(1.3, 0.15, 30, seed)).corrections["matmul"]
        for r in rows_of(1.3, 0.15, 60, seed + 100):
            ratio = r.measured_s / (r.predicted_s * c.at(r.predicted_s))
            inside += c.low_ratio <= ratio <= c.high_ratio
            total += 1
    assert 0.85 < inside / total < 0.96


def test_learning_curve_falls_and_the_rule_stops() -> None:
    result = adapt(rows_of(1.6, 0.05, 60))
    assert result.curve[0].count == 0
    assert result.curve[0].error > 5 * result.curve[-1].error
    assert result.enough is not None
    assert result.enough < 50
    assert enough(result.curve[:1]) is None


def test_outliers_do_not_carry_the_correction() -> None:
    rows = rows_of(1.0, 0.05, 30)
    rows[0] = KernelResidual("matmul", 1e-4, 1e-2)
    assert adapt(rows).corrections["matmul"].at(1e-4) == pytest.approx(1, rel=0.1)


def test_a_network_that_is_off_says_little_of_others_and_many_say_it_all() -> None:
    def of_networks(count: int) -> list[KernelResidual]:
        times_s = [1e-5 * 1.1**i for i in range(40)]
        names = map(str, range(count))
        return [KernelResidual("conv", s, 1.5 * s, "law", n) for n in names for s in times_s]

    one, many = (adapt(of_networks(n), is_rated=True).corrections["law.conv"] for n in (1, 12))
    assert 1 < one.at(1e-4) < 1.15 < 1.25 < many.at(1e-4) < 1.5
    # its layers are one observation
    assert adapt(of_networks(1) * 12, is_rated=True).corrections["law.conv"] == one
    # nothing else is known of a processor by its data sheet
    assert adapt(of_networks(1)).corrections["law.conv"].at(1e-4) > 1.4


@pytest.mark.parametrize("time_s", [0.0, -1.0, math.nan, math.inf])
def test_times_that_are_none_are_refused(time_s: float) -> None:
    with pytest.raises(AdaptError, match="drop such rows"):
        adapt([KernelResidual("matmul", 1e-4, time_s)])


def test_adapted_target_is_valid_and_predicts_what_was_measured(
    tmp_path: Path, weights: Path
) -> None:
    rows = table(tmp_path / "rows.csv", 1.5, 20, weights)
    path = tmp_path / "mine.toml"
    adapt_target("l40s", rows, path, folder=weights)
    assert validate(path) == []
    before, after = (
        predicted(Execution(r.roofline, r.kernels, folder=weights)).kernels
        for r in (
            perfc.analyze(BERT, t, dims={"batch": 32}, runtime="eager", dtype="bf16")
            for t in ("l40s", str(path))
        )
    )
    answered = [i for i, k in enumerate(before) if k.predictor is Predictor.LEARNED]
    longest = max(answered, key=lambda i: before[i].time_s)
    assert after[longest].time_s / before[longest].time_s == pytest.approx(1.5, rel=0.1)
    assert after[longest].is_measured
    assert after[longest].high_s / after[longest].time_s < before[longest].high_s / (
        before[longest].time_s
    )


def test_adapting_again_replaces_what_was_there(tmp_path: Path, weights: Path) -> None:
    rows = table(tmp_path / "rows.csv", 1.5, 8, weights)
    path = tmp_path / "mine.toml"
    adapt_target("l40s", rows, path, folder=weights)
    first = path.read_text()
    adapt_target(str(path), rows, path, folder=weights)
    assert path.read_text() == first


def test_calibrated_rates_alone_adapt(tmp_path: Path, weights: Path) -> None:
    machine = load_machine("h200")
    assert {m.class_name for m in probes(machine)} == {"matmul", "elementwise"}
    path = tmp_path / "mine.toml"
    adapt_target("h200", None, path, folder=weights)
    assert "matmul" in of_machine(load_machine(path))
    with pytest.raises(AdaptError, match="no measured rate"):
        adapt_target("mi210", None, path, folder=weights)


def test_rows_of_measure_are_lowered() -> None:
    product = of_texts(
        "matmul",
        "matmul",
        "MatMul",
        0,
        "f32",
        "f32[4,128,768] f32[768,3072]w",
        "f32[4,128,3072]",
        LaunchAmounts(1, 4 * 128 * 768 * 3072, 0, 1e6, 1e6),
    )
    assert lowered(product) == ("matmul", {"m": 512.0, "n": 3072.0, "k": 768.0, "batch": 1.0})
    conv = of_texts(
        "conv",
        "conv {pads=[1, 1, 1, 1], strides=[2, 2]}",
        "Conv",
        0,
        "f32",
        "f32[1,3,32,32] f32[8,3,3,3]w",
        "f32[1,8,16,16]",
        LaunchAmounts(1, 8 * 27 * 256, 0, 1e4, 1e4),
    )
    result = lowered(conv)
    assert result is not None
    assert result[0] == "convolution"
    assert (result[1]["pad_h"], result[1]["stride_w"], result[1]["transposed"]) == (1, 2, 0)
    assert result[1]["stride_h"] == 2


@pytest.mark.parametrize(
    ("shape", "rows", "cols"), [("4,8,128", 32, 128), ("7", 1, 7), ("", 1, 1), ("5,1", 5, 1)]
)
@pytest.mark.parametrize("kind", ["softmax", "normalization"])
def test_rows_of_statistics_have_their_last_axis_as_columns(
    kind: str, shape: str, rows: float, cols: float
) -> None:
    text = f"f32[{shape}]"
    subject = of_texts(
        kind, "softmax", "Softmax", 0, "f32", text, text, LaunchAmounts(1, 0, 0, 8, 8)
    )
    assert lowered(subject) == (kind, {"rows": rows, "cols": cols})


def test_elementwise_rows_count_whole_operands_and_scalars() -> None:
    subject = of_texts(
        "elementwise",
        "where",
        "Where",
        0,
        "f32",
        "b1[4,64] f32[4,64] f32[]",
        "f32[4,64]",
        LaunchAmounts(1, 0, 256, 1284, 1024),
    )
    result = lowered(subject)
    assert result is not None
    assert result[0] == "elementwise"
    assert (result[1]["elements"], result[1]["operands"], result[1]["tensor_operands"]) == (
        256,
        3,
        2,
    )
    assert (result[1]["read_bytes"], result[1]["write_bytes"]) == (1284, 1024)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "no column 'class'"),
        ("class,dtype,time_s,m\nmatmul,bf16,fast,1\n", "'fast' is no number"),
        (
            "class,dtype,time_s,m,n,k\nmatmul,bf16,-1,1,1,1\n",
            "rows.csv: a matmul that takes -1.0 s",
        ),
        ("class,dtype,time_s,m,n,k\nmatmul,bf16,1e308,9,9,9\n", "a matmul that takes 1e+308 s"),
        ("class,dtype,time_s,m,n,k\nmatmul,bf16,1e-3,1e308,9,9\n", "a matmul whose m is 1e+308"),
        ("class,dtype,time_s,m,n,k\n", "rows.csv: no rows"),
        ("class,dtype,time_s,m,n,k\nmatmul,zz,1e-3,64,64,64\n", "no element type 'zz'"),
        ("class,dtype,time_s,m,n,k\nmatmul,bf16,1e-3,0,64,64\n", "an extent below 1"),
        ("class,dtype,time_s,m,n,k\nmatmul,bf16,1e-9,8192,8192,8192\n", "times are seconds"),
        ("class,dtype,time_s,m,n\nmatmul,bf16,1e-3,64,64\n", "rows.csv: matmul without 'k'"),
    ],
)
def test_bad_rows_are_one_line_and_nothing_is_written(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, output = tmp_path / "rows.csv", tmp_path / "out.toml"
    rows.write_text(content)
    code = cli.run(["adapt", "--target", "a100", "--from", str(rows), "-o", str(output)])
    assert code == 2
    assert message in capsys.readouterr().err
    assert not output.exists()


def rows_of_measure(path: Path, target: str, slower: float) -> None:
    """Kernels of BERT on a processor that take ``slower`` times what is predicted."""
    report = perfc.analyze(BERT, target, dims={"batch": 2}, runtime="ort-cpu-blocked")
    machine = report.machine.name
    rows = []
    for i, (b, p) in enumerate(
        zip(report.roofline.kernels, report.prediction.kernels, strict=True)
    ):
        k, n, at, time_s = b.kernel, b.counts, Numbers(report.env), slower * p.time_s
        rows.append(
            MeasuredRow(
                schema=1,
                digest="0" * 16,
                model="bert",
                runtime="ort",
                version="onnxruntime 1",
                device="cpu",
                threads=report.machine.sm_count,
                dims="batch=2",
                kernel=i,
                part=i,
                part_s=time_s,
                time_s=time_s,
                iqr_s=0.0,
                best_s=time_s,
                inserted_s=0.0,
                floor_s=b.floor_s,
                sustained_s=b.time_s,
                target=machine,
                label=k.label,
                kind=k.kind.value,
                dtype=b.dtype.code,
                ops="+".join(operators(k)),
                views=0,
                runtime_ops="x",
                nodes="x",
                launches=b.launches,
                mac=n.mac,
                alu=n.alu,
                sfu=n.sfu,
                integer=n.integer,
                read_bytes=n.read_bytes,
                write_bytes=n.write_bytes,
                moved_bytes=0.0,
                op=str(k.anchor.op)[:400],
                operands=types(operands(k.anchor.inputs, at)),
                results=types(operands(k.writes, at)),
            )
        )
    dataset.write(path, rows)


def analyzed(target: object, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    args = ["analyze", str(BERT), "-t", str(target), "--dim", "batch=2", *more]
    assert cli.run([*args, "--output-format", "json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize("slower", [2.5, 0.6])
def test_a_processor_that_was_adapted_is_predicted_as_it_was_measured(
    slower: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, mine = tmp_path / "rows.csv.gz", tmp_path / "my.toml"
    rows_of_measure(rows, "generic-x86-64", slower)
    args = ["adapt", "-t", "generic-x86-64", "--from", str(rows), "-o", str(mine)]
    assert cli.run(args) == 0
    assert "law.gemm.stored" in capsys.readouterr().out
    assert validate(mine) == []
    before, after = (analyzed(t, capsys) for t in ("generic-x86-64", mine))
    sums = [result["prediction"]["time_s"]["value"] for result in (before, after)]
    assert sums[1] / sums[0] == pytest.approx(slower, rel=0.1)
    assert all(k["predicted"]["is_measured"] for k in after["kernels"])
    assert not any(k["predicted"]["time_s"] < k["floor_s"] for k in after["kernels"])
    assert not after["prediction"]["notes"]
    node = next(k["nodes"][0] for k in after["kernels"] if k["kind"] == "matmul")
    assert cli.run(["explain", str(BERT), node, "-t", str(mine)]) == 0
    assert "correction measured on this machine (perfc adapt)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("class", "there are none"),
        ("calibrated", "there are none"),
        ("other", "these were measured against generic-x86-64"),
    ],
)
def test_a_processor_is_refused_at_once_where_nothing_could_be_corrected(
    given: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, rows = tmp_path / "other-cpu.toml", tmp_path / "rows.csv"
    text = load_machine("generic-x86-64").path.read_text()
    if given == "calibrated":
        measured = 'sustained_bandwidth_bytes_per_s = { value = 4e10, from = "lab" }'
        text = text.replace("[memory.device]", f"[memory.device]\n{measured}")
        text += '\n[source.lab]\norigin = "measured"\ntitle = "t"\n'
    target.write_text(text.replace('name = "generic-x86-64"', 'name = "other-cpu"'))
    if given == "class":
        rows.write_text("class,dtype,time_s,m,n,k\nmatmul,f32,1.0,64,64,64\n")
    elif given == "other":
        rows_of_measure(rows, "generic-x86-64", 2.0)
    source = [] if given == "calibrated" else ["--from", str(rows)]
    path = tmp_path / "out.toml"
    assert cli.run(["adapt", "-t", str(target), *source, "-o", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error
    assert "perfc measure MODEL --target TARGET --append ROWS" in error
    assert not path.exists()


def test_shipped_targets_are_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["adapt", "--target", "a100"]) == 2
    assert "--output" in capsys.readouterr().err


def test_a_correction_that_predicts_kernels_left_out_worse_is_refused() -> None:
    # half take a fifth, half nearly twice: right in sum, but not in the middle
    rows = [KernelResidual("matmul", 1e-4, 1e-4 * (0.2, 1.8)[i % 2]) for i in range(40)]
    refused = adapt(rows)
    assert refused.refused == ("learned",)
    assert not refused.corrections
    assert refused.curve[-1].error > refused.curve[0].error
    slow = [KernelResidual("conv", 1e-4, 3e-4, "roofline") for _ in range(20)]
    both = adapt([*rows, *slow])
    assert both.refused == ("learned",)
    assert both.corrections.keys() == {"roofline.conv", "roofline.any"}


def test_a_target_is_not_written_where_every_correction_is_worse(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table(tmp_path / "rows.csv", 1.5, 20, weights)
    refusing = Adaptation({}, (), None, ("x",))
    monkeypatch.setattr("perfc.analyzers.estimators.adapting.adapt", lambda _, is_rated: refusing)
    path = tmp_path / "mine.toml"
    with pytest.raises(AdaptError, match="not written: kernels left out would be predicted worse"):
        adapt_target("l40s", rows, path, folder=weights)
    assert not path.exists()
