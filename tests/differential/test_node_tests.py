from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import node_tests
from tests.oracles.truth import Tensor, Verdict, judge_all, type_of


@pytest.fixture(scope="module")
def backend_tests() -> list[node_tests.NodeTest]:
    return list(node_tests.load())[::4]


@pytest.mark.parametrize("bound", [False, True], ids=["no values", "integers bound"])
def test_no_answer_contradicts_the_expected_output_of_a_backend_test(
    backend_tests: list[node_tests.NodeTest], bound: bool
) -> None:
    tensors, others = node_tests.run("perfc", backend_tests, bound)
    shown = [Verdict.WRONG, Verdict.FAILED]
    assert tensors.bad() == 0, tensors.table(shown, 5)
    assert others.bad() == 0, others.table(shown, 5)


def test_nearly_all_tensors_are_complete_once_integers_are_bound(
    backend_tests: list[node_tests.NodeTest],
) -> None:
    tensors, _ = node_tests.run("perfc", backend_tests, True)
    rest = tensors.table([Verdict.UNKNOWN, Verdict.BOUNDED], 2)
    assert tensors.share(Verdict.COMPLETE) >= 0.96, rest


def test_every_standard_operator_is_an_operator_or_expands_to_some() -> None:
    assert node_tests.uncovered() == []


def test_the_judge_calls_a_wrong_shape_wrong() -> None:
    truth = {"y": type_of(np.zeros((2, 3), np.float32))}
    assert judge_all({"y": Tensor(1, (2, 4))}, truth)["y"].verdict is Verdict.WRONG
    assert judge_all({"y": Tensor(7, (2, 3))}, truth)["y"].verdict is Verdict.WRONG
    assert judge_all({"y": Tensor(1, (2,))}, truth)["y"].verdict is Verdict.WRONG
    assert judge_all({"y": Tensor(1, (2, 3), 23)}, truth)["y"].verdict is Verdict.WRONG
    assert judge_all({"y": Tensor(1, None)}, truth)["y"].verdict is Verdict.UNKNOWN
    assert judge_all({"y": Tensor(1, (2, 3), 24)}, truth)["y"].verdict is Verdict.COMPLETE
