"""The documentation site: links between its places, generated references, and its check."""

from __future__ import annotations

from pathlib import Path

import pytest
from aqmlab import __all__ as public
from aqmlab.cli import COMMANDS

from tools.documentation import check, command_line, places, python_reference, stage

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("path", "link", "staged"),
    [
        ("README.md", "docs/howto/choose-a-tier.md", "../index.md"),
        ("README.md", "docs/README.md", "../documents.md"),
        ("README.md", "docs/figures/induced-rtt.png", "../figures/induced-rtt.png"),
        ("README.md", "LICENSE", "../source/LICENSE.md"),
        ("README.md", "#the-page", "#the-page"),
        ("docs/howto/choose-a-tier.md", "../reference/tcp.md#hosts", "reference/tcp.md#hosts"),
        ("docs/reference/verdicts.md", "../howto/choose-a-tier.md", "../index.md"),
        ("docs/reference/tcp.md", "../../crates/tcp/src/a.rs", "../source/crates/tcp/src/a.rs.md"),
        ("docs/reference/verdicts.md", "https://pola.rs", "https://pola.rs"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_place_in_the_site(path: str, link: str, staged: str) -> None:
    text = places.staged(f"See [it]({link}).", path, lambda _: None)
    assert text == f"See [it]({staged})."


@pytest.mark.parametrize("text", ["`a[0](b.md)`", "```python\na[0](b.md)\n```", "``a](b.md)``"])
def test_code_holds_no_link(text: str) -> None:
    assert places.staged(text, "README.md", lambda _: None) == text


def test_comments_for_the_generator_are_omitted() -> None:
    text = "a\n<!-- make: count -->\nb\n<!-- end -->\nc\n"
    assert places.staged(text, "README.md", lambda _: None) == "a\nb\nc\n"


def test_every_document_is_in_the_contents_once() -> None:
    listed = [line for line in stage.contents().splitlines() if line and line[0] not in "`:"]
    wanted = [places.place_of(path).removesuffix(".md") for path in stage.documents()]
    wanted += ["reference/command-line", "reference/python"]
    assert sorted(listed) == sorted(set(wanted) - {"index"})


def test_every_linked_file_of_the_repository_has_a_page(tmp_path: Path) -> None:
    stage.write(tmp_path)
    assert "# A faster line or a better router?" in (tmp_path / "index.md").read_text()
    page = tmp_path / "source/crates/qdisc/tests/statements_fifo.rs.md"
    assert "fn c01_pfifo_holds_its_limit" in page.read_text()
    assert (tmp_path / "figures/induced-rtt.png").is_file()


def test_the_reference_of_the_command_line_has_every_command_and_option() -> None:
    text = command_line.page()
    for name in COMMANDS:
        assert f"\n## `aqmlab {name}`\n" in text, name
    assert "\n## `aqmlab kernel traces`\n" in text
    assert "| `--seeds N` |" in text


def test_the_reference_of_python_has_every_public_name() -> None:
    text = python_reference.page()
    assert all(f":: aqmlab.{name}\n" in text for name in public if not name.startswith("__"))


def _site(folder: Path, body: str) -> list[str]:
    (folder / "other.html").write_text('<p id="there">x</p>')
    (folder / "index.html").write_text(f"<body>{body}</body>")
    return list(check.problems(folder))


@pytest.mark.parametrize(
    "body",
    [
        '<a href="other.html#there">x</a>',
        '<a href="https://elsewhere.org">x</a>',
        '<a href="#here">x</a><b id="here">x</b>',
        '<img src="data:image/png;base64,AA==">',
        "<style>b { background: url(data:x) }</style>",
    ],
)
def test_a_sound_page_passes_the_check(tmp_path: Path, body: str) -> None:
    assert _site(tmp_path, body) == []


@pytest.mark.parametrize(
    "body",
    [
        '<a href="absent.html">x</a>',
        '<a href="other.html#absent">x</a>',
        '<a href="#absent">x</a>',
        '<img src="absent.png">',
        '<script src="https://elsewhere.org/x.js"></script>',
        '<link rel="stylesheet" href="//elsewhere.org/x.css">',
        '<img src="x.png" srcset="https://elsewhere.org/x.png 2x">',
        "<style>@import 'https://elsewhere.org/x.css';</style>",
        '<style>b { src: url("//elsewhere.org/x.woff2") }</style>',
    ],
)
def test_a_broken_link_or_a_request_elsewhere_fails_the_check(tmp_path: Path, body: str) -> None:
    (tmp_path / "x.png").write_bytes(b"")
    assert len(_site(tmp_path, body)) == 1
