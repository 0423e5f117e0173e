"""Check for the libraries of the extra ``gnn-llm``, before a long training starts."""

from __future__ import annotations

import importlib

from perfc.common.extras import install
from perfc.errors import MissingExtraError

# packages that have to be installed
NEEDED = ("torch", "torch_geometric", "safetensors", "transformers", "peft")


def need_extra() -> None:
    """Raise at once where the extra is not installed.

    Raises:
        MissingExtraError: with the line that installs it.
    """
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            raise MissingExtraError(
                f"graphs with language models need {name}", hint=install("gnn-llm")
            ) from None
    from transformers.utils import logging

    # the commands print their progress themselves
    logging.set_verbosity_error()
    logging.disable_progress_bar()
