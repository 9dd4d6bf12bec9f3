"""The settings of the test run; ``DATABASE_URL`` chooses the database, SQLite in memory is the default."""

import environ

env = environ.Env()

SECRET_KEY = "only for tests"  # noqa: S105 - nothing is signed with it but test sessions
DEBUG = False
ALLOWED_HOSTS = ["*"]

DATABASES = {"default": env.db("DATABASE_URL", default="sqlite://:memory:")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sites",
    "django.contrib.flatpages",
    "sitemaps_plus",
    "testapp",
]
MIDDLEWARE = [
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
]
SITE_ID = 1
ROOT_URLCONF = "testapp.urls"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "Europe/Berlin"

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "sitemaps": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
