"""What a section may not become from one build to the next, and what it may."""

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemaps_plus.protocol.entries import Entry, Group
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.shapes import DIRECTORIES, SAMPLED, Sampler, Shape, merge, why_not
from sitemaps_plus.protocol.writer import Tally, write_urlset


def pieces_of(paths: Iterable[str]) -> list[bytes]:
    return [f"<url><loc>https://example.com{path}</loc></url>\n".encode() for path in paths]


def seen(pieces: Iterable[bytes]) -> Shape:
    sampler = Sampler()
    for _ in sampler.watch(pieces):
        pass
    return sampler.shape()


def shape_of(paths: Iterable[str]) -> Shape:
    """Return the shape of a page that is written in one piece."""
    return seen([b"".join(pieces_of(paths))])


def numbered(pattern: str, count: int = 20) -> list[str]:
    return [pattern.format(number) for number in range(count)]


def reason(before: Sequence[str] | Shape, now: Sequence[str] | Shape) -> str | None:
    """Return why pages that look otherwise than before, and have as many URLs, are not published."""
    old, new = (given if isinstance(given, Shape) else shape_of(given) for given in (before, now))
    return why_not(urls_before=100, urls_now=100, shape_before=old, shape_now=new, most=0.5)


WORDS = st.sampled_from(["shop", "blog", "a", "b", "x-1", "2026", "%E5%95%86", "", "None"])
PATHS = st.lists(WORDS, max_size=6).map(lambda words: "/" + "/".join(words))
MANY = st.lists(PATHS, min_size=10, max_size=60)
PREFIXES = st.lists(st.sampled_from(["shop", "blog", "%E5%95%86"]), min_size=1, max_size=3).map(
    lambda words: "/" + "/".join(words) + "/"
)
LEAVES = st.lists(st.sampled_from(["shop", "lamp-5", "2026", "a"]), max_size=3).map("/".join)


# What is seen of a page


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b"<loc>", b"</loc>", b"https://e.com/", b"/a/b"])))
def test_pieces_go_through_as_they_are_whatever_they_are(pieces: list[bytes]) -> None:
    sampler = Sampler()

    assert list(sampler.watch(pieces)) == pieces
    assert sampler.shape().sampled <= 2 * SAMPLED


def test_pieces_are_not_waited_for() -> None:
    sampler = Sampler()

    def pieces() -> Iterable[bytes]:
        yield b"one"
        raise ZeroDivisionError

    watched = sampler.watch(pieces())

    assert next(watched) == b"one"
    with pytest.raises(ZeroDivisionError):
        next(watched)


@pytest.mark.parametrize("count", [0, 1, SAMPLED, 2 * SAMPLED, 2 * SAMPLED + 1, 1000])
def test_of_one_piece_the_first_and_the_last_urls_are_looked_at_each_once(count: int) -> None:
    names = ["first" if n < SAMPLED else "last" if n >= count - SAMPLED else "middle" for n in range(count)]

    shape = shape_of(f"/{name}/{n}/" for n, name in enumerate(names))

    assert shape.sampled == min(count, 2 * SAMPLED)
    assert set(shape.directories) == {f"/{name}/" for name in names} - {"/middle/"}


def test_of_many_pieces_the_first_and_the_last_with_urls_are_looked_at() -> None:
    first, middle, last = (b"".join(pieces_of(numbered(f"/{name}/{{}}/"))) for name in ("first", "middle", "last"))

    shape = seen([b"<urlset>\n", first, middle, last, b"</urlset>\n"])

    assert shape == Shape(sampled=40, blank=0, directories=("/first/", "/last/"))


def test_images_and_videos_are_no_urls_of_the_page() -> None:
    extra = (
        "<image:image><image:loc>https://cdn.example.com/None/1.jpg</image:loc></image:image>"
        "<video:video><video:content_loc>https://cdn.example.com/None/1.mp4</video:content_loc></video:video>"
    )
    groups = [Group(n, [Entry(f"https://example.com/shop/{n}/", "2026-01-01", extra=extra)]) for n in range(5)]

    shape = seen(write_urlset(groups, report=Report("products"), tally=Tally()))

    assert shape == Shape(sampled=5, blank=0, directories=("/shop/",))


def test_an_address_in_two_pieces_and_a_cut_one_are_not_seen() -> None:
    whole = pieces_of(["/a/1/", "/b/2/"])

    shape = seen([whole[0] + b"<url><loc>https://example.com/c/", b"3/</loc></url>", whole[1]])

    assert shape == Shape(sampled=2, blank=0, directories=("/a/", "/b/"))


def test_a_template_may_break_lines_and_give_queries() -> None:
    shape = seen([b"<loc>\n  https://example.com:8000/shop/item?a=/b/&amp;c=None/\n</loc>"])

    assert shape == Shape(sampled=1, blank=0, directories=("/shop/",))


