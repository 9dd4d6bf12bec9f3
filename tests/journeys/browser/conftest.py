"""A browser, a live server with the bookshop, and users of its admin.

These tests need the settings of the bookshop; [testenv:browser] in tox.ini has the command.
"""

import os
import shutil
import subprocess
import tarfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone

from sitemaps_plus.build import build

IS_ASKED_FOR = os.environ.get("DJANGO_SETTINGS_MODULE") == "bookshop.settings"
collect_ignore_glob = [] if IS_ASKED_FOR else ["test_*.py"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NPM = shutil.which("npm")
STATUS = "/admin/sitemaps_plus/sitemappage/"
WIDE = {"width": 1280, "height": 800}

if IS_ASKED_FOR:
    # Playwright keeps an event loop in the thread of the tests, which waits during their queries.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def _need(tool, name):
    """Leave a test out that needs a missing program; on CI, fail."""
    if tool is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"there is no {name}")
    return tool


@pytest.fixture(scope="session")
def browser_type_launch_args():
    # As root, as in a container, Chromium has no sandbox.
    return {"executable_path": _need(CHROMIUM, "chromium"), "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def base_url():
    """Replace the fixture of pytest-base-url, about which pytest warns."""


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory):
    """Put the database into a file, which builds in other processes find by its path."""
    file = tmp_path_factory.mktemp("bookshop") / "database.sqlite3"
    connection.settings_dict["TEST"]["NAME"] = str(file)
    os.environ["DATABASE_URL"] = f"sqlite:///{file}"


@pytest.fixture
def folder(tmp_path, monkeypatch, settings):
    """The folder for the built files of this process and of the builds that it starts."""
    monkeypatch.setenv("BOOKSHOP_FOLDER", str(tmp_path))
    files = {**settings.STORAGES["sitemaps"], "OPTIONS": {"location": str(tmp_path / "sitemaps")}}
    settings.STORAGES = {**settings.STORAGES, "sitemaps": files}
    return tmp_path


@pytest.fixture
def shop(transactional_db, folder):
    """A shop with books, authors and readings, not built yet."""
    from bookshop.models import Author, Book, Event

    cache.clear()
    changed_at = timezone.now() - timedelta(hours=3)
    for model, count in ((Book, 1_862), (Author, 412), (Event, 46)):
        name = model._meta.model_name
        model.objects.bulk_create(
            model(name=f"{name.title()} {number}", path=f"/{name}s/{number}/", changed_at=changed_at)
            for number in range(1, count + 1)
        )
    return folder


@pytest.fixture
def built(shop):
    """The same shop, built."""
    build()
    return shop


@pytest.fixture
def boss(transactional_db):
    return User.objects.create_superuser("ada", password="letmein")  # noqa: S106 - only for these tests


@pytest.fixture
def reader(transactional_db):
    """A user who may view the status but not build."""
    made = User.objects.create_user("bob", is_staff=True)
    made.user_permissions.add(Permission.objects.get(codename="view_sitemappage"))
    return made


@pytest.fixture
def opened(new_context, live_server):
    """Open a page of the admin as a user, in a window of some kind; an error in its console fails the test."""
    complaints = []

    def open_page(user=None, path=STATUS, **window):
        context = new_context(**{"viewport": WIDE, "base_url": live_server.url, **window})
        context.set_default_timeout(15_000)
        if user:
            client = Client()
            client.force_login(user)
            value = client.cookies[django_settings.SESSION_COOKIE_NAME].value
            name = django_settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": value, "url": live_server.url}])
        page = context.new_page()
        # Violations of the policy are reported here, too.
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        return page

    yield open_page
    assert complaints == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The program of axe-core that finds accessibility problems, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    command = [_need(NPM, "npm"), "pack", "--silent", "axe-core@4"]
    packed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    if packed.returncode:
        _need(None, f"axe-core: {packed.stderr.strip()}")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as files:
        files.extract("package/axe.min.js", folder, filter="data")
    return (folder / "package" / "axe.min.js").read_text()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory):
    """The folder for pictures for the documentation; SCREENSHOTS names it."""
    given = os.environ.get("SCREENSHOTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
