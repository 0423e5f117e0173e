"""Where users of workers apart are, by hand."""

from __future__ import annotations

import pytest

from perfc_lab.serving.steady import BUSIEST, MOST_USERS, REQUESTS, Wait, steady, waited


def test_users_of_idle_workers_write_while_they_do_not_wait() -> None:
    found = steady(10, 1, 100, 100, 0.1, 1000, lambda users: 0.01)
    # an answer takes a second: of ten users 10 / 1.1 have one that is being written
    assert found.writing == pytest.approx(10 / 1.1, rel=0.01)
    assert found.wait.prompt_s == pytest.approx(0.1, rel=1e-6)
    assert found.wait.seat_s == 0.0


def test_workers_of_prompts_that_do_not_keep_up_leave_few_users_writing() -> None:
    found = steady(1000, 1, 1000, 100, 1.0, 2, lambda users: 0.01)
    assert found.writing == pytest.approx(BUSIEST * 2, rel=0.01)
    assert found.wait.prompt_s > 300


def test_tokens_that_take_longer_as_more_users_write_are_in_balance() -> None:
    found = steady(1000, 1, 1000, 100, 2.0, 100, lambda users: 1e-3 + 1e-5 * users)
    # 47.5 prompts a second, so that n users write where n = 47.5 (0.1 + 0.001 n)
    assert found.writing == pytest.approx(4.75 / (1 - 0.0475), rel=0.01)


def test_no_more_answers_are_written_than_all_workers_have_seats() -> None:
    found = steady(100, 2, 5, 100, 0.001, 100, lambda users: 0.01)
    assert found.writing == pytest.approx(10, rel=1e-3)


def test_one_user_waits_for_its_own_prompts_alone() -> None:
    assert waited(1, 1, 1, 0.5, 1, 10.0) == Wait(0.5, 0.0)


def test_users_that_begin_at_once_wait_for_one_another() -> None:
    # answers that take no time: each user asks again when all others are before it
    waits = [sum(range(1, 5)) / 4, *([4.0] * (REQUESTS - 1))]
    assert waited(4, 1, 4, 1.0, 1, 0.0).prompt_s == pytest.approx(sum(waits) / REQUESTS)
    assert waited(4, 1, 4, 1.0, 4, 0.0).prompt_s == pytest.approx(1.0)
    # answers that take long: lengths of 0.89 to 1.11 of the mean spread the users out
    first, spread = (1 + 2 + 3 + 4) / 4, waited(4, 1, 4, 1.0, 1, 1000.0).prompt_s
    assert 1.0 < spread < first


def test_users_told_as_one_wait_as_each_of_them_does() -> None:
    many = waited(4 * MOST_USERS, 1, 4 * MOST_USERS, 0.01, 1, 30.0)
    few = waited(MOST_USERS, 1, MOST_USERS, 0.04, 1, 30.0)
    assert many.prompt_s == pytest.approx(few.prompt_s - 0.015)


def test_users_beyond_the_seats_wait_for_answers_of_others() -> None:
    # nine users on six seats: an answer of ten comes when a seat is free, half an answer later
    found = waited(9, 1, 6, 1e-6, 9, 10.0)
    assert found.seat_s == pytest.approx(10 * (9 / 6 - 1), rel=0.1)
    assert found.prompt_s == pytest.approx(1e-6)


def test_users_wait_for_a_worker_while_another_has_a_seat() -> None:
    one, two, four, eight = (
        waited(8, workers, 8 // workers, 1e-6, 8, 10.0).seat_s for workers in (1, 2, 4, 8)
    )
    assert one == two == 0.0, "of two workers the one that has fewer answers is known"
    assert 0.0 < four < eight < 10.0
    full = [waited(16, workers, 8 // workers, 1e-6, 16, 10.0).seat_s for workers in (1, 2, 4, 8)]
    assert full == pytest.approx([10.0] * 4, rel=0.1), "where all are full, little differs"


def test_what_is_drawn_is_drawn_again() -> None:
    assert waited(7, 7, 1, 0.1, 4, 10.0) == waited(7, 7, 1, 0.1, 4, 10.0)