@pytest.mark.parametrize(
    ("path", "directory"),
    [
        ("", "/"),
        ("/", "/"),
        ("/about/", "/"),
        ("/shop/lamp", "/shop/"),
        ("/shop/lamp/", "/shop/"),
        ("/2026/01/31/post/", "/0/0/0/"),
        ("/shelf-17/book", "/shelf-0/"),
        ("/%E5%95%86/1", "/%E5%95%86/"),
        ("/a/b/c/d/e", "/a/b/c/d/"),
        ("/a/b/c/d/e/f", "/a/b/c/d/*"),
    ],
)
def test_a_directory_is_where_a_url_lies(path: str, directory: str) -> None:
    assert shape_of([path]).directories == (directory,)


def test_many_directories_are_taken_together() -> None:
    paths = [f"/shop/{letter}{other}/lamp/" for letter in "abcde" for other in "abcde"]

    few, many = shape_of(paths[:DIRECTORIES]), shape_of(paths)

    assert len(few.directories) == DIRECTORIES
    assert many.directories == ("/shop/*",)


@pytest.mark.parametrize(
    "path",
    ["/shop/None/", "/None", "/NULL/x/", "/shop/nan/1", "/undefined/", "/shop//x/", "//"],
)
def test_a_blank_segment_is_seen(path: str) -> None:
    assert shape_of([path]).blank == 1


@pytest.mark.parametrize(
    "path", ["/shop/nonesuch/", "/nanny/", "/x-null/", "/shop/", "/", "", "/shop?id=None", "/shop?next=//x"]
)
def test_a_word_that_only_begins_so_is_not_blank(path: str) -> None:
    assert shape_of([path]).blank == 0


@pytest.mark.parametrize(
    ("directories", "prefix"),
    [
        ((), "/"),
        (("/",), "/"),
        (("/shop/",), "/shop/"),
        (("/shop/a/", "/shop/b/"), "/shop/"),
        (("/shop/", "/shop/b/"), "/shop/"),
        (("/shop/", "/shops/"), "/"),
        (("/shop/*",), "/shop/"),
        (("/blog/0/0/",), "/blog/"),
        (("/blog/0/january/",), "/blog/"),
        (("/v0/shop/",), "/"),
        (("/%E5%95%86/a/",), "/%E5%95%86/a/"),
        (("/*",), "/"),
    ],
)
def test_the_prefix_is_what_all_directories_begin_with(directories: tuple[str, ...], prefix: str) -> None:
    assert Shape(sampled=20, directories=directories).prefix == prefix


# Several pages, and from one build to the next


@given(st.lists(st.lists(PATHS, max_size=20), max_size=5))
def test_pages_add_up_however_they_are_grouped(pages: list[list[str]]) -> None:
    shapes = [shape_of(page) for page in pages]

    whole = merge(shapes)
    in_steps = merge([merge(shapes[:2]), merge(shapes[2:])])

    assert (whole.sampled, whole.blank) == (in_steps.sampled, in_steps.blank)
    assert whole.sampled == sum(map(len, pages))
    assert len(whole.directories) <= DIRECTORIES
    # Deeper directories may have been taken together on the way.
    assert whole.prefix.startswith(in_steps.prefix)


@given(MANY)
def test_a_shape_comes_back_from_json(paths: list[str]) -> None:
    shape = shape_of(paths)

    assert Shape.from_json(json.loads(json.dumps(shape.as_json()))) == shape


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        [],
        {"sampled": 1, "blank": 0},
        {"sampled": "1", "blank": 0, "directories": []},
        {"sampled": 1, "blank": 2, "directories": []},
        {"sampled": 1, "blank": 0, "directories": [5]},
        {"sampled": 1, "blank": 0, "directories": "shop"},
        {"sampled": 1, "blank": 0, "directories": None},
    ],
)
def test_other_json_is_no_shape(given: object) -> None:
    with pytest.raises(ValueError, match="is not the shape of URLs"):
        Shape.from_json(given)


# URLs that are gone


@given(before=st.integers(0, 10**7), now=st.integers(0, 10**7), percent=st.integers(0, 100))
def test_a_section_may_lose_a_share_of_its_urls_and_not_one_more(before: int, now: int, percent: int) -> None:
    said = why_not(urls_before=before, urls_now=now, shape_before=None, shape_now=None, most=percent / 100)

    assert (said is not None) == (before - now > before * Fraction(percent, 100))


@pytest.mark.parametrize(
    ("before", "now", "most", "said"),
    [
        (10_000, 1_000, 0.5, "The section lost 9,000 of its 10,000 URLs, more than half. If that is meant, publish"),
        (100, 49, 0.5, "The section lost 51 of its 100 URLs, more than half."),
        (1_000, 874, 0.125, "The section lost 126 of its 1,000 URLs, more than 12.5 %."),
        (10_000, 0, 0.5, "The section lost all of its 10,000 URLs."),
        (1, 0, 0.5, "The section lost its only URL."),
    ],
)
def test_what_is_lost_is_said_with_what_to_do(before: int, now: int, most: float, said: str) -> None:
    found = why_not(urls_before=before, urls_now=now, shape_before=None, shape_now=None, most=most)

    assert found is not None
    assert found.startswith(said)
    assert "publish it with --allow-shrink" in found


