"""A headless browser for pages; tests that need it are skipped where it is not installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@dataclass
class BrowserTab:
    """A tab, its requests, and the errors of its page."""

    tab: Page
    requests: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.tab.on("request", lambda r: self.requests.append(r.url))
        self.tab.on("pageerror", lambda e: self.errors.append(str(e)))
        self.tab.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
