"""Prices, regions and bills: where numbers are from, how they add up, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.deployment.prices import (
    Offer,
    Prices,
    RentalTerms,
    offers_of,
    region_named,
)
from perfc.deployment.prices.offers import all_offers
from perfc.deployment.prices.regions import regions
from perfc.errors import ParseError
from perfc.machine import load_machine

RESNET = str(Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz")
TABLE = """\
schema = 1
cloud = "ours"
currency = "EUR"
source = "our contract"
date = 2027-01-01

[[offer]]
target = "p4"
gpus = 4
on_demand_per_hour = 2.0
spot_per_hour = 1.0
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "perfc"
    for name in ("prices", "regions"):
        (folder / name).mkdir(parents=True)
    return folder


def test_table_3_4_of_the_dissertation_is_there() -> None:
    said = {
        (o.cloud, o.instance, o.gpus, round(o.per_hour * o.gpus, 2))
        for o in all_offers()[""]
        if "dissertation" in o.source
    }
    assert said >= {
        ("aws", "p4d.24xlarge", 8, 32.77),
        ("aws", "p3.2xlarge", 1, 3.06),
        ("aws", "p3.8xlarge", 4, 12.24),
        ("google-cloud", "NVIDIA A100", 1, 2.93),
        ("azure", "NC24rs v3", 4, 13.46),
        ("azure", "NC96ads v4", 4, 14.69),
    }
    assert len(said) == 11


def test_every_offer_says_where_it_is_from() -> None:
    for offer in all_offers()[""]:
        assert offer.source
        assert offer.date[:2] == "20"
        assert offer.cloud
        assert 0.01 < offer.per_hour < 100
    assert {o.terms for o in all_offers()[""]} == set(RentalTerms)


def test_the_newest_table_counts_and_terms_and_clouds_choose() -> None:
    h100 = load_machine("h100")
    assert Prices().of(h100) == offers_of(h100, RentalTerms.ON_DEMAND)[0]
    assert offers_of(h100, RentalTerms.ON_DEMAND)[0].date == "2026-05-31"
    spot = Prices(terms=RentalTerms.SPOT).of(h100)
    assert spot is not None
    assert (spot.cloud, spot.per_hour) == ("verda", 0.8015)
    reserved = Prices(terms=RentalTerms.RESERVED, cloud="aws").of(h100)
    assert reserved is not None
    assert reserved.per_hour == pytest.approx(39.33 / 8)
    assert Prices(cloud="nebius").of(load_machine("p4")) is None
    with pytest.raises(ParseError, match="no prices of 'nobody'"):
        Prices(cloud="nobody").of(h100)


def test_a_slice_costs_its_share_of_the_card() -> None:
    card, part = load_machine("a100"), load_machine("a100/2g.20gb")
    whole, share = Prices().of(card), Prices().of(part)
    assert whole is not None
    assert share is not None
    assert share.per_hour == pytest.approx(whole.per_hour * 2 / 7)
    stated = Prices({card.name: Offer(7.0, "USD", "a list", "now")})
    own = stated.of(part)
    assert own is not None
    assert own.per_hour == pytest.approx(2.0)


def test_tables_of_the_user_come_first(alone: Path) -> None:
    assert Prices().of(load_machine("p4")) is None
    (alone / "prices" / "ours.toml").write_text(TABLE)
    (alone / "regions" / "here.toml").write_text(
        'schema = 1\nsource = "a meter"\ndate = "2027"\n[carbon_g_per_kwh]\nworld = 1\nroof = 0\n'
    )
    from perfc.deployment.prices import offers
    from perfc.deployment.prices import regions as known

    offers._in.cache_clear()
    known_in = __import__("perfc.deployment.prices.regions", fromlist=["_in"])._in
    known_in.cache_clear()
    result = Prices().of(load_machine("p4"))
    assert result is not None
    assert (result.per_hour, result.currency, result.gpus) == (0.5, "EUR", 4)
    assert known()["world"].carbon_g_per_kwh == 1
    assert region_named("roof").carbon_g(1e9) == 0
    assert "france" in known()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema = 1", "schema = 9"),
        ('"EUR"', '"EURO"'),
        ('source = "our contract"', ""),
        ("= 2.0", "= -2.0"),
        ("= 2.0", "= inf"),
        ("= 2.0", '= "2"'),
        ("gpus = 4", "gpus = 0"),
        ('"p4"', '"p4000"'),
        ("[[offer]]", "[offer]"),
    ],
)
def test_a_wrong_table_is_one_line(alone: Path, old: str, new: str) -> None:
    path = alone / "prices" / "ours.toml"
    assert old in TABLE
    path.write_text(TABLE.replace(old, new, 1))
    from perfc.deployment.prices import offers

    offers._in.cache_clear()
    with pytest.raises(Exception, match=r"^[^\n]+$") as error:
        Prices().of(load_machine("p4"))
    assert str(path) in str(error.value)


