"""What the command writes: each failure and each bad row once, the progress bar, hints and JSON."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage

from commands import Broken, OneInvalidRow, run
from samples import Products, make_products, render_page, section_of
from sitemaps_plus import register
from sitemaps_plus.build.lease import hold
from sitemaps_plus.models import Build
from sitemaps_plus.plan.sites import SiteOrigin
from sitemaps_plus.protocol.addresses import Origin

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def log_on_console() -> Iterator[None]:
    """Log to standard error, as most projects do."""
    logger, handler = logging.getLogger("sitemaps_plus"), logging.StreamHandler()
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)


FILES = "django.core.files.storage.FileSystemStorage"


@pytest.fixture
def place_files(settings: Any) -> Any:
    """Return a function that makes a storage the default one, and lets built files go there."""

    def place(backend: str, **options: Any) -> None:
        others = {name: value for name, value in settings.STORAGES.items() if name != "sitemaps"}
        settings.STORAGES = {**others, "default": {"BACKEND": backend, "OPTIONS": options}}

    return place


def test_rows_left_out_are_reported_with_their_reason() -> None:
    register("products", OneInvalidRow)
    rows = make_products(3)

    stdout, _, failure = run()

    assert "2 URLs on 1 page, 1 rendered, 1 row left out, 2 parts dropped" in stdout
    assert f"    row {rows[1].pk}, location: The URL is None" in stdout
    assert failure is None


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


def test_the_bar_can_be_forced_and_suppressed() -> None:
    register("products", Products)
    make_products(5)

    assert "page 1 of 1" in run("--progress")[1]
    assert run("--full", "--no-progress", stderr=Terminal())[1] == ""
