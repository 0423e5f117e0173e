"""The page of operators is what the operators say, and covers what onnx defines."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

from perfc.commands.dev.ops import command
from perfc.ir.op import BY_ONNX
from perfc.view.pages.catalogue import (
    SECTIONS,
    documentation,
    find_operator,
    module_file,
    operators,
)
from perfc.view.pages.operators import coverage, describe, example, page

ROOT = Path(__file__).parents[2]


def test_every_operator_of_the_standard_domains_is_ours_or_expanded() -> None:
    assert {c.domain for c in coverage()} >= {"", "ai.onnx.ml", "ai.onnx.preview.training"}
    assert {c.domain: c.missing for c in coverage() if c.missing} == {}
    assert sum(len(c.supported) for c in coverage()) > 200


def test_operators_are_ours_expanded_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = onnx.defs.get_all_schemas()
    operators()
    for name in ("Celu", "Relu", "Conv"):
        monkeypatch.delitem(BY_ONNX, name)
    result = {c.domain: c for c in coverage()}
    for domain, c in result.items():
        names = sorted([*c.supported, *c.expanded, *c.missing])
        assert names == sorted(s.name for s in schemas if s.domain == domain)
    # Celu and Relu have bodies in the standard, a convolution has none
    assert (result[""].expanded, result[""].missing) == (("Celu", "Relu"), ("Conv",))
    shown = CliRunner().invoke(command, ["--coverage"]).output
    assert "2 expanded, 1 without either" in shown
    assert "  expanded: Celu, Relu" in shown
    assert "  without: Conv" in shown


def test_every_operator_documents_shapes_work_traffic_and_source() -> None:
    for cls in operators():
        doc = documentation(cls)
        assert doc.summary, cls.mnemonic
        assert tuple(doc.sections) == SECTIONS, cls.mnemonic


def test_sections_are_inherited_where_a_class_leaves_them_out() -> None:
    add = find_operator("Add")
    assert add is not None
    doc = documentation(add)
    assert doc.summary == "Sum of two operands."
    assert doc.sections["Source"] == "ONNX Add-14."
    assert "broadcast" in doc.sections["Shapes"]


def test_counts_that_a_class_states_are_filled_in() -> None:
    relu, total = find_operator("Relu"), find_operator("ReduceSumSquare")
    assert relu is not None
    assert total is not None
    assert (
        "``alu_per_element`` = 1 and ``sfu_per_element`` = 0"
        in documentation(relu).sections["Work"]
    )
    work = documentation(total).sections["Work"]
    assert "``alu_per_element`` = 2" in work
    assert "the ``e`` elements" in work


@pytest.mark.parametrize("name", ["conv", "Conv", "com.microsoft::FusedConv", "FusedConv"])
def test_operators_are_found_by_mnemonic_and_onnx_name(name: str) -> None:
    cls = find_operator(name)
    assert cls is not None
    assert (ROOT / module_file(cls)).is_file()


def test_examples_count_symbols() -> None:
    result = {name: find_operator(name) for name in ("MatMul", "Conv", "Add")}
    shown = {name: example(cls) for name, cls in result.items() if cls is not None}
    assert shown["MatMul"] is not None
    assert shown["MatMul"].numbers["mac"] == "b*k*m*n"
    assert shown["MatMul"].result == "f32[b, m, n]"
    assert shown["Conv"] is not None
    assert shown["Conv"].numbers["mac"] == "c*h*k*n*r*s*w"
    assert shown["Add"] is not None
    assert shown["Add"].numbers == {
        "alu": "c*d*n",
        "read_bytes": "8*c*d*n",
        "write_bytes": "4*c*d*n",
    }


def test_most_operators_have_an_example() -> None:
    shown = [cls for cls in operators() if example(cls) is not None]
    assert len(shown) > len(operators()) / 2


def test_the_page_is_the_same_twice_and_has_every_operator() -> None:
    text = page()
    assert text == page()
    assert all(f"\n## {cls.mnemonic}\n" in text for cls in operators())


def test_the_page_in_docs_is_up_to_date() -> None:
    written = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert written == page(), "perfc dev ops --markdown > docs/ops.md"


def test_the_command_lists_shows_and_suggests() -> None:
    runner = CliRunner()
    assert "matmul" in runner.invoke(command, []).output
    text = runner.invoke(command, ["Gemm"]).output
    assert "Formulas: `mac = m*n*k`" in text
    assert "**" not in text
    assert runner.invoke(command, ["--coverage"]).output.startswith("onnx ")
    wrong = runner.invoke(command, ["Cnov"])
    assert wrong.exit_code == 2
    assert "did you mean Conv" in wrong.output
    assert "\n".join(describe(operators()[0])).startswith("## ")


def test_coverage_counts_every_operator_once() -> None:
    text = CliRunner().invoke(command, ["--coverage"]).output
    counts = re.findall(
        r"(\S+): (\d+) operators, (\d+) supported, (\d+) expanded, (\d+) without either", text
    )
    assert "ai.onnx" in [name for name, *_ in counts]
    for _, total, own, expanded, missing in counts:
        assert int(total) == int(own) + int(expanded) + int(missing)
    listed = sum(
        len(line.partition(": ")[2].split(", "))
        for line in text.splitlines()
        if line.startswith(("  expanded: ", "  without: "))
    )
    assert listed == sum(int(expanded) + int(missing) for *_, expanded, missing in counts)
