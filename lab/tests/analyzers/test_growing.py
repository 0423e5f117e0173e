"""What a forest is grown from."""

from __future__ import annotations

import pytest

from perfc_lab.training.growing import Recipe, shares_of_blocks, stacked

from .synthetic import blocks, matmul_rows


def test_large_blocks_are_thinned_and_small_ones_are_not() -> None:
    assert shares_of_blocks([50, 100, 5000], Recipe(max_rows=650, keep_small=True)) == [1, 1, 0.1]
    assert shares_of_blocks([50, 100], Recipe(max_rows=650, keep_small=True)) == [1, 1]
    assert shares_of_blocks([50, 100, 500], Recipe(max_rows=65)) == [0.1, 0.1, 0.1]


def test_rows_that_are_left_stand_for_the_others() -> None:
    every = [*blocks(count=100), matmul_rows("gb200", 4000)]
    recipe = Recipe(max_rows=700, keep_small=True)
    thin, whole = (stacked(every, ("one",), r) for r in (recipe, Recipe()))
    assert sum(thin.block == 0) == 100
    assert 300 < sum(thin.block == 3) < 500
    share = [s.weight[s.block == 3].sum() / s.weight.sum() for s in (thin, whole)]
    assert share[0] == pytest.approx(share[1], rel=0.1)
