"""The static page in headless Chromium, as a visitor uses it."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Opened

pytestmark = pytest.mark.long
MODELS = Path(__file__).parents[3] / "examples" / "models"


def test_first_answer_has_the_numbers_of_the_command(opened: Opened, address: str) -> None:
    opened.open(f"{address}#op=analyze&model=resnet50&target=a100&batch=8")
    assert "resnet50" in opened.answer()
    figures = opened.tab.frame_locator("#report").locator("#verdict").inner_text()
    command = [sys.executable, "-m", "perfc", "analyze", str(MODELS / "resnet50.onnx.gz")]
    text = subprocess.run(
        [*command, "--batch", "8"], capture_output=True, text=True, check=True
    ).stdout
    predicted, bound = (
        next(line.split()[n : n + 2] for line in text.splitlines() if line.strip().startswith(word))
        for word, n in (("predicted", 1), ("lower bound", 2))
    )
    assert " ".join(predicted) in figures
    assert " ".join(bound) in figures
    assert opened.errors == []
    assert all(r.startswith((address, "blob:", "data:")) for r in opened.requests)


def test_the_page_answers_offline_after_the_first_load(opened: Opened, address: str) -> None:
    opened.open(f"{address}#op=analyze&model=resnet50&target=a100")
    opened.answer()
    opened.tab.wait_for_selector("html[data-offline]", timeout=120_000)
    opened.tab.context.set_offline(True)
    opened.tab.reload()
    opened.tab.wait_for_selector("#samples button")
    assert "resnet50" in opened.answer()
    opened.tab.fill("#model", "gpt2")
    opened.tab.keyboard.press("Enter")
    assert "gpt2" in opened.answer(opened.count)


def test_a_dropped_file_stays_in_the_page(opened: Opened, address: str, tmp_path: Path) -> None:
    model = tmp_path / "private name.onnx"
    model.write_bytes(gzip.decompress((MODELS / "vit-b16.onnx.gz").read_bytes()))
    opened.open(address)
    opened.tab.set_input_files("#file", str(model))
    assert "private name" in opened.answer()
    assert "private" not in opened.tab.url
    assert "private" not in " ".join(opened.requests)


def test_files_that_are_no_models_leave_the_page_usable(
    opened: Opened, address: str, tmp_path: Path
) -> None:
    opened.open(address)
    whole = gzip.decompress((MODELS / "resnet50.onnx.gz").read_bytes())
    contents = [
        b"",
        b"\x00" * 100,
        b"\x08" * 5000,
        b"\xff" * 70000,
        b"PK\x03\x04",
        b"GGUF" * 9,
        b"{" * 3000,
        b'{"a": 1}',
        whole[:900],
        whole[: len(whole) // 2],
        gzip.compress(b"\x00" * 10_000_000),
        b"\x1f\x8b\x08",
    ]
    suffixes = (".onnx", ".onnx.gz", ".pt2", ".gguf", ".safetensors", ".json")
    files = [(c, s) for c in contents for s in suffixes][:50]
    for i, (content, suffix) in enumerate(files):
        path = tmp_path / f"m{i}{suffix}"
        path.write_bytes(content)
        before = opened.count
        opened.tab.set_input_files("#file", str(path))
        reason = opened.error(before, 60)
        assert reason
        assert "Traceback" not in reason, (i, suffix, reason)
        assert "bug in perfc" not in reason, (i, suffix, reason)
    before = opened.count
    opened.tab.fill("#model", "resnet50")
    opened.tab.keyboard.press("Enter")
    assert "resnet50" in opened.answer(before)
    assert opened.errors == []


@pytest.mark.parametrize("name", ["bert-base", "gpt2", "swin-t"])
def test_each_sample_is_analyzed(opened: Opened, address: str, name: str) -> None:
    opened.open(address)
    opened.tab.locator("#samples button", has_text=name).click()
    assert name in opened.answer()
    assert opened.tab.inner_text("#line").startswith(f"perfc analyze {name}")


def test_encoders_that_are_no_samples_are_analyzed(opened: Opened, address: str) -> None:
    opened.open(address)
    opened.tab.locator("body").press("4")
    opened.tab.fill("#model", "electra-small")
    opened.tab.keyboard.press("Enter")
    opened.answer()
    assert opened.tab.inner_text("#line").startswith("perfc analyze electra-small")


def test_two_gigabytes_of_weights_are_not_read(
    opened: Opened, address: str, tmp_path: Path
) -> None:
    model, rows = tmp_path / "two-gigabytes.onnx", 488_000
    with_weights(model, rows)
    assert model.stat().st_size > 1_998_000_000
    opened.open(address)
    opened.tab.set_input_files("#file", str(model))
    assert "two-gigabytes" in opened.answer()
    memory = opened.tab.frame_locator("#report").locator("#verdict").inner_text()
    assert "1.86 GiB" in memory.replace("\xa0", " ")


def with_weights(path: Path, rows: int) -> None:
    """Write a product with weights of f32[rows, 1024] in the file, all zero, as a sparse file."""
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    tensor = onnx.TensorProto(name="w", data_type=kind, dims=[rows, 1024])
    inputs, outputs = (
        [helper.make_tensor_value_info(n, kind, ["b", k])] for n, k in (("x", rows), ("y", 1024))
    )
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", inputs, outputs).SerializeToString()
    model = helper.make_model(helper.make_graph([], "g", [], []))
    model.ClearField("graph")
    head, nbytes = tensor.SerializeToString(), rows * 4096
    raw = b"\x4a" + varint(nbytes)
    weights = b"\x2a" + varint(len(head) + len(raw) + nbytes) + head + raw
    with path.open("wb") as file:
        file.write(model.SerializeToString() + b"\x3a")
        file.write(varint(len(graph) + len(weights) + nbytes) + graph + weights)
        file.truncate(file.tell() + nbytes)


def varint(number: int) -> bytes:
    """Encode a number of protocol buffers."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + varint(high) if high else bytes([low])


def test_cancel_ends_the_work_and_the_next_request_is_answered(
    opened: Opened, address: str
) -> None:
    opened.open(f"{address}#op=analyze&model=resnet50&target=a100")
    opened.tab.wait_for_selector("#work:not([hidden])")
    opened.tab.keyboard.press("Escape")
    assert opened.tab.is_hidden("#work")
    opened.tab.fill("#model", "bert-base")
    opened.tab.keyboard.press("Enter")
    assert "bert-base" in opened.answer(1)


@pytest.mark.parametrize(
    ("key", "command", "model"),
    [
        ("2", "compare", "vit-b16"),
        ("3", "fit", "vit-b16"),
        ("4", "llm serve", "qwen2.5-0.5b"),
        ("5", "plan", "qwen2.5-0.5b"),
        ("6", "mig", "vit-b16"),
    ],
)
def test_each_operation_answers(
    opened: Opened, address: str, key: str, command: str, model: str
) -> None:
    opened.open(address)
    opened.tab.locator("body").press(key)
    opened.tab.fill("#model", model)
    opened.tab.keyboard.press("Enter")
    opened.answer()
    assert opened.tab.inner_text("#line").startswith(f"perfc {command} {model}")
    assert opened.errors == []
