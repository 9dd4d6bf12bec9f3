"""The project that the benchmarks run in; BENCH_ROWS and DATABASE_URL choose its data."""

import os
from pathlib import Path

import environ

env = environ.Env()
ROWS = env.int("BENCH_ROWS", default=1_000_000)
VAR = Path(os.environ.get("BENCH_VAR", Path(__file__).parent / "var"))

SECRET_KEY = "only for benchmarks"  # noqa: S105 - nothing is signed with it
DEBUG = False
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{VAR / f'shop-{ROWS}.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["sitemaps_plus", "shop"]
ROOT_URLCONF = "shop.urls"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
USE_TZ = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": VAR / "files"}},
    "sitemaps": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": VAR / "sitemaps"}},
}
SITEMAPS_PLUS = {"ORIGIN": "https://shop.example"}
