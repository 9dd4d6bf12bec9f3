"""The project whose responses are measured: that of ``startproject``, with both packages installed."""

from settings import *  # noqa: F403
from settings import HOST, env

ALIAS = env.str("BENCH_CACHE", default="locmem")
"""The cache for the pages of this project: one of ``CACHES``."""
REDIS_URL = env.str("REDIS_URL", default="redis://127.0.0.1:6379/0")
MEMCACHED = env.str("MEMCACHED", default="127.0.0.1:11211")

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

# Different in each run, so that no run uses keys of an earlier one.
OWN = {"KEY_PREFIX": env.str("BENCH_PREFIX", default="sitemaps-bench")}
READ = {"socket_read_size": 1_048_576}
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "locmem": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "plus"},
    "contrib": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "contrib"},
    # Both with the options of docs/how-to/caching.md.
    "redis": {**OWN, "BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL, "OPTIONS": READ},
    "django-redis": {
        **OWN,
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "VERSION": 2,
        "OPTIONS": {"CONNECTION_POOL_KWARGS": READ},
    },
    "memcached": {
        **OWN,
        "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
        "LOCATION": MEMCACHED,
    },
}

# Cached pages are never checked: run.py measures the cost of a check.
SITEMAPS_PLUS = {"ORIGIN": f"https://{HOST}", "CHECK_EVERY": 86_400, "CACHE": ALIAS}
