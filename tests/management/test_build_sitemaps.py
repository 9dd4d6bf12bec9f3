"""Builds by the command: sections, sites, exit status, signals and the cache."""

import json
import os
import signal
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import storages
from django.test import Client
from django.utils import timezone

from commands import Broken, OneInvalidRow, content, published, run
from factories import DAY
from samples import Products, make_products, replace_section
from sitemaps_plus import register
from sitemaps_plus.build.lease import hold
from sitemaps_plus.errors import MissingTables
from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Product

pytestmark = pytest.mark.django_db


def test_a_build_reports_what_it_built_and_where() -> None:
    register("products", Products)
    make_products(25)

    stdout, stderr, failure = run()

    first, index, total = stdout.splitlines()
    assert first == "example.com products: 25 URLs on 3 pages, 3 rendered"
    assert index == "Index: example.com/sitemap.xml"
    assert total.startswith("25 URLs on 3 pages: 3 rendered, 0 unchanged, 3 written, ")
    assert total.endswith(" s, 0 rows left out")
    assert (stderr, failure) == ("", None)
    assert len(set(published()) - {MANIFEST}) == 7


def test_the_next_build_reports_unchanged_pages() -> None:
    register("products", Products)
    products = make_products(25)
    run()
    Product.objects.filter(pk=products[12].pk).update(updated_at=DAY + timedelta(days=1))

    stdout, _, failure = run()

    assert stdout.splitlines()[-1].startswith("25 URLs on 3 pages: 1 rendered, 2 unchanged, 1 written, ")
    assert failure is None


def test_labels_choose_sections() -> None:
    register("products", Products)
    register("more", type("More", (Products,), {}))
    make_products(5)

    stdout, _, _ = run("more")

    assert "example.com products" not in stdout
    assert [name for name in published() if "products" in name] == []


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_unknown_label_is_an_error_that_names_the_known_ones(options: list[str]) -> None:
    register("products", Products)

    stdout, _, failure = run("prodcuts", *options)

    assert failure is not None
    assert failure.returncode == 1
    assert "'prodcuts'" in str(failure)
    assert "Registered: products" in str(failure)
    if options:
        assert json.loads(stdout)["errors"] == [str(failure)]
    else:
        assert stdout == ""


def test_without_an_origin_the_error_names_the_setting(settings: Any) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    register("products", Products)

    _, _, failure = run()

    assert failure is not None
    assert 'SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}' in str(failure)


def test_a_section_that_fails_gives_status_1_and_the_others_are_published() -> None:
    register("broken", Broken)
    register("products", Products)
    make_products(5)

    stdout, _, failure = run()

    assert failure is not None
    assert failure.returncode == 1
    assert "keeps its last good files" in str(failure)
    assert "example.com broken: Traceback" in str(failure)
    assert "RuntimeError: the rows cannot be read" in str(failure)
    assert "example.com broken: failed" in stdout
    assert "example.com products: 5 URLs on 1 page" in stdout
    assert "sitemap-products-1.xml.gz" in published()


def test_strict_fails_the_section_instead(settings: Any) -> None:
    register("products", OneInvalidRow)
    make_products(3)

    _, _, failure = run("--strict")

    assert failure is not None
    assert "StrictError" in str(failure)

    settings.SITEMAPS_PLUS = {"STRICT": True}
    assert run()[2] is not None


def test_repack_cuts_the_pages_again() -> None:
    register("products", Products)
    make_products(15)
    run()

    run("--repack")

    assert list(SitemapPage.objects.filter(retired_at=None).values_list("number", flat=True)) == [3, 4]


def test_call_command_builds_with_one_worker_on_each_core() -> None:
    register("products", Products)
    make_products(25)

    stdout, _, failure = run(workers="auto")

    assert failure is None
    assert "25 URLs on 3 pages" in stdout


def test_the_cache_is_filled_with_what_was_built(settings: Any, tmp_path: Any, django_assert_num_queries: Any) -> None:
    register("products", Products)
    make_products(3)
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": str(tmp_path)}
    }

    _, _, error = run(warm_cache=True)

    assert error is None
    client = Client(headers={"host": "example.com"})
    Site.objects.get_current()
    with django_assert_num_queries(0):
        for address in ("/sitemap.xml", "/sitemap-products.xml", "/sitemap-products-1.xml"):
            assert client.get(address, secure=True).status_code == 200


def test_a_cache_that_only_this_process_reads_is_not_filled() -> None:
    register("products", Products)

    _, _, error = run(warm_cache=True)

    assert "that only this process reads" in str(error)
    assert not storages["sitemaps"].exists("example.com")


def test_a_cache_that_keeps_nothing_is_an_error(settings: Any) -> None:
    register("products", Products)
    make_products(3)
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
            "OPTIONS": {"socket_connect_timeout": 1, "retry": None},
        }
    }

    _, _, error = run(warm_cache=True)

    assert "was evicted at once" in str(error)
    assert published() != []


