"""Find the lines of code that changed between two versions of a model in code (git diff).

Comments, docstrings, renamed variables and moved functions do not count. `CodeChange.nearest`
returns the changed line that is most likely the cause of a changed operator.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from functools import cached_property
from itertools import groupby
from pathlib import Path

from perfc.common.repository import git, is_revision, root_of
from perfc.ir import entity, record
from perfc.ir.record import cached_entity

from ..diff.revision import revision_of
from .imports import LARGEST_BYTES, SETTINGS, content, folder_of, parsed, sources_of
from .model import CodeModel
from .neutral import changed, units
from .stack_files import files_of_frames, relative, settings_near, with_imports
from .worktree import commit_of

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
"""Head of a hunk of a unified diff; a number of lines of 1 is left out."""
LONGEST_TEXT = 100
"""Maximum characters of a line of code in a report."""
PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")
"""Prefixes of names in a diff, which a configuration may have changed."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
"""Syntax of functions."""


class Relation(IntEnum):
    """Distance of a changed line from the lines that a node comes from."""

    ELSEWHERE = 0
    SETTING = 1
    """In a file that is not code."""
    IMPORTED = 2
    """In a source that the model imports."""
    FILE = 3
    """In the same file."""
    NAME = 4
    """It defines a name that the line's function uses."""
    FUNCTION = 5
    """In the same function."""
    STATEMENT = 6
    """In the same statement."""


@record
class ChangedLines:
    """Adjacent lines that changed.

    Args:
        file: source relative to the folder of the model, as it is now.
        old: first and last line before; the last is less than the first if lines were added.
        new: first and last line now; the last is less than the first if lines were removed.
    """

    file: str
    old: tuple[int, int]
    new: tuple[int, int]


@cached_entity
class SourceSyntax:
    """The syntax of one source file."""

    tree: ast.Module | None

    @cached_property
    def spans(self) -> list[tuple[int, int, ast.AST]]:
        """Return first line, last line and node of statements and functions."""
        if self.tree is None:
            return []
        return [
            (node.lineno, node.end_lineno or node.lineno, node)
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.stmt, *FUNCTIONS))
        ]

    def around(self, line: int) -> Iterator[tuple[int, int, ast.AST]]:
        """Yield the spans that contain a line, the smallest first."""
        holding = [span for span in self.spans if span[0] <= line <= span[1]]
        yield from sorted(holding, key=lambda span: span[1] - span[0])

    def statement(self, line: int) -> tuple[int, int]:
        """Return first and last line of the simple statement of a line."""
        for first, last, node in self.around(line):
            if isinstance(node, ast.stmt) and not hasattr(node, "body"):
                return first, last
        return line, line

    def function(self, line: int) -> tuple[int, int] | None:
        """Return first and last line of the function of a line."""
        spans = (s[:2] for s in self.around(line) if isinstance(s[2], FUNCTIONS))
        return next(spans, None)

    def defined(self, lines: tuple[int, int]) -> set[str]:
        """Return names that lines give a value, or that are functions or classes around them."""
        names = set[str]()
        # of removed lines, whose last is before the first, the first counts
        for line in range(lines[0], max(lines) + 1):
            for first, last, node in self.around(line):
                match node:
                    case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                        names.add(name)
                    case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if first <= line <= last:
                        names |= {
                            n.id if isinstance(n, ast.Name) else n.attr
                            for n in ast.walk(node)
                            if isinstance(n, (ast.Name, ast.Attribute))
                            and isinstance(n.ctx, ast.Store)
                        }
        # every module has these, so that they say nothing about a relation
        return names - {"__init__", "forward", "__call__"}

    def used(self, line: int) -> set[str]:
        """Return names that the function of a line uses, or its statement outside of functions."""
        first, last = self.function(line) or self.statement(line)
        return {name for n, name in self.names if first <= n <= last}

    def constructing(self, line: int) -> list[int]:
        """Return lines of a class that give a value to attributes which a line of it uses."""
        around = [*self.around(line)]
        owner = next((node for *_, node in around if isinstance(node, ast.ClassDef)), None)
        within = next((node for *_, node in around if isinstance(node, FUNCTIONS)), None)
        if owner is None or within is None:
            return []
        nearest = around[0][2]
        used = {n.attr for n in own_attributes(nearest)} or {n.attr for n in own_attributes(within)}
        stored = (n for n in own_attributes(owner) if isinstance(n.ctx, ast.Store))
        return [n.lineno for n in stored if n.attr in used]

    @cached_property
    def names(self) -> list[tuple[int, str]]:
        """Return the lines of names with the names."""
        return [
            (node.lineno, node.id if isinstance(node, ast.Name) else node.attr)
            for node in (ast.walk(self.tree) if self.tree else ())
            if isinstance(node, (ast.Name, ast.Attribute))
        ]

    @cached_property
    def variables(self) -> set[str]:
        """Return names of variables and arguments, which mean nothing to other sources."""
        nodes = [*ast.walk(self.tree)] if self.tree else []
        names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return names | {n.arg for n in nodes if isinstance(n, ast.arg)}


