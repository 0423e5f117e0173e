"""Whether a product only follows what is fed to it, or became wider itself."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.ir.syntax.parse import parse
from perfc.review.diff.align import Alignment, longest_equal
from perfc.review.diff.changes import changes
from perfc.review.diff.labels import DiffSide, Labels


def product(op: str, x: str, w: str, y: str) -> Any:
    """A graph of one product whose second operand is a weight, or an input with ``w`` in marks."""
    is_input = w.startswith("<")
    shape = w.strip("<>")
    operand = "" if is_input else f"  %w = weight {{bytes=4}} : f32[{shape}]\n"
    more = f", %w: f32[{shape}]" if is_input else ""
    text = (
        f"perfir 1\nmodule @m\n\ngraph @main(%x: f32[{x}]{more}) {{\n{operand}"
        f"  %y = {op}(%x, %w) : f32[{y}]\n  return %y\n}}\n"
    )
    return parse(text, "m.pir").module.graph


@pytest.mark.parametrize(
    ("old", "new", "is_carried"),
    [
        # other channels come in, as many filters
        (
            ("conv", "1, 3, 8, 8", "5, 3, 1, 1", "1, 5, 8, 8"),
            ("conv", "1, 4, 8, 8", "5, 4, 1, 1", "1, 5, 8, 8"),
            True,
        ),
        # the batch is larger
        (
            ("conv", "1, 3, 8, 8", "5, 3, 1, 1", "1, 5, 8, 8"),
            ("conv", "2, 3, 8, 8", "5, 3, 1, 1", "2, 5, 8, 8"),
            True,
        ),
        # more filters too
        (
            ("conv", "1, 3, 8, 8", "5, 3, 1, 1", "1, 5, 8, 8"),
            ("conv", "1, 4, 8, 8", "6, 4, 1, 1", "1, 6, 8, 8"),
            False,
        ),
        (("matmul", "2, 4", "4, 6", "2, 6"), ("matmul", "2, 5", "5, 6", "2, 6"), True),
        (("matmul", "2, 4", "4, 6", "2, 6"), ("matmul", "3, 4", "4, 6", "3, 6"), True),
        (("matmul", "2, 4", "4, 6", "2, 6"), ("matmul", "2, 5", "5, 7", "2, 7"), False),
        # nothing is a weight: all of it follows
        (("matmul", "2, 4", "<4, 6>", "2, 6"), ("matmul", "2, 5", "<5, 7>", "2, 7"), True),
        # nothing that is fed changed
        (("matmul", "2, 4", "4, 6", "2, 6"), ("matmul", "2, 4", "4, 7", "2, 7"), False),
    ],
)
def test_a_product_that_is_wider_itself_does_not_follow(
    old: tuple[str, str, str, str], new: tuple[str, str, str, str], is_carried: bool
) -> None:
    before, after = product(*old), product(*new)
    alignment = Alignment(((before.nodes[0], after.nodes[0]),), (), ())
    (found,) = changes(alignment, Labels(DiffSide({}, {})), Labels(DiffSide({}, {})))
    assert found.is_carried is is_carried


def test_chains_of_equal_layers_are_not_compared_pair_by_pair() -> None:
    assert longest_equal("xabcy", "zabcab") == (1, 1, 3)
    assert longest_equal(["conv"] * 2_000, ["conv"] * 2_000) == (0, 0, 0)
