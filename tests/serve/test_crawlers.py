"""Visits of crawlers are counted without a query while they last, and without harm to an answer."""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.contrib.sites.models import Site
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished
from django.db import OperationalError, close_old_connections, connection, connections
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from clock import Clock
from databases import refusing, shared_database
from samples import Products, make_products, make_visit
from sitemaps_plus import register, views
from sitemaps_plus.errors import Unavailable
from sitemaps_plus.models import Build, CrawlerVisit, SitemapPage
from sitemaps_plus.serve import crawlers
from sitemaps_plus.serve.crawlers import BATCH, CRAWLERS, EVERY, OTHER, Visits, crawler_of
from testapp.models import Product

GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
BING = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
BROWSER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:139.0) Gecko/20100101 Firefox/139.0"
PAGE = "/sitemap-products-1.xml"


@pytest.fixture(autouse=True)
def _products_registered() -> None:
    register("products", Products)


def client(user_agent: str = GOOGLE) -> Client:
    # Packed answers come in one piece: the test client closes them by itself.
    return Client(headers={"host": "example.com", "user-agent": user_agent, "accept-encoding": "gzip"})


def counted(**wanted: Any) -> list[tuple[str, str, int, int, int]]:
    """Return label, crawler and the three counts of each row."""
    rows = CrawlerVisit.objects.filter(**wanted).order_by("label", "crawler", "day")
    return list(rows.values_list("label", "crawler", "count_200", "count_304", "count_other"))


def note(label: str = "products", crawler: str = "Googlebot", status: int = 200, site: int = 1) -> None:
    crawlers.visits.note(site, label, crawler, status)


# Who it is


@pytest.mark.parametrize(
    ("user_agent", "crawler"),
    [
        (GOOGLE, "Googlebot"),
        (
            "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/126.0.6478.126 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Googlebot",
        ),
        ("Googlebot-Image/1.0", "Googlebot"),
        ("Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)", "Google-InspectionTool"),
        ("GoogleOther", "GoogleOther"),
        (BING, "Bingbot"),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; "
            "+http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36",
            "Bingbot",
        ),
        ("Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", "YandexBot"),
        ("Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)", "YandexBot"),
        ("Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)", "Baiduspider"),
        ("DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)", "DuckDuckBot"),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 "
            "Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
            "Applebot",
        ),
        ("Mozilla/5.0 (compatible; Yeti/1.1; +https://naver.me/spd)", "Yeti"),
        ("Mozilla/5.0 (compatible;PetalBot;+https://webmaster.petalsearch.com/site/petalbot)", "PetalBot"),
        (
            "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; "
            "Bytespider; spider-feedback@bytedance.com)",
            "Bytespider",
        ),
        ("Mozilla/5.0 (compatible; SeznamBot/4.0; +http://napoveda.seznam.cz/seznambot-intro/)", "SeznamBot"),
        ("Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)", "Sogou"),
        ("Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)", "Slurp"),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
            "GPTBot",
        ),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
            "ClaudeBot",
        ),
        ("CCBot/2.0 (https://commoncrawl.org/faq/)", "CCBot"),
        ("meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)", CRAWLERS[23]),
        ("Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", "AhrefsBot"),
        ("Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)", OTHER),
        ("Screaming Frog SEO Spider/19.2", OTHER),
        ("AdsBot-Google (+http://www.google.com/adsbot.html)", OTHER),
        ("my-crawler 1.0", OTHER),
        (BROWSER, None),
        (
            "Mozilla/5.0 (Linux; Android 13; CUBOT X70) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari",
            None,
        ),
        (
            "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/80.0 Safari/537.36 SE 2.X "
            "MetaSr 1.0 SogouMobileBrowser",
            None,
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 YaBrowser/24.6 Yowser/2",
            None,
        ),
        ("curl/8.5.0", None),
        ("", None),
        ("x" * 500 + " Googlebot", None),
    ],
)
def test_a_crawler_is_known_by_what_it_calls_itself(user_agent: str, crawler: str | None) -> None:
    assert crawler_of(user_agent) == crawler
    assert crawler_of(user_agent.upper()) == crawler


@pytest.mark.parametrize("name", CRAWLERS)
def test_every_crawler_of_the_list_is_found_by_its_name(name: str) -> None:
    text = {"Sogou": "Sogou web spider/4.0"}.get(name, f"Mozilla/5.0 (compatible; {name}/1.0)")

    assert crawler_of(text) == name
    assert len(name) <= (CrawlerVisit._meta.get_field("crawler").max_length or 0)


# What is counted


