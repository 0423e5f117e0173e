"""Libraries of the extra ``train``, for training alone, imported when something is fitted."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perfc.common.extras import install
from perfc.common.version import __version__
from perfc.errors import MissingExtraError


def xgboost() -> Any:
    """Return the library that grows trees.

    Raises:
        MissingExtraError: it is not installed.
    """
    return _imported("xgboost", install("train", only="xgboost"))


def versions() -> dict[str, str]:
    """Return the versions of the training libraries, for cards.

    Raises:
        MissingExtraError: xgboost is not installed.
    """
    import numpy as np

    return {"perfc": __version__, "numpy": np.__version__, "xgboost": xgboost().__version__}


def optimizer() -> Any:
    """Return ``scipy.optimize``.

    Raises:
        MissingExtraError: SciPy is not installed.
    """
    return _imported("scipy.optimize", install("train", only="scipy"))


def _imported(module: str, hint: str) -> Any:
    """Return a module, or fail with the command that installs its package."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingExtraError(f"training needs {package}", hint=hint) from None
