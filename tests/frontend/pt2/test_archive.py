"""Zip archives of PyTorch: the program is read, others are refused in one line."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from perfc.errors import ModelError
from perfc.frontend import load
from perfc.frontend.pt2 import archive

FIXTURE = Path(__file__).parents[2] / "fixtures" / "small-conv.pt2"


def zipped(compression: int = zipfile.ZIP_DEFLATED, /, **entries: str) -> bytes:
    """Return a zip archive of entries by name."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as out:
        for name, content in entries.items():
            out.writestr(name, content)
    return data.getvalue()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("net/code/__torch__/net.py", "TorchScript archive .save torch.export.export"),
        ("net/data.pkl", "checkpoint: weights without a graph"),
        ("net/data/aotinductor/model/x.so", "compiled AOTInductor package"),
        ("weights.npy", "NumPy archive"),
        ("model.weights.h5", "Keras model"),
        ("notes.txt", "a zip archive without a program"),
    ],
)
def test_other_zip_archives_are_named(entry: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as raised:
        load(zipped(**{entry: "x", "net/data/0": "y"}))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no graph"),
        ('{"graph_module": {}, "schema_version": {"major": 9}}', "version 9 of the schema"),
        ('{"graph_module": {}, "schema_version": {"major": 8}}', "keep to the schema: KeyError"),
        ('{"graph_module": {"graph": 3}, "schema_version": {"major": 8}}', "keep to the schema"),
        ('{"graph_module": {}, "schema_version": {"major": "\\n"}}', r"version '.n' of the schema"),
    ],
)
def test_a_damaged_program_is_refused(document: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as raised:
        load(zipped(**{"net/models/model.json": document}))
    assert "\n" not in str(raised.value)


def test_a_compression_of_unbounded_memory_is_refused() -> None:
    with pytest.raises(ModelError, match="its program has compression 14"):
        load(zipped(zipfile.ZIP_LZMA, **{"net/models/model.json": "{}"}))


def test_the_path_of_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.pt2"
    path.write_bytes(FIXTURE.read_bytes()[:200])
    with pytest.raises(ModelError, match=r"two.nlines\.pt2'?: damaged zip archive") as raised:
        load(path)
    assert "\n" not in str(raised.value)


def test_a_program_of_older_versions_is_read() -> None:
    with zipfile.ZipFile(FIXTURE) as source:
        document = source.read("small-conv/models/model.json").decode()
    old = load(zipped(**{"serialized_exported_program.json": document, "version": "8.2"}))
    assert len(old.graph.nodes) == len(load(FIXTURE).graph.nodes)


def test_two_programs_are_refused() -> None:
    with pytest.raises(ModelError, match="2 programs in one archive"):
        load(zipped(**{"net/models/a.json": "{}", "net/models/b.json": "{}"}))


@pytest.mark.parametrize("cut", [30, 200, -1])
def test_a_cut_archive_is_refused(cut: int) -> None:
    with pytest.raises(ModelError, match="damaged zip archive"):
        load(FIXTURE.read_bytes()[:cut])


def test_a_program_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    with pytest.raises(ModelError, match="without weights, is larger than"):
        load(FIXTURE)


def test_a_large_directory_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_DIRECTORY_BYTES", 100)
    with pytest.raises(ModelError, match="zip directory"):
        load(FIXTURE)
