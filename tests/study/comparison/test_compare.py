"""``perfc compare``: one row a machine, each the headline of its own report."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

import perfc
from perfc import cli

EXAMPLES = Path(__file__).parents[3] / "examples/models"
RESNET = str(EXAMPLES / "resnet50.onnx.gz")
BERT = str(EXAMPLES / "bert-base.onnx.gz")
PRICES = """
[prices]
currency = "USD"
source = "an offer"
date = 2026-11-01
a100 = 2
t4 = 0.4
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(list(words))
    return code, *capsys.readouterr()


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    code, out, err = said(capsys, "compare", *words, "--output-format", "json")
    assert code == 0, err
    tree = json.loads(out)
    assert tree["schema"] == "perfc-compare/1"
    found: list[dict[str, object]] = tree["rows"]
    return found


@pytest.mark.parametrize("way", [{}, {"dtype": "f16"}, {"runtime": "eager"}])
def test_a_row_is_what_analyze_says_of_that_machine(way: Mapping[str, str]) -> None:
    targets = ("t4", "a100", "generic-x86-64")
    found = perfc.compare(RESNET, targets, batch=8, **way)  # type: ignore[arg-type]
    alone = [perfc.analyze(RESNET, t, batch=8, **way).verdict for t in targets]  # type: ignore[arg-type]
    assert [row.verdict for row in found.rows] == sorted(alone, key=lambda v: v.time_s)


