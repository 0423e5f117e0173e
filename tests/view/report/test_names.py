"""What kernels, machines and places are called, by hand."""

from __future__ import annotations

import pytest

from perfc.view.report.names import (
    gathered,
    place,
)


@pytest.mark.parametrize(
    ("names", "op_type", "where"),
    [
        ([], "", ""),
        (["/layer1/conv/Conv"], "Conv", "layer1/conv"),
        (["/layer1/conv/Conv_2"], "Conv", "layer1/conv"),
        (["Conv"], "Conv", "Conv"),
        (["/a/b1/Conv", "/a/b2/Conv"], "Conv", "a/b*"),
        (["/layer3/0/conv2/Conv", "/layer3/1/conv2/Conv"], "Conv", "layer3/*/conv2"),
        (["/a/b", "/a/b/c"], "", "/a/b*"),
        (["/a/Conv", "/a/Conv"], "Relu", "a/Conv"),
        (["/a/a/b"], "", "a/a/b"),
    ],
)
def test_places_of_equal_kernels_are_told_in_one(
    names: list[str], op_type: str, where: str
) -> None:
    assert place(names, op_type) == where


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["/a/b"], "/a/b"),
        (["/a/b/c", "/a/b/d"], "/a/b/{c, d}"),
        (["x", "y"], "x, y"),
        (["/x", "/y"], "/x, /y"),
        (["a/x", "a/y"], "a/{x, y}"),
    ],
)
def test_a_common_folder_is_written_once(names: list[str], text: str) -> None:
    assert gathered(names) == text
