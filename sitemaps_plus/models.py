"""The tables: pages and their boundaries, builds and their results, and visits of crawlers."""

from __future__ import annotations

import sys
from typing import Any

from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    connections,
    models,
    router,
)
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from sitemaps_plus.errors import MissingTables
from sitemaps_plus.protocol.names import page_name

LEASE = 300
"""Seconds without renewal after which another build may take over."""

RENEW_EVERY = 30
"""Seconds after which a living build renews its lease, between two pages."""

SILENT = 3 * RENEW_EVERY
"""Seconds without renewal of its lease after which a running build gives no sign of life."""


_ALIKE = {"label", "start_digest", "layout", "recipe", "origin", "digest", "built_digest"}
"""Columns whose values most pages of a section have in common, or that are equal for most pages, or in the manifest."""


class SitemapPage(models.Model):
    """One page number of one section of one site; the highest number stays, because a number is issued only once.

    Only ``sitemaps_plus.plan.planner`` and ``sitemaps_plus.plan.records`` write it.
    """

    site = models.PositiveIntegerField(_("site"), default=0, help_text=_("ID of the site; 0 if there are no sites."))
    label = models.CharField(_("section"), max_length=100)
    number = models.PositiveIntegerField(_("number"))
    rank = models.PositiveIntegerField(_("rank"), default=0, help_text=_("Position of the page in key order."))
    start = models.JSONField(
        _("start"), null=True, blank=True, help_text=_("Key of the first row; empty if the page has no lower bound.")
    )
    start_digest = models.CharField(  # noqa: DJ001 - null, for retired pages, is no duplicate of null
        # A digest, because a database may treat the starts "a" and "A" as equal.
        _("start digest"),
        max_length=64,
        null=True,
        blank=True,
        editable=False,
    )
    layout = models.CharField(
        _("layout"), max_length=255, help_text=_("What the page boundaries depend on: limit and key.")
    )
    rows = models.PositiveIntegerField(_("rows"), null=True, blank=True)
    validator = models.CharField(_("validator"), max_length=255, blank=True, default="")
    recipe = models.CharField(_("recipe"), max_length=64, blank=True, default="")
    changed_at = models.DateTimeField(_("changed at"), null=True, blank=True)
    urls = models.PositiveIntegerField(_("URLs"), null=True, blank=True)
    bytes = models.PositiveBigIntegerField(_("uncompressed bytes"), null=True, blank=True)
    digest = models.CharField(
        _("digest"), max_length=64, blank=True, default="", help_text=_("SHA-256 of the uncompressed bytes.")
    )
    built_digest = models.CharField(
        _("digest of the built file"), max_length=64, blank=True, default="", help_text=_("Empty if no file was built.")
    )
    built_at = models.DateTimeField(
        _("built at"), null=True, blank=True, help_text=_("When a build last rendered the page.")
    )
    left_out = models.PositiveIntegerField(
        _("rows left out"), default=0, help_text=_("Rows that are missing in the built file.")
    )
    dropped = models.PositiveIntegerField(
        _("parts dropped"), default=0, help_text=_("Optional parts of rows that are missing in the built file.")
    )
    problems = models.JSONField(
        _("problems"),
        default=list,
        blank=True,
        help_text=_("The first rows left out and parts dropped: key, hook, code and reason."),
    )
    origin = models.CharField(_("origin"), max_length=300, blank=True, default="")
    checked_at = models.DateTimeField(_("checked at"), null=True, blank=True)
    settles_at = models.DateTimeField(
        _("settles at"),
        null=True,
        blank=True,
        help_text=_("From when on a rendering holds until the validator changes; empty if only rendering tells."),
    )
    verified_at = models.DateTimeField(
        _("verified at"), null=True, blank=True, help_text=_("When the page was last rendered.")
    )
    seconds = models.FloatField(_("seconds"), null=True, blank=True, help_text=_("How long the last rendering took."))
    unseen = models.PositiveIntegerField(
        _("unseen changes"), default=0, help_text=_("URLs that differed although the validator was the same.")
    )
    unseen_at = models.DateTimeField(
        _("unseen changes found at"), null=True, blank=True, help_text=_("When a rendering last found such a change.")
    )
    shown_end = models.JSONField(
        _("shown end"),
        null=True,
        blank=True,
        help_text=_("Key up to which views show the page for a while after it gave up rows; empty for no bound."),
    )
    shown_until = models.DateTimeField(
        _("shown until"), null=True, blank=True, help_text=_("Until when views show the rows that the page had.")
    )
    retired_at = models.DateTimeField(_("retired at"), null=True, blank=True)

    class Meta:
        verbose_name = _("sitemap page")
        # The admin shows the status page under this name.
        verbose_name_plural = _("status")
        permissions = (("build_sitemappage", _("Can build sitemaps")),)
        ordering = ("site", "label", "rank", "number")
        constraints = (
            models.UniqueConstraint(fields=("site", "label", "number"), name="sitemaps_plus_page_number"),
            # Retired pages have no digest, and nulls are distinct: among active pages a start is unique.
            models.UniqueConstraint(fields=("site", "label", "start_digest"), name="sitemaps_plus_page_start"),
        )

    def __init__(self, *args: Any, **values: Any) -> None:
        """Make a record in less memory: a build keeps those of all pages of a section, which may be thousands."""
        super().__init__(*args, **values)
        known = self.__dict__
        for name in known.keys() & _ALIKE:
            if known[name]:
                known[name] = sys.intern(known[name])
        # A copy has no room for more attributes: it is half as large.
        self.__dict__ = dict(known)

    def __str__(self) -> str:
        """Return the name of the page, as in its URL."""
        return page_name(self.label, self.number)

    @property
    def is_retired(self) -> bool:
        """Whether the number is no longer used."""
        return self.retired_at is not None


