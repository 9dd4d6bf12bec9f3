"""The state for monitors: the health view and its access rules."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.test import Client, RequestFactory

from built import BuiltSet
from commands import run
from samples import Products, make_products
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.views import health
from testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "a-secret-of-24-characters"  # noqa: S105 - only for these tests
URL = "/sitemap-health.json"


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> BuiltSet:
    found = BuiltSet(settings, tmp_path)
    found.use(ORIGIN="https://example.com", HEALTH_TOKEN=TOKEN, STRICT=False)
    register("products", Products)
    make_products(15)
    assert build().is_complete
    return found


def lose_all_rows() -> None:
    Product.objects.all().delete()
    build()


@pytest.mark.parametrize("how", ["header", "query"])
def test_a_client_with_the_token_gets_the_state(site: BuiltSet, how: str) -> None:
    options = (
        {"headers": {"Authorization": f"Bearer {TOKEN}"}} if how == "header" else {"query_params": {"token": TOKEN}}
    )

    response = Client().get(URL, **options)  # type: ignore[arg-type]

    assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
    assert response.json()["sites"][0]["sections"][0]["urls"] == 15


def test_an_error_is_not_status_200(site: BuiltSet) -> None:
    lose_all_rows()

    response = Client().get(URL, headers={"Authorization": f"bearer {TOKEN}"})

    assert response.status_code == 503
    assert response.json()["healthy"] is False


@pytest.mark.parametrize("token", ["", "other", TOKEN[:-1], TOKEN + "x", "\u00e4"])
def test_the_view_does_not_exist_for_others(site: BuiltSet, token: str) -> None:
    response = Client().get(URL, query_params={"token": token})

    assert (response.status_code, response.content) == (404, b"Not Found\n")


def test_an_empty_token_is_not_accepted(site: BuiltSet) -> None:
    site.use(HEALTH_TOKEN="")

    assert Client().get(URL, headers={"Authorization": "Bearer "}).status_code == 404
    assert Client().get(URL).status_code == 404


@pytest.mark.parametrize("may_see", [True, False])
def test_a_user_who_may_see_the_status_needs_no_token(site: BuiltSet, may_see: bool) -> None:
    user = User.objects.create_user("anna")
    if may_see:
        user.user_permissions.add(Permission.objects.get(codename="view_sitemappage"))
    request = RequestFactory().get(URL)
    request.user = User.objects.get(pk=user.pk)

    assert health(request).status_code == (200 if may_see else 404)
    request.user = AnonymousUser()
    assert health(request).status_code == 404


def test_only_reading_is_allowed(site: BuiltSet) -> None:
    assert Client().post(URL, query_params={"token": TOKEN}).status_code == 405


def test_the_command_and_the_view_give_the_same_json(site: BuiltSet) -> None:
    stdout, _, _ = run("--status", "--json")

    assert json.loads(stdout) == Client().get(URL, query_params={"token": TOKEN}).json()
