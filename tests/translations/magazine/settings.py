"""A magazine with a row for each language in a table beside each."""

from base_settings import *  # noqa: F403

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "parler",
    "sitemaps_plus",
    "magazine",
]
ROOT_URLCONF = "magazine.urls"
PARLER_LANGUAGES = {None: [{"code": code} for code, _ in LANGUAGES], "default": {"hide_untranslated": True}}  # noqa: F405
