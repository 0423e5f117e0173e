"""Which files a pattern of the configuration speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.lint.settings import FileIgnore


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("models/*.onnx", "models/a.onnx", True),
        ("models/*.onnx::/layer1/*", "models/a.onnx", True),
        ("a.onnx", "models/a.onnx", True),
        ("*/models/a.onnx", "models/a.onnx", True),
        ("models/*.onnx", "other/a.onnx", False),
        ("other/*.onnx", "models/a.onnx", False),
    ],
)
def test_patterns_of_files_start_at_the_folder_of_the_settings(
    pattern: str, path: str, matches: bool, tmp_path: Path
) -> None:
    assert FileIgnore(pattern, ()).matches_file(tmp_path / path, tmp_path) is matches
