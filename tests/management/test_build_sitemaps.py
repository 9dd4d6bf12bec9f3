import io
import json
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.files.storage import InMemoryStorage, storages
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from factories import DAY
from samples import Products, make_products, render_page, replace_section, section_of
from sitemaps_plus import Sitemap, register
from sitemaps_plus.build.lease import hold
from sitemaps_plus.build.results import BuildResult
from sitemaps_plus.errors import MissingTables
from sitemaps_plus.models import Build, SitemapPage
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin
from sitemaps_plus.stores.manifest import NAME as MANIFEST
from testapp.models import Product

pytestmark = pytest.mark.django_db


class Broken(Products):
    def get_queryset(self) -> Any:
        raise RuntimeError("the rows cannot be read")


class OneInvalidRow(Products):
    def location(self, item: Product) -> str | None:
        return None if item.slug == "product-2" else f"/{item.slug}/"

    lastmod = "yesterday"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*args: str, stderr: io.StringIO | None = None, **options: Any) -> tuple[str, str, CommandError | None]:
    """Return what the command writes to both outputs, and how it failed."""
    stdout, stderr, failure = io.StringIO(), stderr or io.StringIO(), None
    try:
        call_command("build_sitemaps", *args, stdout=stdout, stderr=stderr, **options)
    except CommandError as error:
        failure = error
    return stdout.getvalue(), stderr.getvalue(), failure


def options_of_builds(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return a list that receives the options of each build in place of the build."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "sitemaps_plus.management.commands.build_sitemaps.build",
        lambda labels, **options: (found.append(options), BuildResult())[1],
    )
    return found


def published() -> list[str]:
    return sorted(storages["sitemaps"].listdir("example.com")[1])


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


def test_rows_left_out_are_reported_with_their_reason() -> None:
    register("products", OneInvalidRow)
    rows = make_products(3)

    stdout, _, failure = run()

    assert "2 URLs on 1 page, 1 rendered, 1 row left out, 2 parts dropped" in stdout
    assert f"    row {rows[1].pk}, location: The URL is None" in stdout
    assert failure is None


@contextmanager
def log_on_console() -> Iterator[None]:
    """Log to standard error, as most projects do."""
    logger, handler = logging.getLogger("sitemaps_plus"), logging.StreamHandler()
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)


@pytest.mark.parametrize(
    ("options", "in_output", "in_log"), [({}, 1, 0), ({"json": True}, 1, 0), ({"verbosity": 0}, 0, 1)], ids=str
)
def test_a_bad_row_is_shown_once(
    options: dict[str, Any], in_output: int, in_log: int, capsys: pytest.CaptureFixture[str]
) -> None:
    register("products", OneInvalidRow)
    make_products(3)

    with log_on_console():
        stdout, stderr, failure = run(**options)

    assert (stdout + stderr).count("The URL is None") == in_output
    assert capsys.readouterr().err.count("The URL is None") == in_log
    assert failure is None


