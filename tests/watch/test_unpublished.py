"""A section that its last build did not publish: the command, JSON, the list of builds and the admin say the same."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from admin_pages import HISTORY, SECTION, STATUS, page, words
from built import BuiltSet
from samples import Products, nth, replace_section
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.models import Build
from sitemaps_plus.stores.staging import Staging
from testapp.models import Product
from watched import section

pytestmark = pytest.mark.django_db(transaction=True)


def fail_at_a_row() -> None:
    replace_section("products", type("Strict", (Products,), {"location": F("name")}))
    build(strict=True)


def fail_at_the_rows() -> None:
    def items(_self: Any) -> Any:
        raise RuntimeError("no rows today")

    replace_section("products", type("Broken", (Products,), {"items": items}))
    build()


def lose_rows() -> None:
    Product.objects.filter(pk__gt=nth(3).get().pk).delete()
    build()


FAILURES: dict[str, tuple[Callable[[], None], str]] = {
    "a row": (fail_at_a_row, "failed"),
    "the rows": (fail_at_the_rows, "failed"),
    "lost rows": (lose_rows, "held back"),
}


def command(**options: Any) -> str:
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("build_sitemaps", stdout=out, no_color=True, **options)
    return out.getvalue()


@pytest.fixture
def published(site: BuiltSet) -> BuiltSet:
    nth(25).update(slug="")
    assert build(strict=False).is_complete
    return site


@pytest.mark.parametrize("failure", FAILURES)
def test_all_reports_say_that_it_was_not_published_and_count_what_is_published(
    published: BuiltSet, settings: Any, admin_client: Any, failure: str
) -> None:
    settings.ROOT_URLCONF = "testapp.urls_admin"
    cause, state = FAILURES[failure]
    cause()

    found = section()
    (told,) = json.loads(command(status=True, json=True))["sites"]
    last = Build.objects.latest("pk")
    of_section = words(page(admin_client, SECTION))
    of_build = words(page(admin_client, f"{HISTORY}{last.pk}/change/"))

    counts = {"urls": 24, "pages": 3, "left_out": 1}
    date = f"{found.built_at:%Y-%m-%d %H:%M} UTC"
    line = f"example.com products: {state}, last good files of {date} are published, 24 URLs on 3 pages\n"
    assert line in command(status=True)
    assert {name: told["sections"][0][name] for name in counts} == counts
    assert (told["sections"][0]["state"], told["urls"], told["last_build"]["urls"]) == (state, 24, 24)
    assert {name: getattr(last, name) for name in counts} == counts
    assert f"products : {state}: " in of_build
    assert "Published: URLs: 24, pages: 3, rows left out: 1" in of_build
    assert f"State {state} last good files: " in of_section
    assert "URLs 24 " in of_section
    assert "24 URLs in 1 section." in words(page(admin_client, STATUS))


def test_a_section_that_never_was_published_says_so(site: BuiltSet) -> None:
    fail_at_a_row()

    assert "example.com products: failed, nothing is published\n" in command(status=True)
    assert (section().urls, section().pages) == (0, 0)


def test_a_build_reports_the_totals_that_the_list_of_builds_has(published: BuiltSet) -> None:
    register("more", type("More", (Products,), {"queryset": nth(1)}))
    replace_section("products", type("Strict", (Products,), {"location": F("name")}))

    text = command(strict=True)

    last = Build.objects.latest("pk")
    assert "example.com products: failed, the last good files are published, 24 URLs on 3 pages" in text
    assert "\n25 URLs on 4 pages: " in text
    assert (last.urls, last.pages, last.left_out) == (25, 4, 1)


def test_a_stopped_section_has_the_state_of_its_pages(published: BuiltSet, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []
    monkeypatch.setattr(Staging, "write", lambda *_args: stopped.append(True))

    assert build(full=True, is_stopped=lambda: bool(stopped)).is_stopped

    assert section().outcome["stopped"] is True
    assert section().currency == "current"


def test_the_next_build_that_publishes_ends_it(published: BuiltSet) -> None:
    lose_rows()

    assert build(allow_shrink=True).is_complete

    assert (section().currency, section().urls) == ("current", 3)
