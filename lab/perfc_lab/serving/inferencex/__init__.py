"""Look up settings of published runs, which rows leave out, in InferenceX's lists of runs.

The TOML files of this folder have the lists, which the publisher's configurations contain.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from perfc.ir.record import frozen, record

FOLDER = Path(__file__).parent


class Counted(Enum):
    """Meaning of the number of ranks in the rows of a list."""

    RANKS = "ranks"
    """Ranks of a decode worker."""
    ALL_GPUS = "all GPUs"
    """GPUs of all workers; such rows look like one engine, without disaggregated prefill."""
    NOTHING = "nothing"
    """No number of the list: every row with prefill workers may be of it."""

    __hash__ = object.__hash__  # by identity, which is faster than the hash of a name


@record
class DisaggregatedRun:
    """A run whose prompts are computed by separate workers.

    Args:
        prompt_workers: number of prefill workers.
        token_workers: number of decode workers.
        ranks: number of ranks of a decode worker.
        has_own_sequences: whether each of these ranks has separate sequences.
        expert: degree of expert parallelism of a decode worker.
        drafted: draft tokens that a step verifies per sequence; None where the run is in lists with
            and without drafting.
        prompts: ranks of a prefill worker and how many share its experts; empty if unknown.
        batch: maximum sequences of a step, of each rank with separate sequences or of a worker; 0
            where no list says, or lists with the run do not agree.
    """

    prompt_workers: int
    token_workers: int
    ranks: int
    has_own_sequences: bool
    expert: int
    drafted: int | None
    prompts: tuple[int, int] | tuple[()] = ()
    batch: int = 0

    @property
    def gpus(self) -> int:
        """Return the GPUs of all workers, without those of prefill if ``prompts`` is empty."""
        # the first of `prompts`, if any
        return self.prompt_workers * sum(self.prompts[:1]) + self.token_workers * self.ranks


@frozen
class ServedRun:
    """A run as its row describes it, by which lists are searched.

    Args:
        system: name of the machine in the table.
        runtime: name of the serving runtime in the table.
        precision: name of the precision in the table.
        version: version of the runtime, "" if none is given.
        day: day of the run.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        users: concurrent users.
        ranks: number of ranks in the row, whose meaning `Counted` says.
        prompts: ranks of a prefill worker and how many share its experts; empty where the row
            has no such workers.
    """

    system: str
    runtime: str
    precision: str
    version: str
    day: str
    isl: int
    osl: int
    users: int
    ranks: int
    prompts: tuple[int, int] | tuple[()]


@frozen
class _List:
    """One list of runs.

    Args:
        counted: meaning of the ranks in its rows.
        days: days of its runs; empty for any.
        settings: for each run its tokens of prompt and answer, numbers of users (empty for any),
            and its setting.
    """

    counted: Counted
    days: frozenset[str]
    settings: tuple[tuple[tuple[int, int], frozenset[int], DisaggregatedRun], ...]

    def of(self, run: ServedRun) -> Iterator[DisaggregatedRun]:
        """Yield the settings of the list that a run may have."""
        if self.days and run.day not in self.days:
            return
        for lengths, users, setting in self.settings:
            # without users a setting is for any number
            is_listed = lengths == (run.isl, run.osl) and (not users or run.users in users)
            if is_listed and self._fits(setting, run):
                yield setting

    def _fits(self, setting: DisaggregatedRun, run: ServedRun) -> bool:
        """Return True if the ranks of a row can be those of a setting, as the list counts them."""
        match self.counted:
            case Counted.ALL_GPUS:
                return setting.gpus == run.ranks
            case Counted.NOTHING:
                return bool(run.prompts)
            case Counted.RANKS:
                # ranks of prefill workers must agree if the list has them
                return run.prompts in (setting.prompts or run.prompts, ()) and (
                    bool(run.prompts) and setting.ranks == run.ranks
                )


@cache
def _lists() -> dict[tuple[str, str, str, str], tuple[_List, ...]]:
    """Return the lists by system, runtime, precision and version."""
    lists: dict[tuple[str, str, str, str], tuple[_List, ...]] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in tree.get("list", ()):
            listed = _read(entry)
            for version in entry["versions"]:
                key = tree["system"], entry["runtime"], entry["precision"], version
                lists[key] = (*lists.get(key, ()), listed)
    return lists


def _read(entry: dict[str, Any]) -> _List:
    """Return a list from its entry in a file."""
    prompts = tuple(entry.get("prompts", ()))
    settings = tuple(
        # a setting in the file: lengths, users, the fields from `prompt_workers` to `drafted`,
        # batch
        ((isl, osl), frozenset(users), DisaggregatedRun(*shape, prompts, batch))
        for isl, osl, users, *shape, batch in entry["settings"]
    )
    counted = Counted(entry.get("counts", Counted.RANKS.value))
    return _List(counted, frozenset(entry.get("days", ())), settings)


def disaggregated_setting(run: ServedRun, drafts: bool | None = None) -> DisaggregatedRun | None:
    """Return the setting of a run; None if no list has the run, or if lists do not agree.

    Args:
        run: run as its row describes it.
        drafts: whether the run is known to draft tokens; None if unknown.
    """
    lists = _lists().get((run.system, run.runtime, run.precision, run.version), ())
    settings = [setting for listed in lists for setting in listed.of(run)]
    if drafts is not None:
        settings = [a for a in settings if bool(a.drafted) is drafts]
    return _agreed(settings)


def _agreed(every: Sequence[DisaggregatedRun]) -> DisaggregatedRun | None:
    """Return the setting that several lists agree on; None if they do not.

    If they differ in drafts or batches alone, those fields are unknown.
    """
    # all fields agree, or all except drafts, or all except drafts and batch
    for unknown in ({}, {"drafted": None}, {"drafted": None, "batch": 0}):
        distinct = {replace(a, **unknown) for a in every}
        if len(distinct) == 1:
            return next(iter(distinct))
    return None
