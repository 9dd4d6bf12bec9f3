"""Turn the addresses in sitemaps, which are ASCII, into text that people can read."""

import re
import unicodedata
from urllib.parse import quote

from django.utils.encoding import uri_to_iri

_PARTS = re.compile(r"([a-z][a-z0-9+.-]*://)?([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)


def readable(address: str) -> str:
    """Return a URL, a path or a host with characters in place of percent-encoding and Punycode.

    Characters that nobody sees, such as those that change the direction of a text, stay encoded.
    """
    scheme, host, rest = _PARTS.fullmatch(address).groups("")  # type: ignore[union-attr]  # it fits any text
    return scheme + ".".join(map(_label, host.split("."))) + _characters(rest)


def _label(label: str) -> str:
    prefix, _, code = label.partition("xn--")
    if prefix or not code:
        return label
    try:
        text = code.encode("ascii").decode("punycode")
    except UnicodeError:
        return label
    is_name = all(char == "-" or unicodedata.category(char)[0] in "LMN" for char in text)
    return text if is_name else label


def _characters(rest: str) -> str:
    return "".join(char if char.isprintable() else quote(char) for char in uri_to_iri(rest))
