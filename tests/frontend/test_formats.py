"""Formats of models, chosen by name and first bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfc.common.declared import modules
from perfc.errors import ModelError
from perfc.frontend import formats, load


def test_every_module_of_the_folder_is_a_format() -> None:
    for module in modules(formats.__name__):
        assert callable(module.reads), module
        assert callable(module.lower), module


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("model.onnx", b"\x08\x07", "onnx"),
        ("model.pir", b"module", "pir"),
        ("config.json", b"{}", "config"),
        ("no_such_file.onnx", None, "onnx"),
    ],
)
def test_a_file_has_the_format_that_reads_it(
    tmp_path: Path, name: str, content: bytes | None, expected: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert formats.format_of(str(path)).__name__.endswith(f".{expected}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "model.pt2"
    os.mkfifo(pipe)
    with pytest.raises(ModelError, match="not a regular file"):
        load(pipe)
