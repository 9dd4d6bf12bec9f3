"""The project for each measurement: the same shop, with one of the packages installed."""

from pathlib import Path

import environ

env = environ.Env()
SIDE = env.str("BENCH_SIDE", default="plus")
"""The package of this project: ``plus``, ``contrib`` or ``icv``; the others are not installed in it."""
ROWS = env.int("BENCH_ROWS", default=10_000)
DATABASE = env.str("BENCH_DATABASE", default="sqlite")
VAR = Path(env.str("BENCH_VAR", default=str(Path(__file__).parent / "var")))
HOST = "shop.example"

SECRET_KEY = "only for benchmarks"  # noqa: S105 - nothing is signed with it
ALLOWED_HOSTS = ["*"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
USE_TZ = True
TIME_ZONE = "UTC"  # Django writes the day that it is here, the others that in UTC.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French"), ("pt-br", "Brazilian Portuguese")]

INSTALLED_APPS = {
    "plus": ["sitemaps_plus", "shop"],
    "contrib": ["django.contrib.sitemaps", "shop"],
    "icv": ["django.contrib.contenttypes", "django.contrib.auth", "icv_sitemaps", "shop", "icv"],
}[SIDE]
ROOT_URLCONF = {"plus": "shop.urls_plus", "contrib": "shop.urls_contrib", "icv": "shop.urls"}[SIDE]

if DATABASE == "postgres":
    database = env.db_url("POSTGRES_URL", default="postgres://postgres@127.0.0.1:5432/postgres")
    database["NAME"] = f"sitemaps_bench_{ROWS}"
    # The CPU of parallel workers cannot be counted, so each connection uses one server process.
    database["OPTIONS"] = {"options": "-c max_parallel_workers_per_gather=0"}
else:
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": VAR / f"shop-{ROWS}.sqlite3"}
# One connection for a whole task, so that its server process can be measured.
DATABASES = {"default": {**database, "CONN_MAX_AGE": None}}

FILES = VAR / f"{DATABASE}-{ROWS}"
FOLDERS = {"default": FILES / "others", "sitemaps": FILES / "plus"}
STORAGES = {
    alias: {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": folder}}
    for alias, folder in FOLDERS.items()
}

# Plans do not expire during a run; tasks decide whether they measure with or without a check of the plan.
SITEMAPS_PLUS = {"ORIGIN": f"https://{HOST}", "CHECK_EVERY": 86_400}
ICV_SITEMAPS_BASE_URL = f"https://{HOST}"
