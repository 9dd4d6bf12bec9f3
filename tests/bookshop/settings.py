"""An admin under a strict policy; a database and built files on disk, which builds in other processes share."""

from pathlib import Path

import environ

env = environ.Env()

SECRET_KEY = "only for tests"  # noqa: S105 - nothing is signed with it but test sessions
DEBUG = False
ALLOWED_HOSTS = ["*"]

DATABASES = {
    "default": {
        **env.db("DATABASE_URL", default="sqlite://:memory:"),
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF",
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "sitemaps_plus",
    "bookshop",
]
MIDDLEWARE = [
    "bookshop.middleware.strict_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "bookshop.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "/static/"
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
# Passwords here protect nothing, and a slow hash costs each test.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
FOLDER = Path(env("BOOKSHOP_FOLDER", default="/nonexistent"))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "sitemaps": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(FOLDER / "sitemaps")},
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
SITEMAPS_PLUS = {"ORIGIN": "https://books.example"}
