"""Formats of models, chosen by name and first bytes."""

from __future__ import annotations

import os
import subprocess
import sys
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


def test_the_format_of_a_file_is_found_without_a_reader() -> None:
    code = (
        "import sys; from perfc.frontend.formats import format_of; format_of(sys.argv[1]);"
        "print([m for m in sys.modules if m.endswith('.program')])"
    )
    model = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"
    run = subprocess.run(
        [sys.executable, "-c", code, str(model)], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "model.pt2"
    os.mkfifo(pipe)
    with pytest.raises(ModelError, match="not a regular file"):
        load(pipe)
