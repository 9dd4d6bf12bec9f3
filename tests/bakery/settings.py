"""What ``startproject`` writes, as far as the tests need it: no CACHES, no STORAGES, nothing for tests."""

import os

SECRET_KEY = "only for tests"  # noqa: S105 - nothing is signed with it
DEBUG = True
ALLOWED_HOSTS = []
ROOT_URLCONF = "bakery.urls"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "sitemaps_plus", "bakery"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "bakery.sqlite3"}}
STATIC_URL = "static/"
USE_TZ = True

SITEMAPS_PLUS = {}
if os.environ["BAKERY_SITE"] == "origin":
    SITEMAPS_PLUS = {"ORIGIN": "https://bakery.example"}
elif os.environ["BAKERY_SITE"] == "sites":
    INSTALLED_APPS += ["django.contrib.sites"]
    SITE_ID = 1