@pytest.mark.django_db
def test_answers_are_counted_by_section_crawler_and_status(passes: Callable[[float], None]) -> None:
    make_products(15)
    google = client()
    tag = google.get(PAGE).headers["ETag"]

    google.get("/sitemap-products-2.xml.gz")
    google.head("/sitemap-products.xml")
    google.get(PAGE, headers={"if-none-match": tag})
    google.get("/sitemap-products-9.xml")
    google.get("/sitemap.xml")
    client(BING).get("/sitemap_index.xml", follow=True)
    client("Nosybot").get("/sitemap-products-1.txt")
    client(BROWSER).get(PAGE)
    Client(headers={"host": "example.com"}).get(PAGE)
    passes(EVERY)
    client(BROWSER).get(PAGE)

    assert counted() == [
        ("", "Bingbot", 1, 0, 0),
        ("", "Googlebot", 1, 0, 0),
        ("products", "Googlebot", 3, 1, 1),
        ("products", OTHER, 1, 0, 0),
    ]
    assert set(CrawlerVisit.objects.values_list("site", flat=True)) == {1}


@pytest.mark.django_db
def test_what_is_not_registered_and_posts_are_not_counted() -> None:
    client().get("/sitemap-nothing-1.xml")
    client().get("/sitemap-nothing.xml")
    client().post("/sitemap.xml")

    assert counted() == []


@pytest.mark.django_db
@pytest.mark.parametrize(("error", "status"), [(Unavailable("Later."), 503), (ValueError("broken"), 500)])
def test_errors_are_counted_as_other_answers(monkeypatch: pytest.MonkeyPatch, error: Exception, status: int) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(views, "serve", fail)
    careless = Client(raise_request_exception=False, headers={"host": "example.com", "user-agent": GOOGLE})

    assert careless.get(PAGE).status_code == status
    assert counted() == [("products", "Googlebot", 0, 0, 1)]


@pytest.mark.django_db
def test_nothing_is_counted_where_the_setting_says_so(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"CRAWLER_VISITS": False}
    make_products(1)

    assert client().get(PAGE).status_code == 200
    assert counted() == []


@pytest.mark.django_db
def test_days_are_those_of_utc(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    clock = Clock(monkeypatch)
    for moment in ("2026-03-01T23:59:59+00:00", "2026-03-02T00:00:00+00:00"):
        clock.now = datetime.fromisoformat(moment)
        note()

    crawlers.visits.flush()

    found = CrawlerVisit.objects.order_by("day").values_list("day", "last_at")
    assert list(found) == [
        (date(2026, 3, 1), datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)),
        (date(2026, 3, 2), datetime(2026, 3, 2, tzinfo=UTC)),
    ]


@pytest.mark.parametrize("use_tz", [True, False])
def test_moments_are_aware_where_the_project_is(settings: Any, use_tz: bool) -> None:
    settings.USE_TZ = use_tz

    moment = crawlers._moment(1_800_000_000.5)

    assert (moment.tzinfo is not None) is use_tz
    assert moment.timestamp() == 1_800_000_000.5


# When it is written


@pytest.mark.django_db
def test_a_visit_costs_no_query_before_the_response_is_closed() -> None:
    make_products(1)
    client(BROWSER).get(PAGE)
    request = RequestFactory().get(PAGE, headers={"host": "example.com", "user-agent": GOOGLE})

    with CaptureQueriesContext(connection) as before:
        response = views.page(request, label="products", number="1")
        response.getvalue()  # type: ignore[attr-defined]
    # As the test client does it: that receiver would close the connection of the test.
    request_finished.disconnect(close_old_connections)
    try:
        with CaptureQueriesContext(connection) as after:
            response.close()
    finally:
        request_finished.connect(close_old_connections)

    assert [query["sql"] for query in before] == []
    assert len(after) > 0
    assert counted() == [("products", "Googlebot", 1, 0, 0)]


@pytest.mark.django_db
def test_a_process_writes_once_a_minute(passes: Callable[[float], None]) -> None:
    make_products(1)
    client().get(PAGE)

    for _ in range(5):
        passes(EVERY / 6)
        with CaptureQueriesContext(connection) as queries:
            client().get(PAGE)
        assert len(queries) == 0
    assert counted() == [("products", "Googlebot", 1, 0, 0)]

    passes(EVERY / 6)
    client().get(PAGE)
    assert counted() == [("products", "Googlebot", 7, 0, 0)]


@pytest.mark.django_db
def test_what_waits_is_written_at_the_end_of_any_request(passes: Callable[[float], None]) -> None:
    make_products(1)
    client().get(PAGE)
    client().get(PAGE)
    passes(EVERY)

    client(BROWSER).get("/not-there/")

    assert counted() == [("products", "Googlebot", 2, 0, 0)]


