"""Find the baseline of each case of a check, also of a model with a new name or setting.

A model is compared with that of equal content, else of its own name, else of the name that git
takes for its former one.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfc.errors import PerfcError
from perfc.frontend.reading.folder import SUFFIXES as MODELS
from perfc.frontend.reading.module_name import NamedModule, is_named
from perfc.ir import record

from ...code.model import CodeModel
from .. import built_in, planning
from ..cache import FigureCache
from ..config import Config
from ..planning import CaseFigures, PlannedCheck
from ..verdict import Result
from .baseline import DIGEST_CHARACTERS, Baseline, BaselineCase, Entry

HEAD = "HEAD"
"""Revision for which the last commit of the baseline stands."""
SUFFIXES = (*MODELS, ".pir", ".mlir", ".xml")
"""Suffixes of files that may have the place of a model."""


@record
class Lineage:
    """Models of the baseline that models are compared with.

    Args:
        config: budgets.
        against: baseline.
        revision: revision of git with the models of the baseline.
        measured: entry of each case.
        formers: name in the baseline of each model that has another one now.
        gone: models of the baseline that are no longer checked.
    """

    config: Config
    against: Baseline
    revision: str
    measured: Mapping[BaselineCase, CaseFigures]
    formers: Mapping[str, str]
    gone: frozenset[str]

    @property
    def replaced(self) -> frozenset[str]:
        """Return the models that are gone, but are others now."""
        return self.gone & set(self.formers.values())

    def compared(self, p: PlannedCheck) -> tuple[Entry | None, str, str]:
        """Return the baseline of a case, the model's name in it, and a note on name or setting."""
        case = p.case
        former = self.formers.get(case.model, case.model)
        old = self.against.entries.get(replace(case, model=former))
        if old is not None and former == case.model:
            return old, former, ""
        # the baseline may have the model with other settings: then it is read from git
        old = old or committed(self.config, self.against, self.revision, p, former)
        if old is None:
            return None, former, ""
        name = self.config.shown(case.model)
        step = f"perfc check --write-baseline {shlex.quote(name)}"
        if former == case.model:
            text = f"{name}: another setting than in the baseline, compared on the new one"
            return old, former, f"{text} ({step})"
        if not any(b.covers(case.model) for b in self.config.budgets):
            step = f"no budget is about it: add it to {self.config.shown(self.config.path.name)}"
        return old, former, f"{name}: in place of {self.config.shown(former)} ({step})"


def lineage_of(
    config: Config,
    plan: Sequence[PlannedCheck],
    measured: Mapping[BaselineCase, CaseFigures],
    against: Baseline,
    revision: str,
) -> Lineage:
    """Find the models of the baseline that have another name now."""
    before = {case.model: entry for case, entry in against.entries.items()}
    now = {p.case.model: measured[p.case].entry for p in plan if p.case in measured}
    moved = {
        # a lock file has the first characters of a digest
        name: entry.digest[:DIGEST_CHARACTERS]
        for name, entry in now.items()
        if name not in before or not entry.digest.startswith(before[name].digest)
    }
    gone = frozenset(missing(config, against))
    by_git = renames(config, revision) if gone and moved else {}
    # under the name of one model there may be the content of another
    free: dict[str, list[str]] = {}
    for old in before:
        if old in gone or old in moved:
            free.setdefault(before[old].digest[:DIGEST_CHARACTERS], []).append(old)
    formers: dict[str, str] = {}
    for name, digest in moved.items():
        former = by_git.get(name, "")
        # a new model of a content that another had before it changed is a copy
        same = [old for old in free.get(digest, ()) if old in gone or name in before]
        if same:
            formers[name] = former if former in same else same[0]
            free[digest].remove(formers[name])
        elif name not in before and former in gone:
            formers[name] = former
    return Lineage(config, against, revision, measured, formers, gone)


def missing(config: Config, against: Baseline) -> Iterator[str]:
    """Yield the models of the baseline that are no longer checked."""
    models = dict.fromkeys(c.model for c in against.entries)
    checked = set(config.models()) if config.built_in_of is None else set()
    for model in models:
        is_gone = model not in checked
        # built-in budgets are for the models that the command line names: others are not gone,
        # unless their file is
        if config.built_in_of is not None:
            is_gone = not is_named(model) and not (config.root / model).is_file()
        if is_gone:
            yield model


