"""The page of `perfc dev web` in Chromium: transfer, times, memory, and its numbers against native.

    python benchmarks/web_page.py FOLDER MODEL ...

FOLDER is a build. The first part is a visit with empty caches to ResNet-50 at batch 8 on an A100,
then a second model and 20 more answers, with the memory of the browser. The second part analyzes
each MODEL in the page and on the command line and compares every number of both reports.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
ANSWERED = "n => (document.documentElement.dataset.answered || 0) > n"
SHOWN = "n => (document.documentElement.dataset.shown || 0) > n"
"""Scripts: more than ``n`` answers are complete, or show their lower bounds."""
ANSWERS = 20
TIMEOUT_MS = 300_000


class Counted(http.server.SimpleHTTPRequestHandler):
    """Handler that counts the bytes of bodies."""

    sent_bytes = 0

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file."""
        content = source.read()
        Counted.sent_bytes += len(content)
        outputfile.write(content)


def served(folder: Path) -> str:
    """Serve a folder on a free port of this machine and return its address."""
    handler = functools.partial(Counted, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def count(tab: Page) -> int:
    """Return the number of answers that the page has given."""
    return int(tab.evaluate("document.documentElement.dataset.answered || 0"))


def named(tab: Page, name: str) -> str:
    """Return the times in seconds from a name to its lower bounds, and to its predictions."""
    before, begin = count(tab), time.perf_counter()
    tab.fill("#model", name)
    tab.keyboard.press("Enter")
    tab.wait_for_function(SHOWN, arg=before, timeout=TIMEOUT_MS)
    first = time.perf_counter() - begin
    tab.wait_for_function(ANSWERED, arg=before, timeout=TIMEOUT_MS)
    return f"{first:6.2f} s, predictions {time.perf_counter() - begin:.2f} s"


def resident_mb() -> float:
    """Return the resident memory of the largest process of Chromium, the one of the page."""
    text = subprocess.run(["ps", "-eo", "rss,args"], capture_output=True, text=True, check=True)
    rows = [r.split(None, 1) for r in text.stdout.splitlines() if "--type=renderer" in r]
    return max(int(rss) for rss, _ in rows) / 1e3


def visit(browser: Browser, address: str) -> None:
    """Visit the page with empty caches and print transfer, times and memory."""
    tab = browser.new_context().new_page()
    hosts, errors = set(), list[str]()
    tab.on("request", lambda r: hosts.add(r.url.split("/")[2] if "://" in r.url else ""))
    tab.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda e: errors.append(str(e)))
    begin = time.perf_counter()
    tab.goto(f"{address}#op=analyze&model=resnet50&target=a100&batch=8")
    tab.wait_for_selector("#report:not([hidden])", timeout=TIMEOUT_MS)
    bytes_first = Counted.sent_bytes
    print(f"lower bounds    {time.perf_counter() - begin:6.2f} s, {bytes_first / 1e6:.2f} MB sent")
    tab.wait_for_function(ANSWERED, arg=0, timeout=TIMEOUT_MS)
    whole = Counted.sent_bytes
    print(f"predictions     {time.perf_counter() - begin:6.2f} s, {whole / 1e6:.2f} MB sent")
    print(f"second model    {named(tab, 'vit-b16')}")
    print(f"third model     {named(tab, 'swin-t')}")
    print(f"memory          {resident_mb():6.0f} MB")
    for i in range(ANSWERS):
        named(tab, ("resnet50", "vit-b16", "bert-base", "gpt2")[i % 4])
    print(f"after {ANSWERS} more   {resident_mb():6.0f} MB")
    print(f"hosts {sorted(hosts)}, errors {errors}")
    tab.context.close()


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of a JSON document with its path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from leaves(value, f"{path}[{i}]")
    else:
        yield path, tree


def compared(tab: Page, model: Path) -> tuple[int, int, float]:
    """Return counts of values and of those that differ at six digits, and the most they differ."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.html"
        words = ["analyze", model.name, "-t", "a100", "--no-what-if", "--isolated", "-o", str(out)]
        subprocess.run([sys.executable, "-m", "perfc", *words], cwd=model.parent, check=True)
        match = DATA.search(out.read_text(encoding="utf-8"))
    assert match is not None
    native = dict(leaves(json.loads(match[1])["reports"]))
    before = count(tab)
    tab.set_input_files("#file", str(model))
    tab.wait_for_function(ANSWERED, arg=before, timeout=TIMEOUT_MS)
    assert not tab.is_visible("#error"), tab.inner_text("#error")
    frame = tab.locator("#report").element_handle().content_frame()
    assert frame is not None
    frame.wait_for_selector("html[data-ready]", timeout=TIMEOUT_MS)
    text = frame.evaluate("document.getElementById('data').textContent")
    page = dict(leaves(json.loads(text)["reports"]))
    assert native.keys() == page.keys()
    different, largest = 0, 0.0
    for path, value in native.items():
        other = page[path]
        if isinstance(value, float) and isinstance(other, float):
            different += f"{value:.6g}" != f"{other:.6g}"
            largest = max(largest, abs(value - other) / max(abs(value), 1e-300))
        else:
            different += value != other
    return len(native), different, largest


def main() -> None:
    from playwright.sync_api import sync_playwright

    address = served(Path(sys.argv[1]))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        visit(browser, address)
        tab = browser.new_context().new_page()
        tab.goto(address)
        tab.wait_for_selector("#samples button")
        for model in map(Path, sys.argv[2:]):
            values, different, largest = compared(tab, model)
            print(f"{model.name:32} {values:7} values, {different} differ, at most {largest:.1e}")
        browser.close()


if __name__ == "__main__":
    main()
