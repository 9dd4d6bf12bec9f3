"""Builds that are started in the admin."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.utils import timezone

from admin_pages import SECTION, STATUS, client_of, page, running, user
from sitemaps_plus.build import start
from sitemaps_plus.errors import BuildNotStarted

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


def test_a_user_who_may_build_gets_buttons_that_start_builds(started):
    client = client_of(user("view_sitemappage", "build_sitemappage"))
    assert "Build what changed" in page(client)

    response = client.post(f"{STATUS}build/", {"site": 1})

    assert response.headers["Location"] == STATUS
    ((labels, given),) = started
    assert (labels, given["site"].domain, given["started_by"]) == ([], "example.com", "user0 (admin)")
    assert not given["full"]
    assert "A build of example.com was started." in page(client)
    (entry,) = LogEntry.objects.all()
    assert (entry.user.username, entry.object_repr) == ("user0", "example.com")
    assert "was started" in entry.change_message


def test_one_section_is_built_from_its_page(boss, started):
    assert "Build this section" in page(boss, SECTION)

    response = boss.post(f"{STATUS}build/", {"site": 1, "label": "products", "full": "1", "from": "section"})

    assert response.headers["Location"] == SECTION
    ((labels, given),) = started
    assert (labels, given["full"]) == (["products"], True)
    assert "A build of every page of products of example.com was started." in page(boss, SECTION)


def test_the_cache_is_filled_only_if_processes_share_it(boss, started, monkeypatch):
    boss.post(f"{STATUS}warm/", {"site": 1})
    assert started == []
    assert "Set CACHE to one that all processes share" in page(boss)

    monkeypatch.setattr("sitemaps_plus.admin.status_page.is_for_one_process", lambda: False)
    boss.post(f"{STATUS}warm/", {"site": 1})

    ((labels, given),) = started
    assert (labels, given["warm_cache"]) == ([], True)


@pytest.mark.parametrize("given", [{"site": 7}, {"site": ""}, {}, {"site": 1, "label": "others"}])
def test_unknown_sites_and_sections_are_not_built(boss, started, given):
    assert boss.post(f"{STATUS}build/", given).status_code == 404
    assert started == []


@pytest.mark.parametrize("name", ["build", "warm"])
def test_neither_a_link_nor_a_forged_form_starts_a_build(boss, started, name):
    assert boss.get(f"{STATUS}{name}/").status_code == 405
    forged = client_of(User.objects.get(), enforce_csrf_checks=True)
    assert forged.post(f"{STATUS}{name}/", {"site": 1}).status_code == 403
    assert started == []


def test_each_form_has_a_csrf_token(started):
    client = client_of(User.objects.create_superuser("boss"), enforce_csrf_checks=True)
    for address in (STATUS, SECTION):
        forms = re.findall(r'<form method="post".*?</form>', page(client, address).partition("<main")[2], re.DOTALL)
        assert forms
        assert all("csrfmiddlewaretoken" in form for form in forms)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', forms[0])[1]

    client.post(f"{STATUS}build/", {"site": 1, "csrfmiddlewaretoken": token})

    assert len(started) == 1


def test_the_reason_why_a_build_cannot_start_is_shown(boss, monkeypatch):
    def refuse(*args, **given):
        raise BuildNotStarted("The system is out of processes.")

    monkeypatch.setattr(start, "start", refuse)

    boss.post(f"{STATUS}build/", {"site": 1})

    assert "The system is out of processes." in page(boss)
    assert not LogEntry.objects.exists()


def test_a_started_build_is_awaited_and_reported_if_it_does_not_begin(boss, started, clock):
    boss.post(f"{STATUS}build/", {"site": 1})
    text = page(boss)
    assert "A build is starting." in text
    assert "Build what changed" not in text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in text

    clock.pass_(minutes=2)

    assert "The build that you started has not begun." in page(boss)
    assert "has not begun" not in page(boss)


def test_a_started_build_that_has_ended_is_not_awaited(boss, started):
    boss.post(f"{STATUS}build/", {"site": 1})
    # Somebody else's, that was faster.
    running(lease=None, ended_at=timezone.now(), result="done", started_by="ada (admin)")
    assert "is starting" in page(boss)
    running(lease=None, ended_at=timezone.now(), result="done", started_by="boss (admin)")

    text = page(boss)

    assert "is starting" not in text
    assert "Build what changed" in text


def test_no_second_build_is_started_while_one_is_running(boss, started):
    running()

    boss.post(f"{STATUS}build/", {"site": 1})

    assert started == []
    assert "Another build of example.com is running: process 7 on far." in page(boss)
