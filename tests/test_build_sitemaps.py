import io
import json
from typing import Any

import pytest
from django.core.files.storage import storages
from django.core.management import CommandError, call_command
from django.db.models import F

from samples import make_products
from sitemaps_plus import ModelSitemap, register, registry
from sitemaps_plus.build import BuildResult
from sitemaps_plus.models import SitemapPage
from testapp.models import Product

pytestmark = pytest.mark.django_db


class Products(ModelSitemap):
    queryset = Product.objects.all()
    lastmod = F("updated_at")
    limit = 10
    fill = 1.0


class Broken(Products):
    def get_queryset(self) -> Any:
        raise RuntimeError("the rows cannot be read")


class OneBad(Products):
    def location(self, item: Product) -> str | None:
        return None if item.slug == "product-2" else f"/{item.slug}/"

    lastmod = "yesterday"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_sitemaps", {})


def run(*args: str, stderr: io.StringIO | None = None, **options: Any) -> tuple[str, str, CommandError | None]:
    """Return what the command writes to both outputs, and how it failed."""
    stdout, stderr, failure = io.StringIO(), stderr or io.StringIO(), None
    try:
        call_command("build_sitemaps", *args, stdout=stdout, stderr=stderr, **options)
    except CommandError as error:
        failure = error
    return stdout.getvalue(), stderr.getvalue(), failure


def published() -> list[str]:
    return sorted(storages["sitemaps"].listdir("example.com")[1])


def test_it_builds_everything_and_says_what_and_where() -> None:
    register("products", Products)
    make_products(25)

    stdout, stderr, failure = run()

    first, index, total = stdout.splitlines()
    assert first == "example.com products: 25 URLs on 3 pages"
    assert index == "Index: example.com/sitemap.xml"
    assert total.startswith("25 URLs on 3 pages, ")
    assert total.endswith(" s, 0 rows left out")
    assert (stderr, failure) == ("", None)
    assert len(published()) == 7


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


def test_without_an_origin_it_says_what_to_set(settings: Any) -> None:
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
    assert "the last good files stay" in str(failure)
    assert "example.com broken: RuntimeError: the rows cannot be read" in str(failure)
    assert "example.com broken: failed" in stdout
    assert "example.com products: 5 URLs on 1 page" in stdout
    assert "sitemap-products-1.xml.gz" in published()


def test_rows_left_out_are_told_with_their_reason() -> None:
    register("products", OneBad)
    rows = make_products(3)

    stdout, _, failure = run()

    assert "2 URLs on 1 page, 1 row left out, 2 parts dropped" in stdout
    assert f"    location of {rows[1].pk}: The URL is None" in stdout
    assert failure is None


def test_strict_fails_the_section_instead(settings: Any) -> None:
    register("products", OneBad)
    make_products(3)

    _, _, failure = run("--strict")

    assert failure is not None
    assert "StrictError" in str(failure)

    settings.SITEMAPS_PLUS = {"STRICT": True}
    assert run()[2] is not None


def test_json_is_one_object_for_programs() -> None:
    register("broken", Broken)
    register("products", OneBad)
    rows = make_products(3)

    stdout, stderr, failure = run("--json")

    report = json.loads(stdout)
    assert report.pop("seconds") >= 0
    broken, products = report.pop("sections")
    assert report == {"complete": False, "indexes": ["example.com/sitemap.xml"], "errors": []}
    assert broken["error"] == "RuntimeError: the rows cannot be read"
    assert {name: products[name] for name in products if name not in ("bytes", "problems")} == {
        "site": "example.com",
        "label": "products",
        "pages": 1,
        "urls": 2,
        "left_out": 1,
        "dropped": 2,
        "warnings": 0,
        "error": None,
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


def test_repack_cuts_the_pages_anew() -> None:
    register("products", Products)
    make_products(15)
    run()

    run("--repack")

    assert list(SitemapPage.objects.filter(retired_at=None).values_list("number", flat=True)) == [3, 4]


@pytest.mark.parametrize("text", ["some", "-1", "1.5", ""])
def test_a_wrong_number_of_workers_is_an_error_that_says_what_to_give(text: str) -> None:
    _, _, failure = run(f"--workers={text}")

    assert failure is not None
    assert failure.returncode == 1
    assert f"{text!r} is no number of processes: give 1 or more" in str(failure)


@pytest.mark.parametrize(("text", "given"), [("auto", 0), ("0", 0), ("1", 1), ("12", 12)])
def test_workers_are_handed_to_the_build(text: str, given: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        "sitemaps_plus.management.commands.build_sitemaps.build",
        lambda labels, **how: (seen.append(how["workers"]), BuildResult())[1],
    )

    run("--workers", text)

    assert seen == [given]


def test_a_terminal_shows_how_far_it_is() -> None:
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
def test_no_bar_where_nobody_wants_one(options: dict[str, Any]) -> None:
    register("products", Products)
    make_products(5)

    stdout, stderr, _ = run(stderr=Terminal(), **options)

    assert stderr == ""
    assert bool(stdout) is ("json" in options)


def test_a_pipe_gets_the_report_alone() -> None:
    register("products", Products)
    make_products(5)

    stdout, stderr, _ = run()

    assert stderr == ""
    assert "\r" not in stdout
    assert "\x1b" not in stdout
