"""One request at a time makes a document: among threads, and among processes that share a cache."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from django.core.cache.backends.locmem import LocMemCache
from django.utils import timezone

from samples import SITE, Products
from sitemaps_plus import register
from sitemaps_plus.errors import SitemapError
from sitemaps_plus.serve import cached
from sitemaps_plus.serve.cached import serve
from sitemaps_plus.serve.live import Made, Wanted
from sitemaps_plus.stores.cache import CLAIM, get_cache
from sitemaps_plus.stores.packing import pack

EXAMPLE = {"ORIGIN": "https://example.com"}


@pytest.fixture(autouse=True)
def _products_registered(settings):
    register("products", Products)
    settings.SITEMAPS_PLUS = EXAMPLE


def wanted(number=1, label="products", site=SITE, as_text=False):
    return Wanted(site=site, label=label, number=number, as_text=as_text)


def xml(*args, **options):
    return gzip.decompress(serve(wanted(*args, **options)).gzipped)


# Fresh: whatever changes the rows shows once the database has been asked, and it is asked after CHECK_EVERY.


# One renderer for all: no database here, what is looked for is made by hand.


def looked(document):
    made = Made(document=document, version="", checked_at=timezone.now(), rendered_at=time.time())
    return SimpleNamespace(
        version="", checked_at=timezone.now(), is_due=True, has_new_pages=False, make=lambda _last: made
    )


class Maker:
    """Stands for `look`: makes a document, slowly, and counts."""

    def __init__(self, text=b"<urlset/>", errors=()):
        self.text = text
        self.errors = list(errors)
        self.calls = 0
        self.is_making = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, wanted, since=None, **_known):
        self.calls += 1
        self.is_making.set()
        assert self.may_end.wait(5)
        if self.errors and (error := self.errors.pop(0)):
            raise error
        return looked(pack([self.text], 1))


@pytest.fixture
def maker(monkeypatch):
    made = Maker()
    monkeypatch.setattr(cached, "look", made)
    return made


def outcome_of(task):
    try:
        return task()
    except BaseException as error:
        return error


def break_cache(monkeypatch):
    def fail(*_args, **_options):
        raise ConnectionError("the cache is down")

    for name in ("get", "get_many", "set", "set_many", "add", "delete"):
        monkeypatch.setattr(LocMemCache, name, fail)


def all_at_once(maker, count=8, task=lambda: serve(wanted())):
    """Return what comes of `count` requests that all began before the first document was made."""
    with ThreadPoolExecutor(count) as pool:
        tasks = [pool.submit(outcome_of, task) for _ in range(count)]
        assert maker.is_making.wait(5)
        wait_until(lambda: len(cached._flights) == 1)
        time.sleep(0.1)
        maker.may_end.set()
        return [task.result(10) for task in tasks]


def wait_until(is_true, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_all_who_ask_for_a_cold_page_get_the_bytes_of_one_rendering(maker):
    found = all_at_once(maker)

    assert {gzip.decompress(served.gzipped) for served in found} == {b"<urlset/>"}
    assert maker.calls == 1
    assert cached._flights == {}


def test_threads_of_one_process_share_a_rendering_while_the_cache_is_down(maker, settings, monkeypatch):
    # An alias of its own: other tests must not meet a cache that is left in peace for a while.
    settings.CACHES = {**settings.CACHES, "down": settings.CACHES["default"]}
    settings.SITEMAPS_PLUS = {**EXAMPLE, "CACHE": "down"}
    break_cache(monkeypatch)

    found = all_at_once(maker)

    assert len(set(found)) == maker.calls == 1
    assert found[0].size == len(b"<urlset/>")


def test_while_one_renders_the_others_get_the_last_version_at_once(maker, settings):
    settings.SITEMAPS_PLUS = {**EXAMPLE, "CHECK_EVERY": 0}
    maker.may_end.set()
    serve(wanted())
    maker.may_end.clear()
    maker.is_making.clear()
    maker.text = b"<urlset>new</urlset>"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(serve, wanted())
        assert maker.is_making.wait(5)
        others = [xml() for _ in range(3)]
        maker.may_end.set()

        assert others == [b"<urlset/>"] * 3
        assert gzip.decompress(first.result(5).gzipped) == b"<urlset>new</urlset>"
    assert maker.calls == 2


def test_those_who_wait_get_the_error_of_the_one_who_renders_and_the_next_one_tries(maker):
    maker.errors = [ValueError("broken hook")]

    found = all_at_once(maker)

    assert {str(error) for error in found} == {"broken hook"}
    assert maker.calls == 1
    assert xml() == b"<urlset/>"


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_when_the_thread_of_the_renderer_is_ended_one_of_those_who_wait_goes_on(maker, ending):
    maker.errors = [ending()]

    found = all_at_once(maker)

    assert len([one for one in found if isinstance(one, ending)]) == 1
    assert len({one for one in found if not isinstance(one, ending)}) == 1
    assert maker.calls == 2
    assert cached._flights == {}


def test_who_has_waited_long_enough_renders(maker, monkeypatch):
    monkeypatch.setattr(cached, "WAIT", 0.05)
    hangs = threading.Event()
    make = maker.__call__

    def look(wanted, since=None, **_known):
        if maker.calls == 0:
            maker.calls += 1
            maker.is_making.set()
            assert hangs.wait(5)
        return make(wanted, since)

    monkeypatch.setattr(cached, "look", look)
    maker.may_end.set()
    with ThreadPoolExecutor(1) as pool:
        stuck = pool.submit(serve, wanted())
        assert maker.is_making.wait(5)
        assert xml() == b"<urlset/>"
        hangs.set()
        assert stuck.result(5).size == len(b"<urlset/>")


def test_a_document_that_is_asked_for_by_what_makes_it_is_an_error_and_no_standstill(monkeypatch):
    monkeypatch.setattr(cached, "look", lambda wanted, since=None, **_known: serve(wanted))

    with pytest.raises(SitemapError, match="requests it: it would wait for itself"):
        serve(wanted())

    assert cached._flights == {}


def test_documents_may_be_asked_for_by_what_makes_others(monkeypatch, maker):
    maker.may_end.set()

    def look(one, since=None, **_known):
        return maker(one) if one.number == 2 else maker(wanted(number=serve(wanted(2)).size))

    monkeypatch.setattr(cached, "look", look)

    assert xml(1) == b"<urlset/>"
    assert maker.calls == 2


def test_while_another_process_renders_the_last_version_is_served(maker, clock):
    maker.may_end.set()
    serve(wanted())
    clock.pass_(seconds=61)
    get_cache().claim(wanted().name)
    maker.text = b"<urlset>new</urlset>"

    assert xml() == b"<urlset/>"

    # It has died, or it would have kept something.
    clock.pass_(seconds=CLAIM + 1)
    assert xml() == b"<urlset>new</urlset>"


def test_without_a_version_the_next_one_renders_when_the_claim_of_a_dead_renderer_ends(maker, clock):
    maker.may_end.set()
    get_cache().claim(wanted().name)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(serve, wanted())
        time.sleep(0.15)
        assert maker.calls == 0
        clock.pass_(seconds=CLAIM + 1)

        assert waiting.result(5).size == len(b"<urlset/>")
    assert get_cache().claim(wanted().name)


def test_a_claim_of_a_dead_renderer_is_not_waited_for_longer_than_a_client_waits(maker, monkeypatch):
    monkeypatch.setattr(cached, "WAIT", 0.1)
    maker.may_end.set()
    get_cache().claim(wanted().name)

    assert xml() == b"<urlset/>"


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit()])
def test_a_renderer_that_fails_leaves_no_claim(maker, error):
    maker.may_end.set()
    maker.errors = [error]

    with pytest.raises(type(error)):
        serve(wanted())

    assert get_cache().claim(wanted().name)


_PROCESS = """
import json, sys, time
import django
from django.conf import settings