class Build(models.Model):
    """One build of one site, running or finished.

    Only ``sitemaps_plus.build.lease`` writes it. All its times come from the clock of the database.
    """

    class Result(models.TextChoices):
        """The result of a build."""

        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")
        LOST = "lost", _("lost")

    site = models.PositiveIntegerField(_("site"), default=0, help_text=_("ID of the site; 0 if there are no sites."))
    # Null for builds that have ended; nulls do not violate the constraint.
    lease = models.CharField(_("lease"), max_length=50, null=True, blank=True, unique=True, editable=False)
    holder = models.CharField(_("holder"), max_length=255, help_text=_("Host and process that run the build."))
    started_at = models.DateTimeField(_("started at"))
    expires_at = models.DateTimeField(
        _("expires at"), help_text=_("When another build may take over unless this one renews its lease.")
    )
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    result = models.CharField(_("result"), max_length=10, choices=Result.choices, default=Result.RUNNING)
    started_by = models.CharField(_("started by"), max_length=255, blank=True, default="")
    labels = models.JSONField(_("requested sections"), default=list, blank=True, help_text=_("Empty means all."))
    progress = models.CharField(_("progress"), max_length=255, blank=True, default="")
    pages = models.PositiveIntegerField(_("pages"), null=True, blank=True, help_text=_("Pages that the indexes list."))
    rendered = models.PositiveIntegerField(_("pages rendered"), null=True, blank=True)
    skipped = models.PositiveIntegerField(_("unchanged pages"), null=True, blank=True)
    written = models.PositiveIntegerField(_("pages written"), null=True, blank=True)
    urls = models.PositiveIntegerField(_("URLs"), null=True, blank=True)
    bytes = models.PositiveBigIntegerField(_("uncompressed bytes"), null=True, blank=True)
    left_out = models.PositiveIntegerField(_("rows left out"), null=True, blank=True)
    sections = models.JSONField(_("sections"), default=list, blank=True, help_text=_("The result of each section."))
    errors = models.JSONField(
        _("errors"), default=list, blank=True, help_text=_("Errors that are not about one section.")
    )

    class Meta:
        verbose_name = _("build")
        verbose_name_plural = _("builds")
        ordering = ("-id",)

    def __str__(self) -> str:
        """Return the number of the build and its site."""
        return gettext("build %(number)s of site %(site)s") % {"number": self.pk, "site": self.site}


class CrawlerVisit(models.Model):
    """The responses to one crawler on one day, for the pages and the index of one section, or the index of the site.

    Written by ``sitemaps_plus.serve.crawlers`` only, by the clock of the process. Who it was is what the user agent
    claims.
    """

    site = models.PositiveIntegerField(_("site"), default=0, help_text=_("ID of the site; 0 if there are no sites."))
    label = models.CharField(
        _("section"), max_length=100, blank=True, default="", help_text=_("Empty for the index of the site.")
    )
    crawler = models.CharField(_("crawler"), max_length=30, help_text=_("Name that the user agent claims."))
    day = models.DateField(_("day"), help_text=_("In UTC."))
    count_200 = models.PositiveIntegerField(_("documents"), default=0, help_text=_("Responses with status 200."))
    count_304 = models.PositiveIntegerField(_("not modified"), default=0, help_text=_("Responses with status 304."))
    count_other = models.PositiveIntegerField(_("other responses"), default=0)
    last_at = models.DateTimeField(_("last visit"))

    class Meta:
        verbose_name = _("crawler visit")
        verbose_name_plural = _("crawler visits")
        ordering = ("-day", "site", "label", "crawler")
        constraints = (
            models.UniqueConstraint(fields=("site", "label", "crawler", "day"), name="sitemaps_plus_visit_of_a_day"),
        )

    def __str__(self) -> str:
        """Return the crawler, the day and the section."""
        values = {"crawler": self.crawler, "day": self.day, "section": self.label, "site": self.site}
        if not self.label:
            return gettext("%(crawler)s on %(day)s, index of site %(site)s") % values
        return gettext("%(crawler)s on %(day)s, %(section)s of site %(site)s") % values


class DatabaseNow(Now):
    """The time of the database in UTC, independent of time zones."""

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of MariaDB and MySQL, whose ``NOW()`` is in the zone of the connection."""
        return self.as_sql(compiler, connection, template="UTC_TIMESTAMP(6)", **context)


def missing_tables(*kinds: type[models.Model]) -> MissingTables | None:
    """Return what says to run ``migrate``, if a table of this app, or a column of one, is missing.

    None if the database does not answer.
    """
    using = router.db_for_write(SitemapPage)
    try:
        with connections[using].cursor() as cursor:
            introspection = connections[using].introspection
            known = set(introspection.table_names(cursor))
            for model in kinds or (SitemapPage, Build, CrawlerVisit):
                table = model._meta.db_table
                columns = {field.column for field in model._meta.concrete_fields}
                if table not in known or columns.difference(
                    column.name for column in introspection.get_table_description(cursor, table)
                ):
                    return MissingTables(using)
    except (DatabaseError, InterfaceError):
        pass
    return None


def explained(error: Exception) -> Exception:
    """Return `error`, or the MissingTables that is its cause."""
    # A database that is down is not asked again: that may take as long as the first time.
    if (
        isinstance(error, OperationalError | ProgrammingError)
        and connections[router.db_for_write(SitemapPage)].connection is not None
    ):
        return missing_tables() or error
    return error
