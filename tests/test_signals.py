"""Receivers get rows left out, pages rendered and files published; without receivers nothing is computed."""

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

from own_templates import put_template
from samples import SITE, Products, make_products, paths, render_page, section_of, text_of
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
        self.received: list[dict[str, Any]] = []
        self._connected: list[tuple[Signal, Any, Any]] = []

    def to(self, signal: Signal, sender: Any = None, error: Exception | None = None) -> list[dict[str, Any]]:
        def hear(**arguments: Any) -> None:
            arguments.pop("signal")
            self.received.append(arguments)
            if error:
                raise error

        signal.connect(hear, sender=sender, weak=False)
        self._connected.append((signal, hear, sender))
        return self.received

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


def without_seconds(received: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in one.items() if name != "seconds"} for one in received]


# Rows that are left out


@database
def test_each_row_left_out_of_a_live_page_is_signalled(listen: Listener, client: Client) -> None:
    register("products", Bad)
    *_, bad, _ = make_products(6)
    received = listen.to(entry_left_out)

    response = client.get("/sitemap-products-1.xml")

    assert response.status_code == 200
    assert received == [
        {
            "sender": Bad,
            "site": received[0]["site"],
            "label": "products",
            "key": str(bad.pk),
            "hook": "location",
            "code": "E-URL-EMPTY",
            "reason": received[0]["reason"],
        }
    ]
    assert "[E-URL-EMPTY]" in received[0]["reason"]
    assert (received[0]["site"].id, received[0]["site"].origin) == (SITE.id, SITE.origin)


@database
def test_each_row_left_out_of_a_build_is_signalled(listen: Listener) -> None:
    register("products", Bad)
    make_products(25)
    received = listen.to(entry_left_out)

    result = build()

    assert [one["key"] for one in received] == [problem.key for problem in result.sections[0].report.problems]
    assert len(received) == result.sections[0].report.left_out == 3
    assert {one["sender"] for one in received} == {Bad}


@database
def test_every_row_is_signalled_however_many_are_kept(listen: Listener) -> None:
    sitemap = type("NoneOf", (Products,), {"location": lambda self, item: None, "limit": 1000})
    make_products(PROBLEMS_PER_REPORT + 50)
    received = listen.to(entry_left_out)

    with pytest.raises(PageEmpty) as caught:
        render_page(section_of(sitemap), 1)

    assert len(received) == PROBLEMS_PER_REPORT + 50
    assert len({one["key"] for one in received}) == PROBLEMS_PER_REPORT + 50
    assert len(caught.value.report.problems) == PROBLEMS_PER_REPORT


@database
@pytest.mark.parametrize("kind", ["template", "text", "items", "urls", "languages"])
def test_rows_are_signalled_whichever_way_a_page_is_made(
    kind: str, listen: Listener, settings: Any, tmp_path: Path
) -> None:
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
    received = listen.to(entry_left_out)

    render_page(section_of(sitemap), 1, as_text=kind == "text")

    assert [(one["sender"], one["hook"]) for one in received] == [(sitemap, "location")]


@database
def test_a_part_that_is_dropped_and_a_warning_are_not_rows_left_out(listen: Listener) -> None:
    class Odd(Products):
        priority = 7

        def location(self, item: Product) -> str:  # type: ignore[override]
            return f"/{item.slug}/#part"

    make_products(2)
    received = listen.to(entry_left_out)

    document = render_page(section_of(Odd), 1)

    assert (document.report.dropped, document.report.warned) == (2, 2)
    assert received == []


@database
def test_with_strict_no_row_is_left_out_and_no_page_rendered(listen: Listener) -> None:
    make_products(6)
    received = listen.to(entry_left_out)
    listen.to(page_rendered)

    with pytest.raises(StrictError):
        render_page(section_of(Bad), 1, strict=True)

    assert received == []


@database
def test_a_request_that_renders_no_page_sends_nothing(listen: Listener, client: Client) -> None:
    register("products", Bad)
    make_products(6)
    received = listen.to(entry_left_out)
    listen.to(page_rendered)

    assert client.get("/sitemap.xml").status_code == 200

    assert received == []


