"""Launches of steps that engines record whole, in pieces or not at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir import Kind
from perfc.serving.cost.launches import Launches, launches_of


def program(*operators: tuple[str, Kind]) -> Any:
    anchors = [SimpleNamespace(op=SimpleNamespace(mnemonic=n, kind=k)) for n, k in operators]
    return SimpleNamespace(whole=[SimpleNamespace(anchor=a) for a in anchors])


PRODUCT, ATTENTION = ("matmul", Kind.MATMUL), ("attention", Kind.ATTENTION)
PASSES: Any = SimpleNamespace(
    decode=program(PRODUCT, ATTENTION), prefill=program(PRODUCT, ATTENTION, PRODUCT, ATTENTION)
)


@pytest.mark.parametrize(
    ("around", "pieces"),
    [(None, 6), (0, 6), (4, 8)],
    ids=["records nothing", "records no pieces", "records pieces"],
)
def test_a_step_with_prompts_is_interrupted_at_attention_or_launched_singly(
    around: int | None, pieces: int
) -> None:
    recording = None if around is None else SimpleNamespace(around_attention=around)
    kind: Any = SimpleNamespace(recording=recording, launched={"matmul": 1, "attention": 2})
    launches = launches_of(PASSES, kind)
    assert launches == Launches(3, 6, pieces)
    kinds_of_step = [(True, True), (False, True), (True, False), (False, False)]
    counted = [launches.of(is_recorded=r, has_prompts=p) for r, p in kinds_of_step]
    assert counted == [pieces, 6, 0, 3]


def test_an_unknown_engine_launches_each_kernel() -> None:
    assert launches_of(PASSES, None) == Launches(2, 4, 4)
