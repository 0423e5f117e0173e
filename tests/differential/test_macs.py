from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import mac_cases, macs
from tests.oracles.naive import Scalar, drop, lift, matmul

CASES = list(mac_cases.cases(scale=0.15))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.case.id)
def test_macs_are_what_a_loop_counts(case: mac_cases.MacCase) -> None:
    counted, _ = case.counted()
    assert macs.perfc_macs(case) == counted


def test_the_loops_compute_the_operators_they_count() -> None:
    compared = 0
    for case in CASES:
        _, value = case.counted()
        expected = None if value is None else macs.run(case)
        if expected is not None:
            np.testing.assert_allclose(
                np.squeeze(value), np.squeeze(expected), rtol=1e-3, atol=1e-4, err_msg=case.case.id
            )
            compared += 1
    assert compared >= 80


def test_a_scalar_counts_each_multiplication() -> None:
    Scalar.count = 0
    product = drop(matmul(lift(np.ones((2, 3))), lift(np.ones((3, 4)))))
    assert (Scalar.count, product.tolist()) == (24, [[3.0] * 4] * 2)
