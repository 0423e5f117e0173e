"""Where users of workers apart are, by hand."""

from __future__ import annotations

import pytest

from perfc.serving.evidence.steady import BUSIEST, MOST_USERS, REQUESTS, steady, waited_s


def test_users_of_idle_workers_write_while_they_do_not_wait() -> None:
    found = steady(10, 100, 100, 0.1, 1000, lambda users: 0.01)
    # an answer takes a second: of ten users 10 / 1.1 have one that is being written
    assert found.writing == pytest.approx(10 / 1.1, rel=0.01)
    assert found.first_s == pytest.approx(0.1, rel=1e-6)


def test_workers_of_prompts_that_do_not_keep_up_leave_few_users_writing() -> None:
    found = steady(1000, 1000, 100, 1.0, 2, lambda users: 0.01)
    assert found.writing == pytest.approx(BUSIEST * 2, rel=0.01)
    assert found.first_s > 300


def test_tokens_that_take_longer_as_more_users_write_are_in_balance() -> None:
    found = steady(1000, 1000, 100, 2.0, 100, lambda users: 1e-3 + 1e-5 * users)
    # 47.5 prompts a second, so that n users write where n = 47.5 (0.1 + 0.001 n)
    assert found.writing == pytest.approx(4.75 / (1 - 0.0475), rel=0.01)


def test_no_more_answers_are_written_than_there_are_seats() -> None:
    found = steady(100, 10, 100, 0.001, 100, lambda users: 0.01)
    assert found.writing == pytest.approx(10, rel=1e-3)


def test_one_user_waits_for_its_own_prompts_alone() -> None:
    assert waited_s(1, 1, 0.5, 1, 10.0) == pytest.approx(0.5)


def test_users_that_begin_at_once_wait_for_one_another() -> None:
    # answers that take no time: each user asks again when all others are before it
    waits = [sum(range(1, 5)) / 4, *([4.0] * (REQUESTS - 1))]
    assert waited_s(4, 4, 1.0, 1, 0.0) == pytest.approx(sum(waits) / REQUESTS)
    assert waited_s(4, 4, 1.0, 4, 0.0) == pytest.approx(1.0)
    # answers that take long: lengths of 0.89 to 1.11 of the mean spread the users out
    first, spread = (1 + 2 + 3 + 4) / 4, waited_s(4, 4, 1.0, 1, 1000.0)
    assert 1.0 < spread < first


def test_users_told_as_one_wait_as_each_of_them_does() -> None:
    many = waited_s(4 * MOST_USERS, 4 * MOST_USERS, 0.01, 1, 30.0)
    few = waited_s(MOST_USERS, MOST_USERS, 0.04, 1, 30.0)
    assert many == pytest.approx(few - 0.015)


def test_users_beyond_the_seats_wait_for_answers_of_others() -> None:
    # nine users on six seats: an answer of ten comes when a seat is free, half an answer later
    found = waited_s(9, 6, 1e-6, 9, 10.0)
    assert found == pytest.approx(10 * (9 / 6 - 1), rel=0.1)
