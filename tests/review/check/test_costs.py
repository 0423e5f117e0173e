"""Budgets in money: the price of a million images, at the prices of the project or of tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from perfc import cli

from .test_time import committed, convolution

RESNET = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
BUDGET = """
[[budget]]
model = "m.onnx.gz"
target = "a100"
dims = {{ batch = 8 }}
cost = {limits}
"""
PRICE = '[prices]\na100 = {}\ncurrency = "{}"\nsource = "a bill"\ndate = 2026-01-01\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m.onnx.gz").write_bytes(RESNET.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def budget(limits: str, price: str = "") -> None:
    Path("perfc.toml").write_text(BUDGET.format(limits=limits) + price, encoding="utf-8")


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert cli.run([*words]) == code, capsys.readouterr()
    return capsys.readouterr().out


def cost_of(capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> dict[str, Any]:
    tree = json.loads(printed(capsys, "check", "--output-format", "json", *more, code=code))
    (figure,) = (f for f in tree["results"][0]["figures"] if f["metric"] == "cost")
    return dict(figure)


def test_the_cost_is_that_of_a_comparison(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("compare", "m.onnx.gz", "-t", "a100", "--batch", "8", "--output-format", "json")
    for price in ("", PRICE.format(2.5, "USD")):
        budget('"1000 USD"', price)
        (row,) = json.loads(printed(capsys, *words))["rows"]
        figure = cost_of(capsys)
        assert figure["unit"] == "usd"
        assert figure["value"] == pytest.approx(row["price_per_million"])
        assert figure["low"] == pytest.approx(row["price_low_per_million"])
        assert figure["high"] == pytest.approx(row["price_high_per_million"])


def test_a_price_that_changes_is_not_hidden_by_the_cache(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget('"1000 USD"', PRICE.format(1, "USD"))
    before = cost_of(capsys)["value"]
    budget('"1000 USD"', PRICE.format(3, "USD"))
    assert cost_of(capsys)["value"] == pytest.approx(3 * before)


def test_a_limit_fails_in_every_format(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    budget('{ max = "0.01 USD" }')
    message = "exceeds 0.01 USD"
    assert message in printed(capsys, "check", code=1)
    log = json.loads(printed(capsys, "check", "--output-format", "sarif", code=1))
    (found,) = log["runs"][0]["results"]
    assert found["ruleId"] == "perfc-cost"
    assert message in found["message"]["text"]
    tree = ElementTree.fromstring(printed(capsys, "check", "--output-format", "junit", code=1))
    assert message in str(next(tree.iter("failure")).get("message"))


def test_a_price_against_the_baseline(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    budget('"+5%"', PRICE.format(1, "USD"))
    printed(capsys, "check", "--write-baseline")
    assert "usd_per_million = " in Path("perfc.lock").read_text(encoding="utf-8")
    assert "all budgets met" in printed(capsys, "check")
    budget('"+5%"', PRICE.format(2, "USD"))
    # the model is the same: it warns
    assert "allowed +5%" in printed(capsys, "check")


@pytest.mark.parametrize(
    ("price", "more"), [("", ["--cloud", "aws"]), (PRICE.format(2, "EUR"), [])], ids=["none", "EUR"]
)
def test_without_a_price_it_is_one_line(
    price: str, more: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget('"1 USD"', price)
    assert cli.run(["check", *more]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert "no price of a100 in USD is known (set it in [prices])" in error


def test_a_limit_of_another_unit_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget('"5 ms"')
    assert cli.run(["check"]) == 2
    assert "'1.20 USD' or '+5%'" in capsys.readouterr().err


def test_an_edit_fails_by_the_interval_of_its_difference(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("perfc.toml").write_text('[[budget]]\nmodel = "m.onnx"\ncost = "+5%"\n', encoding="utf-8")
    Path("m.onnx").write_bytes(convolution(3, 64, 256, 64, groups=4))
    printed(capsys, "check", "--write-baseline")
    committed(project)
    Path("m.onnx").write_bytes(convolution(5, 64, 256, 64, groups=4))
    tree = json.loads(printed(capsys, "check", "--output-format", "json", code=1))
    (finding,) = tree["results"][0]["findings"]
    assert (finding["metric"], finding["outcome"]) == ("cost", "fail")
    change = finding["value"] - finding["baseline"]
    assert finding["change_low"] < change < finding["change_high"]
