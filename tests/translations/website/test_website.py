"""A row for each language: wagtail's pages and snippets, translated with wagtail-localize."""

import pytest
from wagtail.models import Locale, Page, PageViewRestriction, Site
from wagtail_localize.models import LocaleSynchronization, StringTranslation, Translation, TranslationSource

from clusters import answers, built, clusters, complaints, linked, paths, queries, served, undocumented
from website.models import ArticlePage, Person
from website.sitemaps import PageSitemap, PersonSitemap

pytestmark = pytest.mark.django_db

PEOPLE = ["people", "people-by-method"]


@pytest.fixture(autouse=True)
def locales():
    """Return the locales by language."""
    return {code: Locale.objects.get_or_create(language_code=code)[0] for code in ("en", "de", "pt-br", "es-419")}


@pytest.fixture
def home(locales):
    """Return the English start page of the only site."""
    root = Page.add_root(instance=Page(title="Root", slug="root", locale=locales["en"]))
    home = root.add_child(instance=ArticlePage(title="Start", slug="start", locale=locales["en"]))
    Site.objects.create(hostname="example.com", root_page=home, is_default_site=True)
    return home


def make_person(**slugs: str) -> list[Person]:
    """Make the rows of one person, the default language first."""
    made: list[Person] = []
    for code, slug in slugs.items():
        key = {"translation_key": made[0].translation_key} if made else {}
        locale = Locale.objects.get(language_code=code.replace("_", "-"))
        made.append(Person.objects.create(slug=slug, locale=locale, **key))
    return made


def make_people(count: int) -> None:
    for number in range(Person.objects.count(), Person.objects.count() + count):
        make_person(en=f"john-{number}", de=f"johann-{number}", pt_br=f"joao-{number}", es_419=f"juan-{number}")


def make_article(home: ArticlePage, slug: str) -> ArticlePage:
    return home.add_child(instance=ArticlePage(title=slug.title(), slug=slug, locale=home.locale))


@pytest.fixture
def translate(locales, django_capture_on_commit_callbacks):
    """Return what translates a page as an editor of wagtail-localize does, and publishes it."""

    def translate(page: ArticlePage, code: str, title: str) -> ArticlePage:
        source, _ = TranslationSource.update_or_create_from_instance(page)
        translation, _ = Translation.objects.get_or_create(source=source, target_locale=locales[code])
        for segment in source.stringsegment_set.all():
            StringTranslation.objects.create(
                translation_of=segment.string, locale=locales[code], context=segment.context, data=title
            )
        with django_capture_on_commit_callbacks(execute=True):
            translation.save_target(publish=True)
        return ArticlePage.objects.get(translation_key=page.translation_key, locale=locales[code])

    return translate


@pytest.mark.parametrize("label", PEOPLE)
def test_each_row_is_listed_in_its_language_and_links_to_the_others(label):
    make_person(en="john", de="johann", pt_br="joao", es_419="juan")

    found = paths(linked(served(label)))

    links = {
        "en": "/en/people/john/",
        "de": "/de/people/johann/",
        "pt-BR": "/pt-br/people/joao/",
        "es": "/es-419/people/juan/",
        "x-default": "/en/people/john/",
    }
    assert found == dict.fromkeys(
        ["/en/people/john/", "/de/people/johann/", "/pt-br/people/joao/", "/es-419/people/juan/"], links
    )


@pytest.mark.parametrize("label", PEOPLE)
def test_a_row_that_is_not_translated_is_in_no_cluster_of_others(label):
    make_person(en="john")
    make_person(de="maria", pt_br="maria")

    found = paths(linked(served(label)))

    both = {"de": "/de/people/maria/", "pt-BR": "/pt-br/people/maria/"}
    alone = {"en": "/en/people/john/", "x-default": "/en/people/john/"}
    assert found == {"/en/people/john/": alone, **dict.fromkeys(both.values(), both)}


def test_expressions_and_methods_give_the_same_bytes_served_and_built():
    make_people(3)
    make_person(en="mary", de="maria")

    pages = [served("people"), served("people-by-method"), built("people"), built("people-by-method")]

    assert pages[0] == pages[1] == pages[2] == pages[3]


