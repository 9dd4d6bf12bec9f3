from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.template.loader import get_template

import sitemaps_plus
from samples import render_page, section_of
from sitemaps_plus import Sitemap
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.plan.overrides import INDEX, PAGE, find_override, is_shipped, override_digest

BACKEND = "django.template.backends.django.DjangoTemplates"


class Pages(Sitemap):
    def items(self) -> list[str]:
        return ["/a/"]

    def location(self, item: str) -> str:
        return item


@pytest.mark.parametrize("name", [PAGE, INDEX])
def test_the_shipped_templates_are_no_override(name: str) -> None:
    assert is_shipped(get_template(name))
    assert find_override(name) is None
    assert override_digest(name) == ""


def test_the_templates_of_django_are_no_override(settings: Any) -> None:
    settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]

    folder = Path(contrib.__file__).parent / "templates"
    assert Path(get_template(PAGE).origin.name) == folder / PAGE
    assert find_override(PAGE) is None


def test_an_own_template_in_a_directory_comes_first(write_template: Any, tmp_path: Path) -> None:
    write_template(PAGE, "own")

    found = find_override(PAGE)

    assert found is not None
    assert found.origin.name == str(tmp_path / "templates" / PAGE)
    assert find_override(INDEX) is None


def test_a_copy_of_the_shipped_template_is_an_own_one(write_template: Any) -> None:
    write_template(PAGE, (Path(sitemaps_plus.__file__).parent / "templates" / PAGE).read_text())

    assert find_override(PAGE) is not None


@pytest.mark.parametrize("templates", [[], [{"BACKEND": BACKEND}]])
def test_without_any_template_there_is_no_override(settings: Any, templates: Any) -> None:
    settings.TEMPLATES = templates

    assert find_override(PAGE) is None
    assert override_digest(PAGE) == ""


def test_a_template_that_does_not_compile_is_named(write_template: Any, tmp_path: Path) -> None:
    write_template(PAGE, "{% nonsense %}")

    with pytest.raises(SitemapError, match=r"cannot be used: TemplateSyntaxError.*nonsense") as caught:
        find_override(PAGE)
    assert f"The template sitemap.xml ({tmp_path / 'templates' / PAGE})" in str(caught.value)
    assert override_digest(PAGE)


@pytest.mark.django_db
def test_a_page_says_for_which_sitemap_the_template_was_needed(write_template: Any) -> None:
    write_template(PAGE, "{% nonsense %}")

    with pytest.raises(SitemapError, match=r"cannot be used for the sitemap 'section': TemplateSyntaxError"):
        render_page(section_of(Pages, "section"), 1)


def test_the_file_of_a_jinja_template_that_does_not_compile_is_named(write_template: Any, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    write_template(PAGE, "{% nonsense %}", BACKEND="django.template.backends.jinja2.Jinja2")

    with pytest.raises(SitemapError, match=r"TemplateSyntaxError.*nonsense") as caught:
        find_override(PAGE)
    assert str(tmp_path / "templates" / PAGE) in str(caught.value)


def test_another_source_is_another_digest_and_another_recipe(write_template: Any) -> None:
    recipes, digests = [section_of(Pages).recipe], [override_digest(PAGE)]
    for text in ("first", "second", "{% nonsense %}"):
        write_template(PAGE, text)
        recipes.append(section_of(Pages).recipe)
        digests.append(override_digest(PAGE))
    write_template(PAGE, "second")

    assert len(set(recipes)) == len(set(digests)) == 4
    assert section_of(Pages).recipe == recipes[2]
    assert override_digest(PAGE) == digests[2]


def test_a_template_engine_that_keeps_no_source_has_that_of_its_file(
    write_template: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    write_template(PAGE, "first")
    first = override_digest(PAGE)
    template: Any = find_override(PAGE)
    del template.template.source
    monkeypatch.setattr("sitemaps_plus.plan.overrides.get_template", lambda name: template)

    assert override_digest(PAGE) == first
    (tmp_path / "templates" / PAGE).write_text("second")
    assert override_digest(PAGE) != first
    (tmp_path / "templates" / PAGE).unlink()
    assert override_digest(PAGE)


def test_templates_of_jinja_are_found(write_template: Any, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    write_template(PAGE, "{{ urlset|length }}", BACKEND="django.template.backends.jinja2.Jinja2")

    found: Any = find_override(PAGE)

    assert found.render({"urlset": [1, 2]}) == "2"
    assert override_digest(PAGE)
