"""Places of boxes worked out by hand: ranks, orders, columns, trees of modules, marks of a page."""

from __future__ import annotations

import math

import pytest

from perfc.ir.graphs.blocks import shared
from perfc.view.html.layers import (
    ASPECT,
    STEP_X,
    STEP_Y,
    TALLEST,
    WIDEST,
    Drawing,
    best_height,
    drawing,
    in_columns,
    mean,
    neighbours,
    ordered,
    placed,
    ranks,
    sequence,
    width_of,
)
from perfc.view.html.modules import (
    MOST_CHILDREN,
    MOST_PARTS,
    ModuleTree,
    simplify,
    span,
    tree,
)
from perfc.view.html.payload import LONGEST, cell, decades, interned, number, text
from perfc.view.report.formats.document import Name


def test_a_chain_with_a_branch_is_drawn_by_hand() -> None:
    # 0 -> 1 -> 3 and 0 -> 2 -> 3
    half = STEP_X // 2
    found = drawing(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert found == Drawing((half, 0, STEP_X, half), (0, STEP_Y, STEP_Y, 2 * STEP_Y))


def test_what_nothing_joins_stands_on_top() -> None:
    assert ranks(4, [(1, 2), (2, 3)]) == [0, 0, 1, 2]
    assert ranks(3, []) == [0, 0, 0]
    # the first reader is as near as it can be: 1 is read by 3 alone
    assert ranks(4, [(0, 2), (2, 3), (1, 3)]) == [0, 1, 1, 2]
    assert ranks(0, []) == []


def test_a_circle_is_cut_at_its_first_vertex() -> None:
    assert sequence(3, [(0, 1), (1, 2), (2, 0)]) == [0, 1, 2]
    assert sequence(4, [(3, 1), (1, 3), (0, 0)]) == [0, 2, 1, 3]
    assert sequence(4, [(3, 0), (2, 1)]) == [2, 1, 3, 0]
    assert sequence(2, [(1, 0), (1, 0)]) == [1, 0]


def test_vertices_stand_near_those_they_are_joined_to() -> None:
    # 0 reads into 3 and 1 into 2: uncrossed, 3 stands before 2
    assert ordered([0, 0, 1, 1], [(0, 3), (1, 2)]) == [[0, 1], [3, 2]]
    assert ordered([0] * (WIDEST + 1), []) == [list(range(WIDEST)), [WIDEST]]
    assert ordered([], []) == []
    assert neighbours(3, [(0, 2), (1, 2)]) == ([[], [], [0, 1]], [[2], [2], []])


def test_boxes_that_want_one_place_stand_side_by_side_around_it() -> None:
    at = placed([[0], [1, 2, 3]], [(0, 1), (0, 2), (0, 3)])
    assert at == {0: 0.0, 1: -1.0, 2: 0.0, 3: 1.0}
    assert placed([[0, 1], [2]], [(0, 2), (1, 2)]) == {0: -0.5, 1: 0.5, 2: 0.0}
    assert placed([[0, 1]], []) == {0: -0.5, 1: 0.5}


def test_columns_stand_side_by_side_with_a_gap() -> None:
    rows = [[i] for i in range(TALLEST)]
    at = dict.fromkeys(range(TALLEST), 0.0)
    found = in_columns(rows, at)
    assert set(found.x) == {0}
    assert found.y == tuple(i * STEP_Y for i in range(TALLEST))
    rows = [[i] for i in range(2 * TALLEST)]
    found = in_columns(rows, dict.fromkeys(range(2 * TALLEST), 3.0))
    assert set(found.x) == {0, 2 * STEP_X}
    assert found.y == tuple(i * STEP_Y for i in range(TALLEST)) * 2
    assert in_columns([], {}) == Drawing((), ())
    assert (width_of([(0.0, 1.0), (-1.0, 0.5)]), width_of([(2.0, 2.0)])) == (4.0, 2.0)


@pytest.mark.parametrize("rows", [17, 32, 33, 64, 200, 1000])
def test_the_height_of_columns_is_the_nearest_to_a_window(rows: int) -> None:
    spans = [(-1.0, 1.0)] * rows

    def unlikeness(height: int) -> float:
        columns = math.ceil(rows / height)
        return abs(math.log(columns * 4 * STEP_X / (height * STEP_Y) / ASPECT))

    height = best_height(spans)
    assert height >= TALLEST
    others = {max(math.ceil(rows / n), TALLEST) for n in range(1, max(rows // TALLEST, 1) + 1)}
    assert height in others
    assert unlikeness(height) == min(map(unlikeness, others))


def test_a_mean_of_nothing_is_what_is_said() -> None:
    assert (mean([], 3.0), mean([1.0, 4.0], 3.0)) == (3.0, 2.5)


def numbers(module: ModuleTree) -> list[object]:
    return [c if isinstance(c, int) else (c.name, numbers(c)) for c in module.children]


def test_so_many_children_stay_and_one_more_is_put_together() -> None:
    full = ModuleTree("m", list(range(MOST_CHILDREN)))
    simplify(full)
    assert full.children == list(range(MOST_CHILDREN))
    more = ModuleTree("m", list(range(MOST_CHILDREN + 1)))
    simplify(more)
    assert len(more.children) == 10
    assert numbers(more)[0] == ("nodes 0 to 9", list(range(10)))
    assert numbers(more)[-1] == ("nodes 90 to 96", list(range(90, 97)))


def test_modules_of_one_are_joined_by_their_names() -> None:
    inner = ModuleTree("b", [0, 1])
    outer = ModuleTree(
        "m", [ModuleTree("a", [inner]), ModuleTree("c", [2]), 3, ModuleTree("d", [4, 5])]
    )
    simplify(outer)
    assert numbers(outer) == [("a/b", [0, 1]), 2, 3, ("d", [4, 5])]
    assert (outer.first, outer.nodes()) == (0, [0, 1, 2, 3, 4, 5])
    assert span([inner, 3, ModuleTree("d", [4, 9])]) == "nodes 0 to 9"


def test_deep_modules_are_shown_at_the_deepest_that_is_shown() -> None:
    path = tuple("abcdefghijklmnop")
    found = tree([path, path, ("x",), ("x",)], "root")
    assert numbers(found) == [("/".join(path[:MOST_PARTS]), [0, 1]), ("x", [2, 3])]
    assert shared("abc", "abd") == ("a", "b")
    assert shared("ab", "ab") == ("a", "b")
    assert shared("", "a") == ()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (math.inf, None),
        (math.nan, None),
        (3.0, 3),
        (0.0, 0),
        (1e9, 10**9),
        (0.123456789, 0.123457),
        (123456.789, 123457.0),
        (-2.0, -2),
        (7, 7),
    ],
)
def test_numbers_of_a_page_have_six_digits(value: float | None, shown: float | None) -> None:
    found = number(value)
    assert (found, type(found)) == (shown, type(shown))


def test_cells_of_a_page_keep_numbers_and_bound_texts() -> None:
    assert cell(None) is None
    assert cell(2.5) == 2.5
    assert cell(Name("<- a/b", "a")) == "a/b"
    assert len(text("x" * (LONGEST + 1))) <= LONGEST
    assert text("x" * LONGEST) == "x" * LONGEST
    assert interned("abab".__getitem__, 4) == {"texts": ["a", "b"], "which": [0, 1, 0, 1]}


def test_axes_end_at_powers_of_ten() -> None:
    assert decades((2.0, 30.0)) == (1.0, 100.0)
    assert decades((10.0, 100.0)) == (10.0, 100.0)
    assert decades((0.05, 0.2)) == (pytest.approx(0.01), 1.0)
