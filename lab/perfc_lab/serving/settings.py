"""Look up settings of published runs that their table leaves out, in lists of data files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.ir.record import record
from perfc.passes.runtimes import Batching

from . import ServerSettings
from .inferencex import ServedRun

_FOLDER = Path(__file__).parent
SERVERS = data_next_to(f"{_FOLDER}/inferencex/servers")
"""InferenceX's lists of servers, and of runs that draft tokens; the file describes the entries."""
GENERATED = data_next_to(f"{_FOLDER}/aiconfigurator")
"""Settings that aiconfigurator's generator writes for servers and clients."""
RANGE_RATIO = frozenset({1024, 8192})
"""Lengths of the requests of InferenceMAX, now InferenceX, which are drawn from 0.8 to 1 times
these."""
ACCEPTANCE = 0.85
"""Assumed probability that a drafted token is accepted, as the runs that draft do not give it.

DeepSeek keeps 85 to 90 % of second tokens (DeepSeek-V3 Technical Report, Section 5.4.3).
"""
FEW_USERS = 16
"""Number of users from which on servers look for new requests less often."""
MARGIN, MULTIPLE = 64, 64
"""Margin in the token budget of servers whose steps hold a whole prompt and all users, and the
multiple that the budget is rounded up to."""


def together(model: str, run: ServedRun, groups: int) -> tuple[ServerSettings, str]:
    """Return the settings of a server that computes prompts and answers, and its type of cache.

    The type is that of cached keys and values, "" for the usual one.

    Args:
        model: name of the model in the source.
        run: run as its row describes it.
        groups: number of groups of ranks that have separate sequences.
    """
    for listed in SERVERS["server"]:
        if listed["model"] in model.lower() and _has_run(listed, run):
            users, budget = run.users, listed.get("token_budget", 0)
            if listed.get("holds_prompt"):
                # room for a whole prompt and a token of each user, rounded up
                whole = -(-(run.isl + users + MARGIN) // MULTIPLE) * MULTIPLE
                budget = max(budget, whole)
            # the first value is for fewer than `FEW_USERS`, the second for more
            looks = listed.get("looks_every", (0, 0))[users >= FEW_USERS]
            # groups of ranks that balance their requests look at another interval
            if groups > 1:
                looks = listed.get("balances_every", 0)
            # for prompts as long as answers a server may have another maximum of sequences
            of_short = run.isl == run.osl and listed.get("of_short")
            seqs = of_short or listed.get("max_num_seqs", 0)
            if listed.get("seqs_of_users"):
                seqs = min(users, listed.get("connections", users))
            options = {n: listed[n] for n in ("recorded_tokens", "utilization") if n in listed}
            return ServerSettings(budget, seqs, looks, **options), listed.get("cache", "")
    return ServerSettings(), ""


def drafted_tokens(run: ServedRun, groups: int, drafts: bool | None) -> int | None:
    """Return the number of tokens that DeepSeek drafts in a run of InferenceX; None if unclear.

    Lists of runs with draft tokens and lists without may both contain the run.

    Args:
        run: run as its row describes it.
        groups: number of groups of ranks that have separate sequences.
        drafts: whether the run is known to draft tokens; None if unknown.
    """
    for listed in SERVERS["drafting"]:
        if not _has_run(listed, run):
            continue
        # numbers of draft tokens: without and with groups of separate sequences
        count, limits = int(listed["drafted"][groups > 1]), listed.get("least_users", ())
        # a limit is prompt, answer, ranks and users: from so many users on, the run is in no other
        # list
        shape = run.isl, run.osl, run.ranks
        is_alone = any(shape == (*where,) and run.users >= users for *where, users in limits)
        # without limits all runs of the list draft
        if drafts or is_alone or not limits:
            return count
        return None if drafts is None and any(run.ranks == ranks for *_, ranks, _ in limits) else 0
    return 0


def _has_run(listed: Mapping[str, Any], run: ServedRun) -> bool:
    """Return True if a list may contain a run; fields that the list leaves out match any value."""
    return (
        listed["runtime"] == run.runtime
        and run.system in listed["systems"]
        and run.version in listed.get("versions", (run.version,))
        and run.precision in listed.get("precisions", (run.precision,))
        and run.day in listed.get("days", (run.day,))
    )


def cache_of(checkpoint: str, runtime: str) -> str:
    """Return the element type of cached keys and values with a checkpoint; "" for the usual one.

    Args:
        checkpoint: name of the checkpoint in the source of a run.
        runtime: serving runtime.
    """
    for listed in GENERATED["checkpoint"]:
        is_named = checkpoint.startswith(listed["prefix"]) and checkpoint.endswith(listed["suffix"])
        if is_named and listed["runtime"] == runtime:
            return str(listed["cache"])
    return ""


def _of_version(table: str, runtime: str, version: str) -> dict[str, Any]:
    """Return the generator's entry for a server or client of a version; empty without one."""
    listed = {(o["runtime"], o["version"]): o for o in GENERATED[table]}
    result: dict[str, Any] = listed.get((runtime, version), {})
    return result


def distinct_prompts(runtime: str, version: str) -> int:
    """Return the number of prompts of aiconfigurator's benchmark; 0 if no server caches them."""
    return int(_of_version("client", runtime, version).get("distinct_prompts", 0))


def generated(runtime: str, version: str, isl: int, users: int) -> ServerSettings:
    """Return the settings that aiconfigurator's generator writes; defaults for other versions.

    Args:
        runtime: serving runtime.
        version: version of the runtime.
        isl: tokens of a prompt.
        users: number of users of the run.
    """
    listed = _of_version("server", runtime, version)
    if not listed:
        return ServerSettings()
    # room for a whole prompt, a constant, and for some servers a token of each user
    budget = isl + int(GENERATED["room"]) + (users if listed.get("counts_users") else 0)
    batching = Batching(listed["batching"]) if "batching" in listed else None
    return ServerSettings(token_budget=budget, batching=batching)


PROMPT_TOKENS = 225
"""Assumed prompt tokens of tasks of ML.ENERGY that its data file lacks."""


@record
class Task:
    """Task of ML.ENERGY's benchmark: questions, and the lengths of prompts and answers.

    Args:
        distinct: number of different questions.
        longest: maximum tokens of an answer.
        prompt_tokens: mean tokens of a question and its history.
        answers_vary: standard deviation over mean of the lengths of answers.
        prompts_vary: standard deviation over mean of the lengths of questions.
        expert_skew: exponent of the power law by which tokens choose experts; None for the default
            of a server.
        questions: entries with models, targets, and how often each question is sent, by seats.
    """

    distinct: int
    longest: int
    prompt_tokens: int
    answers_vary: float
    prompts_vary: float
    expert_skew: float | None
    questions: tuple[Mapping[str, Any], ...]

    def repeats(self, model: str, target: str, seats: int) -> int:
        """Return how often each question is sent to a server with ``seats`` seats."""
        # the first entry of a model and target counts, and in it the first with enough seats
        suits = (
            entry["repeats"]
            for entry in self.questions
            if model.startswith(entry["model"]) and target.startswith(entry["target"])
        )
        counts = (times for most, times in next(suits, ()) if seats <= most)
        # beyond the entries so often that some requests wait for a seat
        return next(counts, math.ceil(seats / self.distinct) + 1)


@cache
def tasks() -> Mapping[str, Task]:
    """Return the tasks of ML.ENERGY by name."""
    entries = data_next_to(f"{_FOLDER}/mlenergy")["task"]
    # fields that entries of the file may leave out
    usual = {"expert_skew": None, "prompts_vary": 0.0}
    return {
        name: Task(**{**usual, **entry, "questions": tuple(entry["questions"])})
        for name, entry in entries.items()
    }


def prompt_tokens(task: str) -> int:
    """Return the prompt tokens of a task of ML.ENERGY."""
    listed_task = tasks().get(task)
    return listed_task.prompt_tokens if listed_task is not None else PROMPT_TOKENS
