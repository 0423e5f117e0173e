"""Load a search space: a user's function that builds a model from a trial of Optuna."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from importlib import util
from numbers import Real
from pathlib import Path
from typing import Any

from perfc.errors import ModelError, PerfcError, reason_of
from perfc.frontend.reading.module_name import NamedModule, require_code
from perfc.ir import record

FUNCTION = "build"
"""Name of the function without ``:NAME``."""
RESULTS = "it returns MODEL, or a tuple of MODEL, its inputs and a score"


@record
class BuiltModel:
    """Model of one trial, with its inputs and score.

    Args:
        model: anything that ``perfc.analyze`` takes.
        inputs: example inputs of a PyTorch module; None for other models.
        score: score that the user's function returned, to be maximized; None without one.
    """

    model: Any
    inputs: Any = None
    score: float | None = None

    @classmethod
    def of(cls, built: Any, where: str) -> BuiltModel:
        """Return the candidate of what a function returned.

        Raises:
            ModelError: it is no model, model and score, model and inputs, or all three.
        """
        parts = list(built) if isinstance(built, tuple) else [built]
        is_scored = len(parts) > 1 and isinstance(parts[-1], Real)
        score = float(parts.pop()) if is_scored else None
        if not 1 <= len(parts) <= 2 or parts[0] is None:
            raise ModelError(f"it returned {type(built).__name__}", hint=RESULTS, where=where)
        return cls(parts[0], parts[1] if len(parts) == 2 else None, score)


@record
class Space:
    """A function that builds models, and its place.

    Args:
        name: file and function, ``space.py:build``.
        function: takes a trial.
    """

    name: str
    function: Callable[[Any], Any]

    @classmethod
    def load(cls, text: str) -> Space:
        """Return the space of ``path.py`` or ``path.py:NAME``.

        The file is a program of the user, trusted as ``path.py:Name`` of a PyTorch module is. It
        runs in this process: a process for each candidate would take 100 times the 1 ms that a
        candidate may take, and a trial of Optuna does not cross processes.

        Raises:
            ModelError: no such file or function, or the file raises an error.
        """
        path, name = text, FUNCTION
        if not text.endswith(".py"):
            path, _, name = text.rpartition(":")
        if not Path(path).is_file() or not path.endswith(".py"):
            raise ModelError("no such file", hint="space.py with def build(trial)", where=text)
        function = getattr(imported(path), name, None)
        if not callable(function):
            raise ModelError(f"has no function {name}", hint="def build(trial): ...", where=path)
        return cls(f"{path}:{name}", function)

    def candidate(self, trial: Any, skipped: type[Exception]) -> BuiltModel:
        """Return the candidate of a trial.

        Args:
            trial: trial of Optuna.
            skipped: error with which the function leaves a trial out; it is raised again.

        Raises:
            ModelError: the function raised another error, or returned something else.
        """
        try:
            built = self.function(trial)
        except (skipped, PerfcError):  # not errors of the user's code
            raise
        except Exception as error:
            raise ModelError(failure(error), where=self.name) from error
        return BuiltModel.of(built, self.name)


def imported(path: str) -> Any:
    """Return a file as a module; its folder is searched for what it imports.

    Raises:
        ModelError: it raises an error, or no code may run.
    """
    require_code(NamedModule(path))
    spec = util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    # as an import does: the folder is searched, and the module is registered before it runs
    sys.path.insert(0, str(Path(path).resolve().parent))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError(failure(error), where=path) from error
    return module


def failure(error: Exception) -> str:
    """Return an error of the user's code in one line, with the line that raised it."""
    # the last frame is the innermost, where the error was raised
    frames = traceback.extract_tb(error.__traceback__)
    return f"line {frames[-1].lineno}: {type(error).__name__}: {reason_of(error)}"
