import re
from html.parser import HTMLParser

import pytest
from aqmlab.api import load
from aqmlab.campaign import runner as campaigns
from support.campaigns import app, campaign_of, grid, spec_of

EVIL = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'
HARMLESS = {
    "html head meta title style body header h1 h2 h3 p section ul li div table thead tbody tr th td"
    " b br span code figure img figcaption details summary pre"
}


class Page(HTMLParser):
    """The tags of a page, its images and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.images, self.attributes, self.words = set(), [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag == "img":
            self.images.append(dict(attributes)["src"])

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def report(home_results, tmp_path_factory):
    path = home_results.report(tmp_path_factory.mktemp("report") / "report.html")
    return path, path.read_text(encoding="utf-8")


def test_a_report_needs_nothing_else(report):
    _, text = report
    page = Page(text)
    assert page.tags == set(" ".join(HARMLESS).split())
    assert len(page.images) >= 9
    assert all(re.match(r"data:image/(svg\+xml|png);base64,", source) for source in page.images)
    assert not re.search(r"""(src|href)\s*=\s*["']?(http|//|file)""", text)
    assert "url(" not in text and "@import" not in text


def test_a_report_says_what_made_it(report, home_results):
    words = " ".join(Page(report[1]).words)
    for said in (
        home_results.digest,
        "aqmlab run fake.toml",
        "title = 'fake'",
        "12 of 12 trials",
        "2 seeds",
        "engine sim",
        "Who is served?",
    ):
        assert said in words, said


def test_figures_lie_beside_the_report(report):
    files = {path.name for path in (report[0].parent / "figures").iterdir()}
    assert {"throughput.png", "throughput.svg", "dash.png"} <= files


def test_nothing_that_a_user_wrote_becomes_markup(tmp_path):
    apps = [app(EVIL), app("film", "dash")]
    specs = [
        ({"queue": f"{queue} {EVIL}"}, spec_of(queue, apps=apps)) for queue in ("pie", "pfifo")
    ]
    specs.append(({"queue": EVIL}, spec_of("pie", behaviour="refuse", apps=apps)))
    evil = dict.fromkeys(("title", "description", "notes", "command", "source"), EVIL)
    campaign = campaign_of(specs, **evil, scenario_text=EVIL, warnings=[EVIL], figures=["rtt_time"])
    campaigns.run(campaign, tmp_path / "out", jobs=1)
    text = load(tmp_path / "out").report().read_text(encoding="utf-8")
    page = Page(text)
    assert "script" not in page.tags and "onerror" not in page.attributes
    assert all(source.startswith("data:image/") for source in page.images)
    assert " ".join(page.words).count("<script>alert(1)</script>") >= 7


def test_many_conditions_share_one_table(tmp_path):
    rates = [(mbit, 1) for mbit in range(8, 20)]
    campaigns.run(
        campaign_of(grid(("pfifo", "pie"), rates, (1,)), figures=["throughput"]),
        tmp_path / "out",
        jobs=2,
    )
    text = load(tmp_path / "out").report().read_text(encoding="utf-8")
    assert text.count('class="verdicts dense"') == 1
    assert "One seed only" in text


def test_what_cannot_be_judged_is_counted(tmp_path):
    apps = [app("flood", "something new"), app("ping", "ping", ["up"])]
    campaigns.run(
        campaign_of(grid(("pie",), apps=apps), figures=["throughput"]), tmp_path / "out", jobs=1
    )
    text = load(tmp_path / "out").report().read_text(encoding="utf-8")
    words = " ".join(Page(text).words)
    assert "No condition gives every application what it needs." in words
    assert "no needs for flood, good for 1 of 2" in words.replace("\xa0", " ")
    assert '<td class="no-needs" title="flood: no needs, nothing is known of its needs">' in text


def test_a_report_of_an_unfinished_campaign_says_so(tmp_path):
    specs = [*grid(("pie",)), ({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="refuse"))]
    campaigns.run(campaign_of(specs, figures=["throughput"]), tmp_path / "out", jobs=1)
    text = load(tmp_path / "out").report().read_text(encoding="utf-8")
    assert "1 of 3 trials have no result." in text and "digest none" in text
    assert "Trial trial-2 failed: links[0].qdisc" in text
