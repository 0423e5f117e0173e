"""The specification of a chart: lines, labels and points, as the hover shows them, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from perfc.machine import Unit, load_machine
from perfc.view.chart import Chart, Mark, RoofLevel, TimeBasis, chart, roofs_of
from perfc.view.chart.chart import AxisLimits
from perfc.view.chart.lines import lines_of
from perfc.view.chart.marks import MarkPoint
from perfc.view.chart.roofs import Roof
from perfc.view.chart.spec import (
    HEIGHT,
    LABEL_HEIGHT,
    LONGEST_NAME,
    angle,
    clean,
    decades,
    labelled,
    row,
    shortened,
    spec,
    spread,
)

MARK = Mark(
    "Conv",
    TimeBasis.MEASURED,
    2e9,
    1e-3,
    {RoofLevel.L2: 1e6, RoofLevel.DEVICE: 5e5},
    Unit.VECTOR,
    "f32",
    bound="device memory",
    nodes=("a", "b"),
    count=2,
    phase="forward",
)
POINT = MarkPoint(MARK, RoofLevel.L2, 2000.0, 2e12, 0.25)


def test_a_point_is_shown_with_everything_known_of_it() -> None:
    found = row(POINT, 4e-3)
    assert found["share"] == pytest.approx(0.5)
    assert found == {
        "x": 2000.0,
        "y": 2e12,
        "level": "L2",
        "basis": "measured",
        "share": found["share"],
        "kernel": "Conv",
        "nodes": "a, b",
        "phase": "forward",
        "bytes at": "L2, 977 KiB",
        "intensity": "2000 flop/B",
        "rate": "2.00 Tflop/s",
        "time": "1.00 ms × 2 measured",
        "of roofline": "25.0 %",
        "bound": "device memory",
        "description": "Conv: L2, 2000 flop/B, 2.00 Tflop/s, 1.00 ms × 2 measured, "
        "25.0 % of the roofline",
    }


def test_what_is_not_known_of_a_point_is_a_dash() -> None:
    bare = replace(MARK, bound="", nodes=(), count=1, phase="")
    found = row(replace(POINT, mark=bare, of_roof=None), 0.0)
    assert (found["bound"], found["nodes"], found["phase"], found["of roofline"]) == ("—",) * 4
    assert (found["time"], found["share"]) == ("1.00 ms measured", 0.0)


def test_long_names_lose_their_middle() -> None:
    name = "a" * 45 + "b" * 45
    assert shortened(name) == name
    assert shortened(name + "c") == "a" * 45 + "…" + "b" * 43 + "c"
    assert len(shortened("x" * 500)) == LONGEST_NAME == 90


def test_nothing_unprintable_is_left_in_a_specification() -> None:
    assert clean({"a\x00": ["b\x1b", ("c", 1, None)]}) == {"a\x00": ["b\ufffd", ["c", 1, None]]}


@pytest.fixture(scope="module")
def drawn() -> Chart:
    machine = load_machine("v100-16gb")
    return chart(
        "title", roofs_of(machine), [MARK, replace(MARK, basis=TimeBasis.PREDICTED)], ["note"]
    )


def layers(made: Any) -> list[Any]:
    return cast("list[Any]", made["layer"])


def test_every_line_is_drawn_dashed_or_solid(drawn: Chart) -> None:
    peaks, measured, *_ = layers(spec(drawn))
    for layer, is_sustained in ((peaks, False), (measured, True)):
        expected = [x for x in lines_of(drawn) if x.is_sustained is is_sustained]
        rows = layer["data"]["values"]
        assert len(rows) == 2 * len(expected)
        assert [(r["x"], r["y"]) for r in rows[::2]] == [x.start for x in expected]
        assert [(r["x"], r["y"]) for r in rows[1::2]] == [x.end for x in expected]
        assert ("strokeDash" in layer["mark"]) is not is_sustained
        kind = "measured" if is_sustained else "peak"
        assert all(r["ceiling"].endswith(kind) for r in rows)
        assert layer["mark"]["strokeWidth"] == (2 if is_sustained else 1.2)
        assert layer["encoding"]["x"]["scale"]["domain"] == list(drawn.window.x)
        assert layer["encoding"]["y"]["scale"]["clamp"] is True


def test_the_subtitle_says_how_lines_and_marks_are_known(drawn: Chart) -> None:
    told = cast(Any, spec(drawn))["title"]
    assert told["text"] == "title"
    assert told["subtitle"][1:] == [
        "dashed: peak; solid: measured",
        "marks open: predicted times; filled: measured times",
        "note",
    ]
    alone = cast(Any, spec(chart("t", roofs_of(load_machine("v100-16gb")))))
    assert len(alone["title"]["subtitle"]) == 2
    assert len(alone["layer"]) == 4
    assert len(layers(spec(drawn))) == 5


def test_a_ceiling_has_one_label_the_measured_where_there_is_one(drawn: Chart) -> None:
    names = [(x.name, x.level) for x in labelled(drawn)]
    assert len(names) == len(set(names))
    measured = {(x.name, x.level) for x in lines_of(drawn) if x.is_sustained}
    assert all(x.is_sustained == ((x.name, x.level) in measured) for x in labelled(drawn))
    roofs, slopes = layers(spec(drawn))[2:4]
    assert len(roofs["data"]["values"]) == sum(level is None for _, level in names)
    assert len(slopes["data"]["values"]) == sum(level is not None for _, level in names)
    assert slopes["mark"]["angle"] == angle(drawn)
    assert {r["text"].rpartition(" ")[2] for r in roofs["data"]["values"]} <= {"measured", "peak"}


def test_shares_of_points_are_of_their_own_basis(drawn: Chart) -> None:
    rows = layers(spec(drawn))[4]["data"]["values"]
    assert {r["basis"] for r in rows} == {"measured", "predicted"}
    assert {r["share"] for r in rows} == {1.0}
    assert len(rows) == len(drawn.points)


def test_slopes_rise_by_the_shape_of_the_window(drawn: Chart) -> None:
    square = replace(drawn, window=AxisLimits((1.0, 10.0), (1.0, 10.0)))
    assert decades(square) == 1.0
    # 520 up and 860 along
    assert angle(square) == pytest.approx(360 - 31.16, abs=0.01)
    least = LABEL_HEIGHT / HEIGHT
    heights = spread(square, [2.0, 2.0, 9.0])
    assert heights == pytest.approx([2.0, 2.0 * 10**least, 9.0])


def test_types_that_are_floats() -> None:
    peak: Any = None
    assert all(Roof(Unit.MATRIX, (d,), peak).is_float for d in ("f32", "tf32", "bf16", "f8e4m3"))
    assert not Roof(Unit.MATRIX, ("i8", "b1", "u4"), peak).is_float
