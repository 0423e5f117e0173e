"""Where users of workers apart are in the long run, by hand."""

from __future__ import annotations

import math

import pytest

from perfc.serving.evidence.steady import BUSIEST, queued, steady


def test_users_of_idle_workers_wait_for_their_prompt_alone() -> None:
    found = steady(10, 100, 100, 0.1, 1000, lambda users: 0.01)
    # an answer takes a second: of ten users 10 / 1.1 have one that is being written
    assert found.writing == pytest.approx(10 / 1.1, rel=0.01)
    assert found.first_s == pytest.approx(0.1, rel=1e-6)


def test_workers_of_prompts_that_do_not_keep_up_leave_few_users_writing() -> None:
    found = steady(1000, 1000, 100, 1.0, 2, lambda users: 0.01)
    rate = BUSIEST * 2
    assert found.writing == pytest.approx(rate * 1.0, rel=0.01)
    assert found.first_s == pytest.approx(1000 / rate - 1.0, rel=0.01)


def test_tokens_that_take_longer_as_more_users_write_are_in_balance() -> None:
    found = steady(1000, 1000, 100, 2.0, 100, lambda users: 1e-3 + 1e-5 * users)
    # 47.5 prompts a second, so that n users write where n = 47.5 (0.1 + 0.001 n)
    assert found.writing == pytest.approx(4.75 / (1 - 0.0475), rel=0.01)
    assert found.first_s == pytest.approx(1000 / 47.5 - 0.105, rel=0.01)


def test_answers_wait_for_a_seat() -> None:
    found = steady(100, 10, 100, 0.001, 100, lambda users: 0.01)
    assert found.writing == pytest.approx(10, rel=0.01)
    assert found.first_s == pytest.approx(100 / 10 - 1.0, rel=0.01)


@pytest.mark.parametrize(("busy", "workers"), [(0.5, 1), (0.9, 1), (0.9, 4)])
def test_one_worker_waits_as_queues_of_alike_jobs_do(busy: float, workers: int) -> None:
    # M/D/1: busy / (2 (1 - busy)); several workers wait less
    alone = busy / (2 * (1 - busy))
    found = queued(busy, workers)
    assert found == pytest.approx(alone) if workers == 1 else found < alone / workers
    assert math.isfinite(found)
