"""A PyTorch module by name, in the working tree or at a revision of git, and its export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from perfc.errors import AbsentError, ModelError
from perfc.frontend.reading.module_name import NamedModule
from perfc.ir import Module, record

from .imports import digest_of, folder_of, sources_of
from .worktree import checked_out, commit_of, patched

HEAD = "HEAD"
"""Last commit of the current branch."""
_EXPORTS: dict[tuple[object, ...], Module] = {}
"""Exports of this process: one takes seconds, and every setting of a module has the same."""


@record
class CodeModel:
    """PyTorch module by name at a revision.

    Args:
        module: its name, inputs and folder.
        revision: revision of git; "" for the working tree.
        patch: change of the working tree.
    """

    module: NamedModule
    revision: str = ""
    patch: str = ""

    def __str__(self) -> str:
        """Return the name as commands take it."""
        name = f"{self.revision}:{self.module}" if self.revision else str(self.module)
        return f"{name} with a patch" if self.patch else name

    def patched(self, patch: str) -> CodeModel:
        """Return the module with a patch.

        Raises:
            ModelError: it does not apply.
        """
        result = replace(self, patch=patch)
        try:
            # before either side is exported, which takes seconds
            with patched(folder_of(self.module), patch):
                return result
        except ModelError as error:
            error.where = str(result)
            raise

    def read(self, dims: Mapping[str, int]) -> Module:
        """Return the module in the IR.

        Args:
            dims: sizes by name, where the module has no inputs or one size only.

        Raises:
            PerfcError: PyTorch cannot export it, or the revision does not have it.
        """
        folder = folder_of(self.module)
        if self.patch:
            with patched(folder, self.patch) as checkout:
                return exported(replace(self.module, folder=str(checkout)), dims)
        if not self.revision:
            return exported(self.module, dims)
        commit = commit_of(folder, self.revision)
        if not sources_of(self.module):
            raise ModelError("its code is not in this repository", where=str(self))
        key = (commit, str(folder), *setting_of(self.module, dims))
        # a commit does not change: its export is valid as long as this process
        if key not in _EXPORTS:
            with checked_out(folder, commit) as checkout:
                old_module = replace(self.module, folder=str(checkout))
                if not sources_of(old_module):
                    raise ModelError(f"{self.revision} does not have it", where=str(self))
                _EXPORTS[key] = exported(old_module, dims)
        return _EXPORTS[key]


def digests_at(modules: Iterable[NamedModule], revision: str) -> dict[NamedModule, str]:
    """Return the digests of modules at a revision, of one checkout per folder; nothing is imported.

    Modules that the revision lacks are left out.

    Raises:
        ModelError: git does not have the revision, or cannot check it out.
    """
    digests: dict[NamedModule, str] = {}
    by_folder: dict[Path, list[NamedModule]] = {}
    for module in modules:
        by_folder.setdefault(folder_of(module), []).append(module)
    for folder, group in by_folder.items():
        with (
            suppress(AbsentError),  # of the folder
            checked_out(folder, commit_of(folder, revision)) as checkout,
        ):
            there = {m: replace(m, folder=str(checkout)) for m in group}
            digests |= {m: digest_of(old) for m, old in there.items() if sources_of(old)}
    return digests


def in_code(model: object) -> CodeModel:
    """Return a PyTorch module by name.

    Raises:
        ModelError: the model is something else.
    """
    if not isinstance(model, CodeModel):
        raise ModelError("patches are of PyTorch modules by name", hint="as in net.py:Net")
    return model


def exported(module: NamedModule, dims: Mapping[str, int]) -> Module:
    """Return a module in the IR, exported once for all batch sizes where its batch is a symbol."""
    from perfc.frontend.pytorch.named import named_module

    digest = digest_of(module)
    # keys of an export for one batch size, and for every one
    of_one = (digest, *setting_of(module, dims))
    of_every = of_one[:-1]
    for key in (of_every, of_one):
        if key in _EXPORTS:
            return _EXPORTS[key]
    export = named_module(module, dims)
    # an export with a symbolic batch serves every batch size
    return _EXPORTS.setdefault(of_every if export.symbols else of_one, export)


def setting_of(module: NamedModule, dims: Mapping[str, int]) -> tuple[object, ...]:
    """Return the settings that the export of a module depends on, with the batch last."""
    return (
        module.name,
        module.inputs,
        module.kwargs,
        module.is_jax,
        dims.get("seq"),
        dims.get("batch"),
    )


def including(models: Mapping[str, NamedModule], paths: Iterable[Path]) -> list[str]:
    """Return the names of the modules that include one of the source files."""
    places = {path.resolve() for path in paths}
    return [
        name
        for name, module in models.items()
        if places and not places.isdisjoint(s.resolve() for s in sources_of(module))
    ]
