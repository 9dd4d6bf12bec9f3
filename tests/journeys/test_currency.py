"""Whoever says whether a built file is current says the same: builds, checks, the status, the admin, views and search.

Each kind of section meets each cause of a stale page. What the readers may honestly answer differently:

- The status, the admin and the search read the plan as it was last checked, so each cause is followed by a check.
- A view does not read the manifest. It serves the file of a page whose manifest entry is lost, or of which another
  format is missing, because the file itself has the digest that the database wants.
- A view never serves the built file of a page by position: its digest outlives its rows, and only the manifest has the
  fingerprint of the section.
- The search compares the one entry that it was asked for where it can. That entry may be current on a stale page.
  Without a manifest the search takes nothing for built.
- A build and ``--check`` read all files to make a lost manifest again, and then know whether they are current. The
  status, the admin and the search call them stale until a build has done that.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.test import Client
from django.utils import timezone
from django.utils.translation import get_language

from built import BuiltSet
from own_templates import put_template
from samples import DAY, Products, make_products, replace_section
from sitemaps_plus import GenericSitemap, NewsSitemap, PerLanguage, register, registry
from sitemaps_plus.build import build
from sitemaps_plus.build.due import RECOVERED
from sitemaps_plus.errors import PageNotFound
from sitemaps_plus.plan import currency
from sitemaps_plus.plan.currency import (
    CONTENT_CHANGED,
    FILE_MISSING,
    FILE_UNFINISHED,
    NEVER_BUILT,
    NO_URLS,
    ORIGIN_CHANGED,
    RECIPE_CHANGED,
    SECTION_CHANGED,
    UNDECIDED,
    Reason,
)
from sitemaps_plus.plan.planner import refresh
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import SiteOrigin, get_sites
from sitemaps_plus.serve.live import Wanted, look
from sitemaps_plus.watch.find import find_url
from sitemaps_plus.watch.status import SectionStatus, read_statuses
from testapp.models import Article, Product

pytestmark = pytest.mark.django_db

NAMES: list[str] = []
"""The items of the sections without a model."""


class InTwoLanguages(Products):
    i18n = True
    languages = ["en", "de"]
    location = PerLanguage("path_{}")
    queryset = Product.objects.annotate(
        path_en=Concat(Value("/en/"), F("slug"), Value("/"), output_field=CharField()),
        path_de=Concat(Value("/de/"), F("slug"), Value("/"), output_field=CharField()),
    )
    limit = 20


class Contrib(contrib.Sitemap):
    """A class of Django that is paged by position."""

    i18n = True
    languages = ["en", "de"]
    limit = 20
    protocol: Any = "https"

    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def location(self, item: Product) -> str:
        return f"/{get_language()}/{item.slug}/"

    def lastmod(self, item: Product) -> Any:
        return item.updated_at


class Generic(GenericSitemap):
    limit = 10
    fill = 1.0


class Names(contrib.Sitemap):
    limit = 10
    protocol: Any = "https"

    def items(self) -> list[str]:
        return list(NAMES)

    def location(self, item: str) -> str:
        return f"/{item}/"


class OwnUrls(Names):
    def get_urls(self, page: int = 1, site: Any = None, protocol: str | None = None) -> list[dict[str, Any]]:
        fixed = {"lastmod": None, "changefreq": None, "priority": "", "alternates": []}
        items = self.paginator.page(page).object_list
        return [{"item": name, "location": f"{self.protocol}://example.com/{name}/", **fixed} for name in items]


class News(NewsSitemap):
    queryset = Article.objects.all()
    date_field = "published_at"
    lastmod = F("published_at")
    limit = 10

    def location(self, item: Article) -> str:
        return f"/{item.title}/"


class Rows:
    """Twenty rows on two pages: `change` touches one of page 2, `grow` adds a page, `shrink` empties page 2."""

    def make(self) -> None:
        make_products(20)

    def change(self) -> None:
        Product.objects.filter(slug="product-15").update(updated_at=DAY + timedelta(days=30))

    def grow(self) -> None:
        make_products(10, first=21)

    def shrink(self) -> None:
        Product.objects.filter(slug__in=[f"product-{number}" for number in range(11, 21)]).delete()


class Items(Rows):
    def make(self) -> None:
        NAMES[:] = [f"product-{number}" for number in range(1, 21)]

    def change(self) -> None:
        NAMES[15] = "another"

    def grow(self) -> None:
        NAMES.extend(f"product-{number}" for number in range(21, 31))

    def shrink(self) -> None:
        del NAMES[10:]


class Articles(Rows):
    def make(self) -> None:
        self._publish(range(1, 21))

    def change(self) -> None:
        Article.objects.filter(title="product-15").update(published_at=F("published_at") - timedelta(seconds=1))

    def grow(self) -> None:
        self._publish(range(21, 31))

    def shrink(self) -> None:
        Article.objects.filter(title__in=[f"product-{number}" for number in range(11, 21)]).delete()

    def _publish(self, numbers: range) -> None:
        now = timezone.now()
        Article.objects.bulk_create(
            Article(title=f"product-{number}", published_at=now - timedelta(minutes=number)) for number in numbers
        )


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of section."""

    sitemap: Any
    rows: Rows = field(default_factory=Rows)
    path: str = "/product-15/"
    """The address of a row on page 2."""
    of_section: Reason | None = None
    """What is said of each page when any row changes, where pages cannot be told apart."""
    always: Reason | None = None
    """What is said of pages that nothing is known of."""


