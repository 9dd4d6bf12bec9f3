import gc
import string
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sitemaps_plus.errors import PageFull, StrictError, TooManyPages
from sitemaps_plus.protocol.addresses import Origin, Scope
from sitemaps_plus.protocol.dates import format_date
from sitemaps_plus.protocol.entries import Cleaner, Entry, Group, Link
from sitemaps_plus.protocol.limits import Limits
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.text import CHANGEFREQS, format_priority
from sitemaps_plus.protocol.writer import IndexItem, Tally, write_index, write_text, write_urlset
from sitemaps_plus.values.extensions import EXTENSIONS
from xml_checks import SITEMAP, lastmods, locs, validate

SHOP = Origin.parse("https://example.com")
XHTML = EXTENSIONS["hreflang"].namespace

# Characters that XML allows and a parser does not change.
legal_text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("&<>\"'%]\u0085\u202e\U0010ffff")
)
dates = st.none() | st.dates().map(str) | st.datetimes().map(lambda moment: format_date(moment, tz=UTC))
entries = st.builds(
    Entry,
    loc=legal_text.map(lambda text: f"https://example.com/{text}."),
    lastmod=dates,
    changefreq=st.none() | st.sampled_from(CHANGEFREQS),
    priority=st.none() | st.floats(0, 1).map(format_priority),
    links=st.lists(st.builds(Link, legal_text, legal_text), max_size=3),
    more_links=st.just(()),
    media=st.just(""),
    given=st.none(),
)


def write(groups: Any, *, report: Report | None = None, tally: Tally | None = None, **options: Any) -> bytes:
    pieces = write_urlset(groups, report=report or Report("products"), tally=tally or Tally(), **options)
    return b"".join(pieces)


def groups_of(count: int, first: int = 1) -> Iterator[Group]:
    for number in range(first, first + count):
        yield Group(number, (Entry(f"https://example.com/{number}"),))


def parse(document: bytes) -> list[Entry]:
    root = ElementTree.fromstring(document)  # noqa: S314 - written by the code under test
    return [
        Entry(
            url.findtext(f"{SITEMAP}loc", ""),
            url.findtext(f"{SITEMAP}lastmod"),
            url.findtext(f"{SITEMAP}changefreq"),
            url.findtext(f"{SITEMAP}priority"),
            [Link(link.attrib["hreflang"], link.attrib["href"]) for link in url.findall(f"{{{XHTML}}}link")],
        )
        for url in root
    ]


@given(st.lists(entries, max_size=5, unique_by=lambda entry: entry.loc))
def test_what_is_written_parses_back_to_the_same_entries(given_entries: list[Entry]) -> None:
    groups = [Group(number, (entry,)) for number, entry in enumerate(given_entries)]

    document = write(groups, prefixes={"xhtml": XHTML})

    assert parse(document) == given_entries


@given(st.lists(st.text(), max_size=5), st.text(string.ascii_letters, max_size=5))
def test_any_unicode_gives_a_valid_page_of_exactly_the_rows_with_a_valid_url(texts: list[str], language: str) -> None:
    report = Report("products")
    cleaner = Cleaner(scope=Scope(origin=SHOP), tz=UTC, now=datetime(2026, 1, 1, tzinfo=UTC), report=report)
    groups = []
    for key, text in enumerate(texts):
        try:
            loc = cleaner.loc(key, f"/{text}")
        except ValueError as error:
            report.leave_out(key, "location", error)
            continue
        links = cleaner.links(key, [(language, f"/{text}")])
        lastmod, changefreq = cleaner.lastmod(key, text), cleaner.changefreq(key, text)
        groups.append(Group(key, (Entry(loc, lastmod, changefreq, None, links),)))

    document = write(groups, prefixes={"xhtml": XHTML}, report=report)

    assert locs(document) == list(dict.fromkeys(entry.loc for group in groups for entry in group.entries))
    assert len(locs(document)) + report.left_out == len(texts)


def test_children_are_in_the_order_of_the_schema() -> None:
    entry = Entry("https://example.com/", "2026-01-01", "daily", "0.5", [Link("de", "https://example.com/de/")])

    root = validate(write([Group(1, (entry,))], prefixes={"xhtml": XHTML}))

    assert [child.tag.rpartition("}")[2] for child in root[0]] == ["loc", "lastmod", "changefreq", "priority", "link"]


def test_a_document_begins_with_its_declaration_and_ends_with_a_line_end() -> None:
    document = write(groups_of(1))

    assert document.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns=')
    assert document.endswith(b"</urlset>\n")


def test_only_the_given_namespaces_are_declared() -> None:
    assert XHTML.encode() not in write(groups_of(1))
    assert f'xmlns:xhtml="{XHTML}"'.encode() in write(groups_of(1), prefixes={"xhtml": XHTML})


