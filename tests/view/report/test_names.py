"""What kernels, machines and places are called, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from perfc.view.report.names import (
    gathered,
    machine_title,
    merged,
    place,
    runtime_title,
    shared,
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
    ("texts", "one"),
    [
        (["a", "a"], "a"),
        (["l1.2", "l3.2"], "l*.2"),
        (["l12", "l13"], "l*"),
        (["head.q", "head.k"], "head.*"),
        (["pre_x_post", "pre_yy_post"], "pre_*_post"),
        (["ab", "cd"], "*"),
        (["a", "ab"], "a*"),
    ],
)
def test_what_texts_have_in_common_is_kept(texts: list[str], one: str) -> None:
    assert merged(texts) == one


def test_shared_beginnings_are_counted() -> None:
    assert [shared(t) for t in (["abc", "abd"], ["ab", "abc"], ["x", "y"], ["", "a"])] == [
        2,
        2,
        0,
        0,
    ]


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


@pytest.mark.parametrize(
    ("description", "name", "said"),
    [
        ("NVIDIA T4 16 GB (Turing)", "t4", "NVIDIA T4 16 GB"),
        ("", "t4", "t4"),
        ("A server, 64 cores", "x", "a server"),
        ("Xeon: two sockets", "x", "Xeon"),
        ("Any (x)", "host", "Any (this machine, as probed)"),
    ],
)
def test_a_machine_is_called_as_its_maker_does(description: str, name: str, said: str) -> None:
    assert machine_title(SimpleNamespace(description=description, name=name)) == said  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("product", "name", "said"),
    [
        ("ONNX Runtime, all optimisations", "ort", "ONNX Runtime"),
        ("kernels by hand", "eager:x", "eager"),
        ("torch (compiled), x", "compiled", "torch (compiled)"),
        ("", "ort", "ort"),
    ],
)
def test_a_runtime_is_called_after_its_product(product: str, name: str, said: str) -> None:
    assert runtime_title(SimpleNamespace(title=product, name=name)) == said  # type: ignore[arg-type]
