"""Graphs of one operator and of none have an answer too."""

from __future__ import annotations

import pytest

import perfc
from perfc.errors import ModelError

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def test_one_operator_has_no_tensor_that_another_reads() -> None:
    model = f"{HEAD}g (float[batch, 64] x, float[64, 64] w) => (float[batch, 64] y) "
    found = perfc.predict((model + "{ y = MatMul (x, w) }").encode(), batch=64, device="rtx4090")
    assert 0 < found.floor_s <= found.low <= found.value <= found.high


def test_nothing_to_run_is_said() -> None:
    model = f"{HEAD}g (float[batch, 4] x) => (float[batch, 4] y) {{ y = Identity (x) }}"
    with pytest.raises(ModelError, match="no operator that a device runs"):
        perfc.predict(model.encode(), batch=8, device="rtx4090")
