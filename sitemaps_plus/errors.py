"""Every error the package raises: each says what is wrong, where, and what to do."""


class SitemapError(Exception):
    """Base of all errors of this package."""


class InvalidEntry(SitemapError, ValueError):
    """An entry breaks a rule of the sitemap protocol."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{text} [{code}]")
        self.code = code
        """The rule's name, for example ``E-URL-LENGTH``."""
        self.text = text
        """What is wrong, where, and what to do."""

    def within(self, where: str, value: str | None = None) -> "InvalidEntry":
        """Return the same error as that of a field, whose value is shown if the text does not."""
        is_shown = value is None or value in self.text
        return InvalidEntry(self.code, f"{where}: {self.text}" if is_shown else f"{where} is {value}. {self.text}")


class NotTranslated(InvalidEntry):
    """A row has no page in one of the languages."""


class InvalidSitemap(SitemapError, TypeError):
    """A Sitemap class is declared in a way that cannot work."""


class MissingExtra(SitemapError, ImportError):
    """An optional package is needed and not installed."""


class NoOrigin(SitemapError, LookupError):
    """The scheme and host of the site cannot be told."""


class UnknownHost(NoOrigin):
    """The host that a request names belongs to no site (HTTP 404)."""


class PageNotFound(SitemapError, LookupError):
    """A sitemap or a page of it does not exist (HTTP 404)."""


class PageEmpty(PageNotFound):
    """A page has no URL at present: no rows, or all of them left out."""

    def __init__(self, text: str, *, report: object) -> None:
        super().__init__(text)
        self.report = report
        """The ``Report`` that says why rows were left out."""


class PageGone(PageNotFound):
    """A page existed once and its number is retired (HTTP 410)."""


class InvalidCursor(SitemapError, ValueError):
    """The cursor of a list of entries is not one that the list itself gave."""


class Unavailable(SitemapError, RuntimeError):
    """The database does not answer, and no version of a sitemap is kept (HTTP 503)."""


class PageFull(SitemapError, OverflowError):
    """The rows of a page do not fit the protocol's limits."""

    def __init__(self, text: str, *, split_at: object) -> None:
        super().__init__(text)
        self.split_at = split_at
        """Key of the first row that belongs on another page."""


class TooManyPages(SitemapError, OverflowError):
    """An index would list more than 50,000 sitemaps."""


class StrictError(SitemapError, ValueError):
    """A row or a part of one was left out while ``STRICT`` is on."""


class BuildLocked(SitemapError, RuntimeError):
    """Another build of the same site is running."""


class BuildNotStarted(SitemapError, RuntimeError):
    """No process could be started for a build."""


class LeaseLost(SitemapError, RuntimeError):
    """A build must stop, because another one has taken over, or may have."""


class Stopped(SitemapError, RuntimeError):
    """The build was asked to stop."""


class InvalidDocument(SitemapError, ValueError):
    """A page that a template of the project makes is none that a crawler would accept."""


def shown(value: object) -> str:
    """Return `value` as an error message may show it: printable and at most 100 characters."""
    try:
        text = repr(value)
    except Exception:  # A broken __repr__ must not hide the error that is being reported.
        return f"a {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."
