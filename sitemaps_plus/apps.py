"""Find each installed app's ``sitemaps.py`` when Django starts."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class SimpleSitemapsPlusConfig(AppConfig):
    """The app without autodiscovery: the project imports its ``sitemaps.py`` modules itself."""

    name = "sitemaps_plus"
    verbose_name = _("Sitemaps")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks and the receivers for saved rows and emptied tables."""
        from sitemaps_plus import checks  # noqa: F401 - checks register themselves
        from sitemaps_plus.serve.saved_rows import watch
        from sitemaps_plus.stores.cache import forget_kept_here

        watch()
        # With a sender: once a command, not once for each app.
        post_migrate.connect(forget_kept_here, sender=self, dispatch_uid="sitemaps_plus.emptied")


class SitemapsPlusConfig(SimpleSitemapsPlusConfig):
    """The app with autodiscovery, the default for ``INSTALLED_APPS``."""

    default = True

    def ready(self) -> None:
        """Import the ``sitemaps`` module of each installed app."""
        super().ready()
        autodiscover_modules("sitemaps")