@pytest.mark.parametrize(
    ("before", "now", "most"), [(100, 50, 0.5), (0, 0, 0.5), (0, 5, 0.0), (5, 0, 1.0), (100, 71, 0.29)]
)
def test_as_much_as_is_allowed_may_go(before: int, now: int, most: float) -> None:
    assert why_not(urls_before=before, urls_now=now, shape_before=None, shape_now=None, most=most) is None


# URLs that look alike


def test_urls_that_turn_blank_are_not_published() -> None:
    said = reason(numbered("/shop/lamp/{}/"), numbered("/shop/None/{}/"))

    assert said is not None
    assert said.startswith("Of 20 URLs that were looked at, 20 have a part like /None/ or //; before, 0 of 20 had.")
    assert "publish it with --allow-shrink" in said


@pytest.mark.parametrize(("blank", "is_stopped"), [(9, False), (10, True)])
def test_half_of_the_urls_must_be_blank(blank: int, is_stopped: bool) -> None:
    now = [*numbered("/shop/{}//", blank), *numbered("/shop/lamp/{}/", 20 - blank)]

    assert (reason(numbered("/shop/lamp/{}/"), now) is not None) == is_stopped


@pytest.mark.parametrize(("blank", "is_stopped"), [(1, True), (2, False)])
def test_a_section_that_had_blank_urls_before_may_have_them(blank: int, is_stopped: bool) -> None:
    before = [*numbered("/{}/null/", blank), *numbered("/{}/lamp/", 20 - blank)]

    assert (reason(before, numbered("/{}/null/")) is not None) == is_stopped


def test_of_a_few_urls_all_must_be_blank() -> None:
    before = ["/tags/css/", "/tags/sql/"]

    assert reason(before, ["/tags/css/", "/tags/null/"]) is None
    assert reason(before, ["/tags/None/"]) is not None


def test_a_section_that_was_empty_may_become_anything() -> None:
    assert reason([], numbered("/None/{}/")) is None


# A prefix that is gone


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
def test_a_prefix_that_is_gone_is_not_published(now: str) -> None:
    said = reason(numbered("/shop/lamp-{}/"), numbered(now))

    assert said is not None
    assert said.startswith("None of 20 URLs that were looked at begins with /shop/, as all of them did before.")
    assert "publish it with --allow-shrink" in said


def test_one_that_is_left_is_enough() -> None:
    assert reason(numbered("/shop/lamp-{}/"), [*numbered("/store/lamp-{}/"), "/shop/lamp/"]) is None


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
def test_what_is_no_change_of_the_prefix_is_published(before: list[str], now: list[str]) -> None:
    assert reason(before, now) is None


@pytest.mark.parametrize(("before", "now", "is_stopped"), [(10, 10, True), (9, 10, False), (10, 9, False)])
def test_a_few_urls_have_no_prefix(before: int, now: int, is_stopped: bool) -> None:
    said = reason(numbered("/shop/lamp-{}/", before), numbered("/store/lamp-{}/", now))

    assert (said is not None) == is_stopped


def test_another_scheme_and_host_are_the_same_place() -> None:
    now = seen([b"".join(pieces_of(numbered("/shop/{}/"))).replace(b"https://example.com", b"http://example.org")])

    assert reason(numbered("/shop/{}/"), now) is None


def test_one_page_of_another_kind_among_many_raises_nothing() -> None:
    shop, blog = shape_of(numbered("/shop/{}/")), shape_of(numbered("/blog/{}/"))

    assert reason(merge([shop] * 3), merge([blog] * 50 + [shop])) is None
    assert reason(merge([shop] * 3), merge([blog] * 50)) is not None


@given(
    prefix=PREFIXES,
    before=st.lists(LEAVES, min_size=10, max_size=30),
    now=st.lists(st.tuples(PREFIXES, LEAVES).map("".join), min_size=10, max_size=30),
    page=st.integers(1, 30),
)
def test_a_prefix_is_said_to_be_gone_where_no_url_lies_below_it(
    prefix: str, before: list[str], now: list[str], page: int
) -> None:
    old = shape_of(f"{prefix}x/{leaf}" for leaf in before)
    new = merge(shape_of(now[at : at + page]) for at in range(0, len(now), page))

    said = why_not(urls_before=1, urls_now=1, shape_before=old, shape_now=new, most=0.5)

    # The directory itself, as a page, lies beside those that are in it.
    left = [path for path in now if path.startswith(old.prefix) and path.rstrip("/") != old.prefix.rstrip("/")]
    is_known = not any(directory.endswith("*") for directory in new.directories)
    assert old.prefix.startswith(prefix)
    assert said is None or not left
    assert said is not None or left or not is_known
