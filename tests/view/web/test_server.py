"""``perfc ui`` over HTTP: answers, limits, token, and refused requests."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import perfc
from perfc.serving.output.published import names
from perfc.view.report.units import Unit, quantity

from .conftest import Opened

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
ROOT = Path(__file__).resolve().parents[3]
MODELS = ROOT / "examples" / "models"

needs_trees = pytest.mark.skipif("trees" not in names(), reason="perfc-lab is not installed")


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[str]:
    """Address of a running ``perfc ui``, whose temporary files are in a folder."""
    process = subprocess.Popen(
        [sys.executable, "-m", "perfc", "ui", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("perfc: http://"), line
        yield line.split()[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def ui(folder: Path) -> Iterator[str]:
    with serving(folder, "--upload", "8", "--time", "60") as address:
        yield address


def post(
    url: str,
    fields: dict[str, str],
    files: dict[str, bytes] | None = None,
    wait_s: float = 120,
    **headers: str,
) -> tuple[int, dict[str, Any]]:
    """Status and reply of a multipart request."""
    edge = "edge-of-parts"
    parts = [
        f'--{edge}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'.encode()
        for k, v in fields.items()
    ]
    for name, content in (files or {}).items():
        head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    body = b"".join(parts) + f"--{edge}--\r\n".encode()
    request = urllib.request.Request(url, body, method="POST")
    request.add_header("Content-Type", f"multipart/form-data; boundary={edge}")
    for key, value in headers.items():
        request.add_header(key, value)
    try:
        with urllib.request.urlopen(request, timeout=wait_s) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def left_over(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.startswith("perfc-ui-")]


@pytest.mark.parametrize("path", ["", "index.html"])
def test_the_page_has_its_policy_by_both_names(ui: str, path: str) -> None:
    with urllib.request.urlopen(f"{ui}{path}", timeout=60) as response:
        header, text = response.headers["Content-Security-Policy"], response.read().decode()
    policy = header.removesuffix("; frame-ancestors 'none'")
    assert policy != header
    assert f'content="{policy}"' in text.replace("&#x27;", "'")


def test_an_uploaded_model_has_the_numbers_of_the_api(ui: str, folder: Path) -> None:
    content = gzip.decompress((MODELS / "resnet50.onnx.gz").read_bytes())
    fields = {"target": "a100", "batch": "8", "form": "json"}
    status, reply = post(f"{ui}api/analyze", fields, {"mine.onnx": content})
    assert (status, reply["error"]) == (200, "")
    assert reply["line"] == "perfc analyze mine.onnx --target a100 --batch 8"
    expected = perfc.analyze(content, "a100", dims={"batch": 8}).to_dict()
    report = json.loads(reply["output"])
    assert report["prediction"] == json.loads(json.dumps(expected["prediction"]))
    assert left_over(folder) == []


@pytest.mark.parametrize(
    ("operation", "model"), [("compare", "vit-b16"), ("fit", "vit-b16"), ("serve", "qwen2.5-0.5b")]
)
def test_names_are_answered_as_pages(ui: str, operation: str, model: str) -> None:
    status, reply = post(f"{ui}api/{operation}", {"model": model, "target": "a100"})
    assert (status, reply["error"]) == (200, "")
    assert reply["output"].startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("path", "fields", "files", "reason"),
    [
        ("analyze", {"model": "/etc/passwd"}, None, "no model"),
        ("analyze", {"model": "os:getcwd"}, None, "no model"),
        ("analyze", {"target": "/etc/passwd", "model": "resnet50"}, None, "target is a name"),
        ("analyze", {"output": "x", "model": "resnet50"}, None, "no setting"),
        ("serve", {"predictor": "<b>", "model": "gpt2"}, None, "predictor is a name"),
        ("serve", {"predictor": "absent", "model": "gpt2"}, None, "no predictor 'absent'"),
        ("serve", {"concurrency": "99999999", "model": "gpt2"}, None, "at most 9999999"),
        ("serve", {"predictor": "trees", "model": "<b>x"}, None, "no model '<b>x'"),
        ("analyze", {"form": "trace", "model": "resnet50"}, None, "no form"),
        ("analyze", {}, {"evil.py": b"import os"}, "not a model"),
        ("analyze", {}, {"../evil.onnx": b"x"}, "not a model"),
        ("analyze", {}, {"bad.onnx": b"\x08\x07garbage"}, "bad.onnx"),
        ("nothing", {"model": "resnet50"}, None, "no operation"),
    ],
)
def test_invalid_requests_are_refused_in_one_line(
    ui: str,
    folder: Path,
    path: str,
    fields: dict[str, str],
    files: dict[str, bytes] | None,
    reason: str,
) -> None:
    status, reply = post(f"{ui}api/{path}", fields, files)
    assert status == 422
    assert reason in reply["error"]
    assert "\n" not in reply["error"]
    assert left_over(folder) == []


@needs_trees
@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("deberta-v3-base", {"isl": "256"}),
        ("llama-3.2-1b", {"concurrency": "9999999", "isl": "9999999"}),
    ],
)
def test_trees_answer_next_to_perfc(ui: str, model: str, fields: dict[str, str]) -> None:
    fields = {"model": model, "target": "h200", "predictor": "trees", **fields}
    status, reply = post(f"{ui}api/serve", fields)
    assert (status, reply["error"]) == (200, "")
    page = reply["output"].partition("<script")[0]
    assert "throughput: trees " in page
    assert ", perfc " in page
    assert "g per million tokens" in page
    status, reply = post(f"{ui}api/serve", {**fields, "form": "json"})
    rate = json.loads(reply["output"])["tokens_per_s"]["value"]
    assert f"trees {quantity(rate, Unit.COUNT)}" in page


@needs_trees
def test_trees_are_drawn_along_the_batch_in_a_browser(opened: Opened, ui: str) -> None:
    settings = "&target=h100&isl=128&osl=32&concurrency=8&predictor=trees"
    opened.open(f"{ui}#op=serve&model=llama-3.2-1b{settings}")
    assert "8 × 128 tokens in, 32 out" in opened.answer()
    report = opened.tab.frame_locator("#report")
    report.locator("#throughput-chart canvas").wait_for()
    assert report.locator(".chart").count() == 3
    # an encoder stays in this tab
    before = opened.count
    opened.tab.fill("#model", "deberta-v3-base")
    opened.tab.keyboard.press("Enter")
    assert "deberta-v3-base" in opened.answer(before)
    assert "--predictor trees" in opened.tab.inner_text("#line")
    assert opened.errors == []


def test_uploads_above_the_limit_are_refused_and_deleted(ui: str, folder: Path) -> None:
    status, reply = post(f"{ui}api/analyze", {}, {"big.onnx": b"\0" * (9 << 20)})
    assert status == 413
    assert "limit" in reply["error"]
    assert left_over(folder) == []


def test_a_body_of_the_limit_is_read_and_a_byte_more_is_not(ui: str) -> None:
    head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.onnx"\r\n\r\n'
    end = b"\r\n--edge--\r\n"
    most = (8 << 20) + (1 << 16)  # the files, and the form around them
    for size, status in ((most, 422), (most + 1, 413)):
        body = head.ljust(size - len(end), b"\0") + end
        kind = {"Content-Type": "multipart/form-data; boundary=edge"}
        request = urllib.request.Request(f"{ui}api/analyze", body, kind)
        with pytest.raises(urllib.error.HTTPError) as found:
            urllib.request.urlopen(request, timeout=60)
        assert found.value.code == status


def test_a_body_above_the_limit_that_never_comes_is_refused_in_time(ui: str) -> None:
    host, port = urlsplit(ui).hostname, urlsplit(ui).port
    with socket.create_connection((host, port), timeout=10) as client:
        client.sendall(
            f"POST /api/analyze HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Content-Length: {1 << 40}\r\n\r\nstart".encode()
        )
        assert b" 413 " in client.recv(4096).split(b"\r\n")[0]


def test_requests_of_other_sites_and_names_are_refused(ui: str) -> None:
    fields = {"model": "resnet50"}
    assert post(f"{ui}api/analyze", fields, Origin="http://other.example")[0] == 403
    assert post(f"{ui}api/analyze", fields, Host="other.example")[0] == 400


@pytest.mark.parametrize("host", ["no-such-host.invalid", "é" * 300, "192.0.2.1"])
def test_an_address_that_cannot_be_used_is_one_line(host: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "perfc", "ui", "--host", host, "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {host[:50]}")
    assert done.stderr.count("\n") == 1


def test_time_is_bounded(tmp_path: Path) -> None:
    with serving(tmp_path, "--time", "1") as address:
        fields = {"model": "llama-3.1-405b", "gpus": "1024"}
        status, reply = post(f"{address}api/plan", fields, wait_s=30)
        assert status == 422
        assert "1 s" in reply["error"] or "time than allowed" in reply["error"]
        assert left_over(tmp_path) == []


def test_any_other_address_needs_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0") as address:
        printed = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/#token=(\S{20,})", address)
        assert printed is not None
        url, token = f"http://127.0.0.1:{printed[1]}/", printed[2]
        fields = {"model": "resnet50", "answer": "quick", "form": "text"}
        assert post(f"{url}api/analyze", fields)[0] == 401
        assert post(f"{url}api/analyze", fields, Authorization="Bearer wrong")[0] == 401
        status, reply = post(f"{url}api/analyze", fields, Authorization=f"Bearer {token}")
        assert (status, reply["error"]) == (200, "")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}catalogue.json")


def test_the_api_is_described(ui: str) -> None:
    with urllib.request.urlopen(f"{ui}openapi.json") as response:
        document = json.load(response)
    assert document["openapi"].startswith("3.1")
    body = document["paths"]["/api/analyze"]["post"]["requestBody"]["content"]
    properties = body["multipart/form-data"]["schema"]["properties"]
    assert {"model", "file", "target", "batch", "dtype", "runtime", "form"} <= properties.keys()
    assert "tensorrt" in properties["runtime"]["enum"]
    with urllib.request.urlopen(f"{ui}docs") as response:
        assert "POST /api/serve" in response.read().decode()


def test_the_page_of_the_server_answers_in_a_browser(opened: Opened, ui: str) -> None:
    opened.open(f"{ui}#op=analyze&model=resnet50&target=a100&batch=8")
    assert "resnet50" in opened.answer()
    figures = opened.tab.frame_locator("#report").locator("#verdict").inner_text()
    assert "predicted" in figures
    canvas = opened.tab.frame_locator("#report").locator("canvas").first
    canvas.wait_for()
    assert opened.errors == []
    assert all(r.startswith((ui, "blob:", "data:")) for r in opened.requests)
