"""Every example in a docstring gives what it says."""

from __future__ import annotations

import doctest
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"perfc": ROOT, "perfc_lab": ROOT / "lab"}
FEWEST = {"perfc": 150, "perfc_lab": 20}
"""Examples; fewer say that some are not looked for."""


def modules_with_examples(package: str) -> Iterator[str]:
    root = PACKAGES[package]
    # folders of the package are links
    for folder, _, names in os.walk(root / package, followlinks=True):
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix == ".py" and ">>> " in path.read_text(encoding="utf-8"):
                parts = path.relative_to(root).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_example_gives_what_it_says(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package)
    monkeypatch.chdir(ROOT)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    failures: list[str] = []
    for name in modules_with_examples(package):
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            # a package of an extra, which this environment may lack
            if str(error.name).partition(".")[0] in PACKAGES:
                raise
            continue
        for test in finder.find(module):
            runner.run(test, out=failures.append)
    assert not failures, "\n".join(failures)
    assert runner.tries >= FEWEST[package]
