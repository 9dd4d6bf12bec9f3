"""The settings of the tests with an app that registers a section, and the cache that the test names."""

from testapp.settings import *  # noqa: F403
from testapp.settings import DATABASES, INSTALLED_APPS, env

INSTALLED_APPS = [*INSTALLED_APPS, "crawls"]
MIDDLEWARE = []
ROOT_URLCONF = "sitemaps_plus.urls"
CACHES = {"default": env.json("CRAWLS_CACHE")}
SITEMAPS_PLUS = {
    "ORIGIN": "https://example.com",
    "CRAWLER_VISITS": False,
    "CHECK_EVERY": env.float("CRAWLS_CHECK_EVERY"),
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {"init_command": "PRAGMA synchronous=OFF", "timeout": 20}
