"""The state of the sections, and what is wrong, by the command."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from built import BuiltSet
from commands import run
from samples import Products, make_products
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.models import LEASE, Build, SitemapPage
from testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    """Fifteen products on two pages, built."""
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com", STRICT=False)
    register("products", Products)
    make_products(15)
    assert build().is_complete
    return found


def test_the_command_has_a_line_for_each_section(site: BuiltSet) -> None:
    stdout, _, failure = run("--status")

    assert failure is None
    assert stdout.startswith("example.com products: current, 15 URLs on 2 pages, built 20")


def test_a_section_that_nobody_has_requested_has_no_number_yet(site: BuiltSet) -> None:
    SitemapPage.objects.all().delete()
    Build.objects.all().delete()
    site.manifest.unlink()

    assert run("--status")[0] == "example.com products: live, not counted yet\n"


def test_files_are_an_error_after_the_tables_were_emptied(site: BuiltSet) -> None:
    SitemapPage.objects.all().delete()
    Build.objects.all().delete()

    stdout, _, failure = run("--status")

    assert failure is not None
    assert stdout.startswith("example.com products: never built, not counted yet\n")
    assert "Files are published that the database knows nothing of.\n    Build again." in stdout


def test_the_command_shows_problems_with_remedies_and_fails(site: BuiltSet) -> None:
    Product.objects.all().delete()
    build()

    stdout, _, failure = run("--status")

    assert (
        "example.com products: The section lost all of its 15 URLs.\n    If this is intended, publish it with" in stdout
    )
    assert failure is not None
    assert (failure.returncode, str(failure)) == (1, "1 error: see above, or the status page in the admin.")


def test_the_command_can_show_one_site(site: BuiltSet) -> None:
    site.use(ORIGIN={1: "https://example.com", 2: "https://example.org"})

    assert {line.split()[0] for line in run("--status", "--site", "2")[0].splitlines()} == {"example.org"}
    assert {line.split()[0] for line in run("--status", "--site", "example.com")[0].splitlines()} == {"example.com"}
    assert "There is no site 'other'" in str(run("--status", "--site", "other")[2])


def test_the_status_refuses_labels(site: BuiltSet) -> None:
    _, _, failure = run("--status", "products")

    assert failure is not None
    assert (failure.returncode, "cannot be combined with labels" in str(failure)) == (2, True)


@pytest.mark.parametrize(("seconds", "line"), [(0, "a build is running: process 7"), (100, "No sign of life for 10")])
def test_a_build_that_has_the_lease_is_running_or_silent(site: BuiltSet, seconds: int, line: str) -> None:
    now = timezone.now()
    expires_at = now + timedelta(seconds=LEASE - seconds)
    Build.objects.create(site=1, lease="site 1", holder="process 7", started_at=now, expires_at=expires_at)

    stdout, _, _ = run("--status", no_color=True)

    assert f"example.com: {line}" in stdout
    assert stdout.count("a build is running") == (seconds == 0)
