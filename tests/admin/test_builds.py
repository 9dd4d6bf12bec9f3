"""The list of builds in the admin."""

import pytest
from django.utils import timezone

from admin_pages import HISTORY, Broken, page, running, words
from sitemaps_plus import register
from sitemaps_plus.build import build
from sitemaps_plus.models import Build

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def test_the_history_is_read_only(boss):
    register("rows", Broken)
    build(started_by="ada (admin)")
    (known,) = Build.objects.all()

    assert "ada (admin)" in page(boss, HISTORY)
    text = words(page(boss, f"{HISTORY}{known.pk}/change/"))
    assert "URLs: 25, pages: 3, rendered: 3, rows left out: 0" in text
    assert "example.com" in text
    assert 'name="_save"' not in page(boss, f"{HISTORY}{known.pk}/change/")
    assert boss.post(f"{HISTORY}{known.pk}/change/", {"holder": "me"}).status_code == 403
    assert boss.post(f"{HISTORY}{known.pk}/delete/", {"post": "yes"}).status_code == 403
    assert boss.get(f"{HISTORY}add/").status_code == 403
    assert f"{HISTORY}{known.pk}/change/" in page(boss)


def test_a_failed_build_is_explained_in_the_history(boss):
    known = running(lease=None, result="failed", ended_at=timezone.now(), errors=["index: <b>no room</b>"])
    known.sections = [{"label": "products", "site": "example.com", "error": "SitemapError: held"}]
    known.labels = ["products"]
    known.save()

    text = page(boss, f"{HISTORY}{known.pk}/change/")

    assert "index: &lt;b&gt;no room&lt;/b&gt;" in text
    assert "SitemapError: held" in text