@database
def test_without_receivers_nothing_is_sent(listen: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    monkeypatch.setattr(entry_left_out, "has_listeners", lambda sender: checked.append(sender))
    monkeypatch.setattr(entry_left_out, "send_robust", lambda *args, **kwargs: pytest.fail("there are no receivers"))
    make_products(10)

    document = render_page(section_of(Bad), 1)

    assert document.report.left_out == 1
    assert checked == [Bad]


@database
def test_a_receiver_for_another_class_is_not_called(listen: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    received = listen.to(entry_left_out, sender=Bad)
    other = type("Other", (Bad,), {})
    make_products(6)

    render_page(section_of(other), 1)
    assert received == []
    render_page(section_of(Bad), 1)

    assert [one["sender"] for one in received] == [Bad]


def test_a_report_signals_rows_and_is_sent_to_another_process_without_receivers() -> None:
    reported: list[Problem] = []
    report = Report("products", on_left_out=lambda problem: reported.append(problem))
    report.leave_out(5, "location", ValueError("no"))

    copy = pickle.loads(pickle.dumps(report))  # noqa: S301 - our own
    copy.leave_out(6, "location", ValueError("no"))

    assert [problem.key for problem in reported] == ["5"]
    assert (report.left_out, copy.left_out) == (1, 2)


# Pages that are rendered


@database
def test_a_live_page_is_signalled_when_it_is_rendered_and_not_from_the_cache(listen: Listener, client: Client) -> None:
    register("products", Bad)
    make_products(6)
    received = listen.to(page_rendered)

    response = client.get("/sitemap-products-1.xml")
    client.get("/sitemap-products-1.xml")

    assert without_seconds(received) == [
        {
            "sender": Bad,
            "site": received[0]["site"],
            "label": "products",
            "number": 1,
            "form": "xml",
            "urls": 5,
            "bytes": len(b"".join(response)),
            "left_out": 1,
        }
    ]
    assert 0 < received[0]["seconds"] < 60


@database
def test_a_page_as_text_is_signalled_as_text(listen: Listener) -> None:
    make_products(5)
    received = listen.to(page_rendered)

    document = render_page(section_of(Products), 1, as_text=True)

    assert (received[0]["form"], received[0]["urls"], received[0]["bytes"]) == ("txt", 5, len(text_of(document)))


@database
def test_each_page_of_a_build_is_signalled(listen: Listener) -> None:
    register("products", Products)
    make_products(25)
    received = listen.to(page_rendered)

    build()

    assert [(one["number"], one["urls"]) for one in received] == [(1, 10), (2, 10), (3, 5)]


@database
def test_a_page_without_any_url_left_is_signalled(listen: Listener) -> None:
    make_products(1, first=5)
    received = listen.to(page_rendered)

    with pytest.raises(PageEmpty):
        render_page(section_of(Bad), 1)

    assert [(one["urls"], one["left_out"]) for one in received] == [(0, 1)]


@database
def test_the_first_page_of_the_news_is_signalled_though_it_is_empty(listen: Listener) -> None:
    news = type("News", (NewsSitemap,), {"queryset": Article.objects.all(), "date_field": "published_at"})
    received = listen.to(page_rendered)

    render_page(section_of(news, "news"), 1)

    assert [(one["label"], one["urls"]) for one in received] == [("news", 0)]


# What is published


@database
def test_a_build_signals_its_changes_once_for_each_site(listen: Listener) -> None:
    register("products", Products)
    register("more", type("More", (Products,), {"limit": 50}))
    make_products(15)
    received = listen.to(published)

    build()

    (first,) = received
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
def test_a_build_that_changes_nothing_sends_nothing(listen: Listener) -> None:
    register("products", Products)
    make_products(15)
    build()
    received = listen.to(published)

    build(full=True)

    assert received == []


@database
def test_a_page_that_is_no_longer_listed_is_signalled_as_removed(listen: Listener) -> None:
    register("products", Products)
    *_, last = make_products(11)
    build()
    received = listen.to(published)

    last.delete()
    build()

    assert sorted(paths(received[0]["removed"])) == ["/sitemap-products-2.xml", "/sitemap-products-2.xml.gz"]
    assert "/sitemap.xml" in paths(received[0]["changed"])


@database
def test_each_site_has_a_signal_of_its_own(listen: Listener, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://example.com", 2: "https://example.org"}}
    register("products", Products)
    make_products(5)
    received = listen.to(published)

    build()

    assert [one["site"].domain for one in received] == ["example.com", "example.org"]
    assert all(url.startswith("https://example.org/") for url in received[1]["changed"])


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
    assert len(listen.received) == len([one for one in caplog.records if "a receiver" in (one.exc_text or "")]) == 7


def test_processes_of_a_build_have_the_receivers_of_the_project(tmp_path: Path) -> None:
    """Run a build in two processes, whose app connects receivers that leave notes."""
    app = tmp_path / "received"
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
                name = "received"

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
        "INSTALLED_APPS = [app for app in INSTALLED_APPS if app != 'crew'] + ['received']\n"
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
            "DJANGO_SETTINGS_MODULE": "received.settings",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parent), *sys.path]),
            "CREW_FILES": str(tmp_path / "files"),
            "NOTES": str(notes),
        },
    )

    run([sys.executable, "-m", "django", "migrate", "-v0", "--skip-checks"])
    run([sys.executable, "-m", "django", "build_sitemaps", "--workers=2", "--skip-checks"])

    received = {file: [json.loads(line) for line in file.read_text().splitlines()] for file in notes.iterdir()}
    (parent,) = (lines for lines in received.values() if lines[0][0] == "published")
    workers = [line for lines in received.values() if lines is not parent for line in lines]
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
    checked: list[Any] = []

    def urlopen(request: Any, timeout: int) -> io.BytesIO:
        checked.append(request)
        return io.BytesIO(b"{}")

    recipe["urlopen"] = urlopen
    register("products", Products)
    make_products(155)

    build()

    purged = [json.loads(request.data)["files"] for request in checked]
    assert [len(urls) for urls in purged] == [30, 6]
    assert "https://example.com/sitemap-products-16.xml" in {url for urls in purged for url in urls}
    assert {request.full_url for request in checked} == {"https://api.cloudflare.com/client/v4/zones/zone/purge_cache"}


@database
def test_every_signal_and_its_arguments_are_explained(listen: Listener) -> None:
    text = REFERENCE.read_text()
    register("products", Bad)
    make_products(15)
    for signal in (entry_left_out, page_rendered, published):
        listen.to(signal)

    build()

    names = {name for name, value in vars(signals).items() if isinstance(value, Signal)}
    arguments = {name for one in listen.received for name in one if name != "sender"}
    assert names == {"entry_left_out", "page_rendered", "published"}
    assert len(arguments) == 14
    assert [name for name in sorted(names) if f"## {name}" not in text] == []
    assert [name for name in sorted(arguments) if f"| `{name}` |" not in text] == []
