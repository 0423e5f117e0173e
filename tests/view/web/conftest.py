"""The static page, built once, served on this machine, in a headless browser."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfc.errors import PerfcError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ANSWERED = "n => document.documentElement.dataset.answered > n"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium")
    with api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the static page; skips where Node.js or a registry is missing."""
    from perfc.view.web.build import build

    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no Node.js")
    try:
        return build(tmp_path_factory.mktemp("web") / "site")
    except PerfcError as error:
        pytest.skip(f"no build: {error}")


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@dataclass
class Opened:
    """The page in a tab, what it requested, and what went wrong in it."""

    tab: Page
    requests: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])

    def open(self, url: str) -> None:
        """Open the page and record requests and errors."""
        self.tab.on("request", lambda r: self.requests.append(r.url))
        self.tab.on("pageerror", lambda e: self.errors.append(str(e)))
        self.tab.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.tab.goto(url)
        self.tab.wait_for_selector("#samples button")

    @property
    def count(self) -> int:
        """Number of answers so far."""
        return int(self.tab.evaluate("document.documentElement.dataset.answered || 0"))

    def answer(self, after: int = 0, timeout_s: float = 120) -> str:
        """Wait for an answer after another and return its error, or the headline of its report."""
        self.tab.wait_for_function(ANSWERED, arg=after, timeout=timeout_s * 1e3)
        if self.tab.is_visible("#error"):
            return self.tab.inner_text("#error")
        frame = self.tab.frame_locator("#report")
        return frame.locator("h1").inner_text()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Opened(context.new_page())
    context.close()
