"""Settings of the laboratory's tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import perfc

# Tables of tests are small: threads of a library wait for each other longer than they work.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("perfc", deadline=None)
settings.load_profile("perfc")


@pytest.fixture(autouse=True, scope="session")
def this_machine() -> None:
    """Use a known file as the target ``host``; no test probes the machine that it runs on."""
    os.environ["PERFC_HOST"] = str(Path(perfc.__file__).parent / "targets/generic-x86-64.toml")
