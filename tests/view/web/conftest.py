"""The static page, built once, served on this machine, in a headless browser."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..conftest import BrowserTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ANSWERED = "n => document.documentElement.dataset.answered > n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the static page; skips without Node.js, npm or their registries."""
    from perfc.commands.web.build import build

    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = tmp_path_factory.mktemp("web")
    pip = (sys.executable, "-m", "pip")
    for client in (
        ("npm", "view", "pyodide", "version"),
        (*pip, "download", "-q", "--no-deps", "click"),
    ):
        # a package that every registry has: only an unreachable one fails
        if subprocess.run(client, cwd=folder, capture_output=True, check=False).returncode:
            pytest.skip(f"{' '.join(client)} cannot reach its registry")
    return build(folder / "site")


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Opened(BrowserTab):
    """The page in a tab."""

    def open(self, url: str) -> None:
        """Open the page and wait for its form."""
        self.tab.goto(url)
        self.tab.wait_for_selector("#samples button")

    @property
    def count(self) -> int:
        """Number of answers so far."""
        return int(self.tab.evaluate("document.documentElement.dataset.answered || 0"))

    def error(self, after: int = 0, timeout_s: float = 120) -> str:
        """Wait for an answer after another and return its error; "" for a report."""
        self.tab.wait_for_function(ANSWERED, arg=after, timeout=timeout_s * 1e3)
        return self.tab.inner_text("#error") if self.tab.is_visible("#error") else ""

    def answer(self, after: int = 0) -> str:
        """Wait for a report after another answer and return its headline."""
        assert self.error(after) == ""
        return self.tab.frame_locator("#report").locator("h1").inner_text()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Opened(context.new_page())
    context.close()