cache, log = json.loads(sys.argv[1]), sys.argv[2]
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "sitemaps_plus"], CACHES={"default": cache}, USE_TZ=True,
    SITEMAPS_PLUS={"ORIGIN": "https://example.com"},
)
django.setup()

from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from sitemaps_plus import ModelSitemap, registry
from sitemaps_plus.serve import cached
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.stores.packing import pack
from types import SimpleNamespace
from sitemaps_plus.serve.live import Made, Wanted


def look(wanted, since=None, **_known):
    with open(log, "a") as file:
        file.write("rendered\\n")
    time.sleep(0.5)
    document = pack([b"<urlset/>"], 1)
    made = Made(document=document, version="", checked_at=timezone.now(), rendered_at=time.time())
    return SimpleNamespace(
        version="", checked_at=timezone.now(), is_due=True, has_new_pages=False, make=lambda _last: made
    )


cached.look = look
registry.register("products", type("Types", (ModelSitemap,), {"queryset": ContentType.objects.all(), "location": "/"}))
site = SiteOrigin(id=1, origin=Origin.parse("https://example.com"))
print("ready", flush=True)
sys.stdin.readline()
print(cached.serve(Wanted(site=site, label="products", number=1)).digest)
"""


_NO_REDIS = pytest.mark.skipif(
    "CACHE_URL" not in os.environ or find_spec("redis") is None,
    reason="CACHE_URL names no Redis, or its client is missing",
)


@pytest.mark.parametrize(
    ("backend", "adds_in_one_step"),
    [("filebased.FileBasedCache", False), pytest.param("redis.RedisCache", True, marks=_NO_REDIS)],
)
def test_processes_that_share_a_cache_render_once(backend, adds_in_one_step, tmp_path):
    place = os.environ.get("CACHE_URL", "") if "redis" in backend else str(tmp_path / "cache")
    prefix = f"{tmp_path.name}{time.time_ns()}"
    cache = {"BACKEND": f"django.core.cache.backends.{backend}", "LOCATION": place, "KEY_PREFIX": prefix}
    log = tmp_path / "log"
    command = [sys.executable, "-c", _PROCESS, json.dumps(cache), str(log)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
        if not adds_in_one_step:
            # Two that add at the very same moment may both believe that they were first.
            wait_until(log.exists)
    digests = {process.communicate(timeout=20)[0] for process in processes}

    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(digests) == 1
    assert log.read_text().count("rendered") == 1
