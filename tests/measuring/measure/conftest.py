"""Models and fixtures for the tests of measuring."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _models() -> ModuleType:
    path = Path(__file__).with_name("models.py")
    spec = importlib.util.spec_from_file_location("measure_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["measure_models"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def residual(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "residual.onnx"
    return str(_models().residual(path))


@pytest.fixture(scope="session")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "embedding.onnx"
    return str(_models().embedding(path))
