from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from samples import SITE
from sitemaps_plus.admin import build_charts, numbers, panels
from sitemaps_plus.models import Build
from sitemaps_plus.plan.currency import CONTENT_CHANGED
from sitemaps_plus.templatetags.sitemaps_plus_admin import ago
from sitemaps_plus.watch.alarms import Alarm, Overview, SiteOverview
from sitemaps_plus.watch.status import Fullest, SectionStatus, SiteStatus

BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ended(**given):
    values = {"started_at": BEGAN, "ended_at": BEGAN + timedelta(seconds=5), "result": "done", "labels": []}
    return Build(**{**values, **given})


def make_url(name, *args):
    return "/".join(map(str, (name, *args)))


def nowhere(section, key):
    return ""


def panel(*builds, alarms=(), sections=(), visits=None):
    status = SiteStatus(site=SITE, sections=list(sections), builds=list(builds))
    overview = SiteOverview(status=status, alarms=list(alarms))
    return panels.site_panel(overview, make_url, nowhere, is_starting=False, visits=visits or {})


def test_the_progress_of_a_build_has_a_text_and_numbers():
    assert panels.progress_of(Build(progress="products: 1,200 / 5,000")) == ("products: 1,200 / 5,000", 1200, 5000)
    assert panels.progress_of(Build(progress="")) == ("The build has begun.", 0, 0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (75.4, "75 s"), (600, "10 min"), (90_000, "25 h")],
)
def test_a_duration_is_as_exact_as_it_is_short(seconds, text):
    assert numbers.duration(seconds) == text


def test_a_build_that_runs_or_died_took_no_known_time():
    assert build_charts.seconds_of(ended()) == 5
    assert build_charts.seconds_of(ended(ended_at=None)) is None
    assert build_charts.seconds_of(ended(result=Build.Result.LOST)) is None


def test_the_charts_of_a_site_are_of_builds_of_all_sections_and_end_with_the_newest():
    urls, size, seconds = panel(
        ended(urls=30, bytes=300),
        ended(urls=5, labels=["news"]),
        ended(urls=None, result="lost"),
        ended(urls=10, bytes=90),
    ).charts

    assert urls.values == [10, None, 30]
    assert size.values == [90, None, 300]
    assert seconds.values == [5, None, 5]
    assert len({chart.name for chart in (urls, size, seconds)}) == 3


def test_the_charts_of_a_section_show_the_builds_that_included_it():
    builds = [ended(sections=[{"label": "news", "urls": 7, "bytes": 70, "rendered": 1}]), ended(sections=[])]

    urls, *_ = build_charts.section_charts(builds, "news")

    assert urls.values == [7]


def test_alarms_link_to_their_section_and_errors_come_first():
    status = SiteStatus(site=SITE, sections=[SectionStatus(label="news", section=None)])
    alarms = [
        Alarm("warning", "news", "One row is left out.", "Correct it."),
        Alarm("error", "", "The storage is gone.", "Mount it."),
        Alarm("warning", "old", "It is not registered.", "Register it."),
    ]

    shown = panels.shown_alarms(Overview(sites=[SiteOverview(status=status, alarms=alarms)]), make_url)

    assert [(one.word, one.where, one.url) for one in shown] == [
        ("Error", "example.com", ""),
        ("Warning", "example.com: news", "section/1/news"),
        ("Warning", "example.com: old", ""),
    ]


def test_a_row_of_the_table_has_the_result_of_the_last_build():
    outcomes = [{}, {"error": "SitemapError: no", "held_back": True}, {"error": "OSError: full"}, {"error": None}]
    sections = [
        SectionStatus(label=f"s{number}", section=None, outcome=outcome, build=ended(pk=number) if outcome else None)
        for number, outcome in enumerate(outcomes)
    ]

    rows = panel(
        sections=sections,
        alarms=[Alarm("warning", "s1", "", ""), Alarm("notice", "s3", "", "")],
        visits={(SITE.id, "s2"): ["Googlebot"]},
    ).rows

    assert [row.failure for row in rows] == ["", "held back", "failed", ""]
    assert [row.build_url for row in rows] == ["", "history/1", "history/2", "history/3"]
    assert [row.level for row in rows] == ["good", "warning", "good", "good"]
    assert [len(row.problems) for row in rows] == [0, 1, 0, 0]
    assert list(rows[2].visits) == ["Googlebot"]