def test_a_page_without_entries_is_valid() -> None:
    assert locs(write([])) == []


# A row has at least 44 bytes: with up to 40 bytes less, all rows but one fit.
@given(st.integers(1, 20), st.integers(-40, 40))
@example(20, 0)
@example(20, -1)
def test_a_page_is_filled_to_the_exact_byte(count: int, spare: int) -> None:
    size = len(write(groups_of(count)))
    limits = Limits(bytes=size + spare, bytes_to_fill=size + spare)

    if spare >= 0:
        tally = Tally()
        document = write(groups_of(count), limits=limits, tally=tally)
        assert len(document) == tally.bytes == size
        return
    if count == 1:
        report = Report("products")
        assert locs(write(groups_of(count), limits=limits, report=report)) == []
        assert report.left_out == 1
        return
    with pytest.raises(PageFull) as caught:
        write(groups_of(count), limits=limits)
    assert 1 < caught.value.split_at <= count  # type: ignore[operator]
    assert len(write(groups_of(caught.value.split_at - 1))) <= size + spare  # type: ignore[operator]


def test_bytes_are_counted_not_characters() -> None:
    # The writer's own text is ASCII; this holds where a value is not.
    groups = [Group(number, (Entry(f"https://example.com/ü{number}"),)) for number in range(3)]
    size = len(write(groups))

    with pytest.raises(PageFull):
        write(groups, limits=Limits(bytes=size - 1, bytes_to_fill=size))


def test_a_page_is_split_where_it_reached_the_size_to_fill() -> None:
    size = len(write(groups_of(9)))
    filled = len(write(groups_of(7))) - len("</urlset>\n")

    with pytest.raises(PageFull) as caught:
        write(groups_of(9), limits=Limits(bytes=size - 1, bytes_to_fill=filled))

    assert caught.value.split_at == 8


def test_without_a_size_to_fill_the_row_that_does_not_fit_begins_the_next_page() -> None:
    size = len(write(groups_of(9)))

    with pytest.raises(PageFull) as caught:
        write(groups_of(9), limits=Limits(bytes=size - 1))

    assert caught.value.split_at == 9


def test_a_page_has_at_most_fifty_thousand_urls() -> None:
    tally = Tally()

    assert write(groups_of(50_000), tally=tally).count(b"<url>") == tally.urls == 50_000
    with pytest.raises(PageFull) as caught:
        write(groups_of(50_001))
    assert caught.value.split_at == 50_001


def test_the_languages_of_a_row_stay_together() -> None:
    groups = [Group(key, [Entry(f"https://example.com/{code}/{key}") for code in ("en", "de")]) for key in range(3)]

    with pytest.raises(PageFull) as caught:
        write(groups, limits=Limits(urls=5))

    assert caught.value.split_at == 2


def test_a_row_that_is_larger_than_a_page_is_left_out() -> None:
    large = Group("large", [Entry(f"https://example.com/{'x' * 900}/{number}") for number in range(3)])
    report = Report("products")

    document = write([*groups_of(2), large, *groups_of(2, first=3)], limits=Limits(bytes=1500), report=report)

    assert locs(document) == [f"https://example.com/{number}" for number in (1, 2, 3, 4)]
    assert [(p.key, p.hook, p.code) for p in report.problems] == [("large", "location", "E-FILE-SIZE")]


def test_a_row_with_more_languages_than_urls_of_a_page_is_left_out() -> None:
    report = Report("products")
    many = Group("many", [Entry(f"https://example.com/{number}/") for number in range(4)])

    document = write([many, *groups_of(2)], limits=Limits(urls=3), report=report)

    assert len(locs(document)) == 2
    assert report.left_out == 1


def test_strict_raises_for_a_row_that_is_left_out() -> None:
    with pytest.raises(StrictError, match=r"large.*E-FILE-SIZE.*STRICT"):
        write(
            [Group("large", (Entry(f"https://example.com/{'x' * 900}"),))],
            limits=Limits(bytes=500),
            report=Report("products", strict=True),
        )


def test_a_row_whose_only_url_is_on_the_page_already_is_left_out() -> None:
    report = Report("products")
    groups = [Group(key, (Entry(f"https://example.com/{path}"),)) for key, path in enumerate("abab")]

    document = write(groups, report=report)

    assert locs(document) == ["https://example.com/a", "https://example.com/b"]
    assert [(problem.key, problem.hook, problem.code) for problem in report.problems] == [
        ("2", "location", "E-URL-REPEATED"),
        ("3", "location", "E-URL-REPEATED"),
    ]
    assert (report.warned, report.left_out, report.dropped) == (0, 2, 0)