@pytest.mark.parametrize("options", [{}, {"json": True}, {"verbosity": 0}], ids=str)
def test_the_reason_of_a_failure_is_on_the_console_once(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    register("products", OneInvalidRow)
    make_products(3)

    with log_on_console():
        stdout, stderr, failure = run("--strict", **options)

    assert str(failure).count("'yesterday' is not a W3C date") == 1
    assert capsys.readouterr().err == ""
    assert "json" in options or "W3C date" not in stdout + stderr


def test_a_row_that_the_error_of_a_section_names_is_not_shown_again() -> None:
    register("products", type("Products", (Products,), {"location": lambda self, item: f"nowhere-{item.slug}"}))
    rows = make_products(3)

    stdout, _, failure = run()

    assert f"The first one: row {rows[0].pk}, location: The URL 'nowhere-product-1' is relative" in str(failure)
    assert "nowhere-product-1'" not in stdout
    assert "nowhere-product-2'" in stdout


@pytest.mark.parametrize("options", [{}, {"json": True}, {"verbosity": 0}], ids=str)
def test_an_unexpected_error_is_on_the_console_once_and_with_its_traceback(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    register("broken", Broken)

    with log_on_console():
        _, stderr, failure = run(**options)

    shown = str(failure) + stderr + capsys.readouterr().err
    assert shown.count("Traceback (most recent call last)") == 1
    assert shown.count("RuntimeError: the rows cannot be read") == 1
    # Log files have it, too.
    assert "Traceback" in caplog.text


def test_an_unexpected_error_of_a_site_is_on_the_console_with_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any) -> Any:
        raise RuntimeError("the bucket is away")

    register("products", Products)
    monkeypatch.setattr(InMemoryStorage, "listdir", fail)

    _, _, failure = run()

    assert "site example.com: Traceback (most recent call last)" in str(failure)
    assert str(failure).count("RuntimeError: the bucket is away") == 1


def test_other_logs_get_what_the_console_does_not(caplog: pytest.LogCaptureFixture) -> None:
    register("products", OneInvalidRow)
    make_products(3)

    run()
    run("--full", "--strict")

    assert caplog.text.count("The URL is None") == 1
    assert caplog.text.count("Sitemap section products of example.com could not be built: Sitemap section") == 1


def test_after_a_build_the_console_gets_everything_again(capsys: pytest.CaptureFixture[str]) -> None:
    register("products", OneInvalidRow)
    make_products(3)

    with log_on_console():
        run()
        render_page(section_of(OneInvalidRow), 1)

    assert capsys.readouterr().err.count("The URL is None") == 1


def test_without_any_configuration_of_logging_a_bad_row_is_shown_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Then Python writes warnings to standard error.
    monkeypatch.setattr(logging.getLogger("sitemaps_plus"), "propagate", False)
    register("products", OneInvalidRow)
    make_products(3)

    run()

    assert "The URL is None" not in capsys.readouterr().err


@pytest.fixture
def place_files(settings: Any) -> Any:
    """Return a function that makes a storage the default one, and lets built files go there."""

    def place(backend: str, **options: Any) -> None:
        others = {name: value for name, value in settings.STORAGES.items() if name != "sitemaps"}
        settings.STORAGES = {**others, "default": {"BACKEND": backend, "OPTIONS": options}}

    return place


FILES = "django.core.files.storage.FileSystemStorage"


def test_the_first_build_into_the_default_storage_says_where_the_files_are_and_who_can_read_them(
    place_files: Any, tmp_path: Any
) -> None:
    place_files(FILES, location=tmp_path, base_url="/media/")
    register("products", Products)
    make_products(3)

    stdout, _, _ = run()

    assert stdout.splitlines()[-3:] == [
        f'The files are in {tmp_path}/sitemaps, in the default storage: STORAGES has no "sitemaps".',
        "If your web server serves /media/, anybody can read them at /media/sitemaps/.",
        'To keep them elsewhere, define STORAGES["sitemaps"], build again, and delete these.',
    ]
    assert (tmp_path / "sitemaps/example.com/sitemap.xml").is_file()
    assert "default storage" not in run("--full")[0]


def test_a_default_storage_without_a_url_is_not_called_public(place_files: Any, tmp_path: Any, settings: Any) -> None:
    settings.MEDIA_URL = ""
    place_files(FILES, location=tmp_path)
    register("products", Products)
    make_products(3)

    stdout, _, _ = run()

    assert f"The files are in {tmp_path}/sitemaps, in the default storage" in stdout
    assert "anybody" not in stdout


def test_a_default_storage_that_is_no_folder_is_named_by_what_it_is(place_files: Any) -> None:
    place_files("django.core.files.storage.InMemoryStorage")
    register("products", Products)
    make_products(3)

    assert "Whoever can read the default storage can read them.\n" in run()[0]
    assert "default storage" not in run("--full")[0]


def test_a_storage_that_the_project_chose_for_the_files_is_not_explained() -> None:
    register("products", Products)
    make_products(3)

    assert "The files are in" not in run()[0]


def test_a_first_build_that_published_nothing_has_no_files_to_tell_of(place_files: Any, tmp_path: Any) -> None:
    place_files(FILES, location=tmp_path)
    register("broken", Broken)

    stdout, _, failure = run()

    assert failure is not None
    assert "The files are in" not in stdout


def test_strict_fails_the_section_instead(settings: Any) -> None:
    register("products", OneInvalidRow)
    make_products(3)

    _, _, failure = run("--strict")

    assert failure is not None
    assert "StrictError" in str(failure)

    settings.SITEMAPS_PLUS = {"STRICT": True}
    assert run()[2] is not None


def test_json_is_one_object_for_programs() -> None:
    register("broken", Broken)
    register("products", OneInvalidRow)
    rows = make_products(3)

    stdout, stderr, failure = run("--json")

    report = json.loads(stdout)
    assert report.pop("seconds") >= 0
    broken, products = report.pop("sections")
    assert report == {
        "complete": False,
        "stopped": False,
        "indexes": ["example.com/sitemap.xml"],
        "errors": [],
        "locked": [],
    }
    assert broken["error"] == "RuntimeError: the rows cannot be read"
    assert {name: products[name] for name in products if name not in ("bytes", "problems")} == {
        "site": "example.com",
        "label": "products",
        "pages": 1,
        "rendered": 1,
        "skipped": 0,
        "written": 1,
        "urls": 2,
        "left_out": 1,
        "dropped": 2,
        "verified": 0,
        "unseen": {},
        "warnings": 0,
        "error": None,
        "held_back": False,
        "stopped": False,
    }
    assert products["problems"][1] | {"reason": ""} == {
        "label": "products",
        "key": str(rows[1].pk),
        "hook": "location",
        "code": "E-URL-EMPTY",
        "reason": "",
    }
    assert products["bytes"] > 100
    assert stderr == ""
    assert failure is not None


def test_repack_cuts_the_pages_again() -> None:
    register("products", Products)
    make_products(15)
    run()

    run("--repack")

    assert list(SitemapPage.objects.filter(retired_at=None).values_list("number", flat=True)) == [3, 4]


@pytest.mark.parametrize("text", ["some", "-1", "1.5", "", "0"])
def test_a_wrong_number_of_workers_is_an_error_that_says_what_to_give(text: str) -> None:
    _, _, failure = run(f"--workers={text}")

    assert failure is not None
    assert failure.returncode == 1
    assert f"{text!r} is not a number of processes: use 1 or more" in str(failure)


@pytest.mark.parametrize("given", ["some", -1, 0, 1.5, "", None, True])
def test_call_command_refuses_a_wrong_number_of_workers_with_the_same_text(given: object) -> None:
    _, _, failure = run(workers=given)

    assert failure is not None
    assert failure.returncode == 2
    assert str(failure).startswith(f"--workers: {given!r} is not a number of processes: use 1 or more")


@pytest.mark.parametrize(("given", "seen"), [("auto", "auto"), (2, 2), ("3", 3)])
def test_call_command_takes_the_number_of_workers_as_text_too(
    given: object, seen: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = options_of_builds(monkeypatch)

    _, _, failure = run(workers=given)

    assert failure is None
    assert [one["workers"] for one in found] == [seen]


def test_call_command_builds_with_one_worker_on_each_core() -> None:
    register("products", Products)
    make_products(25)

    stdout, _, failure = run(workers="auto")

    assert failure is None
    assert "25 URLs on 3 pages" in stdout


@pytest.mark.parametrize(("text", "given"), [("auto", "auto"), ("1", 1), ("12", 12)])
def test_workers_are_handed_to_the_build(text: str, given: object, monkeypatch: pytest.MonkeyPatch) -> None:
    found = options_of_builds(monkeypatch)

    run("--workers", text)

    assert [one["workers"] for one in found] == [given]


def test_a_terminal_shows_a_progress_bar() -> None:
    register("products", Products)
    make_products(25)

    stdout, stderr, _ = run(stderr=Terminal())

    drawn = stderr.split("\r\x1b[K")
    assert drawn[1] == "[########                ] example.com products page 1 of 3"
    assert drawn[3] == f"[{'#' * 24}] example.com products page 3 of 3"
    # The bar is gone when the report is written, and has no colour of errors.
    assert drawn[4:] == [""]
    assert "page 1 of 3" not in stdout


@pytest.mark.parametrize("options", [{"json": True}, {"verbosity": 0}])
def test_there_is_no_bar_with_json_or_without_output(options: dict[str, Any]) -> None:
    register("products", Products)
    make_products(5)

    stdout, stderr, error = run(stderr=Terminal(), **options)

    assert error is None
    assert stderr == ""
    assert bool(stdout) is ("json" in options)


def test_a_pipe_gets_only_the_report() -> None:
    register("products", Products)
    make_products(5)

    stdout, stderr, _ = run()

    assert stderr == ""
    assert "\r" not in stdout
    assert "\x1b" not in stdout


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


# What would be done


def test_a_dry_run_reports_what_would_be_rendered_and_why_and_changes_nothing() -> None:
    register("products", Products)
    products = make_products(25)
    run()
    before = {name: content(name) for name in published()}
    Product.objects.filter(pk=products[12].pk).update(updated_at=DAY + timedelta(days=1))
    Product.objects.filter(pk__gt=products[19].pk).delete()
    records, builds = list(SitemapPage.objects.values()), Build.objects.count()

    stdout, _, failure = run("--dry-run")

    assert stdout.splitlines() == [
        "example.com products page 2: its content changed since the build",
        "example.com products page 3: it has no URLs any more",
        "2 pages or indexes would be rendered or removed",
    ]
    assert failure is None
    assert {name: content(name) for name in published()} == before
    assert list(SitemapPage.objects.values()) == records
    assert Build.objects.count() == builds


def content(name: str) -> bytes:
    with storages["sitemaps"].open(f"example.com/{name}") as file:
        return bytes(file.read())


def test_a_check_fails_until_the_next_build() -> None:
    register("products", Products)
    products = make_products(5)
    run()
    assert run("--check") == ("0 pages or indexes are stale\n", "", None)
    Product.objects.filter(pk=products[0].pk).update(updated_at=DAY + timedelta(days=1))

    stdout, _, failure = run("--check")

    assert stdout.startswith("example.com products page 1: its content changed since the build\n")
    assert stdout.endswith("\n1 page or index is stale\n")
    assert failure is not None
    assert str(failure) == "1 page or index is stale: run build_sitemaps."
    assert failure.returncode == 1
    run()
    assert run("--check")[2] is None


def test_a_check_does_not_fail_for_pages_that_may_be_current() -> None:
    class Listed(Sitemap):
        location = "/one/"

        def items(self) -> list[str]:
            return ["one"]

    register("listed", Listed)
    run()

    assert run("--check")[2] is None
    assert "only rendering tells whether it changed" in run("--dry-run")[0]


def test_a_set_that_lacks_its_index_is_stale() -> None:
    register("products", Products)
    make_products(5)
    run()
    storages["sitemaps"].delete("example.com/sitemap.xml.gz")

    stdout, _, failure = run("--check")

    assert stdout.startswith("example.com index: the index of the site is missing\n")
    assert failure is not None
    run()
    assert run("--check")[2] is None


def test_a_dry_run_can_be_read_by_programs() -> None:
    register("products", Products)
    make_products(5)

    report = json.loads(run("--dry-run", "--json")[0])

    page = {"site": "example.com", "label": "products", "number": 1, "reason": "it was never built", "is_stale": True}
    assert report == {"stale": True, "undecided": 0, "pages": [page]}


# Which sites


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


# Held back, stopped, locked


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
        _, stderr, failure = run("--if-locked", if_locked)

    assert (failure and failure.returncode) == status
    assert "Another build of example.com has been running" in stderr + str(failure)
    assert not storages["sitemaps"].exists("example.com")
    assert run()[2] is None


@pytest.mark.parametrize("one", ["--dry-run", "--check"])
@pytest.mark.parametrize("other", ["--repack", "--prune", "--warm-cache"])
def test_options_that_only_read_refuse_options_that_change_something(one: str, other: str) -> None:
    register("products", Products)

    _, _, failure = run(one, other)

    assert failure
    assert str(failure) == f"{one} changes nothing, so it cannot be combined with {other}."
    assert failure.returncode == 2


@pytest.mark.parametrize("one", ["--dry-run", "--check", "--status"])
@pytest.mark.parametrize(
    "other", ["--strict", "--allow-shrink", "--if-locked=wait", "--workers=4", "--started-by=me", "--progress"]
)
def test_options_that_have_no_effect_are_an_error(one: str, other: str) -> None:
    register("products", Products)

    _, _, failure = run(one, other)

    assert failure
    assert str(failure) == f"{other.partition('=')[0]} has no effect with {one}, which only reads. Leave it out."
    assert failure.returncode == 2


@pytest.mark.parametrize("one", ["--check", "--status"])
def test_full_has_no_effect_on_what_only_compares(one: str) -> None:
    _, _, failure = run("--status", "--full")

    assert str(failure) == "--full has no effect with --status, which only reads. Leave it out."


@pytest.mark.parametrize("one", ["--dry-run", "--check", "--status"])
def test_options_that_only_read_accept_what_is_so_anyway(one: str) -> None:
    _, _, failure = run(one, "--no-progress", "--if-locked=fail", "--workers=1")

    assert "no effect" not in str(failure)


@pytest.mark.parametrize("option", ["--dry", "--stat", "--allow", "--work=2"])
def test_options_are_written_out(option: str) -> None:
    with pytest.raises(CommandError, match="unrecognized arguments"):
        call_command("build_sitemaps", option)


@pytest.mark.django_db(transaction=True)
def test_without_a_bar_the_build_that_is_waited_for_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    register("products", Products)
    asked = iter(range(100))
    end = partial(Build.objects.update, lease=None)
    monkeypatch.setattr("sitemaps_plus.build.lease.time.sleep", lambda _: next(asked) > 3 and end())

    with hold(SiteOrigin(id=1, origin=Origin.parse("https://example.com"))):
        _, stderr, failure = run("--if-locked", "wait")

    assert failure is None
    assert stderr.count("Waiting for another build of example.com") == 1


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


def test_the_bar_can_be_forced_and_suppressed() -> None:
    register("products", Products)
    make_products(5)

    assert "page 1 of 1" in run("--progress")[1]
    assert run("--full", "--no-progress", stderr=Terminal())[1] == ""


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
