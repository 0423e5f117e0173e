"""Text, JSON, Markdown and CSV say the same."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import perfc
from perfc.view.report import NAMES, Format, Views, collect, document, render, written
from perfc.view.report.formats.document import Amount, Column, Document, Note, Section, Table
from perfc.view.report.formats.json_form import tree
from perfc.view.report.formats.json_schema import schema
from perfc.view.report.formats.text import columns_of, elided, encodable, printable, spark
from perfc.view.report.formats.text import render as render_text
from perfc.view.report.sections.kernels import KernelRow
from perfc.view.report.units import Unit

from .conftest import model_of

DOCS = Path(__file__).parents[3] / "docs"


def as_json(views: Views) -> dict[str, object]:
    found = json.loads(written(views, Format.JSON, NAMES, None, 80))
    assert isinstance(found, dict)
    return found


def test_json_is_valid_against_the_published_schema(
    resnet: perfc.Report,
    gpt2: perfc.Report,
    unknown: perfc.Report,
    data_dependent: perfc.Report,
) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    for report in (resnet, gpt2, unknown, data_dependent):
        validator.validate(as_json(collect(report)))


def test_schema_in_the_documentation_is_the_one_published() -> None:
    stored = (DOCS / "report.schema.json").read_text(encoding="utf-8")
    assert json.loads(stored) == json.loads(json.dumps(schema()))


def test_schema_describes_every_field() -> None:
    definitions = schema()["$defs"]
    assert isinstance(definitions, dict)
    for name, definition in definitions.items():
        for field, shape in definition["properties"].items():
            assert shape["description"], (name, field)


def test_schema_refuses_a_missing_view(views: Views) -> None:
    found = as_json(views)
    del found["bottlenecks"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(found)


def test_json_holds_every_view_and_every_kernel(views: Views) -> None:
    found = as_json(views)
    assert {f.name for f in fields(Views)} < set(found)
    kernels = found["kernels"]
    assert isinstance(kernels, list)
    assert len(kernels) == len(views.kernels)


def test_json_formulas_give_the_values_beside_them(views: Views) -> None:
    env = {s.name: s.value for s in views.assumptions.symbols}

    def check(node: object) -> int:
        if isinstance(node, dict):
            if set(node) == {"value", "unit", "formula", "is_bound"}:
                if node["formula"] is None:
                    return 0
                value = eval(node["formula"], {"__builtins__": {}}, env)
                assert value == node["value"]
                return 1
            return sum(map(check, node.values()))
        return sum(map(check, node)) if isinstance(node, list) else 0

    assert check(as_json(views)) > 4 * len(views.kernels)


def test_text_shows_the_numbers_of_the_json(views: Views) -> None:
    text = written(views, Format.TEXT, NAMES, 20, 200)
    for f in fields(views.summary):
        value = getattr(views.summary, f.name)
        hidden = {"effective_mac", "integer"}
        if isinstance(value, Amount) and f.name not in hidden:
            assert str(value) in text, f.name


def test_markdown_has_the_rows_of_the_text(views: Views) -> None:
    found = document(views, NAMES, 20)
    rows = sum(
        len(p.rows)
        for s in found.sections
        for p in s.parts
        if not isinstance(p, Note) and hasattr(p, "rows")
    )
    lines = written(views, Format.MARKDOWN, NAMES, 20, 80).splitlines()
    tables = sum(line.startswith("| ---") for line in lines)
    assert sum(line.startswith("|") for line in lines) == rows + 2 * tables
    assert [line for line in lines if line.startswith("## ")] == [
        f"## {s.title}" for s in found.sections
    ]


def test_csv_is_one_line_per_kernel_with_the_numbers_of_the_json(views: Views) -> None:
    rows = list(csv.DictReader(io.StringIO(written(views, Format.CSV, (), 1, 80))))
    assert len(rows) == len(views.kernels)
    names = {f.name for f in fields(KernelRow)}
    for row, kernel in zip(rows, views.kernels, strict=True):
        for name in names & set(row):
            value = getattr(kernel, name)
            value = value.value if isinstance(value, Amount) else value
            if isinstance(value, int | float):
                assert float(row[name]) == value
    assert {"predicted_s", "roofline_time_s", "floor_s", "read_bytes", "mac"} < set(rows[0])
    assert not {"time_s", "share"} & set(rows[0]), "a kernel has one time"


@pytest.mark.parametrize("form", list(Format))
def test_two_analyses_give_the_same_bytes(form: Format) -> None:
    model = model_of(helper.make_node("Exp", ["x"], ["y"], name="e"))
    first, second = (render(perfc.analyze(model), form) for _ in range(2))
    assert first == second


def test_hostile_names_cannot_steer_a_terminal_or_a_spreadsheet() -> None:
    name = "=cmd()\x1b[31m\r\n|`<b>"
    report = perfc.analyze(model_of(helper.make_node("Exp", ["x"], ["y"], name=name)))
    for form in (Format.TEXT, Format.MARKDOWN, Format.CSV):
        assert not set(render(report, form, views=NAMES)) & {"\x1b", "\r"}
    row = next(csv.DictReader(io.StringIO(render(report, Format.CSV))))
    assert row["nodes"].startswith("'=")
    assert "<b>" not in render(report, Format.MARKDOWN)
    assert as_json(collect(report))["schema"] == "perfc-report/1"


def test_mark_of_a_bound_stands_before_unknown_totals(unknown: perfc.Report) -> None:
    text = render(unknown, views=["summary", "kernels"])
    assert "work" in text
    for line in text.splitlines():
        if line.lstrip().startswith(("work", "sustained", "total ")):
            assert "≥" in line
    assert "≥ Mystery" in text
    assert "unknown" in text


def test_empty_graph_has_a_report() -> None:
    report = perfc.analyze(model_of(helper.make_node("Identity", ["x"], ["y"], name="same")))
    for form in Format:
        assert render(report, form, views=NAMES)
    jsonschema.Draft202012Validator(schema()).validate(tree(collect(report)))


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_lines_keep_to_the_width(views: Views, width: int) -> None:
    text = written(views, Format.TEXT, NAMES, 20, width)
    shown = [line for line in text.splitlines()[1:] if columns_of(line) > width]
    assert shown == []


def test_views_asked_for_are_the_ones_shown(resnet: perfc.Report) -> None:
    text = render(resnet, views=["memory", "summary"])
    headings = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert headings[1:] == ["summary", "memory"]


def test_top_limits_the_rows(resnet: perfc.Report) -> None:
    few = render(resnet, views=["kernels"], top=3).splitlines()
    every = render(resnet, views=["kernels"], top=None).splitlines()
    assert sum("<- " in line for line in few) == 3 + 1  # and the heading
    assert sum("<- " in line for line in every) > len(resnet.kernels.kernels) - 1


NAME = st.text(max_size=200)


@given(
    st.lists(st.tuples(NAME, st.floats(0, 1e6) | st.none(), NAME), max_size=8),
    st.integers(40, 200),
)
def test_tables_of_any_text_keep_their_columns(
    rows: list[tuple[str, float | None, str]], width: int
) -> None:
    columns = (
        Column("a", "a", is_name=True),
        Column("time_s", "time", Unit.SECOND),
        Column("b", "b", is_name=True),
    )
    table = Table(columns, tuple(rows))
    text = render_text(Document("t", (Section("s", "s", (table,)),)), width)
    assert len(text.splitlines()) == 4 + len(rows)
    assert all(columns_of(line) <= width for line in text.splitlines())


@given(NAME, st.integers(2, 80))
def test_shortened_text_fits(text: str, width: int) -> None:
    clean = printable(text)
    assert columns_of(elided(clean, width)) <= width
    assert elided(clean, width) == clean or "…" in elided(clean, width)


def test_shortened_name_keeps_both_ends() -> None:
    assert elided("/layer1/layer1.0/conv1/Conv", 15).startswith("/layer1")
    assert elided("/layer1/layer1.0/conv1/Conv", 15).endswith("Conv")


@given(st.lists(st.floats(0, 1e12), max_size=300), st.integers(1, 80))
def test_spark_shows_the_peak_however_narrow(values: list[float], count: int) -> None:
    bars = spark(values, count)
    assert len(bars) == min(len(values), count)
    if max(values, default=0) > 0:
        assert "█" in bars


def test_ascii_output_has_no_character_beyond_it(views: Views) -> None:
    text = encodable(written(views, Format.TEXT, NAMES, 20, 100), "ascii")
    assert text.isascii()
    assert ">= " in text
    assert encodable("≥ 1 µs", "utf-8") == "≥ 1 µs"


def test_documentation_shows_the_report_as_it_is(resnet: perfc.Report) -> None:
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    shown = render(resnet, top=6, width=110)
    for line in shown.splitlines():
        is_legend = line.startswith("  [")
        is_fact = re.match(r"  [a-z]+( [a-z]+)?  ", line) and ":" not in line
        words = re.sub(r"[0-9.,]+|≥", "", line).split()[:3]
        if is_legend:
            assert line in page
        elif is_fact and words:
            assert f"\n  {words[0]} " in page


def test_code_in_the_documentation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "report.md", "exec"), {})
