"""A build that is started here runs in a process of its own, and says what came of it."""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.sites.models import Site

from databases import shared_database
from factories import ProductFactory
from samples import SITE
from sitemaps_plus.build import start
from sitemaps_plus.build.start import local
from sitemaps_plus.errors import BuildNotStarted
from sitemaps_plus.models import Build, SitemapPage
from testapp.models import Product

SITEMAPS = """
from sitemaps_plus import ModelSitemap, register
from testapp.models import Product

class Products(ModelSitemap):
    queryset = Product.objects.order_by("pk")

register("products", Products)
register("others", Products)
"""
SETTINGS = """
from testapp.settings import *

INSTALLED_APPS = [*INSTALLED_APPS, "listed"]
SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
STORAGES = {
    **STORAGES,
    "sitemaps": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": %r}},
}
"""


@pytest.fixture
def project(tmp_path, monkeypatch, settings):
    """A project on disk that lists products, with a database that another process sees."""
    app = tmp_path / "listed"
    app.mkdir()
    (app / "__init__.py").touch()
    (app / "sitemaps.py").write_text(SITEMAPS)
    (app / "settings.py").write_text(SETTINGS % str(tmp_path / "files"))
    monkeypatch.syspath_prepend(tmp_path)
    with shared_database(tmp_path, SitemapPage, Build, Product, Site, timeout=20) as address:
        monkeypatch.setenv("DATABASE_URL", address)
        monkeypatch.setattr(django_settings, "SETTINGS_MODULE", "listed.settings", raising=False)
        ProductFactory.bulk(3)
        yield tmp_path


def wait_for(found):
    for _ in range(300):
        if known := found():
            return known
        time.sleep(0.1)
    raise AssertionError("nothing came of it within 30 seconds")


def ended():
    return list(Build.objects.exclude(ended_at=None))


@pytest.mark.django_db(transaction=True)
def test_a_process_builds_what_was_asked_for_and_says_who_did(project):
    start.start(["products"], site=SITE, started_by="-ada (admin)")

    (build,) = wait_for(ended)

    assert (build.result, build.started_by, build.labels, build.urls) == ("done", "-ada (admin)", ["products"], 3)
    assert build.holder != f"process {os.getpid()}"
    assert (project / "files" / "example.com" / "sitemap-products-1.xml.gz").exists()


@pytest.mark.django_db(transaction=True)
def test_what_a_build_that_fails_wrote_is_logged_and_no_zombie_stays(project, caplog, monkeypatch):
    processes, popen = [], subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **given: processes.append(popen(*args, **given)) or processes[0]
    )
    (project / "listed" / "sitemaps.py").write_text("raise RuntimeError('nothing works today')")

    with caplog.at_level(logging.WARNING, "sitemaps_plus"):
        start.start([], site=SITE, started_by="ada (admin)")
        wait_for(lambda: caplog.records)

    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "ada (admin) started ended with status 1" in record.getMessage()
    assert "nothing works today" in record.getMessage()
    with pytest.raises(ChildProcessError):
        os.waitpid(processes[0].pid, os.WNOHANG)


def test_the_process_gets_the_options_and_none_of_the_signals(monkeypatch):
    calls = []

    class Popen:
        def __init__(self, command, **given):
            calls.append((command, given))

        def wait(self):
            return 0

    monkeypatch.setattr(subprocess, "Popen", Popen)

    start.start(["a", "b"], site=SITE, started_by="ada (admin)", full=True, warm_cache=True)
    start.start([], site=SITE, started_by="")

    (command, given), (bare, _) = calls
    assert command[:4] == [sys.executable, "-m", "django", "build_sitemaps"]
    assert command[4:9] == ["a", "b", "--site=1", "--full", "--warm-cache"]
    assert {"--if-locked=fail", "--started-by=ada (admin)"} <= set(command)
    assert bare[4] == "--site=1"
    assert not {"--full", "--warm-cache"} & set(bare)
    assert given["start_new_session"] is True
    assert given["env"]["DJANGO_SETTINGS_MODULE"] == "testapp.settings"
    assert str(Path(__file__).parents[2]) in given["env"]["PYTHONPATH"].split(os.pathsep)


def test_a_system_that_starts_no_process_is_an_error_that_says_what_to_do(monkeypatch):
    def refuse(*args, **given):
        raise OSError("Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)

    with pytest.raises(BuildNotStarted, match=r"Resource temporarily unavailable.*from cron"):
        start.start([], site=SITE, started_by="")


def test_settings_that_another_process_cannot_have_are_an_error(monkeypatch):
    monkeypatch.setattr(django_settings, "SETTINGS_MODULE", "", raising=False)
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)

    with pytest.raises(BuildNotStarted, match=r"settings\.configure"):
        start.start([], site=SITE, started_by="")


def test_inside_another_program_the_interpreter_of_the_installation_is_used(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").touch()
    monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert local._python() == str(tmp_path / "bin" / "python3")

    (tmp_path / "bin" / "python3").unlink()
    with pytest.raises(BuildNotStarted, match="No Python interpreter"):
        local._python()