KINDS = {
    "by key": Kind(sitemap=Products),
    "i18n": Kind(sitemap=InTwoLanguages, path="/de/product-15/"),
    "own template": Kind(sitemap=Products),
    "GenericSitemap": Kind(
        sitemap=Generic({"queryset": Product.objects.all(), "date_field": "updated_at"}), path="/products/product-15/"
    ),
    "contrib class by position": Kind(sitemap=Contrib, path="/de/product-15/", of_section=SECTION_CHANGED),
    "list without a model": Kind(sitemap=Names, rows=Items(), of_section=UNDECIDED, always=UNDECIDED),
    "own get_urls": Kind(sitemap=OwnUrls, rows=Items(), of_section=UNDECIDED, always=UNDECIDED),
    "news": Kind(sitemap=News, rows=Articles(), of_section=SECTION_CHANGED, always=UNDECIDED),
}


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Something that happens after a build."""

    happen: Callable[[BuiltSet, Kind], object]
    found: Callable[[Kind], dict[int, Reason | None]]
    """What is to be said of each page."""
    views_serve: bool = False
    """Whether a view may serve the file, as only the manifest is wrong."""
    is_made_again: bool = False
    """Whether builds and checks make up for it before they look."""
    moves_entry: bool = False
    """Whether the entry that is searched for is not in the file as it is now."""


def redeclare(kind: Kind, **attributes: Any) -> None:
    known = registry["section"]
    if isinstance(known, type):
        replace_section("section", type("Section", (known,), attributes))
    else:
        changed = type("Section", (type(known),), attributes)
        replace_section("section", changed({"queryset": Product.objects.all(), "date_field": "updated_at"}))


CAUSES = {
    "nothing": Cause(happen=lambda built, kind: None, found=lambda kind: dict.fromkeys((1, 2), kind.always)),
    "a row": Cause(
        happen=lambda built, kind: kind.rows.change(),
        found=lambda kind: {1: kind.of_section, 2: kind.of_section or CONTENT_CHANGED},
        moves_entry=True,
    ),
    "new rows": Cause(
        happen=lambda built, kind: kind.rows.grow(),
        found=lambda kind: {1: kind.of_section, 2: kind.of_section, 3: NEVER_BUILT},
    ),
    "rows gone": Cause(
        happen=lambda built, kind: kind.rows.shrink(),
        found=lambda kind: {1: kind.of_section, 2: NO_URLS},
        moves_entry=True,
    ),
    "a file": Cause(
        happen=lambda built, kind: built.path("sitemap-section-2.xml.gz").unlink(),
        found=lambda kind: {1: kind.always, 2: FILE_MISSING},
        moves_entry=True,
    ),
    "the manifest": Cause(
        happen=lambda built, kind: built.manifest.unlink(),
        found=lambda kind: dict.fromkeys((1, 2), FILE_MISSING),
        views_serve=True,
        is_made_again=True,
    ),
    "a format": Cause(
        happen=lambda built, kind: built.use(FORMATS=["xml"]),
        found=lambda kind: dict.fromkeys((1, 2), FILE_UNFINISHED),
        views_serve=True,
    ),
    "the origin": Cause(
        happen=lambda built, kind: redeclare(kind, protocol="http"),
        found=lambda kind: dict.fromkeys((1, 2), ORIGIN_CHANGED),
        moves_entry=True,
    ),
    "the class": Cause(
        happen=lambda built, kind: redeclare(kind, version=2), found=lambda kind: dict.fromkeys((1, 2), RECIPE_CHANGED)
    ),
}


def test_every_reason_has_a_cause() -> None:
    found = {reason for kind in KINDS.values() for cause in CAUSES.values() for reason in cause.found(kind).values()}

    assert found == {*(reason for reason in vars(currency).values() if isinstance(reason, Reason)), None}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Kind:
    if request.param == "own template":
        put_template(
            settings,
            tmp_path / "templates",
            "sitemap.xml",
            '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            "{% for url in urlset %}<url> <loc>{{ url.location }}</loc>"
            "<lastmod>{{ url.lastmod|date:'c' }}</lastmod></url>{% endfor %}</urlset>",
            OPTIONS={
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        )
    return KINDS[request.param]


@pytest.fixture
def built(kind: Kind, settings: Any, tmp_path: Path) -> BuiltSet:
    """A section of that kind on two pages, built."""
    settings.ROOT_URLCONF = "testapp.urls_admin"
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com")
    kind.rows.make()
    register("section", kind.sitemap)
    assert build().is_complete
    return found


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
def test_all_readers_agree(built: BuiltSet, kind: Kind, cause: Cause, rendered: list[int]) -> None:
    cause.happen(built, kind)
    (site,) = get_sites()
    refresh(get_section("section", site), force=True)
    wanted = cause.found(kind)
    stale = {number for number, reason in wanted.items() if reason and reason.is_stale}

    by_builds = dict.fromkeys(wanted, kind.always or RECOVERED) if cause.is_made_again else wanted
    assert said_by_check() == {number: one.text for number, one in by_builds.items() if one and one.is_stale}
    assert said_by_dry_run() == {number: one.text for number, one in by_builds.items() if one}
    assert state_of_status() == ("stale" if stale else "undecided" if kind.always else "current")
    assert set(section_status(site).stale) == stale
    assert said_by_admin() == {number: number in stale for number in wanted if wanted[number] is not NO_URLS}
    for number, is_current in said_by_search(kind, site).items():
        if is_current:
            assert number not in stale or not cause.moves_entry
        if is_current is False:
            assert number in stale
    # Last, as a view that renders a page tells whether it changed.
    for number, reason in wanted.items():
        if reason is not NO_URLS:
            is_trusted = kind.of_section is None and (reason is None or cause.views_serve)
            assert is_built_file_served(site, number, rendered) is is_trusted


def test_what_a_build_makes_current_is_current_for_all(built: BuiltSet, kind: Kind, rendered: list[int]) -> None:
    kind.rows.change()
    build()
    (site,) = get_sites()

    assert said_by_check() == {}
    assert state_of_status() == ("undecided" if kind.always else "current")
    assert said_by_admin() == {1: False, 2: False}
    assert False not in said_by_search(kind, site).values()


def said_by_check() -> dict[int, str]:
    """Return the reasons of ``--check`` for pages; fail if its exit status says something else."""
    found = run("--check")
    return {page["number"]: page["reason"] for page in found["pages"] if page["number"]}


def said_by_dry_run() -> dict[int, str]:
    return {page["number"]: page["reason"] for page in run("--dry-run")["pages"] if page["number"]}


def state_of_status() -> str:
    (site,) = run("--status")["sites"]
    (section,) = site["sections"]
    return str(section["state"])


def run(flag: str) -> Any:
    out = StringIO()
    try:
        call_command("build_sitemaps", flag, "--json", stdout=out, stderr=StringIO())
    except CommandError:
        if flag == "--check":
            assert json.loads(out.getvalue())["stale"]
    else:
        assert flag != "--check" or not json.loads(out.getvalue())["stale"]
    return json.loads(out.getvalue())


def section_status(site: SiteOrigin) -> SectionStatus:
    ((status,),) = (one.sections for one in read_statuses([site]))
    return status


def said_by_admin() -> dict[int, bool]:
    """Return whether the page of the section calls each page stale; the page itself must say the same."""
    client = Client()
    user, _ = User.objects.get_or_create(username="boss", is_staff=True, is_superuser=True)
    client.force_login(user)
    (site,) = get_sites()
    address = f"/admin/sitemaps_plus/sitemappage/{site.id}/section/"
    states = {row.record.number: row.currency for row in client.get(address).context["pages"]}
    for number, state in states.items():
        assert client.get(f"{address}{number}/").context["row"].currency == state
    assert set(states.values()) <= {"current", "undecided", "stale", "never built"}
    return {number: state not in ("current", "undecided") for number, state in states.items()}


def is_built_file_served(site: SiteOrigin, number: int, rendered: list[int]) -> bool:
    rendered.clear()
    try:
        look(Wanted(site=site, label="section", number=number)).make(None)
    except PageNotFound:
        return False
    return not rendered


def said_by_search(kind: Kind, site: SiteOrigin) -> dict[int, bool | None]:
    """Return what the search says of an address of page 2, by the page that it finds."""
    finding = find_url(kind.path, sites=[site], seconds=30)
    return {match.number: match.is_current for match in finding.matches if match.number}