@pytest.mark.parametrize(
    ("order", "key"), [("floor", "floor_s"), ("target", "target"), ("time", "time_s")]
)
def test_rows_are_ordered_with_what_ifs_last(
    order: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (BERT, RESNET, "-t", "gaudi3,t4,a100", "--runtime", "ort", "--sort", order)
    found = rows(capsys, *words)
    names = [Path(m).name for m in (BERT, RESNET)]
    ways = [(r["model"], r["target"] == "gaudi3") for r in found]
    assert ways == [(m, w) for m in names for w in (False, False, True)]
    for first in (0, 3):
        assert found[first][key] <= found[first + 1][key]  # type: ignore[operator]
    given = rows(capsys, *words[:-1], "given")
    assert [r["target"] for r in given[:3]] == ["gaudi3", "t4", "a100-sxm4-80gb"]
    _, text, _ = said(capsys, "compare", *words)
    assert "gaudi3 (what-if)" in text
    assert "what-if: ort does not run on gaudi3" in text
    assert f"each model sorted by {order}; rows that do not fit and what-ifs come last" in text


def test_the_best_of_each_model_and_what_may_be_as_fast_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (RESNET, "-t", "a100,h100,t4,rtx4090,gaudi3", "--batch", "8")
    found = [r for r in rows(capsys, *words) if r["target"] != "gaudi3"]
    text = " ".join(said(capsys, "compare", *words)[1].split())
    fastest = min(found, key=lambda r: float(str(r["time_s"])))
    cheapest = min(found, key=lambda r: float(str(r["price_per_million"] or math.inf)))
    least = min(found, key=lambda r: float(str(r["energy_j"] or math.inf)))
    for word, row in (("fastest", fastest), ("cheapest", cheapest), ("least energy", least)):
        assert f"{word} {row['target']} (" in text
    ties = sum(float(str(r["low_s"])) <= float(str(fastest["time_s"])) for r in found) - 1
    assert (f"{ties} other row" in text) == bool(ties)


def test_targets_come_with_commas_or_repeated_and_the_best_is_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    both = rows(capsys, RESNET, "-t", "t4,a100", "--batch", "8")
    assert both == rows(capsys, RESNET, "-t", "t4", "-t", "a100", "--batch", "8")
    assert both == rows(capsys, RESNET, "-t", "t4,a100,a100-sxm4-80gb", "--batch", "8")
    assert [r["target"] for r in both] == ["a100-sxm4-80gb", "t4"]
    by_energy = rows(capsys, RESNET, "-t", "t4,a100,rtx4090", "--batch", "8", "--sort", "energy")
    energies = [float(str(r["energy_j"])) for r in by_energy]
    assert energies == sorted(energies)


def test_all_names_every_target(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, RESNET, "-t", "all", "--no-predict")
    _, listed, _ = said(capsys, "targets", "list", "--output-format", "json")
    assert {r["target"] for r in found} == {t["name"] for t in json.loads(listed)["targets"]}
    assert all(r["low_s"] == r["time_s"] == r["high_s"] for r in found)


def test_several_models_runtimes_and_precisions(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(
        capsys,
        RESNET,
        BERT,
        "-t",
        "a100",
        "--runtime",
        "ort,eager",
        "--dtype",
        "f16,f32",
        "--batch",
        "8",
        "--sort",
        "given",
    )
    ways = [(r["model"], r["runtime"], r["dtype"]) for r in found]
    names = [Path(m).name for m in (RESNET, BERT)]
    assert ways == [(m, r, d) for m in names for r in ("ort", "eager") for d in ("f16", "f32")]
    _, out, _ = said(capsys, "compare", RESNET, BERT, "-t", "a100", "--dtype", "f16,f32")
    assert out.splitlines()[0] == "perfc: 2 models on 1 machine, 2 settings"


def test_a_time_asked_for_marks_rows_and_decides_the_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = ("compare", RESNET, "-t", "a100,t4", "--batch", "8")
    found = rows(capsys, *base[1:])
    fast, slow = (float(str(r["time_s"])) for r in found)
    high = float(str(found[0]["high_s"]))
    for limit_s, expected, code in (
        (fast / 2, ["no", "no"], 1),
        ((fast + min(high, slow)) / 2, ["likely", "no"], 0),
        (10.0, ["yes", "yes"], 0),
    ):
        limit = f"{limit_s * 1e6:.3f}us"
        done, out, _ = said(capsys, *base, "--slo", limit, "--output-format", "csv")
        assert done == code
        assert [r["in_time"] for r in csv.DictReader(io.StringIO(out))] == expected
    _, out, _ = said(capsys, *base, "--slo", "1us")
    assert "no row has a predicted time of 1.00 µs or less" in out


def test_what_does_not_fit_is_last_and_never_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = (RESNET, "-t", "rtx5090,mi300x,b300-sxm-270gb", "--batch", "20000", "--no-predict")
    code, out, _ = said(capsys, "compare", *words, "--slo", "1000s", "--output-format", "csv")
    found = [(r["fits"], r["in_time"]) for r in csv.DictReader(io.StringIO(out))]
    assert code == 0
    assert found[0] == ("true", "yes")
    assert found[-1] == ("false", "no")
    assert sorted(found, reverse=True) == found
    assert ", does not fit" in said(capsys, "compare", *words)[1]


def test_prices_are_those_that_somebody_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = (RESNET, "-t", "a100,t4,l20", "--batch", "8")
    dated = {str(r["target"]): r for r in rows(capsys, *base)}
    assert (dated["a100-sxm4-80gb"]["price_per_hour"], dated["t4"]["price_per_hour"]) == (
        1.3,
        0.526,
    )
    assert dated["a100-sxm4-80gb"]["price_date"] == "2026-05-31"
    (tmp_path / "perfc.toml").write_text(PRICES)
    found = rows(capsys, *base, "--sort", "price")
    per_hour = {"a100-sxm4-80gb": 2, "t4": 0.4, "l20": None}
    assert {row["target"]: row["price_per_hour"] for row in found} == per_hour
    priced = [float(str(row["price_per_million"])) for row in found[:2]]
    assert priced == sorted(priced)
    assert found[2]["price_per_million"] is None
    for row, price in zip(found, priced, strict=False):
        time_s = float(str(row["time_s"]))
        hourly = float(str(row["price_per_hour"]))
        assert math.isclose(price, hourly / 3600 * time_s / 8 * 1e6)
    _, out, _ = said(capsys, "compare", *base)
    assert "2 USD per hour for a100-sxm4-80gb: an offer, 2026-11-01" in out
    own = tmp_path / "mine.toml"
    text = (EXAMPLES.parents[1] / "perfc/targets/l4.toml").read_text()
    price = '[source.offer]\norigin = "vendor"\ntitle = "a list"\ndate = "2026"\n'
    own.write_text(f'{text}\n{price}[price]\neur_per_hour = {{ value = 0.9, from = "offer" }}\n')
    row = rows(capsys, RESNET, "-t", str(own))[0]
    assert (row["currency"], row["price_per_hour"], row["price_source"]) == ("EUR", 0.9, "a list")
    code, _, err = said(capsys, "compare", RESNET, "-t", f"{own},a100", "--sort", "price")
    (slice_,) = rows(capsys, RESNET, "-t", "a100/3g.40gb")
    assert slice_["price_per_hour"] == 1, "half of the card's"
    assert (code, "prices are in several currencies" in err) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('currency = "USD"\n', "", "prices.currency is missing"),
        ('"USD"', '"dollars"', "'dollars' is not a currency"),
        ("date = 2026-11-01\n", "", "prices.date is missing"),
        ("a100 = 2", "a100 = -2", "perfc.toml:6: a100 = -2 is not a price"),
        ("a100 = 2", "a1000 = 2", "perfc.toml:6: no such target 'a1000': did you mean"),
        ("a100 = 2", "a100 = true", "is not a price"),
        ("a100 = 2", "a100 = inf", "is not a price"),
        ("[prices]", "[price]", "did you mean prices?"),
    ],
)
def test_a_wrong_price_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, expected: str
) -> None:
    (tmp_path / "perfc.toml").write_text(PRICES.replace(old, new))
    code, out, err = said(capsys, "compare", RESNET, "-t", "a100")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--sort", "speed"], "--sort: no 'speed' (there are given, time"),
        (["--sort", "price", "-t", "p4"], "no known price"),
        (["--region", "atlantis"], "no region 'atlantis'"),
        (["-t", "a100/9g.99gb"], "has no slice '9g.99gb' (there are 1g.10gb"),
        (["--slo", "10"], "--slo: '10' is no duration (as in 30us, 5ms)"),
        (["--slo", "+5ms"], "is no duration"),
        (["--slo", "0ms"], "is no duration"),
        (["-t", ","], "names no target"),
        (["-t", "a100,h1000"], "no such target 'h1000'"),
        (["--runtime", "ort,foo"], "no runtime 'foo'"),
        (["--dtype", "f16,f17"], "f17"),
        (["-o", "x.pdf"], "is not named as any format"),
    ],
)
def test_wrong_input_is_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    code, out, err = said(capsys, "compare", RESNET, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_analyze_of_several_targets_is_the_same_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = (RESNET, "-t", "a100,h100", "--batch", "8")
    assert said(capsys, "analyze", *words) == said(capsys, "compare", *words)
    code, _, err = said(capsys, "analyze", *words, "--output-format", "trace")
    assert (code, "trace is of one target" in err) == (2, True)
    code, _, err = said(capsys, "explain", RESNET, "3", "-t", "a100,h100")
    assert (code, "perfc compare MODEL -t a100,h100" in err) == (2, True)


def test_every_format_by_the_name_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = {"txt": "perfc: ", "md": "# ", "csv": "model,target", "json": "{", "html": "<!DOCTYPE"}
    for suffix, start in starts.items():
        path = tmp_path / f"c.{suffix}"
        code, out, err = said(capsys, "compare", RESNET, "-t", "a100,t4", "-o", str(path))
        assert (code, out) == (0, ""), err
        assert path.read_text(encoding="utf-8").startswith(start)


def test_targets_are_shown_together_and_listed_with_rates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = said(capsys, "targets", "show", "a100", "h100")
    assert code == 0
    assert out.startswith("a100-sxm4-80gb: ")
    assert "\nh100-sxm5-80gb: " in out
    _, both, _ = said(capsys, "targets", "show", "a100,h100", "--output-format", "json")
    assert [t["name"] for t in json.loads(both)["targets"]] == ["a100-sxm4-80gb", "h100-sxm5-80gb"]
    _, out, _ = said(capsys, "targets", "list")
    head, *lines = out.splitlines()
    assert head.split()[:3] == ["target", "memory", "bandwidth"]
    a100 = next(line for line in lines if line.startswith("a100-sxm4-80gb"))
    for figure in ("80.0 GiB", "2.04 TB/s", "156 Top/s", "312 Top/s"):
        assert figure in a100


def test_rows_have_the_work_and_parameters_of_their_models(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (RESNET, BERT, "-t", "t4,a100", "--batch", "2")
    reports = {p.rpartition("/")[2]: perfc.analyze(p, "t4", batch=2) for p in (RESNET, BERT)}
    for row in rows(capsys, *words):
        report = reports[str(row["model"])]
        assert (row["flop"], row["parameters"]) == (report.flops, report.parameters)
    table = csv.DictReader(
        io.StringIO(said(capsys, "compare", *words, "--output-format", "csv")[1])
    )
    assert {int(r["parameters"]) for r in table} == {r.parameters for r in reports.values()}
    shown = [
        said(capsys, "compare", *w, "--output-format", "markdown")[1] for w in (words, words[1:])
    ]
    assert ["parameters" in text for text in shown] == [True, False]
