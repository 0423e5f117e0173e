"""``perfc init``: set up budgets, a baseline and a pre-commit hook for a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say
from perfc.errors import ModelError, ParseError

from ..shared.prelude import DeploymentOptions, grouped_command, model_options
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.frontend.reading.module_name import NamedModule
    from perfc.review.check.config import Config

UNREADABLE = 2
"""Exit code if a model cannot be read: nothing is written."""


@grouped_command("init")
@click.argument("files", nargs=-1, type=click.Path())
@model_options
@table_options("init")
def command(options: DeploymentOptions, files: tuple[str, ...], force: bool, no_hook: bool) -> int:
    """Write a commented perfc.toml, a baseline and a pre-commit entry in this folder.

    They cover FILES, or every model below this folder. Deployment options are written to
    perfc.toml. PyTorch modules are FILES too (package.module:Name, with --input); others in the
    sources are proposed as comments. Nothing is written if a model cannot be analyzed.
    """
    from perfc.frontend.reading.folder import models_in
    from perfc.review.check import built_in, run
    from perfc.review.check.lock import digests, lock_file
    from perfc.review.check.lock.baseline import Baseline

    here = Path.cwd()
    refused(options, here, force=force)
    modules, proposed = modules_of(options, files, here)
    # the arguments that are files; all others are modules
    names = [f for f in files if f not in {m.name for m in modules}]
    models = below(names, here) if files else models_in(here)
    if not models and not modules:
        hint = "name models: perfc init FILES"
        if proposed:
            hint = f"PyTorch modules: perfc init {proposed[0]} --input 8x3x224x224"
        raise ModelError("no models below this folder", where=str(here), hint=hint)
    target = options.deployment().target
    text = built_in.file_text(models, options.typed(), target, modules, proposed)
    # the text is parsed before it is written, so that a faulty text leaves no file behind
    config = read_back(text, here)
    entries, errors = run.renewed(config, Baseline(), ())
    for line in errors:
        say(f"error: {line}", is_error=True)
    if errors:
        say("nothing is written", is_error=True)
        return UNREADABLE
    lock = lock_file.to_text(digests.predictor(), entries)
    changes = {config.path: text, config.lock: lock}
    notes: list[str] = []
    if not no_hook:
        changes |= hook_of(here, notes)
    store(changes)
    for path in changes:
        say(f"wrote {path.relative_to(here) if path.is_relative_to(here) else path}")
    for note in (*notes, f"{len(entries)} in the baseline; commit these files, then: perfc check"):
        say(note)
    return 0


def modules_of(
    options: DeploymentOptions, files: Sequence[str], here: Path
) -> tuple[list[NamedModule], list[str]]:
    """Return the PyTorch modules among files, and names of modules below a folder to propose.

    At a terminal, the user confirms modules with example inputs. Sources are parsed, not imported.
    """
    import sys

    from perfc.frontend.reading.folder import is_foreign
    from perfc.frontend.reading.module_name import NamedModule, is_named, require_code
    from perfc.review.code.entry_points import entry_points

    modules = [
        NamedModule(f, options.inputs, options.kwargs, is_jax=options.is_jax)
        for f in files
        if is_named(f)
    ]
    points = [] if files else entry_points(here, is_foreign)
    is_at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    chosen = [
        e.name
        for e in points
        if is_at_terminal and e.has_examples and click.confirm(f"Check {e.name} too?")
    ]
    modules += [NamedModule(name) for name in chosen]
    for module in modules:
        require_code(module)
    return modules, [e.name for e in points if e.name not in chosen]


def refused(options: DeploymentOptions, here: Path, *, force: bool) -> None:
    """Reject options that a new perfc.toml cannot follow, and files that it would replace or hide.

    Raises:
        UsageError: an option that a new perfc.toml cannot follow.
        ParseError: a file exists already.
    """
    from perfc.deployment import project_file
    from perfc.review.check.config import LOCK

    if options.config is not None or options.values:
        flag = "--config" if options.config is not None else "--value"
        raise click.UsageError(f"perfc init writes a new perfc.toml and accepts no {flag}")
    for name in (project_file.NAME, LOCK):
        if (here / name).exists() and not force:
            hint = "--force overwrites it; perfc check uses it as it is"
            raise ParseError("there already", where=name, hint=hint)
    existing = project_file.find(here)
    if existing is not None and existing.name == project_file.PROJECT and existing.parent == here:
        hint = "write [[tool.perfc.budget]] there; a perfc.toml would hide it"
        raise ParseError("[tool.perfc] is there already", where=existing.name, hint=hint)


def below(files: Sequence[str], here: Path) -> list[str]:
    """Return files and the models of folders, relative to ``here`` as budgets name them.

    Raises:
        ModelError: a file does not exist or is outside of the folder, or more models than allowed.
    """
    from perfc.common.repository import remedy
    from perfc.frontend.reading.folder import models_in

    names: list[str] = []
    for file in files:
        path = (here / file).resolve()
        if not path.is_relative_to(here.resolve()):
            raise ModelError("not below this folder", where=file, hint="run perfc init above it")
        name = path.relative_to(here.resolve()).as_posix()
        # its glob may cover other files, which would pass for it
        if not path.exists():
            raise ModelError("no such file", where=file, hint=remedy(file))
        if path.is_dir():
            names += [f"{name}/{m}" if name != "." else m for m in models_in(path)]
        else:
            names.append(name)
    return sorted(dict.fromkeys(names))


def read_back(text: str, here: Path) -> Config:
    """Parse the budgets in a text that has not been written yet."""
    import tempfile
    from dataclasses import replace

    from perfc.deployment import project_file
    from perfc.review.check import config as configs
    from perfc.review.check.config import LOCK

    with tempfile.TemporaryDirectory(prefix="perfc-") as folder:
        path = Path(folder) / project_file.NAME
        path.write_text(text, encoding="utf-8")
        config = configs.load(path)
    # modules are relative to the folder of their file, which was temporary
    budgets = tuple(
        replace(b, module=replace(b.module, folder=str(here))) if b.module else b
        for b in config.budgets
    )
    return replace(config, path=here / project_file.NAME, lock=here / LOCK, budgets=budgets)


def hook_of(here: Path, notes: list[str]) -> dict[Path, str]:
    """Return the pre-commit configuration with the entry; reasons for none go to ``notes``."""
    from perfc.common.repository import root_of
    from perfc.common.toml_file import read_text
    from perfc.review.check import hook

    root = root_of(here)
    if root is None:
        notes.append(f"no repository of git here: {hook.FILE} is not written")
        return {}
    path = root / hook.FILE
    old = read_text(path) if path.is_file() else ""
    new = hook.entered(old)
    if new is None:
        notes.append(f"{hook.FILE} is left as it is; its entry for perfc would be:")
        notes += hook.ENTRY.splitlines()
        return {}
    if new == old:
        notes.append(f"{hook.FILE} has perfc check already")
        return {}
    notes.append("the hook runs once pre-commit is installed here: pre-commit install")
    return {path: new}


def store(changes: dict[Path, str]) -> None:
    """Write all files, or none.

    Raises:
        ParseError: a file cannot be written.
    """
    from perfc.common.whole_file import write_whole

    before = {path: path.read_bytes() if path.is_file() else None for path in changes}
    done: list[Path] = []
    try:
        for path, text in changes.items():
            write_whole(path, text.encode())
            done.append(path)
    except OSError as error:
        for written in done:
            content = before[written]
            if content is None:
                written.unlink()
            else:
                write_whole(written, content)
        what = f"cannot be written: {error.strerror or error}"
        raise ParseError(what, where=path.name, hint="nothing is written") from None
