"""The page in the system's Chromium, from a file and from a server on loopback."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from aqmlab.page.builder import one_file, write_folder

SMALL = "person=Anna~game~telephone-call&thing=cloud-backup~1&tiers=nbn&tier=12%2F1&rtt=20"
"""A household with few packets, for tests that do not examine the page's first household."""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SIMULATOR = resources.files("aqmlab.page") / "simulator.wasm"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page as one file, and as a folder for a static host."""
    if not SIMULATOR.is_file():
        pytest.skip("the simulator is not compiled for the page; `make page` compiles it")
    place = tmp_path_factory.mktemp("page")
    (place / "page.html").write_bytes(one_file())
    write_folder(place / "folder")
    return place


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        # Tests run as root in containers, where Chromium's own sandbox cannot start.
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def server(built: Path) -> Iterator[str]:
    """The address of a static server of the folder, on loopback."""
    handler = functools.partial(_Quiet, directory=str(built / "folder"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_address[1]}/index.html"
        served.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Writes nothing, to keep the output of tests readable."""


@dataclass
class Tab:
    """A tab that records the messages of the console, errors and requests."""

    page: Any
    address: str
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda one: self.messages.append(f"{one.type}: {one.text}"))
        self.page.on("pageerror", lambda one: self.messages.append(str(one)))
        self.page.on("request", lambda one: self.requests.append(one.url))
        self.page.set_default_timeout(60_000)

    def open(self, fragment: str = SMALL) -> Tab:
        """Opens the page, and waits until the whole minute is simulated for both gateways."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{'#' if fragment else ''}{fragment}")
        return self.shown()

    def shown(self) -> Tab:
        """Waits until the minute is simulated for both gateways at the tier, and all is drawn."""
        self.page.locator('body[data-shown="whole"][data-drawn="true"]').wait_for()
        return self

    def idle(self) -> Tab:
        """Waits until every wanted trial has run, including trials of other tiers."""
        self.page.locator('body[data-open="0"]').wait_for()
        return self

    def text(self, selector: str) -> str:
        """The text of the first element that matches."""
        return str(self.page.locator(selector).first.inner_text())

    def outside(self) -> list[str]:
        """The requests to other hosts."""
        own = self.address.rsplit("/", 1)[0]
        inside = (own, "data:", "blob:", "about:")
        return [url for url in self.requests if not url.startswith(inside)]


@pytest.fixture
def address(request: pytest.FixtureRequest, built: Path) -> str:
    """The address of the page: one file or, with the parameter "server", a static host."""
    if getattr(request, "param", "file") == "file":
        return (built / "page.html").as_uri()
    return str(request.getfixturevalue("server"))


@pytest.fixture
def file_address(built: Path) -> str:
    """The address of the page as one file."""
    return (built / "page.html").as_uri()


@pytest.fixture
def tabs(browser: Any) -> Iterator[Any]:
    """A function that opens tabs.

    At the end, no tab may have messages, errors or requests to other hosts.
    """
    opened: list[Tab] = []
    contexts: list[Any] = []

    def make(address: str, **options: Any) -> Tab:
        context = browser.new_context(**options)
        contexts.append(context)
        opened.append(Tab(context.new_page(), address))
        return opened[-1]

    yield make
    for context in contexts:
        context.close()
    assert [tab.messages for tab in opened if tab.messages] == []
    assert [tab.outside() for tab in opened if tab.outside()] == []
