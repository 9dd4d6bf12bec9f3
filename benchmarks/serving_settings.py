"""The project whose answers are measured: that of ``startproject``, with both packages beside each other."""

from settings import *  # noqa: F403
from settings import HOST, env

ALIAS = env.str("BENCH_CACHE", default="locmem")
"""The cache that keeps the pages of this project: ``locmem redis``."""
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
        # Of one run: what an earlier one kept is none of this one's.
        "KEY_PREFIX": env.str("BENCH_PREFIX", default="sitemaps-bench"),
    },
}

# What is kept holds: what a check costs is measured by run.py.
SITEMAPS_PLUS = {"ORIGIN": f"https://{HOST}", "CHECK_EVERY": 86_400, "CACHE": ALIAS}
