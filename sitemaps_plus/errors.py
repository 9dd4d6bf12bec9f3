"""The errors of the package; each text says what is wrong, where, and what to do."""


class SitemapError(Exception):
    """Base of all errors of this package."""


class InvalidEntry(SitemapError, ValueError):
    """An entry breaks a rule of the sitemap protocol."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{text} [{code}]")
        self.code = code
        """The rule's name, for example ``E-URL-LENGTH``."""
        self.text = text
        """The problem, where it is, and what to do."""

    def within(self, where: str, value: str | None = None) -> "InvalidEntry":
        """Return this error for the field `where`; the text shows `value` if it does not already."""
        is_shown = value is None or value in self.text
        return InvalidEntry(self.code, f"{where}: {self.text}" if is_shown else f"{where} is {value}. {self.text}")


class NotTranslated(InvalidEntry):
    """A row is not translated into one of the languages."""


class InvalidSitemap(SitemapError, TypeError):
    """The declaration of a Sitemap class cannot work."""


class MissingExtra(SitemapError, ImportError):
    """An optional package is needed but not installed."""


class NoOrigin(SitemapError, LookupError):
    """The scheme and host of the site are unknown."""


class UnknownHost(NoOrigin):
    """The host of a request belongs to no site (HTTP 404)."""


class PageNotFound(SitemapError, LookupError):
    """The sitemap or the page does not exist (HTTP 404)."""


class PageEmpty(PageNotFound):
    """A page has no URLs at present: it has no rows, or all of them are left out."""

    def __init__(self, text: str, *, report: object) -> None:
        super().__init__(text)
        self.report = report
        """The ``Report`` that says why rows were left out."""


class PageGone(PageNotFound):
    """The page existed once; its number is retired (HTTP 410)."""


class InvalidPlace(SitemapError, ValueError):
    """The cursor of a list of entries was not issued by this list."""


class Unavailable(SitemapError, RuntimeError):
    """The database does not answer, and no earlier version of the sitemap is stored (HTTP 503)."""


class MissingTables(Unavailable):
    """Tables of this app are missing, or lack columns of this release: `migrate` has not been run (HTTP 503)."""

    remedy = "Run `manage.py migrate`."

    def __init__(self, database: str) -> None:
        self.text = f"The tables of sitemaps_plus are missing or out of date in the database {database!r}."
        """The problem, without the remedy."""
        super().__init__(f"{self.text} {self.remedy}")


class PageFull(SitemapError, OverflowError):
    """The rows of a page exceed the limits of the protocol."""

    def __init__(self, text: str, *, split_at: object) -> None:
        super().__init__(text)
        self.split_at = split_at
        """Key of the first row that has to move to another page."""


class TooManyPages(SitemapError, OverflowError):
    """An index would exceed 50,000 sitemaps or 50 MB."""


class StrictError(SitemapError, ValueError):
    """A row, or a part of one, was left out while ``STRICT`` is on."""


class BuildLocked(SitemapError, RuntimeError):
    """Another build of the same site is running."""


class BuildNotStarted(SitemapError, RuntimeError):
    """The process of a build could not be started."""


class LeaseLost(SitemapError, RuntimeError):
    """A build must stop because another one has taken over, or may have."""


class Stopped(SitemapError, RuntimeError):
    """Somebody stopped the build."""


class InvalidDocument(SitemapError, ValueError):
    """A template of the project renders a page that crawlers would reject."""


def shown(value: object) -> str:
    """Return `value` for an error message: printable, and at most 100 characters."""
    try:
        text = repr(value)
    except Exception:  # A broken __repr__ must not hide the error to report.
        return f"a {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."