def of_row(key: int, paths: str) -> Group:
    return Group(key, [Entry(f"https://example.com/{path}") for path in paths])


@pytest.mark.parametrize(
    ("groups", "left_out", "warned"),
    [
        pytest.param([of_row(1, "aab")], 0, 1, id="of the row itself"),
        pytest.param([of_row(1, "a"), of_row(2, "ab")], 0, 1, id="of one language of a row"),
        pytest.param([of_row(1, "ab"), of_row(2, "ab")], 1, 0, id="of all languages of a row"),
        pytest.param([of_row(1, "a"), of_row(2, "")], 0, 0, id="nothing"),
    ],
)
def test_a_row_is_left_out_only_where_none_of_its_urls_is_listed(
    groups: list[Group], left_out: int, warned: int
) -> None:
    report = Report("products")

    write(groups, report=report)

    assert (report.left_out, report.warned) == (left_out, warned)


def test_strict_raises_for_a_repeated_row_and_not_for_a_repeated_language() -> None:
    write([of_row(1, "a"), of_row(2, "ab")], report=Report("products", strict=True))

    with pytest.raises(StrictError, match=r"row 2 was left out .*another row has the same URL.*E-URL-REPEATED"):
        write([of_row(1, "ab"), of_row(2, "ab")], report=Report("products", strict=True))


def test_as_given_keeps_repeated_urls_and_leaves_out_rows_beyond_the_limits() -> None:
    report = Report("urlset")
    groups = [Group(key, (Entry(f"https://example.com/{path}"),)) for key, path in enumerate("aaab")]

    document = write(groups, limits=Limits(urls=3), report=report, as_given=True)

    assert document.count(b"<loc>https://example.com/a</loc>") == 3
    assert report.left_out == 1


def test_pieces_are_about_64_kib() -> None:
    pieces = list(write_urlset(groups_of(20_000), report=Report("products"), tally=Tally()))

    assert len(pieces) > 10
    assert all(65_536 <= len(piece) < 70_000 for piece in pieces[:-1])


def test_a_page_is_written_in_bounded_memory() -> None:
    def groups() -> Iterator[Group]:
        for number in range(50_000):
            yield Group(number, (Entry(f"https://example.com/{number:0>200}", "2026-01-01T00:00:00+00:00"),))

    gc.collect()
    tracemalloc.start()
    seen = {f"https://example.com/{number:0>200}" for number in range(50_000)}
    of_seen, _ = tracemalloc.get_traced_memory()
    seen.clear()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    size = sum(len(piece) for piece in write_urlset(groups(), report=Report("products"), tally=Tally()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert size > 13_000_000
    assert peak - before < of_seen + 2_000_000


def test_a_text_sitemap_has_one_url_per_line_and_nothing_else() -> None:
    tally = Tally()

    text = b"".join(write_text(groups_of(3), report=Report("products"), tally=tally))

    assert text == b"https://example.com/1\nhttps://example.com/2\nhttps://example.com/3\n"
    assert (tally.urls, tally.bytes) == (3, len(text))


def test_a_text_sitemap_has_the_same_limits() -> None:
    with pytest.raises(PageFull) as caught:
        list(write_text(groups_of(4), limits=Limits(urls=3), report=Report("products"), tally=Tally()))

    assert caught.value.split_at == 4


@given(st.lists(st.builds(IndexItem, legal_text, dates), min_size=1, max_size=5))
def test_an_index_parses_back_to_its_items(items: list[IndexItem]) -> None:
    root = ElementTree.fromstring(b"".join(write_index(items)))  # noqa: S314 - written by the code under test

    found = [IndexItem(one.findtext(f"{SITEMAP}loc", ""), one.findtext(f"{SITEMAP}lastmod")) for one in root]
    assert found == items


def test_an_index_is_valid() -> None:
    items = [IndexItem("https://example.com/a.xml", "2026-01-01"), IndexItem("https://example.com/b.xml?x=1&y='2'")]

    document = b"".join(write_index(items))

    assert locs(document) == ["https://example.com/a.xml", "https://example.com/b.xml?x=1&y='2'"]
    assert lastmods(document) == ["2026-01-01", None]


def test_an_index_lists_at_most_fifty_thousand_sitemaps() -> None:
    items = [IndexItem(f"https://example.com/sitemap-products-{number}.xml") for number in range(50_001)]

    assert b"".join(write_index(items[:50_000])).count(b"<sitemap>") == 50_000
    with pytest.raises(TooManyPages, match="section indexes"):
        list(write_index(items))


def test_an_index_is_never_larger_than_50_mb() -> None:
    items = [IndexItem(f"https://example.com/{number}/{'x' * 1900}") for number in range(30_000)]

    with pytest.raises(TooManyPages):
        list(write_index(items))
