"""Words and numbers of the report's sections by hand: coverage, sums, rates, memory, items."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfc.deployment import Deployment
from perfc.ir.facts import Origin
from perfc.ir.graph import Value
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.roofline.ceilings import Ceiling
from perfc.view.report.amounts import amount
from perfc.view.report.formats.document import Amount, Note
from perfc.view.report.formats.screen import throughput_words
from perfc.view.report.memory_sections.pressure import busy
from perfc.view.report.sections.assumptions import (
    RateUsed,
    SourceUsed,
    SymbolValue,
    dated,
    symbols_in_words,
    unit_of,
    used,
)
from perfc.view.report.sections.coverage import (
    Coverage,
    OpaqueOperator,
    TierCoverage,
    listed,
    section,
    tier_share,
)
from perfc.view.report.sections.kernels import CeilingTime
from perfc.view.report.sections.summary import fits, total
from perfc.view.report.sections.uncertainty import (
    LEAST_SHARE,
    UncertainRate,
    binding_entry,
    in_doubt,
    note,
)
from perfc.view.report.sections.uncertainty import unit_of as unit_of_key
from perfc.view.report.sections.verdict import Item, MemoryNeed, Throughput, items, throughput
from perfc.view.report.units import Unit, bucketed

BYTES = Unit.BYTE


def count(value: float | None, unit: Unit = Unit.FLOP, *, is_bound: bool = False) -> Amount:
    return Amount(value, unit, None, is_bound)


EXACT = TierCoverage("exact", 3, 0.75, count(10), 1.0, count(8, BYTES), 0.8)
VAGUE = TierCoverage("bytes only", 1, 0.25, count(None), None, count(2, BYTES), 0.2)
OPERATOR = OpaqueOperator("Mystery", 1, "bytes only", "secret", count(None, BYTES))


def test_coverage_is_one_sentence() -> None:
    whole = Coverage(4, 4, (EXACT,), (), (), True)
    assert whole.line == "coverage: exact 75.0 % of 4 nodes, 100 % of flop, 80.0 % of bytes"
    partly = Coverage(6, 4, (EXACT, VAGUE), (OPERATOR,), ("n",), False)
    assert partly.line == (
        "coverage: exact 75.0 % of 4 nodes, 100 % of known flop, 80.0 % of known bytes; "
        "bytes only 25.0 % of 4 nodes, unknown flop, 20.0 % of known bytes; 2 nodes folded; "
        "totals are lower bounds, unknown cost: Mystery x1; "
        "totals are lower bounds, data-dependent extents: n"
    )
    assert Coverage(1, 0, (), (), (), True).line == "coverage: no node executes; 1 node folded"
    one = replace(EXACT, flop_share=None, flop=count(0))
    assert "1 node, no flop" in Coverage(1, 1, (one,), (), (), True).line


def test_a_section_of_coverage_lists_what_is_not_known() -> None:
    known, unknown = (
        section(Coverage(4, 4, (EXACT,), found, (), not found)).parts for found in ((), (OPERATOR,))
    )
    assert (len(known), len(unknown)) == (2, 3)
    assert [cast(Note, parts[-1]).is_warning for parts in (known, unknown)] == [False, True]
    assert cast(Any, unknown[1]).rows == (
        ("Mystery", 1, "bytes only", "secret", count(None, BYTES)),
    )
    assert cast(Any, known[0]).rows[0][:3] == ("exact", 3, 0.75)


def test_four_names_are_listed_and_the_others_counted() -> None:
    assert listed(list("abcd")) == "a, b, c, d"
    assert listed(list("abcdef")) == "a, b, c, d and 2 more"
    assert tier_share(count(None), None, "known flop") == "unknown flop"
    assert tier_share(count(0), None, "flop") == "no flop"
    assert tier_share(count(1), 0.5, "flop") == "50.0 % of flop"


def test_amounts_are_added_with_their_formulas() -> None:
    n = symbol("n")
    a, b = Amount(2.0, BYTES, n, False), Amount(3.0, BYTES, 3, True)
    both = total(a, b)
    assert (both.value, both.formula, both.is_bound) == (5.0, n + 3, True)
    assert total(a, a).is_bound is False
    lone = total(a, Amount(None, BYTES))
    assert (lone.value, lone.formula) == (2.0, None)


def test_a_formula_is_a_bound_where_nobody_knows_a_symbol() -> None:
    n: Dim = symbol("n")
    found = amount(n * 2, {"n": 3}, BYTES)
    assert (found.value, found.is_bound) == (6, False)
    assert amount(n * 2, {"n": 3}, BYTES, is_bound=True).is_bound
    assert amount(n * 2, {}, BYTES).is_bound
    assert amount(n * -2, {"n": 3}, BYTES).value == 0
    assert (amount(7, {}, BYTES).value, amount(7, {}, BYTES).is_bound) == (7, False)


@pytest.mark.parametrize(
    ("capacity", "said"),
    [
        (None, "3.00 KiB with weights"),
        (0.0, "3.00 KiB with weights"),
        (4096.0, "3.00 KiB with weights, 75.0 % of 4.00 KiB"),
        (3072.0, "3.00 KiB with weights, 100 % of 3.00 KiB"),
        (3071.0, "3.00 KiB with weights, more than the 3.00 KiB available"),
    ],
)
def test_what_a_run_needs_is_held_against_what_there_is(capacity: float | None, said: str) -> None:
    view: Any = SimpleNamespace(
        weight_bytes=count(1024, BYTES),
        peak_activation_bytes=count(2048, BYTES),
        device_capacity_bytes=capacity,
    )
    assert fits(view) == said


def test_memory_fits_up_to_what_there_is() -> None:
    assert MemoryNeed(1, 2, 3, False).fits is True
    assert MemoryNeed(1, 2, 2, False).fits is False
    assert MemoryNeed(1, 2, None, False).fits is None
    assert MemoryNeed(1, 2, 3, False).total_bytes == 3


def test_symbols_are_told_by_where_their_numbers_are_from() -> None:
    symbols = [
        SymbolValue("batch", 8, "given", "", False),
        SymbolValue("s72", 4, "given", "batch", True),
        SymbolValue("seq", 128, "default", "usual", False),
        SymbolValue("u1", 1, "data", "", False),
    ]
    assert symbols_in_words(symbols) == (
        "batch = 8, batch s72 = 4 (given); assumed, set with --dim: seq = 128 (usual); "
        "lower limits, depend on the data: u1 = 1; formulas hold only at the given s72"
    )
    assert symbols_in_words([]) == "none, all extents are fixed"


def test_sources_are_counted_by_origin_and_year() -> None:
    sources = [
        SourceUsed("a", "2024-01-02", "vendor"),
        SourceUsed("b", "2020", "vendor"),
        SourceUsed("c", "2023-05", "measured"),
        SourceUsed("d", "", "assumed"),
    ]
    assert dated(sources) == "2 vendor (2020-2024), 1 measured (2023), 1 assumed"
    assert dated([]) == ""


def test_rates_are_of_operations_or_bytes() -> None:
    rate = RateUsed("matrix", "f16", "k", 1.0, "", 1.0, "", "")
    assert unit_of(rate) is Unit.FLOP_PER_S
    assert unit_of(replace(rate, ceiling="vector")) is Unit.FLOP_PER_S
    assert unit_of(replace(rate, ceiling="integer")) is Unit.OP_PER_S
    assert unit_of(replace(rate, ceiling="l2", dtype="")) is Unit.BYTE_PER_S
    keys = ("x.bytes_per_s", "x.flop_per_s", "x.op_per_s", "launch_s")
    units = [Unit.BYTE_PER_S, Unit.FLOP_PER_S, Unit.OP_PER_S, Unit.SECOND]
    assert [unit_of_key(k) for k in keys] == units
    floor: Any = SimpleNamespace(source="a+b", key="k", value=2.0, origin="vendor")
    reached: Any = SimpleNamespace(source="b+c", key="s", value=1.0, origin="measured")
    row = RateUsed("l2", "", "k", 2.0, "vendor", 1.0, "measured", "a+b+c")
    assert used("l2", "", floor, reached) == row


RATE = UncertainRate("device memory", "device.bytes_per_s", 2e9, 1e9, 3e9, 4, 0.5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "1.00 GB/s to 3.00 GB/s in 4 rounds"),
        ({"rounds": 1}, "measured once, 3.00 GB/s"),
        ({"rounds": 0}, "measured while other programs ran, 1.00 GB/s to 3.00 GB/s"),
        ({"rounds": 0, "worst": 3e9}, "measured while other programs ran, 3.00 GB/s"),
        ({"rounds": 2}, "1.00 GB/s to 3.00 GB/s in 2 rounds"),
    ],
)
def test_a_rate_that_did_not_repeat_is_said_in_a_sentence(
    changes: dict[str, Any], said: str
) -> None:
    found = note((replace(RATE, **changes),))
    assert found is not None
    assert found.text == f"uncertain rates: device memory (50.0 % of the time): {said}"
    assert found.is_warning


def test_rates_that_bind_little_are_not_worth_a_sentence() -> None:
    assert note((replace(RATE, time_share=LEAST_SHARE),)) is not None
    assert note((replace(RATE, time_share=LEAST_SHARE - 1e-6),)) is None
    assert note(()) is None


def test_the_entry_that_binds_is_that_of_the_unit_and_its_type() -> None:
    asked: list[tuple[str, str, bool]] = []

    def entry(engine: Any, dtype: str, *, allow_tf32: bool) -> None:
        asked.append((engine.value, dtype, allow_tf32))

    machine: Any = SimpleNamespace(entry=entry, level=lambda name: name)
    kernel: Any = SimpleNamespace(
        dtype=SimpleNamespace(code="f16"), vector_dtype=SimpleNamespace(code="f32"), tf32=True
    )
    for kernel.binding in Ceiling:
        level = binding_entry(kernel, machine)
        names = {Ceiling.L1: "l1", Ceiling.L2: "l2", Ceiling.DEVICE: "device"}
        assert level == names.get(kernel.binding)
    assert sorted(asked) == [
        ("integer", "i32", True),
        ("matrix", "f16", True),
        ("matrix", "f16", True),
        ("special", "f32", True),
        ("vector", "f32", True),
    ]


@pytest.mark.parametrize(
    ("assumed_s", "is_own", "is_told"),
    [(5.0, False, True), (4.9, False, False), (9.0, True, False)],
)
@pytest.mark.parametrize("is_uncertain", [False, True])
def test_an_answer_is_in_doubt_where_half_of_it_rests_on_doubtful_rates(
    assumed_s: float, is_own: bool, is_told: bool, is_uncertain: bool
) -> None:
    def rate(origin: Origin, *, is_uncertain: bool = False) -> Any:
        return SimpleNamespace(
            sustained=None, nominal=SimpleNamespace(origin=origin, is_uncertain=is_uncertain)
        )

    origin = Origin.MEASURED if is_uncertain else Origin.ASSUMED
    levels = {"device": rate(origin, is_uncertain=is_uncertain), "l2": rate(Origin.MEASURED)}
    machine: Any = SimpleNamespace(level=levels.get, description="M", name="m")
    bounds = [SimpleNamespace(binding=c) for c in (Ceiling.DEVICE, Ceiling.L2, Ceiling.LAUNCH)]
    report: Any = SimpleNamespace(machine=machine, roofline=SimpleNamespace(kernels=bounds))
    kernels = [
        SimpleNamespace(time_s=assumed_s, is_own=is_own, predictor=None),
        SimpleNamespace(time_s=9.0 - assumed_s, is_own=False, predictor=None),
        SimpleNamespace(time_s=1.0, is_own=False, predictor=None),
    ]
    table: Any = SimpleNamespace(kernels=kernels, kernels_s=10.0)
    # rates that were measured count for kernels of this machine too: their laws multiply them
    is_told = is_told or (is_own and is_uncertain)
    words = "measured but not reproducible" if is_uncertain else "assumed"
    said = f"the rate of device memory is {words} on M" if is_told else ""
    assert in_doubt(report, table) == said
    assert in_doubt(report, table, is_measured=True) == (said if is_uncertain else "")


@pytest.mark.parametrize(
    ("values", "most", "buckets"),
    [
        ([3, 1, 2], 3, [3, 1, 2]),
        ([3, 1, 2, 5], 2, [3, 5]),
        ([1, 2, 3, 4, 5], 2, [2, 5]),
        ([], 3, []),
    ],
)
def test_bars_are_the_largest_of_their_share(
    values: list[float], most: int, buckets: list[float]
) -> None:
    assert bucketed(values, most) == buckets


def test_a_ceiling_is_busy_for_its_share_of_the_time() -> None:
    row: Any = SimpleNamespace(
        predicted=None,
        roofline_time_s=4.0,
        launch_gap_s=1.0,
        ceilings={"l2": CeilingTime(1.0, 2.0), "l1": CeilingTime(1.0, 0.0)},
    )
    assert [busy(row, n) for n in ("launch", "l2", "l1", "matrix")] == [0.25, 0.5, None, None]
    row.predicted = SimpleNamespace(time_s=8.0, gap_s=0.0)
    assert [busy(row, n) for n in ("launch", "l2")] == [None, 0.25]


def value(name: str, dtype: DType, *shape: Dim) -> Value:
    return Value(name, TensorType(dtype, shape))


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        (value("x", DType.F32, 8, 3, 4, 4), (Item.IMAGE, 8)),
        (value("x", DType.U8, 8, 4, 4, 1), (Item.IMAGE, 8)),
        (value("x", DType.F32, 8, 5, 4, 6), None),
        (value("x", DType.I64, 8, 3, 4, 4), None),
        (value("x", DType.F32, 8, 3, 4), None),
        (value("input_ids", DType.I64, 8, 16), (Item.TOKEN, 128)),
        (value("Tokens.1", DType.I32, 8, symbol("s")), (Item.TOKEN, 40)),
        (value("input_ids", DType.F32, 8, 16), None),
        (value("input_ids", DType.I64, 0, 16), None),
        (value("positions", DType.I64, 8, 16), None),
        (value("x", DType.F32, 0, 3, 4, 4), None),
        (Value("x", TensorType(DType.F32, None)), None),
    ],
)
def test_what_an_input_holds_is_told_by_its_shape_and_name(given: Value, counted: object) -> None:
    assert items(given, {"s": 5}) == counted


def test_throughput_is_of_the_first_input_that_tells() -> None:
    inputs = [
        value("mask", DType.BOOL, 2, 2),
        value("x", DType.F32, 8, 3, 4, 4),
        value("ids", DType.I64, 4, 4),
    ]
    source = SimpleNamespace(graph=SimpleNamespace(inputs=inputs))
    report: Any = SimpleNamespace(
        source=source,
        env={},
        kernels=SimpleNamespace(once=lambda name, at, compute: {}),
        deployment=Deployment(),
    )
    found = throughput(report, 2.0)
    assert (found.item, found.per_run, found.per_s) == (Item.IMAGE, 8, 4.0)
    assert throughput(report, 0.0).per_s == 0.0
    source.graph.inputs = []
    alone = throughput(report, 2.0)
    assert (alone.item, alone.per_run, alone.per_s) == (Item.RUN, 1, 0.5)


@pytest.mark.parametrize(
    ("per_s", "words"),
    [
        (0.126, "0.13"),
        (5.0, "5.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (123.4, "123"),
        (999.0, "999"),
        (1234.0, "1,230"),
        (1236.0, "1,240"),
        (45678.0, "45,700"),
        (123456.0, "123,000"),
        (999_400.0, "999,000"),
        (1.2e6, "1.20 M"),
        (1.5e6, "1.50 M"),
        (2.5e9, "2.50 G"),
    ],
)
def test_a_throughput_has_three_digits(per_s: float, words: str) -> None:
    verdict: Any = SimpleNamespace(is_bound=False, throughput=Throughput(Item.IMAGE, 8, per_s))
    assert throughput_words(verdict) == f"{words} images/s"
