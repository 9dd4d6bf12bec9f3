"""The settings of the tests with an app that registers a section, and documents in Redis."""

from testapp.settings import *  # noqa: F403
from testapp.settings import INSTALLED_APPS, env

INSTALLED_APPS = [*INSTALLED_APPS, "rush"]
ROOT_URLCONF = "sitemaps_plus.urls"
SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": env("RUSH_REDIS", default=""),
        # Without them a server that hangs holds each request until it goes on.
        "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
    }
}
