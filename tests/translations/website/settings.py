"""A website whose pages are rows of their own in each language."""

from base_settings import *  # noqa: F403

INSTALLED_APPS = [
    "wagtail_localize",
    "wagtail_localize.locales",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.snippets",
    "wagtail.users",
    "wagtail.admin",
    "wagtail.search",
    "wagtail",
    "modelcluster",
    "taggit",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "sitemaps_plus",
    "website",
]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", *MIDDLEWARE]  # noqa: F405
ROOT_URLCONF = "website.urls"
STATIC_URL = "/static/"

WAGTAIL_I18N_ENABLED = True
WAGTAIL_CONTENT_LANGUAGES = LANGUAGES  # noqa: F405
WAGTAIL_SITE_NAME = "Website"
WAGTAILADMIN_BASE_URL = "https://example.com"
