"""A row for each language in a table of translations: django-parler."""

from datetime import UTC, datetime
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from django.test import Client

from clusters import answers, built, clusters, complaints, linked, paths, queries, served, undocumented
from magazine.models import Article
from magazine.sitemaps import ArticlesByMethod, ArticleSitemap

pytestmark = pytest.mark.django_db

ARTICLES = ["articles", "articles-by-method"]
VIDEO = "{http://www.google.com/schemas/sitemap-video/1.1}"


def make_article(slugs: dict[str, str], film: str = "") -> Article:
    article = Article.objects.create(updated_at=datetime(2026, 5, 4, 12, tzinfo=UTC), film=film)
    for code, slug in slugs.items():
        article.translations.create(language_code=code, title=f"{slug} ({code})", slug=slug)
    return article


def make_articles(count: int) -> None:
    for number in range(Article.objects.count(), Article.objects.count() + count):
        make_article(
            {"en": f"sun-{number}", "de": f"sonne-{number}", "pt-br": f"sol-{number}", "es-419": f"sol-{number}"}
        )


@pytest.mark.parametrize("label", ARTICLES)
def test_each_language_has_its_own_slug_and_links_to_all(label):
    make_article({"en": "sun", "de": "sonne", "pt-br": "sol", "es-419": "sol"})

    found = paths(linked(served(label)))

    assert list(found) == ["/en/articles/sun/", "/de/articles/sonne/", "/pt-br/articles/sol/", "/es-419/articles/sol/"]
    assert found["/de/articles/sonne/"] == {
        "en": "/en/articles/sun/",
        "de": "/de/articles/sonne/",
        "pt-BR": "/pt-br/articles/sol/",
        "es": "/es-419/articles/sol/",
        "x-default": "/articles/sun/",
    }


@pytest.mark.parametrize("label", ARTICLES)
def test_a_row_that_is_not_translated_has_no_address_in_that_language(label):
    make_article({"en": "moon", "pt-br": "lua"})
    make_article({"de": "stern"})

    found = paths(linked(served(label)))

    moon = {"en": "/en/articles/moon/", "pt-BR": "/pt-br/articles/lua/", "x-default": "/articles/moon/"}
    assert found == {
        "/en/articles/moon/": moon,
        "/pt-br/articles/lua/": moon,
        "/de/articles/stern/": {"de": "/de/articles/stern/"},
    }


def test_a_translation_without_a_slug_has_no_address():
    make_article({"en": "moon", "de": "", "pt-br": "lua"})

    found = paths(linked(served("articles")))

    assert list(found) == ["/en/articles/moon/", "/pt-br/articles/lua/"]
    assert found["/en/articles/moon/"].keys() == {"en", "pt-BR", "x-default"}


def test_a_language_that_the_site_has_given_up_has_no_address():
    make_article({"en": "moon", "fr": "lune"})

    found = paths(linked(served("articles")))

    assert found == {"/en/articles/moon/": {"en": "/en/articles/moon/", "x-default": "/articles/moon/"}}


def test_relations_and_methods_give_the_same_bytes_served_and_built():
    make_articles(3)
    make_article({"en": "moon", "pt-br": "lua"})

    pages = [served("articles"), served("articles-by-method"), built("articles"), built("articles-by-method")]

    assert pages[0] == pages[1] == pages[2] == pages[3]


@pytest.mark.parametrize("label", ARTICLES)
def test_each_address_answers_in_its_language(label):
    make_articles(2)
    make_article({"en": "moon", "pt-br": "lua"})

    languages = answers(linked(served(label)))

    assert len(languages) == 10
    assert all(path.split("/")[1] == language for path, language in languages.items())


def test_x_default_leads_to_the_page():
    make_article({"en": "sun", "de": "sonne"})
    (href,) = {links["x-default"] for links in linked(served("articles")).values()}

    response = Client().get(urlsplit(href).path, headers={"host": "example.com"}, follow=True)

    assert response.redirect_chain == [("/en/articles/sun/", 302)]
    assert response.status_code == 200


def test_all_languages_of_a_row_are_on_one_page(monkeypatch):
    monkeypatch.setattr(ArticleSitemap, "limit", 8)
    monkeypatch.setattr(ArticleSitemap, "fill", 1.0)
    make_articles(5)

    pages = served("articles")

    assert [len(clusters([page])) for page in pages] == [8, 8, 4]
    assert all(linked([page]) for page in pages)
    assert pages == built("articles")


def test_links_across_pages_are_returned(monkeypatch):
    monkeypatch.setattr(ArticlesByMethod, "limit", 3)
    make_articles(5)

    pages = served("articles-by-method")

    assert [len(clusters([page])) for page in pages] == [3] * 6 + [2]
    assert linked(pages) == linked(served("articles"))


@pytest.mark.parametrize("label", ARTICLES)
def test_more_rows_cost_no_more_queries(label):
    make_articles(2)
    few = queries(lambda: served(label))
    make_articles(20)

    assert queries(lambda: served(label)) == few


def test_a_video_has_the_title_of_each_language_that_is_ready():
    article = make_article({"en": "sun", "de": "sonne", "pt-br": "sol"}, film="https://cdn.example.net/sun.mp4")
    article.translations.filter(language_code="pt-br").update(is_ready=False)

    pages = served("films")

    titles = {url.findtext("{*}loc"): url.findtext(f".//{VIDEO}title") for url in ElementTree.fromstring(pages[0])}  # noqa: S314
    assert titles == {
        "https://example.com/en/articles/sun/": "sun (en)",
        "https://example.com/de/articles/sonne/": "sonne (de)",
    }
    assert linked(pages).keys() == titles.keys()


def test_films_cost_no_more_queries_when_there_are_more():
    make_article({"en": "sun", "de": "sonne"}, film="https://cdn.example.net/sun.mp4")
    few = queries(lambda: served("films"))
    for number in range(20):
        make_article({"en": f"s{number}", "de": f"t{number}"}, film=f"https://cdn.example.net/{number}.mp4")

    assert queries(lambda: served("films")) == few


def test_the_checks_find_nothing():
    assert complaints() == []


def test_the_guide_shows_what_runs_here():
    assert undocumented("A table of translations", "magazine") == []