@pytest.mark.parametrize("label", PEOPLE)
def test_each_address_answers_in_its_language(label):
    make_people(2)

    languages = answers(linked(served(label)))

    assert len(languages) == 8
    assert all(path.split("/")[1] == language for path, language in languages.items())


def test_links_across_pages_are_returned(monkeypatch):
    monkeypatch.setattr(PersonSitemap, "limit", 3)
    monkeypatch.setattr(PersonSitemap, "fill", 1.0)
    make_people(5)

    pages = served("people")

    assert [len(clusters([page])) for page in pages] == [3] * 6 + [2]
    assert all(len(links) == 5 for links in linked(pages).values())
    assert linked(pages) == linked(served("people-by-method"))
    assert pages == built("people")


@pytest.mark.parametrize("label", PEOPLE)
def test_more_rows_cost_no_more_queries(label):
    make_people(2)
    few = queries(lambda: served(label))
    make_people(20)

    assert queries(lambda: served(label)) == few


def test_pages_of_all_trees_link_to_their_translations(home, translate):
    sun = make_article(home, "sun")
    make_article(home, "moon")
    translate(home, "de", "Anfang")
    translate(sun, "de", "Sonne")
    translate(sun, "es-419", "Sol")

    pages = served("pages")

    start = {"en": "/en/", "de": "/de/", "x-default": "/en/"}
    sun = {"en": "/en/sun/", "de": "/de/sonne/", "es": "/es-419/sol/", "x-default": "/en/sun/"}
    assert paths(linked(pages)) == {
        **dict.fromkeys(["/en/", "/de/"], start),
        **dict.fromkeys(["/en/sun/", "/de/sonne/", "/es-419/sol/"], sun),
        "/en/moon/": {"en": "/en/moon/", "x-default": "/en/moon/"},
    }
    assert answers(linked(pages))["/es-419/sol/"] == "es-419"
    assert pages == built("pages")


def test_a_page_that_is_only_mirrored_waits_for_its_translation(home, locales, translate):
    sun = make_article(home, "sun")
    LocaleSynchronization.objects.create(locale=locales["de"], sync_from=locales["en"])
    mirrored = ArticlePage.objects.get(locale=locales["de"], translation_key=sun.translation_key)
    assert mirrored.live

    before = paths(linked(served("pages")))
    translate(sun, "de", "Sonne")
    after = paths(linked(served("pages")))

    assert before.keys() == {"/en/", "/en/sun/"}
    assert after.keys() == {*before, "/de/sonne/"}
    assert after["/en/sun/"] == {"en": "/en/sun/", "de": "/de/sonne/", "x-default": "/en/sun/"}


@pytest.mark.parametrize("hide", ["unpublish", "restrict"])
def test_a_page_that_is_taken_back_leaves_its_cluster(home, translate, hide):
    sun = make_article(home, "sun")
    german = translate(sun, "de", "Sonne")
    assert "/de/sonne/" in paths(linked(served("pages")))

    if hide == "unpublish":
        german.unpublish()
    else:
        PageViewRestriction.objects.create(page=german, restriction_type=PageViewRestriction.LOGIN)

    found = paths(linked(served("pages")))
    assert "/de/sonne/" not in found
    assert found["/en/sun/"] == {"en": "/en/sun/", "x-default": "/en/sun/"}


def test_links_between_pages_of_two_trees_cross_sitemaps(home, translate, monkeypatch):
    monkeypatch.setattr(PageSitemap, "limit", 2)
    monkeypatch.setattr(PageSitemap, "fill", 1.0)
    articles = [make_article(home, f"article-{number}") for number in range(4)]
    for article in articles:
        translate(article, "de", f"Artikel {article.pk}")

    pages = served("pages")

    assert [len(clusters([page])) for page in pages] == [2, 2, 2, 2, 1]
    assert sum("de" in links for links in linked(pages).values()) == 8


def test_more_pages_cost_no_more_queries(home, translate):
    translate(make_article(home, "sun"), "de", "Sonne")
    few = queries(lambda: served("pages"))
    for number in range(10):
        translate(make_article(home, f"sun-{number}"), "de", f"Sonne {number}")

    assert queries(lambda: served("pages")) == few


def test_the_checks_find_nothing():
    assert complaints() == []


def test_the_guide_shows_what_runs_here():
    assert undocumented("A row for each language", "website") == []