@pytest.mark.django_db
def test_one_question_and_an_update_add_to_what_is_there(passes: Callable[[float], None]) -> None:
    note()
    crawlers.visits.flush()
    note()
    passes(EVERY)

    with CaptureQueriesContext(connection) as queries:
        crawlers.visits.flush()

    said = [query["sql"].partition(" ")[0] for query in queries if "crawlervisit" in query["sql"]]
    assert said == ["SELECT", "UPDATE"]
    assert counted() == [("products", "Googlebot", 2, 0, 0)]


@pytest.mark.django_db
def test_many_rows_are_written_in_turn(monkeypatch: pytest.MonkeyPatch, passes: Callable[[float], None]) -> None:
    for number in range(BATCH + 5):
        note(site=number)

    crawlers.visits.flush()
    assert CrawlerVisit.objects.count() == BATCH
    passes(EVERY)
    crawlers.visits.flush()

    assert CrawlerVisit.objects.count() == BATCH + 5


# Several at once


@pytest.mark.django_db
def test_processes_add_to_one_row() -> None:
    processes = [Visits() for _ in range(3)]
    for process in processes:
        process.note(1, "products", "Googlebot", 200)
        process.note(1, "products", "Googlebot", 304)

    for process in processes:
        process.flush()

    assert counted() == [("products", "Googlebot", 3, 3, 0)]


@pytest.mark.django_db
def test_a_row_that_another_process_creates_meanwhile_is_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    known = crawlers._known

    def late(rows: Any, keys: Any) -> Any:
        before = known(rows, keys)
        make_visit(day=crawlers._date(keys[0][3]), count_200=5)
        return before

    monkeypatch.setattr(crawlers, "_known", late)
    note()

    crawlers.visits.flush()

    assert counted() == [("products", "Googlebot", 6, 0, 0)]


@pytest.mark.django_db
def test_an_older_visit_does_not_take_back_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    clock.now = datetime(2026, 3, 1, 12, 0, 0, 500, tzinfo=UTC)
    slow, fast = Visits(), Visits()
    slow.note(1, "products", "Googlebot", 200)
    clock.pass_(minutes=5)
    fast.note(1, "products", "Googlebot", 200)

    fast.flush()
    slow.flush()

    row = CrawlerVisit.objects.get()
    assert (row.count_200, row.last_at) == (2, clock.now)


