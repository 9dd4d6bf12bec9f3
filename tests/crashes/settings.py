"""The settings of the tests with an app that registers sections, two sites, and files in a folder."""

from testapp.settings import *  # noqa: F403
from testapp.settings import DATABASES, INSTALLED_APPS, STORAGES, env

INSTALLED_APPS = [*INSTALLED_APPS, "crashes"]
MEDIA_URL = "/media/"
SITEMAPS_PLUS = {
    "ORIGIN": {1: "https://example.com", 2: "https://example.org"},
    "FORMATS": ["xml.gz", "txt.gz"],
    # Long beside a crawler's way from the index to its pages, short beside the tests.
    "GRACE_PERIOD": 2,
    # Rows go during many builds of which none is completed.
    "MAX_SHRINK": 1,
    "STAGING": env("CRASHES_STAGING"),
}
STORAGES = {
    **STORAGES,
    "sitemaps": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": env("CRASHES_FILES")},
    },
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # The machine does not go down with the process; and who waits for a lock gives up soon.
    DATABASES["default"]["OPTIONS"] = {"init_command": "PRAGMA synchronous=OFF", "timeout": 0.2}
