from datetime import UTC, date, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.addresses import Origin, Scope, normalize
from sitemaps_plus.entries import Cleaner
from sitemaps_plus.rendering import url_info_group
from sitemaps_plus.reports import Report
from sitemaps_plus.text import CHANGEFREQS
from sitemaps_plus.writer import XHTML, IndexItem, Tally, write_index, write_urlset
from xml_checks import validate

moments = st.dates() | st.datetimes(timezones=st.none() | st.just(UTC) | st.timezones())
lastmods = st.none() | moments | moments.map(str) | moments.map(lambda moment: moment.isoformat())
priorities = st.none() | st.sampled_from(["", 0, 1, "0.50", "high", True]) | st.floats() | st.decimals()
# An address that is finished: absolute and encoded, as Django's views get it from reverse().
addresses = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("&'<>\""), max_size=20).map(
    lambda text: made_cleaner().loc(1, f"/p{text}")
)
codes = st.sampled_from(["en", "de", "pt-BR", "zh-Hans", "x-default"])
infos = st.fixed_dictionaries(
    {
        "location": addresses,
        "lastmod": lastmods,
        "changefreq": st.sampled_from(["", None, *CHANGEFREQS]),
        "priority": priorities,
        "alternates": st.lists(st.fixed_dictionaries({"lang_code": codes, "location": addresses}), max_size=3),
    }
)


def made_cleaner() -> Cleaner:
    return Cleaner(
        scope=Scope(origin=Origin.parse("https://example.com")),
        tz=timezone.get_default_timezone(),
        now=timezone.now(),
        report=Report("urlset"),
    )


def written(urlset: list[dict[str, Any]]) -> bytes:
    cleaner = made_cleaner()
    groups = [group for info in urlset if (group := url_info_group(info, 1, cleaner))]
    pieces = write_urlset(groups, prefixes={"xhtml": XHTML}, report=Report("urlset"), tally=Tally(), as_given=True)
    return b"".join(pieces)


@given(st.lists(infos, max_size=4, unique_by=lambda info: info["location"]))
def test_the_shipped_page_template_gives_the_bytes_of_the_writer(urlset: list[dict[str, Any]]) -> None:
    rendered = render_to_string("sitemap.xml", {"urlset": urlset}).encode()

    assert rendered == written(urlset)
    validate(rendered)


@given(st.lists(st.tuples(addresses, lastmods), min_size=1, max_size=4, unique_by=lambda item: item[0]))
def test_the_shipped_index_template_gives_the_bytes_of_the_writer(items: list[tuple[str, Any]]) -> None:
    sitemaps = [{"location": location, "last_mod": last_mod} for location, last_mod in items]

    rendered = render_to_string("sitemap_index.xml", {"sitemaps": sitemaps}).encode()

    cleaner = made_cleaner()
    assert rendered == b"".join(write_index(IndexItem(loc, cleaner.lastmod(1, last_mod)) for loc, last_mod in items))
    validate(rendered)


@pytest.mark.parametrize("hostile", ["</loc><loc>", "]]>", "&amp;", "\"'<>&"])
def test_nothing_in_an_address_breaks_a_template(hostile: str) -> None:
    location = f"https://example.com/{hostile}"
    url = {"location": location, "changefreq": hostile, "alternates": [{"lang_code": "de", "location": location}]}

    # Well-formed; what is no address is the writer's to leave out.
    root = ElementTree.fromstring(render_to_string("sitemap.xml", {"urlset": [url]}))  # noqa: S314

    assert root[0][0].text == location
    assert root[0][2].attrib["href"] == normalize(location, origin=Origin.parse("https://example.com"))


def test_the_language_of_the_visitor_does_not_reach_numbers_and_dates(settings: Any) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    url = {"location": "https://example.com/", "lastmod": date(2026, 1, 1), "priority": 0.5}

    with translation.override("de"), timezone.override("Asia/Tokyo"):
        rendered = render_to_string("sitemap.xml", {"urlset": [url]})

    assert "<lastmod>2026-01-01</lastmod><priority>0.5</priority>" in rendered


def test_a_date_that_cannot_be_used_is_no_tag() -> None:
    url = {"location": "https://example.com/", "lastmod": "yesterday", "priority": "2.0"}
    later = {"location": "https://example.com/", "lastmod": datetime(2999, 1, 1, tzinfo=UTC)}

    rendered = render_to_string("sitemap.xml", {"urlset": [url, later]})

    assert "<lastmod>" not in rendered
    assert "<priority>" not in rendered
