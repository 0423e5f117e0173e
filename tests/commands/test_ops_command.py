"""The page of operators is what the operators say, and covers what onnx defines."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest

from perfc import cli

ROOT = Path(__file__).parents[2]
SECTIONS = ("Shapes", "Work", "Traffic", "Source")
COUNTS = r"(\S+): (\d+) operators, (\d+) supported, (\d+) expanded, (\d+) without either"


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Return what ``perfc dev ops`` prints."""
    assert cli.run(["dev", "ops", *words]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_the_page_in_docs_is_up_to_date_and_says_all(capsys: pytest.CaptureFixture[str]) -> None:
    page = said(capsys, "--markdown")
    written = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert written == page, "perfc dev ops --markdown > docs/ops.md"
    listed = [line.split()[0] for line in said(capsys).splitlines()]
    described = dict(re.findall(r"(?s)^## (\w+)\n\n(.+?)(?=\n## |\Z)", page, re.MULTILINE))
    assert [*described] == listed
    for name, text in described.items():
        assert text.partition("\n")[0].endswith("."), name
        assert tuple(re.findall(r"\*\*(\w+)\*\*: ", text))[2:6] == SECTIONS, name
        (file,) = re.findall(r"\*\*Kind\*\*: .*, in `(\S+)`", text)
        assert (ROOT / file).is_file(), name


@pytest.mark.parametrize("name", ["fused_conv", "com.microsoft::FusedConv", "FusedConv"])
def test_operators_are_found_by_mnemonic_and_onnx_name(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, name)
    assert text.startswith("fused_conv\n\nConvolution, the addition of Z and an activation.\n")
    assert "**" not in text
    assert "did you mean Conv" in said(capsys, "Cnov", code=2)


def test_coverage_counts_every_operator_of_onnx_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = re.findall(COUNTS, said(capsys, "--coverage"))
    assert {name for name, *_ in plain} >= {"ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training"}
    assert sum(int(own) for _, _, own, *_ in plain) > 200
    assert {missing for *_, missing in plain} == {"0"}
    schemas = onnx.defs.get_all_schemas()
    bodies = {"has_function": False, "has_context_dependent_function": False}
    others = [
        SimpleNamespace(domain="", name="WithBody", **bodies | {"has_function": True}),
        SimpleNamespace(domain="", name="Unknown", **bodies),
    ]
    monkeypatch.setattr("onnx.defs.get_all_schemas", lambda: [*schemas, *others])
    text = said(capsys, "--coverage")
    assert re.search(r"  expanded: .*\bWithBody\b", text)
    assert re.search(r"  without: Unknown\n", text)
    for (name, *before), (_, *after) in zip(plain, re.findall(COUNTS, text), strict=True):
        total, own, expanded, missing = map(int, after)
        assert total == own + expanded + missing
        assert total == sum((s.domain or "ai.onnx") == name for s in [*schemas, *others])
        more = (2, 0, 1, 1) if name == "ai.onnx" else (0, 0, 0, 0)
        assert [int(n) + m for n, m in zip(before, more, strict=True)] == [*map(int, after)]
