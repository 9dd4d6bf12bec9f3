"""Turn an international host name into the ASCII form of the DNS (UTS 46, IDNA 2008)."""

import idna

from sitemaps_plus.errors import InvalidEntry


def to_ascii(host: str) -> str:
    """Return `host` with A-labels: ``bücher.example`` gives ``xn--bcher-kva.example``."""
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except UnicodeError as error:
        text = f"The host {host!r} is not a valid international domain name: {error}."
        raise InvalidEntry("E-URL-HOST", text) from error
