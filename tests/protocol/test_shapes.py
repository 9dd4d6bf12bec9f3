"""The shapes of pages: which URLs are sampled, and how shapes are merged and stored."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shape_samples import numbered, pieces_of, seen, shape_of
from sitemaps_plus.protocol.entries import Entry, Group
from sitemaps_plus.protocol.reports import Report
from sitemaps_plus.protocol.shapes import DIRECTORIES, SAMPLED, Sampler, Shape, merge
from sitemaps_plus.protocol.writer import Tally, write_urlset

WORDS = st.sampled_from(["shop", "blog", "a", "b", "x-1", "2026", "%E5%95%86", "", "None"])
PATHS = st.lists(WORDS, max_size=6).map(lambda words: "/" + "/".join(words))
MANY = st.lists(PATHS, min_size=10, max_size=60)


# Sampling


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b"<loc>", b"</loc>", b"https://e.com/", b"/a/b"])))
def test_all_pieces_are_yielded_unchanged(pieces: list[bytes]) -> None:
    sampler = Sampler()

    assert list(sampler.watch(pieces)) == pieces
    assert sampler.shape().sampled <= 2 * SAMPLED


def test_each_piece_is_yielded_at_once() -> None:
    sampler = Sampler()

    def pieces() -> Iterable[bytes]:
        yield b"one"
        raise ZeroDivisionError

    watched = sampler.watch(pieces())

    assert next(watched) == b"one"
    with pytest.raises(ZeroDivisionError):
        next(watched)


@pytest.mark.parametrize("count", [0, 1, SAMPLED, 2 * SAMPLED, 2 * SAMPLED + 1, 1000])
def test_the_first_and_the_last_urls_of_one_piece_are_sampled_once(count: int) -> None:
    names = ["first" if n < SAMPLED else "last" if n >= count - SAMPLED else "middle" for n in range(count)]

    shape = shape_of(f"/{name}/{n}/" for n, name in enumerate(names))

    assert shape.sampled == min(count, 2 * SAMPLED)
    assert set(shape.directories) == {f"/{name}/" for name in names} - {"/middle/"}


def test_the_first_and_the_last_piece_with_urls_are_sampled() -> None:
    first, middle, last = (b"".join(pieces_of(numbered(f"/{name}/{{}}/"))) for name in ("first", "middle", "last"))

    shape = seen([b"<urlset>\n", first, middle, last, b"</urlset>\n"])

    assert shape == Shape(sampled=40, blank=0, directories=("/first/", "/last/"))


def test_urls_of_images_and_videos_are_not_sampled() -> None:
    extra = (
        "<image:image><image:loc>https://cdn.example.com/None/1.jpg</image:loc></image:image>"
        "<video:video><video:content_loc>https://cdn.example.com/None/1.mp4</video:content_loc></video:video>"
    )
    groups = [Group(n, [Entry(f"https://example.com/shop/{n}/", "2026-01-01", media=extra)]) for n in range(5)]

    shape = seen(write_urlset(groups, report=Report("products"), tally=Tally()))

    assert shape == Shape(sampled=5, blank=0, directories=("/shop/",))


def test_a_url_that_is_split_between_two_pieces_is_not_sampled() -> None:
    whole = pieces_of(["/a/1/", "/b/2/"])

    shape = seen([whole[0] + b"<url><loc>https://example.com/c/", b"3/</loc></url>", whole[1]])

    assert shape == Shape(sampled=2, blank=0, directories=("/a/", "/b/"))


def test_urls_with_line_breaks_and_queries_are_sampled() -> None:
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
def test_a_shape_has_the_directory_of_a_url(path: str, directory: str) -> None:
    assert shape_of([path]).directories == (directory,)


def test_many_directories_are_combined() -> None:
    paths = [f"/shop/{letter}{other}/lamp/" for letter in "abcde" for other in "abcde"]

    few, many = shape_of(paths[:DIRECTORIES]), shape_of(paths)

    assert len(few.directories) == DIRECTORIES
    assert many.directories == ("/shop/*",)


@pytest.mark.parametrize(
    "path",
    ["/shop/None/", "/None", "/NULL/x/", "/shop/nan/1", "/undefined/", "/shop//x/", "//"],
)
def test_an_empty_segment_counts_as_blank(path: str) -> None:
    assert shape_of([path]).blank == 1


@pytest.mark.parametrize(
    "path", ["/shop/nonesuch/", "/nanny/", "/x-null/", "/shop/", "/", "", "/shop?id=None", "/shop?next=//x"]
)
def test_a_word_that_only_begins_like_a_blank_one_is_not_blank(path: str) -> None:
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
def test_the_prefix_is_the_common_beginning_of_all_directories(directories: tuple[str, ...], prefix: str) -> None:
    assert Shape(sampled=20, directories=directories).prefix == prefix


# Merging and storing


@given(st.lists(st.lists(PATHS, max_size=20), max_size=5))
def test_merging_shapes_does_not_depend_on_their_grouping(pages: list[list[str]]) -> None:
    shapes = [shape_of(page) for page in pages]

    whole = merge(shapes)
    in_steps = merge([merge(shapes[:2]), merge(shapes[2:])])

    assert (whole.sampled, whole.blank) == (in_steps.sampled, in_steps.blank)
    assert whole.sampled == sum(map(len, pages))
    assert len(whole.directories) <= DIRECTORIES
    # Deeper directories may have been taken together on the way.
    assert whole.prefix.startswith(in_steps.prefix)


@given(MANY)
def test_a_shape_can_be_read_from_its_json(paths: list[str]) -> None:
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
def test_other_json_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="is not the shape of URLs"):
        Shape.from_json(given)