@pytest.mark.django_db(transaction=True)
def test_threads_that_write_at_once_lose_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    processes = [Visits() for _ in range(6)]
    names = ("Googlebot", "Bingbot", "Applebot", OTHER)

    def write(process: Visits) -> None:
        for _ in range(5):
            for name in names:
                process.note(1, "products", name, 200)
            process._next = 0.0
            process.flush()
        connections["default"].close()

    with shared_database(tmp_path, CrawlerVisit, timeout=60):
        threads = [threading.Thread(target=write, args=(process,)) for process in processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert caplog.text == ""
        assert counted() == [("products", name, 30, 0, 0) for name in sorted(names)]


def test_threads_of_one_process_lose_no_visit() -> None:
    def visit() -> None:
        for _ in range(2_000):
            note()

    threads = [threading.Thread(target=visit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (count,) = crawlers.visits._counts.values()
    assert count.ok == 8_000


# What goes wrong


@pytest.mark.django_db
@pytest.mark.parametrize("verb", ["SELECT", "INSERT", "UPDATE"])
def test_a_database_that_fails_costs_a_warning_and_no_visit(
    verb: str, passes: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    make_products(1)
    client(BROWSER).get(PAGE)

    with refusing(f"^{verb}.*crawlervisit"):
        for _ in range(3):
            assert client().get(PAGE).status_code == 200
            passes(EVERY / 2)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "CRAWLER_VISITS" in caplog.text
    assert "the server has gone away" in caplog.text
    assert sum(count for *_, count, _, _ in counted()) == 0

    passes(EVERY)
    client().get(PAGE)
    assert counted() == [("products", "Googlebot", 4, 0, 0)]


@pytest.mark.django_db
def test_old_days_that_cannot_be_deleted_cost_no_visit_and_are_tried_again(
    passes: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    make_visit(day=date(2020, 1, 1))
    note()

    with refusing("^DELETE.*crawlervisit"):
        crawlers.visits.flush()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]

    passes(EVERY)
    note()
    crawlers.visits.flush()
    assert counted() == [("products", "Googlebot", 2, 0, 0)]


@pytest.mark.django_db
def test_visits_that_come_while_a_write_fails_are_added_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write = crawlers._write

    def fail(*_args: Any) -> None:
        note()
        raise OperationalError("database is locked")

    note()
    monkeypatch.setattr(crawlers, "_write", fail)
    crawlers.visits.flush()
    monkeypatch.setattr(crawlers, "_write", write)
    crawlers.visits._next = 0.0
    crawlers.visits.flush()

    assert counted() == [("products", "Googlebot", 2, 0, 0)]


def test_where_no_database_may_be_asked_the_answer_is_right(caplog: pytest.LogCaptureFixture) -> None:
    note()

    assert client(BROWSER).get("/not-there/").status_code == 404

    assert "Visits of crawlers cannot be written" in caplog.text
    assert crawlers.visits._counts


@pytest.mark.django_db
def test_a_connection_that_nobody_had_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    fake = type("Fake", (), {"connection": None, "close": lambda self: closed.append("closed")})
    monkeypatch.setattr(crawlers, "connections", {"default": fake()})

    with crawlers._connected() as using:
        assert closed == []

    assert (using, closed) == ("default", ["closed"])


# Bounds


@pytest.mark.django_db
def test_forged_labels_and_agents_make_no_rows_and_take_no_memory() -> None:
    request = RequestFactory().get("/")
    for number in range(10_000):
        request.META["HTTP_USER_AGENT"] = f"Forged{number}bot/1.0"
        crawlers.note_visit(request, 1, f"forged-{number}x", 404)
        crawlers.note_visit(request, 1, "products", 404)

    assert len(crawlers.visits._counts) == 1
    crawlers.visits.flush()
    assert counted() == [("products", OTHER, 0, 0, 10_000)]


def test_what_waits_for_a_database_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawlers, "WAITING", 100)
    monkeypatch.setattr(crawlers, "_write", lambda *_: note(site=500) or 1 / 0)
    clock = Clock(monkeypatch)

    for _ in range(150):
        note()
        clock.pass_(days=1)
    crawlers.visits.flush()

    assert len(crawlers.visits._counts) == 100


@pytest.mark.django_db
def test_days_that_are_too_old_go_once_a_day(
    settings: Any, monkeypatch: pytest.MonkeyPatch, passes: Callable[[float], None]
) -> None:
    settings.SITEMAPS_PLUS = {"VISIT_HISTORY": 7}
    clock = Clock(monkeypatch)
    today = clock.now.astimezone(UTC).date()
    for age in range(1, 12):
        make_visit(day=today - timedelta(days=age))
    note()

    crawlers.visits.flush()
    kept = {today - day for day in CrawlerVisit.objects.values_list("day", flat=True)}
    assert kept == {timedelta(days=age) for age in range(7)}

    make_visit(day=today - timedelta(days=100))
    note()
    passes(EVERY)
    crawlers.visits.flush()
    assert CrawlerVisit.objects.count() == 8

    clock.pass_(days=1)
    passes(EVERY)
    note()
    crawlers.visits.flush()
    assert CrawlerVisit.objects.count() == 7


# Asynchronous servers


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("encoding", [b"gzip", b"identity"])
def test_an_asynchronous_server_writes_when_the_answer_is_out(tmp_path: Path, encoding: bytes) -> None:
    headers = [(b"host", b"example.com"), (b"user-agent", GOOGLE.encode()), (b"accept-encoding", encoding)]
    scope = {"type": "http", "method": "GET", "path": PAGE, "query_string": b"", "headers": headers}

    async def ask() -> list[int]:
        server = ApplicationCommunicator(ASGIHandler(), {**scope, "asgi": {"version": "3.0"}})
        await server.send_input({"type": "http.request"})
        start = await server.receive_output(10)
        while (await server.receive_output(10)).get("more_body"):
            pass
        await server.wait(10)
        return [start["status"]]

    # In a file: a thread of its own never closes its connection to a database in memory.
    with shared_database(tmp_path, SitemapPage, Build, CrawlerVisit, Product, Site):
        Site.objects.get_or_create(pk=1, defaults={"domain": "example.com"})
        make_products(1)
        client(BROWSER).get(PAGE)

        assert async_to_sync(ask)() == [200]
        assert counted() == [("products", "Googlebot", 1, 0, 0)]


@pytest.mark.django_db
def test_a_visit_says_what_it_is() -> None:
    assert str(make_visit(day=date(2026, 3, 1))) == "Googlebot on 2026-03-01, products of site 1"
    assert str(make_visit(label="", day=date(2026, 3, 1))) == "Googlebot on 2026-03-01, index of site 1"
