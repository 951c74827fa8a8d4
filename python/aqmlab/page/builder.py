"""Builds the page: one self-contained file, or a folder for a static host."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from markupsafe import Markup

from aqmlab import __version__
from aqmlab.base.failures import DiskError, RequestError
from aqmlab.base.files import reason_of, write_atomically
from aqmlab.campaign.store import own_files
from aqmlab.page.choices import choices
from aqmlab.page.scripts import joined

_ROOM = resources.files("aqmlab.page")


def one_file() -> bytes:
    """The page as one HTML file.

    Raises `RequestError` if the simulator has not been compiled for the page.
    """
    packed = base64.b64encode(gzip.compress(_simulator(), 9, mtime=0)).decode()
    scripts = [_chart_script(), _script("main")]
    hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in scripts)
    policy = _policy(f"{hashes} 'wasm-unsafe-eval'", styles="'unsafe-inline'", workers="blob:")
    inside = [
        Markup('<script type="text/plain" id="worker">{}</script>').format(
            Markup(_script("worker"))
        ),
        Markup('<script type="text/plain" id="simulator">{}</script>').format(Markup(packed)),
        *(
            Markup("<script{}>{}</script>").format(kind, Markup(text))
            for kind, text in zip(_KINDS, scripts, strict=True)
        ),
    ]
    styles = [Markup("<style>{}</style>").format(Markup(text)) for text in _styles()]
    return _page(policy, styles, inside)


_KINDS = ("", Markup(' type="module"'))


def write_folder(folder: Path) -> None:
    """Writes the page as a folder for a static host.

    Raises `RequestError` if the simulator has not been compiled for the page, or if `folder` is a
    file or reserved for a campaign's own files. Raises `DiskError` if a file cannot be written.
    """
    own = "give another with `--folder DIR`"
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"{folder}: is a file, not a folder", own)
    own_files.refuse_folder(folder)
    policy = _policy(
        "'self' 'wasm-unsafe-eval'",
        styles="'self' 'unsafe-inline'",
        workers="'self'",
        connect="'self'",
    )
    files = {
        "page.css": "\n".join(_styles()).encode(),
        "charts.js": _chart_script().encode(),
        "page.js": _script("main").encode(),
        "worker.js": _script("worker").encode(),
        "simulator.wasm": _simulator(),
    }
    inside = [
        Markup('<script src="charts.js"></script>'),
        Markup('<script type="module" src="page.js"></script>'),
    ]
    files["index.html"] = _page(policy, [Markup('<link rel="stylesheet" href="page.css">')], inside)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskError(f"{folder}: cannot be written: {reason_of(error)}", own) from None
    for name, data in files.items():
        write_atomically(folder / name, data)


def _page(policy: str, styles: list[Markup], scripts: list[Markup]) -> bytes:
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(_asset("index.html.j2")).render(
        policy=policy,
        styles=Markup("\n").join(styles),
        scripts=Markup("\n").join(scripts),
        choices=_inert(json.dumps(choices(), separators=(",", ":"), ensure_ascii=False)),
        version=__version__,
        licence=_vendored("LICENSE"),
    )
    return page.encode()


def _policy(scripts: str, *, styles: str, workers: str, connect: str = "'none'") -> str:
    """The Content Security Policy: no connection to another host, no markup from text."""
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; worker-src {workers};"
        f" connect-src {connect}; img-src data:; base-uri 'none'; form-action 'none';"
        " require-trusted-types-for 'script'; trusted-types aqmlab-worker"
    )


def _inert(text: str) -> Markup:
    """A text for an element that the browser does not execute. No markup can begin in the text."""
    return Markup(text.replace("<", "\\u003c"))


def _simulator() -> bytes:
    """The simulator as WebAssembly, which `make page` compiles.

    Raises `RequestError` if the simulator has not been compiled.
    """
    file = _ROOM / "simulator.wasm"
    if not file.is_file():
        raise RequestError(
            "the page's simulator has not been compiled",
            "run `make page` in the source tree; a wheel of aqmlab contains it",
        )
    return file.read_bytes()


def _chart_script() -> str:
    return _vendored("uPlot.iife.min.js")


def _script(first: str) -> str:
    """The module `first` and the modules that it imports, as one script."""
    assets = (_ROOM / "assets").iterdir()
    scripts = [one for one in assets if one.name.endswith(".js")]
    return joined({one.name.removesuffix(".js"): _text(one) for one in scripts}, first)


def _styles() -> tuple[str, str]:
    return _vendored("uPlot.min.css"), _asset("page.css")


def _asset(name: str) -> str:
    return _text(_ROOM / "assets" / name)


def _vendored(name: str) -> str:
    return _text(_ROOM / "vendor" / "uplot" / name)


def _text(file: Traversable) -> str:
    return file.read_text("utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
