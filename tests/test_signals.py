"""Who wants to hears of rows left out, pages rendered and files published; nobody else pays."""

import io
import json
import logging
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django import VERSION
from django.dispatch import Signal
from django.test import Client

from samples import SITE, Products, make_products, paths, put_template, render_page, section_of, text_of
from sitemaps_plus import NewsSitemap, Sitemap, register, signals
from sitemaps_plus.build import build
from sitemaps_plus.errors import PageEmpty, StrictError
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.reports import PROBLEMS_PER_REPORT, Problem, Report
from sitemaps_plus.signals import entry_left_out, page_rendered, published
from testapp.models import Article, Product

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "signals.md"

database = pytest.mark.django_db


class Bad(Products):
    """Every row whose slug ends in 5 has no address."""

    def location(self, item: Product) -> str | None:  # type: ignore[override]
        return None if item.slug.endswith("5") else f"/{item.slug}/"


class Listener:
    """Connect to signals, and keep what they send."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self._connected: list[tuple[Signal, Any, Any]] = []

    def to(self, signal: Signal, sender: Any = None, error: Exception | None = None) -> list[dict[str, Any]]:
        def hear(**arguments: Any) -> None:
            arguments.pop("signal")
            self.heard.append(arguments)
            if error:
                raise error

        signal.connect(hear, sender=sender, weak=False)
        self._connected.append((signal, hear, sender))
        return self.heard

    def stop(self) -> None:
        for signal, hear, sender in self._connected:
            signal.disconnect(hear, sender=sender)


@pytest.fixture
def listen() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.stop()


@pytest.fixture(autouse=True)
def _nothing_registered(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}


def without_seconds(heard: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in one.items() if name != "seconds"} for one in heard]


# Rows that are left out


@database
def test_each_row_left_out_of_a_live_page_is_told(listen: Listener, client: Client) -> None:
    register("products", Bad)
    *_, bad, _ = make_products(6)
    heard = listen.to(entry_left_out)

    response = client.get("/sitemap-products-1.xml")

    assert response.status_code == 200
    assert heard == [
        {
            "sender": Bad,
            "site": heard[0]["site"],
            "label": "products",
            "key": str(bad.pk),
            "hook": "location",
            "code": "E-URL-EMPTY",
            "reason": heard[0]["reason"],
        }
    ]
    assert "[E-URL-EMPTY]" in heard[0]["reason"]
    assert (heard[0]["site"].id, heard[0]["site"].origin) == (SITE.id, SITE.origin)


@database
def test_each_row_left_out_of_a_build_is_told(listen: Listener) -> None:
    register("products", Bad)
    make_products(25)
    heard = listen.to(entry_left_out)

    result = build()

    assert [one["key"] for one in heard] == [problem.key for problem in result.sections[0].report.problems]
    assert len(heard) == result.sections[0].report.left_out == 3
    assert {one["sender"] for one in heard} == {Bad}


@database
def test_every_row_is_told_however_many_are_kept(listen: Listener) -> None:
    sitemap = type("NoneOf", (Products,), {"location": lambda self, item: None, "limit": 1000})
    make_products(PROBLEMS_PER_REPORT + 50)
    heard = listen.to(entry_left_out)

    with pytest.raises(PageEmpty) as caught:
        render_page(section_of(sitemap), 1)

    assert len(heard) == PROBLEMS_PER_REPORT + 50
    assert len({one["key"] for one in heard}) == PROBLEMS_PER_REPORT + 50
    assert len(caught.value.report.problems) == PROBLEMS_PER_REPORT


@database
@pytest.mark.parametrize("kind", ["template", "text", "items", "urls", "languages"])
def test_rows_are_told_whichever_way_a_page_is_made(kind: str, listen: Listener, settings: Any, tmp_path: Path) -> None:
    class Items(Sitemap):
        def items(self) -> list[int]:
            return [1, 5]

        def location(self, item: int) -> str | None:
            return None if item == 5 else f"/{item}/"

    class Urls(Items):
        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            return [{"location": "/1/"}, {"location": "https://elsewhere.example.net/"}]

    class Languages(Bad):
        i18n = True
        languages = ["en", "de"]

    if kind == "template":
        text = "{% for url in urlset %}<loc>{{ url.location }}</loc>{% endfor %}"
        put_template(settings, tmp_path, "sitemap.xml", text)
    make_products(6)
    sitemap = {"items": Items, "urls": Urls, "languages": Languages}.get(kind, Bad)
    heard = listen.to(entry_left_out)

    render_page(section_of(sitemap), 1, as_text=kind == "text")

    assert [(one["sender"], one["hook"]) for one in heard] == [(sitemap, "location")]


@database
def test_a_part_that_is_dropped_and_a_warning_are_not_rows_left_out(listen: Listener) -> None:
    class Odd(Products):
        priority = 7

        def location(self, item: Product) -> str:  # type: ignore[override]
            return f"/{item.slug}/#part"

    make_products(2)
    heard = listen.to(entry_left_out)

    document = render_page(section_of(Odd), 1)

    assert (document.report.dropped, document.report.warned) == (2, 2)
    assert heard == []


@database
def test_with_strict_no_row_is_left_out_and_no_page_rendered(listen: Listener) -> None:
    make_products(6)
    heard = listen.to(entry_left_out)
    listen.to(page_rendered)

    with pytest.raises(StrictError):
        render_page(section_of(Bad), 1, strict=True)

    assert heard == []


@database
def test_what_is_asked_for_no_page_is_told_nobody(listen: Listener, client: Client) -> None:
    register("products", Bad)
    make_products(6)
    heard = listen.to(entry_left_out)
    listen.to(page_rendered)

    assert client.get("/sitemap.xml").status_code == 200

    assert heard == []


@database
def test_nobody_is_called_where_nobody_listens(listen: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(entry_left_out, "has_listeners", lambda sender: asked.append(sender))
    monkeypatch.setattr(entry_left_out, "send_robust", lambda *args, **kwargs: pytest.fail("nobody listens"))
    make_products(10)

    document = render_page(section_of(Bad), 1)

    assert document.report.left_out == 1
    assert asked == [Bad]


@database
def test_who_listens_to_another_class_is_not_called(listen: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = listen.to(entry_left_out, sender=Bad)
    other = type("Other", (Bad,), {})
    make_products(6)

    render_page(section_of(other), 1)
    assert heard == []
    render_page(section_of(Bad), 1)

    assert [one["sender"] for one in heard] == [Bad]


def test_a_report_tells_rows_and_goes_to_another_process_alone() -> None:
    told: list[Problem] = []
    report = Report("products", on_left_out=lambda problem: told.append(problem))
    report.leave_out(5, "location", ValueError("no"))

    copy = pickle.loads(pickle.dumps(report))  # noqa: S301 - our own
    copy.leave_out(6, "location", ValueError("no"))

    assert [problem.key for problem in told] == ["5"]
    assert (report.left_out, copy.left_out) == (1, 2)


# Pages that are rendered


@database
def test_a_live_page_is_told_when_it_is_rendered_and_not_from_the_cache(listen: Listener, client: Client) -> None:
    register("products", Bad)
    make_products(6)
    heard = listen.to(page_rendered)

    response = client.get("/sitemap-products-1.xml")
    client.get("/sitemap-products-1.xml")

    assert without_seconds(heard) == [
        {
            "sender": Bad,
            "site": heard[0]["site"],
            "label": "products",
            "number": 1,
            "form": "xml",
            "urls": 5,
            "bytes": len(b"".join(response)),
            "left_out": 1,
        }
    ]
    assert 0 < heard[0]["seconds"] < 60


@database
def test_a_page_as_text_is_told_as_such(listen: Listener) -> None:
    make_products(5)
    heard = listen.to(page_rendered)

    document = render_page(section_of(Products), 1, as_text=True)

    assert (heard[0]["form"], heard[0]["urls"], heard[0]["bytes"]) == ("txt", 5, len(text_of(document)))


@database
def test_each_page_of_a_build_is_told(listen: Listener) -> None:
    register("products", Products)
    make_products(25)
    heard = listen.to(page_rendered)

    build()

    assert [(one["number"], one["urls"]) for one in heard] == [(1, 10), (2, 10), (3, 5)]


@database
def test_a_page_that_no_url_is_left_of_is_told(listen: Listener) -> None:
    make_products(1, first=5)
    heard = listen.to(page_rendered)

    with pytest.raises(PageEmpty):
        render_page(section_of(Bad), 1)

    assert [(one["urls"], one["left_out"]) for one in heard] == [(0, 1)]


@database
def test_the_first_page_of_the_news_is_told_though_it_is_empty(listen: Listener) -> None:
    news = type("News", (NewsSitemap,), {"queryset": Article.objects.all(), "date_field": "published_at"})
    heard = listen.to(page_rendered)

    render_page(section_of(news, "news"), 1)

    assert [(one["label"], one["urls"]) for one in heard] == [("news", 0)]


# What is published


@database
def test_a_build_tells_what_it_changed_once_for_the_site(listen: Listener) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 50}))
    make_products(15)
    heard = listen.to(published)

    build()

    (first,) = heard
    assert (first["sender"], first["site"].origin, first["removed"]) == (SiteOrigin, SITE.origin, [])
    assert sorted(paths(first["changed"])) == sorted(
        f"/{name}{ending}"
        for name in (
            "sitemap",
            "sitemap-more",
            "sitemap-more-1",
            "sitemap-products",
            "sitemap-products-1",
            "sitemap-products-2",
        )
        for ending in (".xml", ".xml.gz")
    )


@database
def test_a_build_that_changes_nothing_tells_nothing(listen: Listener) -> None:
    register("products", Products)
    make_products(15)
    build()
    heard = listen.to(published)

    build(full=True)

    assert heard == []


@database
def test_a_page_that_is_listed_no_more_is_told_as_removed(listen: Listener) -> None:
    register("products", Products)
    *_, last = make_products(11)
    build()
    heard = listen.to(published)

    last.delete()
    build()

    assert sorted(paths(heard[0]["removed"])) == ["/sitemap-products-2.xml", "/sitemap-products-2.xml.gz"]
    assert "/sitemap.xml" in paths(heard[0]["changed"])


@database
def test_each_site_has_a_signal_of_its_own(listen: Listener, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://example.com", 2: "https://example.org"}}
    register("products", Products)
    make_products(5)
    heard = listen.to(published)

    build()

    assert [one["site"].domain for one in heard] == ["example.com", "example.org"]
    assert all(url.startswith("https://example.org/") for url in heard[1]["changed"])


# Receivers that fail, and other processes


@database
def test_a_receiver_that_fails_changes_nothing(listen: Listener, caplog: pytest.LogCaptureFixture) -> None:
    register("products", Bad)
    make_products(15)
    plain = text_of(render_page(section_of(Bad), 1))
    for signal in (entry_left_out, page_rendered, published):
        listen.to(signal, error=ZeroDivisionError("a receiver"))

    with caplog.at_level(logging.ERROR, "django.dispatch"):
        document = render_page(section_of(Bad), 1)
        result = build()

    assert text_of(document) == plain
    assert result.is_complete
    assert (result.sections[0].urls, result.sections[0].report.left_out) == (13, 2)
    assert len(listen.heard) == len([one for one in caplog.records if "a receiver" in (one.exc_text or "")]) == 7


def test_processes_of_a_build_have_the_receivers_of_the_project(tmp_path: Path) -> None:
    """Run a build in two processes, whose app connects receivers that leave notes."""
    app = tmp_path / "heard"
    app.mkdir()
    (app / "__init__.py").touch()
    (app / "apps.py").write_text(
        textwrap.dedent("""
            import json, os
            from pathlib import Path
            from django.apps import AppConfig

            def note(signal, sender, site, **arguments):
                from sitemaps_plus import signals
                name = next(name for name, value in vars(signals).items() if value is signal)
                kept = {key: arguments[key] for key in ("number", "key", "changed") if key in arguments}
                with Path(os.environ["NOTES"], str(os.getpid())).open("a") as file:
                    file.write(json.dumps([name, sender.__name__, site.domain, kept]) + "\\n")

            class Heard(AppConfig):
                name = "heard"

                def ready(self):
                    from sitemaps_plus.signals import entry_left_out, page_rendered, published
                    for signal in (entry_left_out, page_rendered, published):
                        signal.connect(note)
        """)
    )
    (app / "sitemaps.py").write_text(
        textwrap.dedent("""
            from sitemaps_plus import Sitemap, register

            @register("numbers")
            class Numbers(Sitemap):
                limit = 10

                def items(self):
                    return list(range(30))

                def location(self, item):
                    return None if item % 10 == 5 else f"/{item}/"
        """)
    )
    (app / "settings.py").write_text(
        "from crew.settings import *\n"
        "INSTALLED_APPS = [app for app in INSTALLED_APPS if app != 'crew'] + ['heard']\n"
        "SITEMAPS_PLUS = {'ORIGIN': 'https://example.com'}\n"
    )
    notes = tmp_path / "notes"
    notes.mkdir()
    run = partial(
        subprocess.run,
        check=True,
        capture_output=True,
        env={
            **os.environ,
            "DATABASE_URL": f"sqlite:///{tmp_path}/rows.sqlite3",
            "DJANGO_SETTINGS_MODULE": "heard.settings",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parent), *sys.path]),
            "CREW_FILES": str(tmp_path / "files"),
            "NOTES": str(notes),
        },
    )

    run([sys.executable, "-m", "django", "migrate", "-v0", "--skip-checks"])
    run([sys.executable, "-m", "django", "build_sitemaps", "--workers=2", "--skip-checks"])

    heard = {file: [json.loads(line) for line in file.read_text().splitlines()] for file in notes.iterdir()}
    (parent,) = (lines for lines in heard.values() if lines[0][0] == "published")
    workers = [line for lines in heard.values() if lines is not parent for line in lines]
    assert [line[:3] for line in parent] == [["published", "SiteOrigin", "example.com"]]
    assert sorted(line[3]["key"] for line in workers if line[0] == "entry_left_out") == ["15", "25", "5"]
    assert sorted(line[3]["number"] for line in workers if line[0] == "page_rendered") == [1, 2, 3]
    assert {tuple(line[1:3]) for line in workers} == {("Numbers", "example.com")}


# The reference


@pytest.fixture
def recipe(request: Any) -> Iterator[dict[str, Any]]:
    """Run the code that stands below a heading of the reference, whose receivers are connected then."""
    _, _, section = REFERENCE.read_text().partition(f"## {request.param}\n")
    found: dict[str, Any] = {}
    exec(section.partition("```python\n")[2].partition("```")[0], found)  # noqa: S102 - our own
    yield found
    entry_left_out.disconnect(found.get("warn"))
    published.disconnect(found.get("purge"))


@database
@pytest.mark.parametrize("recipe", ["Mail when rows are left out"], indirect=True)
def test_the_recipe_sends_one_mail_for_many_rows(recipe: Any, settings: Any, mailoutbox: list[Any]) -> None:
    settings.MANAGERS = ["manager@example.com"] if VERSION >= (6, 0) else [("Manager", "manager@example.com")]
    if VERSION >= (6, 1):
        settings.MAILERS = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}
    register("products", Bad)
    make_products(25)

    build()

    (mail,) = mailoutbox
    assert mail.subject.endswith("example.com: the sitemap products leaves rows out")
    assert "[E-URL-EMPTY]" in mail.body


@database
@pytest.mark.parametrize("recipe", ["Purge a CDN"], indirect=True)
def test_the_recipe_purges_what_a_build_changed(recipe: Any, settings: Any) -> None:
    settings.CLOUDFLARE_ZONE, settings.CLOUDFLARE_TOKEN = "zone", "token"
    asked: list[Any] = []

    def urlopen(request: Any, timeout: int) -> io.BytesIO:
        asked.append(request)
        return io.BytesIO(b"{}")

    recipe["urlopen"] = urlopen
    register("products", Products)
    make_products(155)

    build()

    purged = [json.loads(request.data)["files"] for request in asked]
    assert [len(urls) for urls in purged] == [30, 6]
    assert "https://example.com/sitemap-products-16.xml" in {url for urls in purged for url in urls}
    assert {request.full_url for request in asked} == {"https://api.cloudflare.com/client/v4/zones/zone/purge_cache"}


@database
def test_every_signal_and_its_arguments_are_explained(listen: Listener) -> None:
    text = REFERENCE.read_text()
    register("products", Bad)
    make_products(15)
    for signal in (entry_left_out, page_rendered, published):
        listen.to(signal)

    build()

    names = {name for name, value in vars(signals).items() if isinstance(value, Signal)}
    arguments = {name for one in listen.heard for name in one if name != "sender"}
    assert names == {"entry_left_out", "page_rendered", "published"}
    assert len(arguments) == 14
    assert [name for name in sorted(names) if f"## {name}" not in text] == []
    assert [name for name in sorted(arguments) if f"| `{name}` |" not in text] == []