def test_a_site_is_chosen_by_its_id_or_its_domain(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": {1: "https://example.com", 2: "https://example.org", 3: "https://example.net"}}
    register("products", Products)
    make_products(5)

    stdout, _, _ = run("--site", "2", "--site", "example.net")

    assert [line.split()[0] for line in stdout.splitlines()[:2]] == ["example.org", "example.net"]
    assert not storages["sitemaps"].exists("example.com/sitemap.xml")


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_an_unknown_site_is_an_error_that_names_the_known_ones(options: list[str]) -> None:
    register("products", Products)

    _, _, failure = run("--site", "example.org", *options)

    assert str(failure) == ("There is no site 'example.org'. Name one by its id or its domain: 1 (example.com).")


def test_a_section_that_lost_most_of_its_rows_is_held_back_until_allow_shrink() -> None:
    register("products", Products)
    products = make_products(20)
    run()
    Product.objects.filter(pk__gt=products[4].pk).delete()

    stdout, _, failure = run()

    assert "example.com products: held back" in stdout
    assert "lost 15 of its 20 URLs" in str(failure)
    assert "--allow-shrink" in str(failure)
    assert json.loads(run("--json")[0])["sections"][0]["held_back"] is True
    assert run("--allow-shrink")[2] is None
    assert run()[2] is None


@pytest.mark.parametrize(("kind", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_build_between_two_pages_and_the_published_files_are_complete(
    kind: signal.Signals, status: int, capsys: Any
) -> None:
    class Stopping(Products):
        def location(self, item: Product) -> str:
            if item.slug == "product-12":
                os.kill(os.getpid(), kind)
            return f"/{item.slug}/"

    register("first", Products)
    register("second", Stopping)
    make_products(25)
    before = signal.getsignal(kind)
    # A shell that runs the tests in the background lets them ignore Ctrl-C.
    signal.signal(kind, signal.default_int_handler)

    try:
        with pytest.raises(SystemExit) as ended:
            run()
    finally:
        handler = signal.signal(kind, before)

    assert ended.value.code == status
    assert handler is signal.default_int_handler
    assert {name for name in published() if "second" in name} == set()
    assert b"sitemap-first-3.xml" in content("sitemap.xml")
    replace_section("second", Products)
    assert run()[2] is None
    assert b"sitemap-second-3.xml" in content("sitemap.xml")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("if_locked", "status"), [("fail", 75), ("skip", None)])
def test_a_second_build_of_a_site_ends_at_once(if_locked: str, status: int | None) -> None:
    register("products", Products)
    make_products(5)
    with hold(SiteOrigin(id=Site.objects.get_current().pk, origin=Origin.parse("https://example.com"))):
        stdout, stderr, failure = run("--if-locked", if_locked)

    assert (failure and failure.returncode) == status
    assert stdout == "", "there is nothing to count"
    assert "Another build of example.com has been running" in stderr + str(failure)
    assert ("Wait until it has ended" in stderr + str(failure)) == (if_locked == "fail")
    assert not storages["sitemaps"].exists("example.com")
    assert run()[2] is None


@pytest.mark.parametrize("option", [[], ["--check"], ["--dry-run"]])
def test_without_its_tables_the_command_says_to_run_migrate(monkeypatch: pytest.MonkeyPatch, option: list[str]) -> None:
    register("products", Products)
    monkeypatch.setattr(Build._meta, "db_table", "not_migrated")

    _, _, failure = run(*option)

    assert str(failure) == str(MissingTables("default"))
    assert not storages["sitemaps"].exists("example.com")


@pytest.mark.django_db(transaction=True)
def test_a_build_that_waits_reports_it_and_builds_when_the_other_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    register("products", Products)
    make_products(5)
    site = Site.objects.get_current().pk
    now = timezone.now()
    other = Build.objects.create(
        site=site, lease=f"site {site}", holder="another", started_at=now, expires_at=now + timedelta(hours=1)
    )
    monkeypatch.setattr("sitemaps_plus.build.lease.time.sleep", lambda _: Build.objects.filter(pk=other.pk).delete())

    _, stderr, failure = run("--if-locked", "wait", "--progress")

    assert "another" in stderr
    assert failure is None
    assert MANIFEST in published()


def test_full_renders_every_page_and_writes_none_that_is_unchanged() -> None:
    register("products", Products)
    make_products(25)
    run()

    stdout, _, _ = run("--full")

    assert stdout.splitlines()[-1].startswith("25 URLs on 3 pages: 3 rendered, 0 unchanged, 0 written, ")


def test_prune_immediately_removes_files_that_no_index_lists() -> None:
    register("products", Products)
    make_products(15)
    run()
    run("--repack")
    assert "sitemap-products-1.xml.gz" in published()

    run("--prune")

    assert "sitemap-products-1.xml.gz" not in published()
    assert "sitemap-products-3.xml.gz" in published()
