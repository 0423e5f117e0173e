"""Rows of a comparison: order, standing, prices and words, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfc.api import Report
from perfc.deployment import Deployment
from perfc.deployment.prices import Market, Offer, Prices
from perfc.errors import MissingExtraError, ParseError, PerfcError
from perfc.machine import load_machine
from perfc.study.comparison.rows import Comparison, LimitStatus, ModelSetting, Order, Row, compare
from perfc.study.comparison.views import BAR, bar, columns, interval, memory, notes, recommendations
from perfc.study.comparison.views import price as priced
from perfc.view.report.formats.document import Amount

MODEL = Path(__file__).parents[2] / "golden" / "estimates" / "windows.onnxtxt"
RESNET = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
MACHINES = [load_machine(name) for name in ("t4", "a100", "rtx3080")]


def settings() -> list[ModelSetting]:
    return [ModelSetting(MODEL, Deployment(dims={"batch": 4}))]


def test_rows_are_told_as_they_are_done_and_then_ordered() -> None:
    told: list[Row] = []
    found = compare(settings(), MACHINES, order=Order.FLOOR, on_row=told.append)
    assert [r.verdict.target for r in told] == [m.name for m in MACHINES]
    floors = [r.verdict.floor_s for r in found.rows]
    assert floors == sorted(floors)
    assert sorted(floors) != [r.verdict.floor_s for r in told]
    given = compare(settings(), MACHINES, order=Order.GIVEN)
    assert [r.verdict.target for r in given.rows] == [m.name for m in MACHINES]
    by_name = compare(settings(), MACHINES, order=Order.TARGET, predict=False)
    assert [r.verdict.target for r in by_name.rows] == sorted(m.name for m in MACHINES)
    assert (by_name.is_predicted, found.is_predicted, found.order) == (False, True, Order.FLOOR)


def price(amount: float, currency: str = "USD") -> Offer:
    return Offer(amount, currency, "a list", "2026-01-31")


def row(time_s: float = 2.0, **changes: Any) -> Row:
    verdict: Any = SimpleNamespace(
        time_s=time_s,
        model=changes.pop("model", "m"),
        target=changes.pop("target", "t"),
        expected=SimpleNamespace(low=time_s / 2, mid=time_s, high=1.5 * time_s),
        floor_s=1.0,
        is_bound=False,
        energy=changes.pop("energy", None),
        throughput=SimpleNamespace(
            per_run=4, per_s=4 / time_s, item=SimpleNamespace(value=changes.pop("item", "images"))
        ),
        memory=SimpleNamespace(
            fits=changes.pop("fits", True), total_bytes=2048, is_bound=changes.pop("bound", False)
        ),
        confidence=None,
        limits=(),
    )
    usual = {"runtime": "ort", "dtype": "", "sizes": {}, "labels": {}, "price": None}
    return Row(verdict, given=frozenset(), **{**usual, **changes})


def test_predictors_that_are_left_out_share_a_line_by_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(setting: ModelSetting, *_: object) -> Report:
        if setting.predictor == "other":
            raise PerfcError("other: no such step")
        raise MissingExtraError("it needs torch", hint="pip install x")

    monkeypatch.setattr(ModelSetting, "report", refuse)
    ways = [replace(settings()[0], predictor=name) for name in ("gnn", "other", "mlp")]
    found = compare(ways, MACHINES, skip=True)
    assert found.left_out == ("gnn, mlp: pip install x", "other: no such step")
    with pytest.raises(MissingExtraError):
        compare(ways, MACHINES)


def test_a_price_is_of_a_million_items() -> None:
    assert row(price=price(3.6)).price_per_million == pytest.approx(2.0 * 3.6 / 3600 / 4 * 1e6)
    assert row().price_per_million is None
    assert (row().energy_j, row(energy=SimpleNamespace(mid=3.0)).energy_j) == (None, 3.0)


@pytest.mark.parametrize(
    ("slo_s", "fits", "standing"),
    [
        (1.9, True, LimitStatus.MISSES),
        (2.0, True, LimitStatus.LIKELY),
        (2.9, True, LimitStatus.LIKELY),
        (3.0, True, LimitStatus.HOLDS),
        (9.0, False, LimitStatus.MISSES),
        (9.0, None, LimitStatus.HOLDS),
    ],
)
def test_a_run_is_in_time_likely_or_not(
    slo_s: float, fits: bool | None, standing: LimitStatus
) -> None:
    one = row(fits=fits)
    assert one.standing(slo_s) is standing
    made = Comparison((one, row(1e9)), Order.TIME, slo_s, True)
    assert made.holds is (standing is not LimitStatus.MISSES)
    assert Comparison((one,), Order.TIME, None, True).holds


def test_a_currency_is_one_or_none() -> None:
    def currency(*prices: Offer | None) -> str:
        return Comparison(tuple(row(price=p) for p in prices), Order.TIME, None, True).currency

    assert currency(price(1.0), None, price(2.0)) == "USD"
    assert currency(price(1.0), price(2.0, "EUR")) == ""
    assert currency(None) == ""


def test_an_order_by_price_needs_prices_of_one_currency() -> None:
    with pytest.raises(ParseError, match="--sort: no known price"):
        compare(settings(), MACHINES[2:], order=Order.PRICE, predict=False)
    names = [m.name for m in MACHINES[:2]]
    both = Prices({names[0]: price(1.0), names[1]: price(1.0, "EUR")})
    with pytest.raises(ParseError, match="--sort: prices are in several currencies"):
        compare(settings(), MACHINES[:2], order=Order.PRICE, prices=both, predict=False)
    known = Prices({names[0]: price(9.0)})
    pair = [MACHINES[0], MACHINES[2]]
    found = compare(settings(), pair, order=Order.PRICE, prices=known, predict=False)
    targets = [r.verdict.target for r in found.rows]
    assert targets == [m.name for m in pair], "what has no price comes last"


def test_what_does_not_fit_is_marked() -> None:
    assert memory(row()) == "2.00 KiB"
    assert memory(row(bound=True)) == "≥ 2.00 KiB"
    assert memory(row(fits=False)) == "2.00 KiB, does not fit"
    assert memory(row(fits=None)) == "2.00 KiB"
    assert interval(row(2.0)) == "1–3 s"
    assert interval(row(1.2e-3)) == "600 µs–1.80 ms"


def test_a_price_and_a_bar_are_short() -> None:
    found = row(price=price(3.6))
    assert found.price is not None
    # 2 s an item and 4 items at once: 0.5 s each of 3.60 an hour
    assert priced(found) == f"500 {found.price.currency}"
    assert priced(row()) == "—"
    assert bar(1.0, 1.0) == "█" * BAR
    assert bar(0.5, 1.0) == "█" * (BAR // 2)
    assert bar(0.25 / BAR, 1.0) == "▎"
    assert bar(0.0, 1.0) == bar(1.0, 0.0) == "▏", "the least there is to see"
    assert bar(1.5 / BAR, 1.0) == "█▌"


def test_columns_are_those_that_tell_something() -> None:
    def shown(*rows: Row, slo_s: float | None = None, predicted: bool = True) -> list[str]:
        made = Comparison(rows, Order.TIME, slo_s, predicted)
        return [c.name for c in columns(made, has_bars=False)]

    usual = [
        "target",
        "time_s",
        "interval",
        "floor_s",
        "items_per_s",
        "memory_bytes",
        "confidence",
        "limited_by",
    ]
    assert shown(row()) == usual
    assert shown(row(), predicted=False) == [
        n for n in usual if n not in ("interval", "confidence")
    ]
    assert shown(row(), row(runtime="eager"))[:2] == ["target", "runtime"]
    assert shown(row(), row(dtype="f16"))[:2] == ["target", "dtype"]
    assert "energy_j" in shown(row(), row(energy=SimpleNamespace(mid=1.0)))
    assert "in_time" in shown(row(), slo_s=1.0)
    assert "price" in shown(row(price=price(1.0)), row())
    made = Comparison((row(), row(dtype="f16")), Order.TIME, 2.5, True)
    cells = {c.name: [c.of(r) for r in made.rows] for c in columns(made, has_bars=True)}
    assert cells["dtype"] == ["as stored", "f16"]
    assert cells["in_time"] == [LimitStatus.LIKELY.value] * 2
    assert cast(Amount, cells["time_s"][0]).value == 2.0
    mixed = Comparison((row(), row(item="tokens")), Order.TIME, None, True)
    titles = {c.name: c.title for c in columns(mixed, has_bars=False)}
    assert titles["items_per_s"] == "items/s"
    assert replace(made, slo_s=None).slo_s is None


def test_the_best_rows_come_first_and_ties_are_counted() -> None:
    energy = SimpleNamespace(mid=3.0)
    rows = (
        row(1.0, target="a", price=price(9.0)),
        row(1.4, target="b", price=price(1.0)),
        row(4.0, target="c", energy=energy),
        row(0.5, target="d", fits=False),
    )
    best, ties = recommendations(Comparison(rows, Order.GIVEN, None, True))
    assert best.startswith("fastest a (1 s); cheapest b (97.2 USD per million); least energy c")
    assert ties == "1 other row may be as fast: its interval includes the fastest time"
    in_time = [*recommendations(Comparison(rows, Order.GIVEN, 0.8, True))]
    assert in_time == []


def test_what_ifs_never_win_and_each_model_has_its_ranking() -> None:
    energy, gone = SimpleNamespace(mid=1.0), "ort does not run on Intel Gaudi 3: what-if only"
    best = row(1.0, target="gaudi3", price=price(1.0), energy=energy, what_if=gone)
    others = [
        row(t, target=n, energy=SimpleNamespace(mid=9.0)) for t, n in ((3.0, "a100"), (9, "t4"))
    ]
    rows = (best, *others, *(row(t, target="a100", model="n") for t in (1.0, 1.2, 1.4)))
    found = Comparison(rows, Order.TIME, None, True)
    assert [*recommendations(found)] == [
        "m: fastest a100 (3 s); least energy a100 (9 J)",
        "n: fastest a100 (1 s)",
        "n: 2 other rows may be as fast: their intervals include the fastest time",
    ]
    # no row that runs is within 2 s
    alone = Comparison(rows[:3], Order.TIME, 2.0, True)
    assert not alone.holds
    said = [text for text, _ in notes(alone)]
    assert "what-if: ort does not run on gaudi3" in said
    assert "no row has a predicted time of 2 s or less, what-ifs aside" in said
    assert said[-1] == "sorted by time; rows that do not fit and what-ifs come last"
    target = next(c for c in columns(alone, has_bars=False) if c.name == "target")
    assert [target.of(r) for r in alone.rows] == ["gaudi3 (what-if)", "a100", "t4"]


def test_what_ifs_come_after_all_that_runs() -> None:
    how = [ModelSetting(m, Deployment(dims={"batch": 4}, runtime="ort")) for m in (MODEL, RESNET)]
    found = compare(how, [load_machine(name) for name in ("gaudi3", "t4", "a100")])
    listed = [(r.verdict.model, bool(r.what_if)) for r in found.rows]
    assert listed == [(m.name, w) for m in (MODEL, RESNET) for w in (False, False, True)]
    times = [r.time_s for r in found.rows]
    assert times[2] < times[0] < times[1]


def test_prices_of_unlike_sellers_are_marked_and_items_are_named() -> None:
    survey = replace(price(1.0), market=Market.SURVEY)
    rows = (row(target="a100", price=survey), row(target="t4", price=price(1.0), item="tokens"))
    assert [priced(r) for r in rows] == ["139 USD (survey)", "139 USD"]
    said = [text for text, _ in notes(Comparison(rows, Order.GIVEN, None, True))]
    assert "prices are per million images or tokens on a fully used machine" in said
    assert "prices from different kinds of sellers are not comparable" in said


def test_the_note_on_hosts_names_a_machine_with_energy() -> None:
    from perfc.study.comparison import bill_views

    def billed(target: str, joules: float | None) -> Any:
        energy = None if joules is None else SimpleNamespace(mid=joules)
        region = SimpleNamespace(name="r", carbon_g_per_kwh=1.0, source="s", date="d")
        bill = SimpleNamespace(
            energy_j=energy, host_j=energy, board_j=energy, pue=1.5, region=region, offer=None
        )
        verdict = SimpleNamespace(target=target)
        return SimpleNamespace(
            row=SimpleNamespace(verdict=verdict, fits=True, load="", what_if=""), bill=bill
        )

    host = SimpleNamespace(power_w=1.0, source="a measurement")
    costs: Any = SimpleNamespace(rows=(billed("t", None), billed("u", 2.0)), host=host)
    texts = [note.text for note in bill_views.notes(costs)]
    assert any("50 % of both on u: a measurement" in text for text in texts)
