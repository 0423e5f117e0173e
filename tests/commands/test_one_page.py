"""Which names of targets, runtimes and precisions make one page, and which a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.commands.analysis.analyze import is_one_page, located
from perfc.errors import ModelError, PassError
from perfc.view.html.what_if import MOST_TARGETS


def options(target: str, runtime: str | None = None, dtype: str | None = None) -> Any:
    return SimpleNamespace(
        runtime=runtime,
        dtype=dtype,
        machines=lambda names: names.split(","),
        deployment=lambda is_several: SimpleNamespace(target=target),
    )


@pytest.mark.parametrize(
    ("result", "is_one"),
    [
        (options("a100"), True),
        (options("a100,h100"), True),
        (options(""), False),
        (options("a100", "ort"), True),
        (options("a100", "ort", "f16"), True),
        (options("a100", "ort,eager"), False),
        (options("a100", None, "f16,bf16"), False),
        (options(",".join(["a"] * MOST_TARGETS)), True),
        (options(",".join(["a"] * (MOST_TARGETS + 1))), False),
    ],
)
def test_a_few_targets_run_in_one_way_are_one_page(result: Any, is_one: bool) -> None:
    assert is_one_page(result) is is_one


def test_an_error_of_a_node_names_the_file_once() -> None:
    assert str(located(PassError("bad", where="node 'x'"), "m.onnx")).startswith("m.onnx: node 'x'")
    assert located(PassError("bad"), "m.onnx").where == "m.onnx"
    assert located(PassError("m.onnx is bad", where="a"), "m.onnx").where == "a"
    assert located(ModelError("bad", where="b"), "m.onnx").where == "b"