def own_attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield attributes of ``self`` below a node."""
    for n in ast.walk(node):
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self":
            yield n


@entity
class CodeChange:
    """Changes in the code of a model.

    Args:
        hunks: changed lines.
        folder: folder of the model, as it is now.
        imported: sources that the model imports, relative to it.
        names: these sources by their names in the frames of a file of a model, whose frames do not
            say which lines construct a module; None for a model in code.
        sources: their syntax, as far as it was read.
    """

    hunks: Sequence[ChangedLines]
    folder: Path
    imported: frozenset[str]
    names: Mapping[str, str] | None = None
    sources: dict[str, SourceSyntax] = field(default_factory=dict)

    def source(self, file: str) -> SourceSyntax:
        """Return the syntax of a file, as it is now."""
        if file not in self.sources:
            self.sources[file] = SourceSyntax(parsed(content(self.folder / file)))
        return self.sources[file]

    def text(self, place: str) -> str:
        """Return the text of a line, as ``pkg/model.py:42``."""
        file, line = _split(place)
        lines = content(self.folder / file).decode("utf-8", "replace").splitlines()
        return "".join(lines[line - 1 : line]).strip()[:LONGEST_TEXT]

    def nearest(self, new: Iterable[str], old: Iterable[str] = ()) -> str:
        """Return the changed line that is nearest to lines of code; "" if nothing changed.

        Args:
            new: lines that nodes come from now, as ``pkg/model.py:42``.
            old: lines of nodes that are gone.
        """
        now = [*self.located(new, is_now=True)]
        before = [*self.located(old, is_now=False)]
        best = max(
            self.hunks,
            key=lambda h: max(self.relation(h, now), self.relation_before(h, before)),
            default=None,
        )
        if best is None:
            return ""
        first, last = best.new
        inside = [n for file, n in now if file == best.file and first <= n <= last]
        return f"{best.file}:{inside[-1] if inside else first}"

    def located(self, frames: Iterable[str], *, is_now: bool) -> Iterator[tuple[str, int]]:
        """Yield file and line of frames, now with the lines that construct what they call."""
        for file, line in map(_split, frames):
            if self.names is None:
                yield file, line
            elif file in self.names:
                here = self.names[file]
                lines = self.source(here).constructing(line) if is_now else []
                yield from ((here, n) for n in (*lines, line))

    def relation(self, hunk: ChangedLines, frames: Iterable[tuple[str, int]]) -> Relation:
        """Return how near changed lines are to the nearest of lines of code."""
        source = self.source(hunk.file) if hunk.file.endswith(".py") else None
        if source is None:
            return Relation.SETTING if hunk.file.endswith(SETTINGS) else Relation.ELSEWHERE
        is_near = hunk.file in self.imported
        # without a closer relation it matters whether the model imports the file
        best = Relation.IMPORTED if is_near else Relation.ELSEWHERE
        names = source.defined(hunk.new)
        function = source.function(hunk.new[0])
        for file, line in frames:
            # a variable in the other file has a meaning there, whatever is defined here
            other = set[str]() if file == hunk.file else self.source(file).variables
            if (names - other) & self.source(file).used(line):
                best = max(best, Relation.NAME)
            if file != hunk.file:
                continue
            first, last = source.statement(line)
            # changed lines overlap the statement
            if first <= max(hunk.new) and hunk.new[0] <= last:
                return Relation.STATEMENT
            is_same = function is not None and function == source.function(line)
            best = max(best, Relation.FUNCTION if is_same else Relation.FILE)
        return best

    def relation_before(self, hunk: ChangedLines, frames: Iterable[tuple[str, int]]) -> Relation:
        """Return how near removed lines are to the nearest of lines of code of gone nodes."""
        here = [line for file, line in frames if file == hunk.file]
        if any(hunk.old[0] <= line <= hunk.old[1] for line in here):
            return Relation.STATEMENT
        return Relation.FILE if here else Relation.ELSEWHERE


def _split(place: str) -> tuple[str, int]:
    """Return file and line of a place, as ``pkg/model.py:42``; line 1 without one."""
    file, _, line = place.rpartition(":")
    return file, int(line) if line.isdecimal() else 1


def code_change(
    old: object, new: object, frames: Iterable[str] = (), folder: Path | None = None
) -> CodeChange | None:
    """Return what changed in the code of a model between two versions; None if nothing is known.

    Args:
        old: a model in code, or a file of a model, at a revision.
        new: the model now, or at a later revision.
        frames: lines of code that the files of both versions name.
        folder: folder that lines are named from where the model is a file (default: the current).

    Raises:
        ModelError: git cannot be run.
    """
    match old, new:
        case CodeModel(revision=before), CodeModel(revision=after) if before:
            place = folder_of(new.module)
            paths = [relative(path, place) for path in sources_of(new.module)]
            return since(CodeChange([], place, frozenset(paths)), ["."], before, after)
        case str(), str() if before := revision_of(old):
            place, after = Path(os.path.abspath(folder or ".")), revision_of(new)
            file = Path(os.path.abspath(new.removeprefix(f"{after}:")))
            # a revision of the current folder says nothing about files of another repository
            if root_of(file.parent) != root_of(place) or not is_revision(before, str(place)):
                return None
            names = files_of_frames(frames, place)
            paths = with_imports(names, place)
            change = CodeChange([], place, frozenset(paths), names)
            limits = [*paths, *settings_near(paths, place)]
            made = since(change, limits, before, after) if paths else change
            # without a change of the sources the lines of the model's file say most
            return made if made.hunks else None
    return None


def since(change: CodeChange, limits: Sequence[str], before: str, after: str) -> CodeChange:
    """Return a change with its lines between two revisions of git, "" for the working tree.

    Args:
        change: folder and sources.
        limits: files and folders whose changes count.
        before: first revision.
        after: second revision.
    """
    folder, sources = change.folder, sorted(change.imported)
    top = root_of(folder) or folder
    commits = [commit_of(folder, r) for r in (before, after) if r]
    # no context, and nothing that a user may have set; a renamed file is removed and added
    command = ["diff", "-U0", "--no-color", "--no-renames", "--no-relative", *PREFIXES, *commits]
    command += ["--", *(f":(literal){name}" for name in limits)]
    diff = git(command, folder=str(folder)).stdout.decode("utf-8", "replace")
    hunks = [replace(h, file=relative(top / h.file, folder)) for h in hunks_of(diff)]
    if not after:
        tracked = git(["ls-files", "--", *sources], folder=str(folder)).stdout.decode().split("\n")
        # git diff leaves out untracked files: all of their lines are new, at most about a million
        hunks += [ChangedLines(s, (1, 0), (1, 1 << 20)) for s in sources if s not in tracked]
    return replace(change, hunks=[*effective(replace(change, hunks=hunks), commits[0])])


def effective(change: CodeChange, commit: str) -> Iterator[ChangedLines]:
    """Yield changed lines since ``commit`` without comments, new names of variables and moves."""
    sources = [(f, change.source(f)) for f in change.imported]
    # names that a file uses, and that others use for more than a variable: functions of other names
    # are never called
    for file, hunks in groupby(change.hunks, key=lambda h: h.file):
        used = {n for f, s in sources for _, n in s.names if f == file or n not in s.variables}
        new = change.source(file).tree if file.endswith(".py") else None
        if new is None:
            yield from hunks  # not Python, or removed: every line counts
            continue
        shown = git(["show", f"{commit}:./{file}"], folder=str(change.folder)).stdout
        # everything is new where the old source is too large
        old = parsed(shown if len(shown) <= LARGEST_BYTES else b"")
        before, now = [*units(old.body if old else (), used)], [*units(new.body, used)]
        for h in hunks:
            lines = changed(now, before, h.new)
            if lines or changed(before, now, h.old):
                # without new lines the range stays empty
                first = min(lines, default=h.new[0])
                yield replace(h, new=(first, max(h.new[1], first - 1)))


def hunks_of(diff: str) -> Iterator[ChangedLines]:
    r"""Yield the changed lines of a diff without context.

    >>> [(h.file, h.new) for h in hunks_of("--- a/n.py\n+++ b/n.py\n@@ -3 +4,2 @@ def f():\n")]
    [('n.py', (4, 5))]
    """
    file, before = "", ""
    for line in diff.splitlines():
        if line.startswith("--- "):
            before = line[4:].removeprefix("a/")
        elif line.startswith("+++ "):
            file = before if line[4:] == os.devnull else line[4:].removeprefix("b/")
        elif file and (m := HUNK.match(line)):
            # first line and number of lines before and now; `+0,0` is the head of an emptied file
            a, b, c, d = (int(n) if n else 1 for n in m.groups())
            yield ChangedLines(file, (a, a + b - 1), (max(c, 1), c + d - 1))
