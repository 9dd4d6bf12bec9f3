"""What the tests of links in the heads of pages share."""

from html.parser import HTMLParser
from typing import Any

from django.db.models import F
from django.template import Context, Template
from django.test import Client

from samples import SITE, render_page, text_of
from sitemaps_plus import ModelSitemap, UrlFor
from sitemaps_plus.plan.sections import get_section
from testapp.models import Product
from xml_checks import SITEMAP, validate

XHTML_LINK = "{http://www.w3.org/1999/xhtml}link"
HREFLANG, CANONICAL = "{% hreflang_links %}", "{% canonical_link %}"


class InLanguages(ModelSitemap):
    queryset = Product.objects.all()
    location = UrlFor("product", slug=F("slug"))
    i18n = True
    alternates = True
    x_default = True


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "link"
        self.found.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        assert not data.strip()


def links(html: str) -> list[dict[str, str | None]]:
    """Return the attributes of the links that are all of `html`."""
    parser = _Links()
    parser.feed(html)
    parser.close()
    return parser.found


def get(address: str, template: str, **extra: Any) -> list[dict[str, str | None]]:
    response = Client().get(address, headers={"template": template}, **extra)
    assert response.status_code == 200, response.content
    return links(response.content.decode())


def hreflangs(address: str, template: str = HREFLANG, **extra: Any) -> dict[str | None, str | None]:
    found = get(address, template, **extra)
    assert {link["rel"] for link in found} <= {"alternate"}
    assert len({link["hreflang"] for link in found}) == len(found)
    return {link["hreflang"]: link["href"] for link in found}


def canonical(address: str, template: str = CANONICAL, **extra: Any) -> str | None:
    found = get(address, template, **extra)
    assert [link["rel"] for link in found] in ([], ["canonical"])
    return found[0]["href"] if found else None


def in_sitemap(label: str = "products") -> dict[str, list[tuple[str, str]]]:
    """Return what the pages of a section list: the links of each address."""
    root = validate(text_of(render_page(get_section(label, SITE), 1)))
    return {
        url.findtext(f"{SITEMAP}loc", ""): [(x.attrib["hreflang"], x.attrib["href"]) for x in url.findall(XHTML_LINK)]
        for url in root
    }


def rendered(template: str, **context: Any) -> str:
    return Template("{% load sitemaps_plus %}" + template).render(Context(context))