def test_regions_are_those_of_countries_and_clouds() -> None:
    known = regions()
    assert known["france"].carbon_g_per_kwh == 56
    assert known["europe-west9"].carbon_g_per_kwh == 16.3
    assert known["europe-west9"].pue == 1.1
    assert all(0 < r.carbon_g_per_kwh < 1000 and r.source and r.date for r in known.values())
    assert region_named("120").carbon_g_per_kwh == 120
    for wrong in ("atlantis", "-1", "nan", "1e9"):
        with pytest.raises(ParseError):
            region_named(wrong)


def billed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, object]]:
    assert cli.run(["compare", "--price", RESNET, *words, "--output-format", "json"]) == 0
    return {r["target"]: r for r in json.loads(capsys.readouterr().out)["rows"]}


def test_the_command_bills_steps_and_items_alike(capsys: pytest.CaptureFixture[str]) -> None:
    by_steps = billed(capsys, "-t", "a100,h100", "--batch", "8", "--steps", "1000")
    by_items = billed(capsys, "-t", "a100,h100", "--batch", "8", "--items", "8000")
    for target, row in by_steps.items():
        assert row["time_s"] == by_items[target]["time_s"]
        assert (row["runs"], row["items"], row["item"]) == (1000, 8000, "images")
    million = billed(capsys, "-t", "a100", "--batch", "8")["a100-sxm4-80gb"]
    assert million["items"] == 1e6
    (clean,) = billed(capsys, "-t", "a100", "--region", "10", "--pue", "1").values()
    (dirty,) = billed(capsys, "-t", "a100", "--region", "1000", "--pue", "2").values()
    assert dirty["carbon_g"]["mid"] == pytest.approx(200 * clean["carbon_g"]["mid"])  # type: ignore[index]


@pytest.mark.parametrize(("users", "isl", "osl"), [(1, 300, 40), (16, 200, 60)])
def test_tokens_of_a_language_model_cost_what_serving_them_costs(
    users: int, isl: int, osl: int, capsys: pytest.CaptureFixture[str]
) -> None:
    load = ["--batch", f"{users}", "--seq", f"{isl}", "--osl", f"{osl}"]
    words = ["compare", "--price", "llama-3.2-1b", "-t", "h100", *load, "--items", "2e6"]
    assert cli.run([*words, "--output-format", "json"]) == 0
    rows = {r["item"]: r for r in json.loads(capsys.readouterr().out)["rows"]}
    report = perfc.llm("llama-3.2-1b", "h100", concurrency=users, isl=isl, osl=osl)
    assert report.expenses is not None
    assert rows.keys() == {"input tokens", "output tokens"}
    for item, price in (
        ("input tokens", report.input_price_per_million),
        ("output tokens", report.expenses.price_per_million),
    ):
        assert rows[item]["items"] == 2e6
        assert rows[item]["price"]["mid"] == pytest.approx(2 * price)
        ends = rows[item]["price"]["low"], rows[item]["price"]["high"]
        assert ends[0] * (1 - 1e-9) <= 2 * price <= ends[1] * (1 + 1e-9)
    energy_j = report.expenses.energy_j_per_token
    assert rows["output tokens"]["board_j"]["mid"] == pytest.approx(2e6 * energy_j)
    assert cli.run(words) == 0
    out = capsys.readouterr().out
    assert "2,000,000 input tokens and 2,000,000 output tokens" in out
    assert "per million" in out


