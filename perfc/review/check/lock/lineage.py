"""Find the baseline of each case of a check, also of a model with a new name or setting.

A model may have been renamed, moved, split in several files or merged from several
(`successors`). `perfc check` compares it with the entries of the models whose place it takes.
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
from . import digests
from .baseline import Baseline, BaselineCase, Entry
from .successors import Succession, successions, together

HEAD = "HEAD"
"""Revision for which the last commit of the baseline stands."""
SUFFIXES = (*MODELS, ".pir", ".mlir", ".xml")
"""Suffixes of files that may have the place of a model."""
MOST_STRAYS = 100
"""Maximum models without a budget that are compared with models that are gone."""


@record
class ComparedEntries:
    """Entries to compare of one case.

    Args:
        new: entry of the model, or of all models that take the place of another.
        old: baseline; None for a new model.
        former: name of the model in the baseline; "" if it is several.
        note: what replaces what; "" for a model that has its name and setting in the baseline.
    """

    new: Entry
    old: Entry | None
    former: str
    note: str = ""


@record
class Lineage:
    """Successions of a check.

    Args:
        config: budgets.
        against: baseline.
        revision: revision of git with the models of the baseline.
        measured: entry of each case.
        by_model: successions by new model.
        names: models of the baseline.
    """

    config: Config
    against: Baseline
    revision: str
    measured: Mapping[BaselineCase, CaseFigures]
    by_model: Mapping[str, Succession]
    names: frozenset[str]

    @property
    def replaced(self) -> frozenset[str]:
        """Return the models of the baseline whose place others take."""
        return frozenset(o for n, s in self.by_model.items() for o in s.old if o not in s.new)

    def compared(self, p: PlannedCheck) -> ComparedEntries:
        """Return the entries to compare of a case."""
        case, entry = p.case, self.measured[p.case].entry
        old = self.against.entries.get(case)
        succession = self.by_model.get(case.model)
        # the same name and setting, or a name that the baseline does not have
        if succession is None and (old is not None or case.model not in self.names):
            return ComparedEntries(entry, old, case.model)
        # the baseline has the name, but with other settings
        succession = succession or Succession((case.model,), (case.model,))
        name = self.config.shown(case.model)
        names = " ".join(shlex.quote(self.config.shown(n)) for n in succession.new)
        step = f"perfc check --write-baseline {names}"
        # of several models that take one place, the first has the figures of all together
        if case.model != succession.new[0]:
            first = self.config.shown(succession.new[0])
            return ComparedEntries(entry, None, "", f"{name}: checked together with {first}")
        parts = [self.measured.get(replace(case, model=n)) for n in succession.new]
        olds = [self.former(p, o) for o in succession.old]
        # without the figures of all, there is nothing to compare with
        if None in parts or None in olds:
            return ComparedEntries(entry, None, "")
        new = together([part.entry for part in parts if part is not None])
        before = together([o for o in olds if o is not None])
        former = succession.old[0] if len(succession.new) == len(succession.old) == 1 else ""
        if succession.new == succession.old:
            text = f"{name}: another setting than in the baseline, compared on the new one"
            return ComparedEntries(new, before, former, f"{text} ({step})")
        new_names, old_names = (
            " and ".join(map(self.config.shown, models))
            for models in (succession.new, succession.old)
        )
        if not any(b.covers(case.model) for b in self.config.budgets):
            step = f"no budget is about it: add it to {self.config.shown(self.config.path.name)}"
        return ComparedEntries(
            new, before, former, f"{new_names}: in place of {old_names} ({step})"
        )

    def former(self, p: PlannedCheck, model: str) -> Entry | None:
        """Return the entry of an old model under the setting of a case; None if it has none.

        If the baseline has other settings only, the model is read from git.
        """
        entry = self.against.entries.get(replace(p.case, model=model))
        return entry or committed(self.config, self.against, self.revision, p, model)


def lineage_of(
    config: Config,
    plan: Sequence[PlannedCheck],
    measured: Mapping[BaselineCase, CaseFigures],
    against: Baseline,
    revision: str,
) -> Lineage:
    """Find the models that take the place of others."""
    from perfc.review.diff.revision import renamed

    before: dict[str, Entry] = {}
    for case, entry in against.entries.items():
        before.setdefault(case.model, entry)
    now: dict[str, PlannedCheck] = {}
    for p in plan:
        if p.case in measured:
            now.setdefault(p.case.model, p)
    entries = {name: measured[p.case].entry for name, p in now.items()}
    new = {name: entry for name, entry in entries.items() if name not in before}
    changed = {
        n: (e, before[n])
        for n, e in entries.items()
        # a lock file has the first characters of a digest
        if n in before and not e.digest.startswith(before[n].digest)
    }
    if not before or not (new or changed):
        return Lineage(config, against, revision, measured, {}, frozenset(before))
    gone = {name: before[name] for name in missing(config, against)}
    first = next(iter(now.values()))
    for name, entry in gone.items():
        # a lock of an older perfc has no products
        if not entry.products:
            gone[name] = committed(config, against, revision, first, name) or entry
    by_git = renamed(config.root, revision) if gone else {}
    covered = {n: e for n, e in new.items() if any(b.covers(n) for b in config.budgets)}
    # models without a budget take only the places that those with a budget leave
    pairs = successions(covered, gone, changed, by_git)
    unpaired = {n: e for n, e in gone.items() if not any(n in s.old for s in pairs)}
    pairs += successions({n: e for n, e in new.items() if n not in covered}, unpaired, {}, by_git)
    by_model = {n: s for s in pairs for n in s.new}
    return Lineage(config, against, revision, measured, by_model, frozenset(before))


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
    """Return checks of models without a budget that may have the place of one with a budget.

    They are those that git does not have at the revision of the baseline.

    Args:
        config: budgets.
        against: baseline.
        revision: revision of git with the models of the baseline.
        skipped: results of models without a budget; None for all models below the folder.
    """
    from perfc.review.diff.revision import last_commit, new_files

    if skipped == [] or config.built_in_of is not None:  # built-in budgets cover all
        return []
    gone = [m for m in missing(config, against) if not is_named(m)]
    budgets = [b for b in config.budgets if b.module is None and any(map(b.covers, gone))]
    if not budgets:
        return []
    before = last_commit(config.lock) if revision == HEAD else revision
    names = [
        name
        for name in new_files(config.root, before)
        if name.endswith(SUFFIXES)
        and (config.root / name).is_file()
        and not any(b.covers(name) for b in config.budgets)
        and (skipped is None or any(r.case.model == name for r in skipped))
    ][:MOST_STRAYS]
    globs = tuple(map(built_in.escaped, names))
    # the budgets of models that are gone, as if they were about these files
    moved = tuple(replace(b, models=globs) for b in budgets)
    return planning.planned(replace(config, budgets=moved), names)[0]


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
    from perfc.machine import load_machine
    from perfc.review.diff.revision import opened

    from ...code.model import CodeModel

    target = digests.of_target(load_machine(p.budget.target))
    old_model = at_revision(root, p.budget.module, model, revision)
    if isinstance(old_model, CodeModel):
        return planning.analysed(replace(p, path=old_model), target)[0]
    with opened(old_model) as file:
        there = replace(p, path=Path(file))
        return planning.one(there, cache).entry if cache else planning.analysed(there, target)[0]


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