def with_moved(
    config: Config, against: Baseline, projects: Iterable[tuple[Config, Baseline]]
) -> Baseline:
    """Return a baseline that also has the models that are gone from other projects.

    Such a model may have moved here; its name is relative to the folder of ``config``.
    """
    entries = dict(against.entries)
    for other, baseline in projects:
        gone = {m for m in missing(other, baseline) if not (other.root / m).exists()}
        for case, entry in baseline.entries.items():
            if other.root != config.root and case.model in gone and not is_named(case.model):
                name = os.path.relpath(other.root / case.model, config.root)
                entries.setdefault(replace(case, model=Path(name).as_posix()), entry)
    return replace(against, entries=entries)


def strays(
    config: Config, against: Baseline, revision: str, skipped: Sequence[Result] | None
) -> list[PlannedCheck]:
    """Return checks of models without a budget that git takes for a model that has one.

    Args:
        config: budgets.
        against: baseline.
        revision: revision of git with the models of the baseline.
        skipped: results of models without a budget; None for all models below the folder.
    """
    gone = set(missing(config, against))
    if skipped == [] or not gone or config.built_in_of is not None:  # built-in budgets cover all
        return []
    moved = [
        # the budgets of the model that is gone, as if they were about this file
        replace(b, models=(built_in.escaped(name),))
        for name, old in renames(config, revision).items()
        if old in gone
        and name.endswith(SUFFIXES)
        and not name.startswith("../")
        and (config.root / name).is_file()
        and not any(b.covers(name) for b in config.budgets)
        and (skipped is None or any(r.case.model == name for r in skipped))
        for b in config.budgets
        if b.covers(old)
    ]
    names = [name for b in moved for name in b.models]
    return planning.planned(replace(config, budgets=tuple(moved)), names)[0]


def renames(config: Config, revision: str) -> dict[str, str]:
    """Return the former name of files that git takes for renamed since the baseline."""
    from perfc.review.diff.revision import last_commit, renamed

    since = (last_commit(config.lock) if revision == HEAD else "") or revision
    return renamed(config.root, since)


def committed(
    config: Config, against: Baseline, revision: str, p: PlannedCheck, model: str
) -> Entry | None:
    """Return the entry of the baseline's model under the setting of ``p``, read from git.

    None if git does not have it at ``revision`` or in the last commit of the baseline.
    """
    from perfc.review.diff.revision import last_commit

    digests_of_model = {e.digest for c, e in against.entries.items() if c.model == model}
    for commit in dict.fromkeys((revision, last_commit(config.lock))):
        try:
            entry = entry_at(config.root, p, model, commit) if commit else None
        except PerfcError:
            continue
        if entry and any(entry.digest.startswith(digest) for digest in digests_of_model):
            return entry
    return None


def entry_at(
    root: Path, p: PlannedCheck, model: str, revision: str, cache: FigureCache | None = None
) -> Entry:
    """Return the entry of a model under the setting of ``p`` at a revision; ``cache`` has files.

    Raises:
        PerfcError: git does not have the model there, or it cannot be analyzed.
    """
    from perfc.review.diff.revision import opened

    from ...code.model import CodeModel

    target = planning.target_of(p.budget)
    old_model = at_revision(root, p.budget.module, model, revision)
    if isinstance(old_model, CodeModel):
        return planning.analyzed(replace(p, path=old_model), target)[0]
    with opened(old_model) as file:
        there = replace(p, path=Path(file))
        return planning.one(there, cache).entry if cache else planning.analyzed(there, target)[0]


def at_revision(
    root: Path, module: NamedModule | None, name: str, revision: str
) -> str | CodeModel:
    """Return the model of a name in the baseline, a file or a module, at a revision of git.

    Args:
        root: folder of the budgets.
        module: the module that has its place now, with its inputs; None for a file.
        name: name in the baseline; that of a module may end with the name of a set of inputs.
        revision: revision of git.
    """
    from ...code.model import CodeModel

    if module is None or not is_named(name):
        return f"{revision}:{(root / name).resolve()}"
    source, _, words = name.rpartition(":")
    return CodeModel(replace(module, name=f"{source}:{words.partition('/')[0]}"), revision)
