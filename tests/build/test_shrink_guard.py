"""Which changes of a section a build may publish, and which it may not."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shape_samples import numbered, pieces_of, seen, shape_of
from sitemaps_plus.build.shrink_guard import why_not_publish
from sitemaps_plus.protocol.shapes import Shape, merge


def why_held_back(before: Sequence[str] | Shape, now: Sequence[str] | Shape) -> str | None:
    """Return why pages with other URLs, but as many as before, are not published."""
    old, new = (given if isinstance(given, Shape) else shape_of(given) for given in (before, now))
    found = why_not_publish(urls_before=100, urls_now=100, shape_before=old, shape_now=new, most=0.5)
    return str(found) if found else None


PREFIXES = st.lists(st.sampled_from(["shop", "blog", "%E5%95%86"]), min_size=1, max_size=3).map(
    lambda words: "/" + "/".join(words) + "/"
)
LEAVES = st.lists(st.sampled_from(["shop", "lamp-5", "2026", "a"]), max_size=3).map("/".join)


# Lost URLs


@given(before=st.integers(0, 10**7), now=st.integers(0, 10**7), percent=st.integers(0, 100))
def test_a_section_may_lose_exactly_the_allowed_share_of_its_urls(before: int, now: int, percent: int) -> None:
    found = why_not_publish(urls_before=before, urls_now=now, shape_before=None, shape_now=None, most=percent / 100)

    assert (found is not None) == (before - now > before * Fraction(percent, 100))


@pytest.mark.parametrize(
    ("before", "now", "most", "expected"),
    [
        (10_000, 1_000, 0.5, "The section lost 9,000 of its 10,000 URLs, more than half. If this is intended, publish"),
        (100, 49, 0.5, "The section lost 51 of its 100 URLs, more than half."),
        (1_000, 874, 0.125, "The section lost 126 of its 1,000 URLs, more than 12.5 %."),
        (10_000, 0, 0.5, "The section lost all of its 10,000 URLs."),
        (1, 0, 0.5, "The section lost its only URL."),
    ],
)
def test_the_reason_names_the_loss_and_the_remedy(before: int, now: int, most: float, expected: str) -> None:
    found = why_not_publish(urls_before=before, urls_now=now, shape_before=None, shape_now=None, most=most)

    assert found is not None
    assert str(found).startswith(expected)
    assert "publish it with --allow-shrink" in found.advice


@pytest.mark.parametrize(
    ("before", "now", "most"), [(100, 50, 0.5), (0, 0, 0.5), (0, 5, 0.0), (5, 0, 1.0), (100, 71, 0.29)]
)
def test_a_section_may_lose_the_allowed_share(before: int, now: int, most: float) -> None:
    assert why_not_publish(urls_before=before, urls_now=now, shape_before=None, shape_now=None, most=most) is None


# Blank URLs


def test_urls_that_turn_blank_are_not_published() -> None:
    found = why_held_back(numbered("/shop/lamp/{}/"), numbered("/shop/None/{}/"))

    assert found is not None
    assert found.startswith("20 of 20 sampled URLs have an empty part, such as /None/ or //; before, 0 of 20 had one.")
    assert "publish it with --allow-shrink" in found


@pytest.mark.parametrize(("blank", "is_stopped"), [(9, False), (10, True)])
def test_a_section_is_held_back_if_half_of_its_urls_are_blank(blank: int, is_stopped: bool) -> None:
    now = [*numbered("/shop/{}//", blank), *numbered("/shop/lamp/{}/", 20 - blank)]

    assert (why_held_back(numbered("/shop/lamp/{}/"), now) is not None) == is_stopped


@pytest.mark.parametrize(("blank", "is_stopped"), [(1, True), (2, False)])
def test_a_section_that_had_blank_urls_before_may_have_them(blank: int, is_stopped: bool) -> None:
    before = [*numbered("/{}/null/", blank), *numbered("/{}/lamp/", 20 - blank)]

    assert (why_held_back(before, numbered("/{}/null/")) is not None) == is_stopped


def test_a_small_section_is_held_back_only_if_all_urls_are_blank() -> None:
    before = ["/tags/css/", "/tags/sql/"]

    assert why_held_back(before, ["/tags/css/", "/tags/null/"]) is None
    assert why_held_back(before, ["/tags/None/"]) is not None


def test_a_section_that_was_empty_is_published() -> None:
    assert why_held_back([], numbered("/None/{}/")) is None


# Another prefix


@pytest.mark.parametrize(
    "now",
    [
        "/store/lamp-{}/",
        "/lamp-{}/",
        "/{}/",
        "/en/shop/lamp-{}/",
        "/shops/lamp-{}/",
        "/2026/{}/lamp/",
    ],
)
def test_a_section_without_its_former_prefix_is_not_published(now: str) -> None:
    found = why_held_back(numbered("/shop/lamp-{}/"), numbered(now))

    assert found is not None
    assert found.startswith("None of 20 sampled URLs begins with /shop/; before, all of them did.")
    assert "publish it with --allow-shrink" in found


def test_one_url_with_the_former_prefix_is_enough() -> None:
    assert why_held_back(numbered("/shop/lamp-{}/"), [*numbered("/store/lamp-{}/"), "/shop/lamp/"]) is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        # Rows of another kind come, or go.
        (numbered("/a/{}/"), [*numbered("/a/{}/"), *numbered("/b/{}/", 1000)]),
        ([*numbered("/a/{}/"), *numbered("/b/{}/")], numbered("/b/{}/")),
        ([*numbered("/a/{}/"), *numbered("/b/{}/")], numbered("/c/{}/")),
        # Dates and keys.
        (numbered("/2025/12/post-{}/"), numbered("/2026/01/post-{}/")),
        (numbered("/blog/2025/december/post-{}/"), numbered("/blog/2026/january/post-{}/")),
        (numbered("/shelf-17/book-{}/"), numbered("/shelf-18/book-{}/")),
        # Everything lies at the root.
        (numbered("/lamp-{}/"), numbered("/shop/lamp-{}/")),
        # Deeper, in one directory of many.
        (numbered("/shop/lamp-{}/"), [f"/{a}{b}/lamp/" for a in "abcde" for b in "abcde"] + ["/shop/x/y/"]),
        (numbered("/shop/lamp-{}/"), numbered("/shop/lamps/lamp-{}/")),
    ],
)
def test_other_changes_of_directories_are_published(before: list[str], now: list[str]) -> None:
    assert why_held_back(before, now) is None


@pytest.mark.parametrize(("before", "now", "is_stopped"), [(10, 10, True), (9, 10, False), (10, 9, False)])
def test_the_prefix_of_few_urls_is_not_compared(before: int, now: int, is_stopped: bool) -> None:
    found = why_held_back(numbered("/shop/lamp-{}/", before), numbered("/store/lamp-{}/", now))

    assert (found is not None) == is_stopped


def test_scheme_and_host_are_not_compared() -> None:
    now = seen([b"".join(pieces_of(numbered("/shop/{}/"))).replace(b"https://example.com", b"http://example.org")])

    assert why_held_back(numbered("/shop/{}/"), now) is None


def test_one_page_with_the_former_prefix_among_many_is_enough() -> None:
    shop, blog = shape_of(numbered("/shop/{}/")), shape_of(numbered("/blog/{}/"))

    assert why_held_back(merge([shop] * 3), merge([blog] * 50 + [shop])) is None
    assert why_held_back(merge([shop] * 3), merge([blog] * 50)) is not None


@given(
    prefix=PREFIXES,
    before=st.lists(LEAVES, min_size=10, max_size=30),
    now=st.lists(st.tuples(PREFIXES, LEAVES).map("".join), min_size=10, max_size=30),
    page=st.integers(1, 30),
)
def test_a_prefix_is_reported_as_gone_if_no_url_is_below_it(
    prefix: str, before: list[str], now: list[str], page: int
) -> None:
    old = shape_of(f"{prefix}x/{leaf}" for leaf in before)
    new = merge(shape_of(now[at : at + page]) for at in range(0, len(now), page))

    found = why_not_publish(urls_before=1, urls_now=1, shape_before=old, shape_now=new, most=0.5)

    # The directory itself, as a page, lies beside those that are in it.
    left = [path for path in now if path.startswith(old.prefix) and path.rstrip("/") != old.prefix.rstrip("/")]
    is_known = not any(directory.endswith("*") for directory in new.directories)
    assert old.prefix.startswith(prefix)
    assert found is None or not left
    assert found is not None or left or not is_known
