"""What the three projects have in common."""

SECRET_KEY = "only for tests"  # noqa: S105 - nothing is signed with it
ALLOWED_HOSTS = ["*"]

DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware", "django.middleware.common.CommonMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "sitemaps": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

USE_TZ = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Brazilian Portuguese"), ("es-419", "Spanish of America")]

SITEMAPS_PLUS = {"ORIGIN": "https://example.com", "HREFLANG": {"es-419": "es"}}
# A row that is left out where the tests expect silence is an error.
SITEMAPS_PLUS |= {"CHECK_EVERY": 0, "STRICT": True}