@pytest.mark.parametrize(
    "words",
    [["llama-3.1-70b"], ["llama-3.2-1b", "--no-predict"], ["llama-3.2-1b", "--runtime", "eager"]],
)
def test_tokens_that_no_engine_serves_are_input_tokens(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["compare", "--price", *words, "-t", "h100", "--output-format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["item"] == "input tokens"


def test_the_cheapest_comes_first_and_what_has_no_price_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = list(billed(capsys, "-t", "p4,h100,a100", "--batch", "64").values())
    assert [r["price"] is None for r in rows] == [False, False, True]
    assert rows[0]["price"]["mid"] <= rows[1]["price"]["mid"]  # type: ignore[index]
    assert cli.run(["compare", "--price", RESNET, "-t", "a100,p4", "--region", "france"]) == 0
    text = capsys.readouterr().out
    assert "56 g CO2 per kWh" in text
    assert "PUE 1.58" in text
    assert "some machines have no known price" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--region", "atlantis"], "no region 'atlantis'"),
        (["--terms", "never"], "--terms: no 'never' (there are on-demand, spot, reserved)"),
        (["--cloud", "nobody"], "no prices of 'nobody'"),
        (["--steps", "1", "--items", "1"], "give one of them"),
        (["--steps", "0"], "steps"),
        (["--pue", "0.5"], "pue"),
    ],
)
def test_wrong_input_is_one_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["compare", "--price", RESNET, "-t", "a100", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err


def test_a_limit_draws_less_and_takes_longer(capsys: pytest.CaptureFixture[str]) -> None:
    from perfc.analyzers.runs.power_cap import cap_law

    law = cap_law()
    demands = [0.3 + 0.05 * i for i in range(60)]
    powers, times = [law.power(d) for d in demands], [law.time(d) for d in demands]
    assert powers == sorted(powers)
    assert times == sorted(times, reverse=True)
    assert all(p <= max(d, powers[0]) for p, d in zip(powers, demands, strict=True))
    assert law.time(5.0) == pytest.approx(1, abs=0.01)
    usual = ("-t", "a100", "--batch", "64", "--steps", "10")
    (free,) = billed(capsys, *usual).values()
    (capped,) = billed(capsys, *usual, "--power-limit", "150").values()
    for key, is_more in (("time_s", True), ("board_j", False)):
        before, after = free[key]["mid"], capped[key]["mid"]  # type: ignore[index]
        assert (after > before) is is_more


@pytest.mark.parametrize(
    ("amount", "is_price"), [(1e-4, True), (9e-5, False), (1e6, True), (1_000_001, False)]
)
def test_a_price_lies_between_bounds(alone: Path, amount: float, is_price: bool) -> None:
    from perfc.deployment.prices import offers

    (alone / "prices" / "ours.toml").write_text(TABLE.replace("= 2.0", f"= {amount}"))
    offers._in.cache_clear()
    if is_price:
        result = Prices(cloud="ours").of(load_machine("p4"))
        assert result is not None
        assert result.per_hour == pytest.approx(amount / 4)
    else:
        with pytest.raises(ParseError, match=r"a number from 0\.0001 to 1e\+06"):
            Prices(cloud="ours").of(load_machine("p4"))


def test_six_offers_of_a_machine_are_shown_and_all_are_written(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from perfc.deployment.prices import offers

    head, _, one = TABLE.partition("[[offer]]")
    each = "".join(
        "[[offer]]" + one.replace("2.0", f"{2 + i}").replace("spot_per_hour = 1.0", "")
        for i in range(8)
    )
    (alone / "prices" / "ours.toml").write_text(head + each)
    offers._in.cache_clear()
    assert len(billed(capsys, "-t", "p4")["p4"]["offers"]) == 8  # type: ignore[arg-type]
    assert cli.run(["compare", "--price", RESNET, "-t", "p4"]) == 0
    text = capsys.readouterr().out.partition("offers")[2]
    rows = [line for line in text.splitlines() if " ours " in line]
    assert [row.split()[4] for row in rows] == ["0.5", "0.75", "1", "1.25", "1.5", "1.75"]
