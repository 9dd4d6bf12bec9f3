"""The project whose responses are measured: that of ``startproject``, with both packages installed."""

from settings import *  # noqa: F403
from settings import HOST, env

ALIAS = env.str("BENCH_CACHE", default="locmem")
"""The cache for the pages of this project: ``locmem`` or ``redis``."""
REDIS_URL = env.str("REDIS_URL", default="redis://127.0.0.1:6379/0")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    # Before this package, so that its own template is used.
    "django.contrib.sitemaps",
    "sitemaps_plus",
    "shop",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "shop.urls_serving"

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "locmem": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "plus"},
    "contrib": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "contrib"},
    "redis": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        # Different in each run, so that no run uses keys of an earlier one.
        "KEY_PREFIX": env.str("BENCH_PREFIX", default="sitemaps-bench"),
    },
}

# Cached pages are never checked: run.py measures the cost of a check.
SITEMAPS_PLUS = {"ORIGIN": f"https://{HOST}", "CHECK_EVERY": 86_400, "CACHE": ALIAS}