@pytest.mark.parametrize(
    ("currency", "text"),
    [
        ("current", "current"),
        ("stale", "3 stale"),
        ("never built", "never built"),
        ("undecided", "undecided"),
        ("live", "on request"),
        ("empty", "no URLs"),
        ("failed", "failed"),
        ("held back", "held back"),
        ("unknown", "unknown"),
    ],
)
def test_each_currency_has_words(currency, text):
    stale = dict.fromkeys((1, 2, 3), CONTENT_CHANGED)

    (row,) = panel(sections=[SectionStatus(label="a", section=None, currency=currency, stale=stale)]).rows

    assert row.currency == text


def test_estimated_counts_are_marked():
    (row,) = panel(
        sections=[
            SectionStatus(
                label="a", section=None, checked_at=BEGAN, urls=1200, is_estimated=True, left_out=2, dropped=1
            )
        ]
    ).rows

    assert (row.urls, row.left_out) == ("about 1,200", "2, and 1 part")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([], ""),
        ([{"checked_at": BEGAN}, {"checked_at": BEGAN, "urls": 1200}], "1,200 URLs in 2 sections."),
        ([{}], "1 section is not counted yet: the first request or build counts it."),
        (
            [{"checked_at": BEGAN, "urls": 1}, {}, {}, {"error": "ZeroDivisionError: no"}],
            "1 URL in 1 section. 2 sections are not counted yet: the first request or build counts them.",
        ),
    ],
)
def test_the_summary_counts_only_sections_that_were_counted(given, text):
    sections = [SectionStatus(label=f"s{number}", section=None, **one) for number, one in enumerate(given)]

    assert panel(sections=sections).summary == text


def test_a_section_that_nobody_has_requested_has_no_numbers_yet():
    waiting, broken = panel(
        sections=[SectionStatus(label="a", section=None), SectionStatus(label="b", section=None, error="no")]
    ).rows

    assert (waiting.urls, waiting.pages) == ("not counted yet", "-")
    assert (broken.urls, broken.pages) == ("-", "-")


@pytest.mark.parametrize(
    ("urls", "size", "text", "share", "is_drawn"),
    [
        (249, 10, "249 of 500", "50%", False),
        (250, 10, "250 of 500", "50%", True),
        (250, 2000, "2.0\xa0KB of 2.0\xa0KB", "98%", True),
    ],
)
def test_the_fullest_page_has_a_bar_from_half_of_its_limit_on(urls, size, text, share, is_drawn):
    status = SectionStatus(
        label="a", section=None, fullest_by_urls=Fullest(1, urls, 500), fullest_by_bytes=Fullest(2, size, 2048)
    )

    (row,) = panel(sections=[status]).rows

    assert (row.fullest.text, row.fullest.share, row.fullest.is_drawn) == (text, share, is_drawn)


@pytest.mark.parametrize(
    ("given", "speed"),
    [
        ({"path": "row"}, "fast"),
        ({"path": "object", "decided_by": ("location",)}, "slow: location()"),
        ({"path": "object", "decided_by": ("location", "lastmod")}, "slow: location(), lastmod()"),
        ({"error": "ZeroDivisionError: no"}, "-"),
    ],
)
def test_a_section_is_fast_or_slow_because_of_a_method(given, speed):
    (row,) = panel(sections=[SectionStatus(label="a", section=None, **given)]).rows

    assert row.speed == speed


def test_times_are_shown_as_ages():
    now = timezone.now()

    assert ">just now</time>" in ago(now)
    assert ">2\xa0hours ago</time>" in ago(now - timedelta(hours=2, seconds=5))
    assert ">1\xa0year ago</time>" in ago(now - timedelta(days=700))
    assert f'datetime="{now.isoformat()}"' in ago(now)
    assert ago(None) == "-"
