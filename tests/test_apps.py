import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

PROJECT = {
    "settings.py": """
        SECRET_KEY = "x"
        INSTALLED_APPS = [{app!r}, "shop", "empty"]
        ROOT_URLCONF = "urls"
        USE_TZ = True
        DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
        DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}}
        SITEMAPS_PLUS = {{"ORIGIN": "https://example.com"}}
    """,
    "urls.py": """
        from django.urls import include, path
        urlpatterns = [
            path("", include("sitemaps_plus.urls")),
            path("products/<slug:slug>/", lambda request, slug: None, name="product-detail"),
        ]
    """,
    "shop/__init__.py": "",
    "shop/models.py": """
        from django.db import models

        class Product(models.Model):
            slug = models.SlugField(unique=True)
            updated_at = models.DateTimeField(db_index=True)
            is_active = models.BooleanField(default=True)
    """,
    "shop/sitemaps.py": """
        from django.db.models import F
        from sitemaps_plus import ModelSitemap, UrlFor, register
        from shop.models import Product

        @register("products")
        class ProductSitemap(ModelSitemap):
            queryset = Product.objects.filter(is_active=True)
            location = UrlFor("product-detail", slug=F("slug"))
            lastmod = F("updated_at")
            changefreq = "weekly"
    """,
    "empty/__init__.py": "",
}
SHOW = "import django; django.setup(); from sitemaps_plus import registry; print(*registry)"


@pytest.fixture
def project(tmp_path):
    """Return what runs Python code in a project of its own."""

    def run(code, app="sitemaps_plus", **files):
        for name, text in {**PROJECT, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(dedent(text).format(app=app) if name == "settings.py" else dedent(text))
        search = [str(tmp_path), *(entry or str(Path.cwd()) for entry in sys.path)]
        environment = {"DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": ":".join(search)}
        command = [sys.executable, "-W", "error", "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)

    return run


def test_the_sitemaps_module_of_each_app_is_found_at_start_up(project):
    run = project(SHOW)

    assert (run.stderr, run.stdout) == ("", "products\n")


def test_with_the_simple_configuration_nothing_is_imported(project):
    run = project(SHOW, app="sitemaps_plus.apps.SimpleSitemapsPlusConfig")

    assert (run.stderr, run.stdout) == ("", "\n")


def test_an_error_in_a_sitemaps_module_is_not_hidden(project):
    run = project(SHOW, **{"shop/sitemaps.py": "import nothing_of_this_name\n"})

    assert run.returncode == 1
    assert "No module named 'nothing_of_this_name'" in run.stderr


@pytest.mark.parametrize("app", ["sitemaps_plus", "sitemaps_plus.apps.SimpleSitemapsPlusConfig"])
def test_both_configurations_register_the_checks(project, app):
    run = project(
        "import django; django.setup(); from django.core.management import call_command; call_command('check')",
        app=app,
        **{"settings.py": PROJECT["settings.py"].replace("ORIGIN", "ORIGNI")},
    )

    assert "sitemaps_plus.E001" in run.stderr
    assert "ORIGNI" in run.stderr


def test_the_example_of_the_documentation_raises_no_alarm(project):
    run = project("from django.core.management import execute_from_command_line as run; run(['manage', 'check'])")

    assert run.stderr == ""
    assert "no issues (0 silenced)" in run.stdout


def test_models_have_a_key_of_their_own_choice_and_no_missing_migration(project):
    run = project(
        "from django.core.management import execute_from_command_line as run;"
        "run(['manage', 'makemigrations', '--check', '--dry-run', 'sitemaps_plus'])",
    )

    assert (run.returncode, run.stderr) == (0, "")


def test_without_the_admin_nothing_of_it_is_imported(project):
    run = project("import sys, django; django.setup(); print(*(name for name in sys.modules if 'admin' in name))")

    assert (run.stderr, run.stdout) == ("", "\n")
