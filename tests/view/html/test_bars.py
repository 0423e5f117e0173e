"""Bars of a document are drawn without a script, to scale."""

from __future__ import annotations

import pytest

from perfc.view.html.blocks import MOST_BARS, BarsBlock, NoteBlock, bars_block, block
from perfc.view.html.document_page import document_page
from perfc.view.report.formats.document import Bars, Document, Section
from perfc.view.report.units import Unit


def drawn(part: Bars) -> BarsBlock:
    found = block(part)
    assert isinstance(found, BarsBlock)
    return found


def test_bars_stand_side_by_side_as_high_as_their_numbers() -> None:
    found = drawn(Bars((1e-3, 4e-3, 0.0), Unit.SECOND, "a curve", ("x", "y", "z")))
    assert [b.top for b in found.bars] == [75.0, 0.0, 100.0]
    for i, bar in enumerate(found.bars):
        assert (bar.left, bar.width) == pytest.approx((100 * i / 3, 100 / 3), abs=1e-3)
    assert [b.words for b in found.bars] == ["x: 1.00 ms", "y: 4.00 ms", "z: 0 s"]
    assert (found.text, found.most) == ("a curve", "4.00 ms")


def test_many_numbers_share_a_bar_that_is_as_high_as_the_largest() -> None:
    values = (1.0,) * 999 + (8.0,)
    found = drawn(Bars(values, Unit.BYTE, "live", ("of many",) * 1000))
    assert len(found.bars) == MOST_BARS
    assert [b.top for b in found.bars[-2:]] == [87.5, 0.0]
    # labels are of single numbers
    assert found.bars[-1].words == "8 B"


def test_nothing_to_draw_is_said_in_words() -> None:
    for values in ((), (0.0, 0.0)):
        assert bars_block(Bars(values, Unit.BYTE, "nothing")) == NoteBlock("nothing", False)


def test_a_page_draws_them_and_takes_no_name_for_markup() -> None:
    part = Bars((1.0, 2.0), Unit.BYTE, "<b>bars</b>", ("<i>", "two"))
    page = document_page(Document("t", (Section("s", "s", (part,)),)))
    head, _, tail = page.partition("<figure>")
    figure = tail.partition("</figure>")[0]
    assert head
    assert figure.count("<rect") == 2
    assert "<title>&lt;i&gt;: 1 B</title>" in figure
    assert "<b>" not in figure
    assert 'height="50.0"' in figure
