"""The settings of the tests with an app that registers sections, two sites, and files in a folder."""

import signal

from testapp.settings import *  # noqa: F403
from testapp.settings import INSTALLED_APPS, STORAGES, env

INSTALLED_APPS = [*INSTALLED_APPS, "crew"]
SITEMAPS_PLUS = {"ORIGIN": {1: "https://example.com", 2: "https://example.org"}}
STORAGES = {
    **STORAGES,
    "sitemaps": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": env("CREW_FILES")},
    },
}

# A shell that runs the tests in the background lets them, and what they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
