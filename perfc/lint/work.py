"""Files to lint and the analysis that each of them gets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from perfc.deployment import Deployment
from perfc.errors import ModelError, PerfcError
from perfc.ir.record import record

from .engine import Linted, Linter, Outcome

SUFFIXES = (".onnx", ".onnx.gz")


@record
class Work:
    """A linter and how models are run."""

    linter: Linter
    deployment: Deployment
    values: Mapping[str, object]

    def lint(self, path: str, model: object = None) -> Linted:
        """What is found in the model at ``path``, or in ``model`` in its place.

        Raises:
            PerfcError: as ``perfc.analyze``.
        """
        from perfc.api import analyze

        report = analyze(
            path if model is None else model,
            deployment=self.deployment,
            values=self.values,
        )
        return self.linter.check(report, path, has_values=bool(self.values))

    def lint_all(self, paths: Iterable[str]) -> Outcome:
        """Every file; what cannot be analysed is an error of the outcome and stops no other."""
        done: list[Linted] = []
        errors: list[str] = []
        for path in paths:
            try:
                done.append(self.lint(path))
            except PerfcError as error:
                errors.append(named(error, path))
        return self.linter.outcome(done, errors)


def named(error: PerfcError, path: str) -> str:
    """An error as one line that names the file."""
    text = " ".join(str(error).split())
    return text if path in text else f"{path}: {text}"


def models_in(files: Iterable[str]) -> list[str]:
    """Files as they are, folders as the models in them.

    Raises:
        ModelError: a folder without models.
    """
    found: list[str] = []
    for name in files:
        path = Path(name)
        if not path.is_dir():
            found.append(name)
            continue
        inside = sorted(
            os.path.join(folder, f)
            for folder, _, names in os.walk(path)
            for f in names
            if f.endswith(SUFFIXES)
        )
        if not inside:
            raise ModelError("no .onnx files in this folder", where=name)
        found += inside
    return list(dict.fromkeys(found))
