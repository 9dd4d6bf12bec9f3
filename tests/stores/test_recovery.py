"""A manifest that is made again from the files is the one that was lost, as far as files tell."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from built import BuiltSet, index_names, page_names, spaced
from samples import Products, replace_section
from sitemaps_plus import register, registry
from sitemaps_plus.build import build
from sitemaps_plus.stores.manifest import Manifest
from sitemaps_plus.stores.published import PublishedFiles
from sitemaps_plus.stores.recovery import recover
from xml_checks import locs

pytestmark = pytest.mark.django_db

ORIGIN = "https://example.com"


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    """Forty products on four pages in all formats, and the same in another section on one page."""
    site = BuiltSet(settings, tmp_path)
    site.use(ORIGIN=ORIGIN, FORMATS=["xml.gz", "xml", "txt.gz"])
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 50}))
    spaced(range(1, 41))
    assert build().is_complete
    return site


def recovered(site: BuiltSet, **options: Any) -> tuple[Manifest, dict[str, list[int]]]:
    """Return what is found without the manifest, and the pages that are listed and not there."""
    site.manifest.unlink()
    files = PublishedFiles("example.com")
    manifest = files.checked_manifest(ORIGIN)
    recover(files, manifest, registry, lambda _: f"{ORIGIN}/", **options)
    return manifest, files.lost


def test_what_files_tell_is_as_before(site: BuiltSet) -> None:
    before = PublishedFiles("example.com").manifest
    assert before is not None

    found, lost = recovered(site)

    for section in before.sections.values():
        section.fingerprint = ""
        section.pages = {number: page._replace(start="", is_recovered=True) for number, page in section.pages.items()}
    assert found == before
    assert list(found.sections["products"].pages) == [1, 2, 3, 4]
    assert lost == {}


def test_only_whole_pages_that_an_index_lists_are_known(site: BuiltSet) -> None:
    site.path("sitemap-products-2.xml.gz").unlink()
    site.path("sitemap-products-3.xml.gz").write_bytes(site.path("sitemap-products-3.xml.gz").read_bytes()[:100])
    site.path("sitemap-products-7.xml.gz").write_bytes(site.path("sitemap-products-1.xml.gz").read_bytes())

    found, lost = recovered(site)

    assert list(found.sections["products"].pages) == [1, 4]
    assert lost == {"products": [2, 3]}
    assert {name for name, digest in found.indexes.items() if not digest} == {"sitemap", "sitemap-products"}


@pytest.mark.parametrize("form", ["xml", "txt.gz"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"x")], ids=["missing", "another"])
def test_a_page_of_which_one_format_is_not_the_same_is_unfinished(
    site: BuiltSet, form: str, damage: Callable[[Path], Any]
) -> None:
    damage(site.path(f"sitemap-products-2.{form}"))

    found, _lost = recovered(site)

    assert [number for number, page in found.sections["products"].pages.items() if not page.formats] == [2]


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"x")], ids=["missing", "broken"])
@pytest.mark.parametrize("name", sorted(index_names("products")))
def test_one_index_that_cannot_be_read_is_in_doubt_and_the_others_list_its_pages(
    site: BuiltSet, name: str, damage: Callable[[Path], Any]
) -> None:
    damage(site.path(name))

    found, lost = recovered(site)

    assert list(found.sections["products"].pages) == [1, 2, 3, 4]
    assert [index for index, digest in found.indexes.items() if not digest] == [name.partition(".")[0]]
    assert lost == {}


def test_pages_that_one_of_two_different_indexes_lists_are_known_with_the_dates_of_the_newer_one(
    site: BuiltSet,
) -> None:
    # As a killed build leaves them: the index of the section is replaced before that of the site.
    older = site.path("sitemap.xml").read_text()
    page = f"<sitemap><loc>{ORIGIN}/sitemap-products-5.xml</loc><lastmod>2020-01-01</lastmod></sitemap></sitemapindex>"
    changed = older.replace("sitemap-products-4.xml", "sitemap-products-9.xml").replace("</sitemapindex>", page)
    site.path("sitemap.xml").write_text(changed.replace("2026-", "2025-"))
    for name in page_names(1, form="xml.gz"):
        data = site.path(name).read_bytes()
        for number in (5, 9):
            site.path(name.replace("-1.", f"-{number}.")).write_bytes(data)

    found, _lost = recovered(site)

    pages = found.sections["products"].pages
    assert list(pages) == [1, 2, 3, 4, 9, 5]
    assert [(pages[number].lastmod or "")[:4] for number in pages] == ["2026"] * 4 + ["2025", "2020"]
    # Neither lists all pages.
    assert {name for name, digest in found.indexes.items() if not digest} == {"sitemap", "sitemap-products"}


FORMS = {
    "names": "{% for sitemap in sitemaps %}<{{ sitemap.location }}\n{% endfor %}",
    "cdata": "<i>{% for sitemap in sitemaps %}<loc><![CDATA[{{ sitemap.location }}]]></loc>{% endfor %}</i>",
    "prefixes": "<s:i>{% for one in sitemaps %}<s:loc>{{ one.location }}</s:loc>\n"
    '<s:lastmod>{{ one.last_mod|date:"c" }}</s:lastmod>{% endfor %}</s:i>',
}


@pytest.mark.parametrize("form", FORMS)
def test_an_index_of_a_template_of_the_project_may_have_any_form(
    site: BuiltSet, write_template: Any, form: str
) -> None:
    write_template("sitemap_index.xml", FORMS[form])
    assert build().is_complete

    found, _lost = recovered(site)

    assert list(found.sections["products"].pages) == [1, 2, 3, 4]
    assert found.sections["products"].base == f"{ORIGIN}/"
    assert all(found.indexes.values())
    dates = {(page.lastmod or "")[:10] for page in found.sections["products"].pages.values()}
    assert dates == ({"2026-01-01"} if form == "prefixes" else {""})


def test_pages_that_were_built_are_known_where_the_index_of_a_template_names_none(
    site: BuiltSet, write_template: Any
) -> None:
    write_template("sitemap_index.xml", "{% for sitemap in sitemaps %}<page/>{% endfor %}")
    assert build().is_complete
    before = site.files()
    site.manifest.unlink()
    site.path("sitemap-products-2.xml.gz").unlink()

    with site.touched() as touched:
        assert build(["more"]).is_complete

    assert site.path("sitemap.xml").read_text() == "<page/>" * 4
    assert "sitemap-products-1.xml.gz" not in touched
    assert build().is_complete
    assert site.files() == before


def test_a_section_that_is_no_longer_registered_is_known_by_its_index_and_other_files_are_not_ours(
    site: BuiltSet,
) -> None:
    registry.unregister("more")
    strangers = "".join(f"<loc>{ORIGIN}/{name}</loc>" for name in ("sitemap-posts-1.xml", "post-sitemap1.xml"))
    site.path("sitemap.xml").write_text(site.path("sitemap.xml").read_text() + strangers)
    site.path("sitemap-posts-1.xml.gz").write_bytes(site.path("sitemap-more-1.xml.gz").read_bytes())
    site.path("sitemap-old.xml").write_bytes(site.path("sitemap-more.xml").read_bytes())

    found, lost = recovered(site)

    assert list(found.sections) == ["products", "more"]
    assert lost == {}


def test_where_nothing_was_published_there_is_nothing_to_recover(site: BuiltSet) -> None:
    for path in site.folder.glob("sitemap*.xml*"):
        path.unlink()

    found, lost = recovered(site)

    assert found == Manifest(origin=ORIGIN)
    assert lost == {}


def test_after_a_move_pages_are_listed_where_they_are_now_also_if_a_section_fails(site: BuiltSet) -> None:
    listed = locs(site.path("sitemap.xml").read_bytes())
    site.use(ORIGIN="http://example.com")
    site.manifest.unlink()
    replace_section("more", type("Fails", (Products,), {"get_queryset": lambda self: 1 / 0}))

    assert not build().is_complete

    moved = [url.replace("https://", "http://") for url in listed]
    assert locs(site.path("sitemap.xml").read_bytes()) == moved
    assert locs(site.path("sitemap-more.xml").read_bytes()) == moved[4:]


def test_the_index_of_another_tool_stays_where_the_label_was_never_built(site: BuiltSet) -> None:
    register("news", type("News", (Products,), {"limit": 50}))
    strange = "<sitemapindex><sitemap><loc>{}/sitemap-news-1.xml</loc></sitemap></sitemapindex>"
    for origin in ("https://news.example.org", ORIGIN):
        site.path("sitemap-news.xml").write_text(strange.format(origin))

        assert build(["products"]).is_complete

        assert site.path("sitemap-news.xml").read_text() == strange.format(origin)
