"""A shop with a column for each language."""

from base_settings import *  # noqa: F403

INSTALLED_APPS = [
    "modeltranslation",
    "django.contrib.contenttypes",
    "django.contrib.sites",
    "sitemaps_plus",
    "shop",
]
ROOT_URLCONF = "shop.urls"
SITE_ID = 1
