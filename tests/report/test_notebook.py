"""Figures and results in notebooks, also of hostile scenarios. Jupyter is not needed."""

import base64
import re

import pytest
from aqmlab.api import load
from aqmlab.campaign import runner as campaigns
from support.campaigns import app, campaign_of, grid, spec_of

from .test_report import EVIL, Page


@pytest.fixture
def hostile(tmp_path):
    apps = [app(EVIL), app("film")]
    specs = [({"queue": f"{EVIL}{queue}"}, spec_of(queue, apps=apps)) for queue in ("pie", "pfifo")]
    campaigns.run(campaign_of(specs, title=EVIL, name=EVIL), tmp_path / "out", jobs=1)
    return load(tmp_path / "out")


def test_a_figure_shows_itself_with_its_caption(home_results):
    drawings = home_results.figure("throughput")
    (drawing,) = drawings
    assert drawing._repr_png_() == drawing.rendered("png")
    page = Page(drawings._repr_html_())
    assert page.tags == {"figure", "img", "figcaption"}
    assert base64.b64decode(page.images[0].partition(",")[2]) == drawing.rendered("png")
    assert drawing.caption in "".join(page.words)


def test_all_drawings_of_a_figure_are_shown(home_results):
    drawings = home_results.figure("rtt_time")
    assert len(Page(drawings._repr_html_()).images) == len(drawings) == 2


def test_results_show_their_conclusion_and_their_table(home_results):
    text = home_results._repr_html_()
    words = " ".join(Page(text).words)
    assert "A fake home" in words and "12 of 12 trials" in words and home_results.digest in words
    assert "pfifo" in words and "good" in words
    assert text.count("<tr>") == 1 + 3 * 2 * 5


def test_unfinished_results_say_so(tmp_path):
    specs = [*grid(("pie",)), ({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="refuse"))]
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1)
    assert "2 of 3 trials, incomplete" in load(tmp_path / "out")._repr_html_()


def test_nothing_that_a_user_wrote_becomes_markup(hostile):
    for text in (hostile._repr_html_(), hostile.figure("rtt_time")._repr_html_()):
        page = Page(text)
        assert "script" not in page.tags and "onerror" not in page.attributes
        assert all(source.startswith("data:image/png;base64,") for source in page.images)
        assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)""", text)
    assert "<script>alert(1)</script>" in " ".join(Page(hostile._repr_html_()).words)
