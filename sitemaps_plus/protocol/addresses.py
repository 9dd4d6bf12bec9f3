"""Turn the locations of a project into the absolute, encoded URLs that a sitemap may list."""

import importlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from urllib.parse import quote, unquote_to_bytes

from sitemaps_plus.errors import InvalidEntry, MissingExtra, shown
from sitemaps_plus.protocol.limits import MAX_LOC
from sitemaps_plus.protocol.text import Warn, ignore

_DEFAULT_PORTS = {"http": 80, "https": 443}
# RFC 3986: unreserved, sub-delims and : @ / ?, the characters that need no encoding in a path or query.
_SAFE = "-._~!$&'()*+,;=:@/?"
_CHARS = rf"[A-Za-z0-9{re.escape(_SAFE)}]*"
_encoded_path = re.compile(rf"/(?!/){_CHARS}(?:%[0-9A-Fa-f]{{2}}{_CHARS})*").fullmatch
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?://([^/?#]*))?(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]*))?")
# RFC 1123 labels; also the underscore, which the DNS allows and private hosts use.
_LABEL = r"[a-z0-9_](?:[a-z0-9_\-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_DOTS = {".", ".."}


SPACE = " \t\n\r\v\f"
"""The characters that `normalize` removes around a URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The scheme, host and port of a site."""

    scheme: str
    """``http`` or ``https``."""

    host: str
    """Lower case, A-labels; an IPv6 address in brackets."""

    port: int | None = None
    """``None`` for the default port of the scheme."""

    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise `InvalidEntry` unless the parts are in the form that `parse` gives them."""
        if self.scheme not in _DEFAULT_PORTS:
            raise InvalidEntry("E-URL-SCHEME", f"The scheme {shown(self.scheme)} is not 'http' or 'https'.")
        if _host(self.host) != self.host:
            text = f"The host {shown(self.host)} is not in lower case and A-labels; Origin.parse() converts it."
            raise InvalidEntry("E-URL-HOST", text)
        if self.port is not None and not 0 < self.port < 65536:
            raise InvalidEntry("E-URL-HOST", f"{self.port} is not a port; use 1 to 65535.")
        if self.port == _DEFAULT_PORTS[self.scheme]:
            object.__setattr__(self, "port", None)
        port = "" if self.port is None else f":{self.port}"
        object.__setattr__(self, "_text", f"{self.scheme}://{self.host}{port}")

    def __str__(self) -> str:
        """Return the beginning of a URL: ``https://example.com:8443``."""
        return self._text

    @classmethod
    def parse(cls, text: str) -> "Origin":
        """Return the origin in `text` (``https://bücher.example:8443``), which may end in one slash.

        Raise `InvalidEntry`: ``E-ORIGIN`` if a path, query or fragment follows, else with the codes of `normalize`.
        """
        scheme, authority, rest = _split(text)
        origin = _origin(scheme, authority)
        if rest not in ("", "/"):
            message = f"The origin {origin} is followed by {shown(rest)}; give only scheme, host and port."
            raise InvalidEntry("E-ORIGIN", message)
        return origin

    def with_scheme(self, scheme: str) -> "Origin":
        """Return the same host and port under `scheme`; a default port stays the default."""
        return Origin(scheme=scheme, host=self.host, port=self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The URLs that one sitemap may list (sitemaps.org, "Sitemap file location")."""

    origin: Origin
    """The origin of the sitemap itself."""

    directory: str = "/"
    """The directory of the sitemap's own URL; begins and ends with a slash."""

    any_host: bool = False
    """Cross-submission: compare only the scheme, not host, port and directory."""

    _prefix: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Encode the directory; raise `InvalidEntry` unless it begins and ends with a slash."""
        if not (self.directory.startswith("/") and self.directory.endswith("/")):
            text = f"The directory {shown(self.directory)} does not begin and end with a slash."
            raise InvalidEntry("E-URL-SCOPE", text)
        object.__setattr__(self, "directory", quote_path(self.directory))
        object.__setattr__(self, "_prefix", f"{self.origin}{self.directory}")


def normalize(value: object, *, origin: Origin, warn: Warn = ignore, max_length: int = MAX_LOC) -> str:
    """Return `value`, an absolute URL or an absolute path of `origin`, as an absolute URL in ASCII.

    Percent-encode path and query where RFC 3986 requires it and nowhere else: existing escapes and dot segments stay,
    Unicode is not normalized. Convert the host to lower case and A-labels; remove a default port, with
    ``W-URL-SPACE`` ASCII whitespace around the URL, and with ``W-URL-FRAGMENT`` a fragment. Raise `InvalidEntry`:
    ``E-URL-EMPTY``, ``E-URL-RELATIVE``, ``E-URL-SCHEME``, ``E-URL-USERINFO``, ``E-URL-HOST``, ``E-URL-CHARS`` or, above
    `max_length` characters, ``E-URL-LENGTH``; a non-ASCII host without the ``idna`` extra raises `MissingExtra`.
    """
    text = value if type(value) is str else _text(value)
    # The two common forms first: this runs for every URL.
    if _encoded_path(text):
        url = origin._text + text
    elif text.startswith(origin._text) and _encoded_path(text, len(origin._text)):
        url = text
    else:
        url = _normalize(text, origin, warn)
    if len(url) > max_length:
        message = f"The URL {shown(url)} has {len(url)} characters, more than {max_length}."
        raise InvalidEntry("E-URL-LENGTH", message)
    return url


def is_local(host: str) -> bool:
    """Return whether the host of an `Origin` is only reached from the machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def quote_path(path: str) -> str:
    """Return `path`, with or without a query, with percent-encoded UTF-8 for all characters outside RFC 3986.

    A valid ``%XX`` stays, in its case; any other ``%`` becomes ``%25``, a space ``%20``, ``#`` ``%23``.
    """
    try:
        return _STRAY_PERCENT.sub("%25", quote(path, safe=f"%{_SAFE}"))
    except UnicodeEncodeError as error:
        raise _broken_text(path) from error


def canonical(url: str) -> str:
    """Return one form for all encodings of a URL that `normalize` returned.

    In a path, decode everything that needs no encoding, because Django decodes paths before it looks for a view; in a
    query, decode only the characters that RFC 3986 (6.2.2) calls unreserved.
    """
    head, mark, query = url.partition("?")
    scheme, authority, path = _split(head)
    path = quote(unquote_to_bytes(path), safe=_SAFE.replace("?", ""))
    return f"{scheme}://{authority}{path}{mark}{_ENCODED.sub(_decoded, query)}"


def _decoded(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if _UNRESERVED.fullmatch(character) else match[0].upper()


def check_scope(url: str, scope: Scope) -> None:
    """Raise `InvalidEntry` unless a sitemap of `scope` may list `url`, which `normalize` returned.

    The codes are ``E-URL-SCHEME``, ``E-URL-HOST``, ``E-URL-PORT`` and ``E-URL-SCOPE``.
    """
    # With dot segments, a URL that begins with a directory may be outside of it.
    if url.startswith(scope._prefix) and "/." not in url and "/%2" not in url:
        return
    scheme, authority, path = _split(url)
    found, own = _origin(scheme, authority), scope.origin
    if found.scheme != own.scheme:
        message = (
            f"{shown(url)} is {found.scheme}, but its sitemap is served over {own.scheme}; use one scheme for both."
        )
        raise InvalidEntry("E-URL-SCHEME", message)
    if scope.any_host:
        return
    if found.host != own.host:
        message = (
            f"{shown(url)} is on another host than its sitemap ({own.host}); list it in a sitemap of its own host."
        )
        raise InvalidEntry("E-URL-HOST", message)
    if found.port != own.port:
        raise InvalidEntry(
            "E-URL-PORT",
            f"{shown(url)} has another port than its sitemap ({own}); list it in a sitemap of its own port.",
        )
    if not _without_dots(path).startswith(scope.directory):
        message = (
            f"{shown(url)} is not below {scope.directory}, the directory of its sitemap; serve the sitemap higher up."
        )
        raise InvalidEntry("E-URL-SCOPE", message)


def _text(value: object) -> str:
    if value is None:
        raise InvalidEntry("E-URL-EMPTY", "The URL is None; give an absolute URL or a path that begins with '/'.")
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidEntry("E-URL-CHARS", f"The URL {shown(value)} is bytes; decode it to text first.")
    # str() evaluates a lazy string; str.__str__ turns a SafeString into an exact str.
    return str.__str__(str(value))


def _normalize(text: str, origin: Origin, warn: Warn) -> str:
    if not text.strip():
        message = f"The URL is empty ({shown(text)}); give an absolute URL or a path that begins with '/'."
        raise InvalidEntry("E-URL-EMPTY", message)
    _check_encodable(text)
    trimmed = text.strip(SPACE)
    kept, mark, _ = trimmed.partition("#")
    if kept.startswith("/") and not kept.startswith("//"):
        head, path = origin, kept
    else:
        scheme, authority, path = _split(kept)
        head = _origin(scheme, authority)
    # RFC 3986, 6.2.3: an empty path is the path "/".
    url = f"{head}{'' if path.startswith('/') else '/'}{quote_path(path)}"
    if trimmed != text:
        warn("W-URL-SPACE", f"The spaces around {shown(text)} were removed; remove them where the URL comes from.")
    if mark:
        warn("W-URL-FRAGMENT", f"The fragment of {shown(text)} was removed; search engines ignore fragments.")
    return url


def _split(text: str) -> tuple[str, str, str]:
    """Return scheme, authority and the rest of an absolute URL."""
    match = _ABSOLUTE.fullmatch(text)
    if match is None:
        message = f"The URL {shown(text)} is relative; begin it with http:// or https://, or with '/'."
        raise InvalidEntry("E-URL-RELATIVE", message)
    scheme = match[1].lower()
    if scheme not in _DEFAULT_PORTS:
        message = f"The URL begins with {shown(match[1] + ':')}; a sitemap may list only http:// and https:// URLs."
        raise InvalidEntry("E-URL-SCHEME", message)
    return scheme, match[2] or "", match[3]


@lru_cache(maxsize=1024)
def _origin(scheme: str, authority: str) -> Origin:
    host, port = _host_and_port(authority)
    return Origin(scheme=scheme, host=_host(host), port=port)


def _host_and_port(authority: str) -> tuple[str, int | None]:
    if "@" in authority:
        # Do not show all of it: it may contain a password.
        message = f"The URL on {shown(authority.rpartition('@')[2])} contains a user name or password; remove it."
        raise InvalidEntry("E-URL-USERINFO", message)
    match = _AUTHORITY.fullmatch(authority)
    if match is None or len(match[2] or "") > 5:
        raise InvalidEntry("E-URL-HOST", f"{shown(authority)} is not a host, with or without a port.")
    return match[1], int(match[2]) if match[2] else None


@lru_cache(maxsize=1024)
def _host(text: str) -> str:
    if text.startswith("["):
        return _ipv6(text)
    host = text.lower() if text.isascii() else _to_ascii(text)
    if not _HOST.fullmatch(host) or len(host.removesuffix(".")) > 253:
        message = f"The URL has no valid host ({shown(text)})."
        raise InvalidEntry("E-URL-HOST", message)
    if host.removesuffix(".").rpartition(".")[2].isdigit():
        _check_ipv4(host.removesuffix("."))
    return host


def _ipv6(text: str) -> str:
    try:
        # A zone ("%eth0") has a meaning on one machine only.
        if "%" in text:
            raise AddressValueError("it has a zone")
        return f"[{IPv6Address(text[1:-1]).compressed}]"
    except AddressValueError as error:
        raise InvalidEntry("E-URL-HOST", f"{shown(text)} is not an IPv6 address in brackets: {error}.") from error


def _check_ipv4(host: str) -> None:
    try:
        IPv4Address(host)
    except AddressValueError as error:
        message = f"The host {shown(host)} ends in a number but is not an IPv4 address: {error}."
        raise InvalidEntry("E-URL-HOST", message) from error


def _to_ascii(host: str) -> str:
    if len(host) > 253:
        raise InvalidEntry("E-URL-HOST", f"The host {shown(host)} has more than 253 characters.")
    try:
        idn = importlib.import_module(".idn", __package__)
    except ModuleNotFoundError as error:
        if error.name != "idna":
            raise
        message = f'The host {shown(host)} is not ASCII; run: pip install "django-sitemaps-plus[idna]"'
        raise MissingExtra(message) from error
    return str(idn.to_ascii(host))


def _check_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _broken_text(text) from error


def _broken_text(text: str) -> InvalidEntry:
    return InvalidEntry("E-URL-CHARS", f"The URL {shown(text)} contains a lone surrogate, which UTF-8 cannot encode.")


def _without_dots(path: str) -> str:
    """Return `path` without its query, with dot segments resolved as clients do (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    *folders, last = path.partition("?")[0].split("/")
    for segment in [*folders, last]:
        dots = segment.lower().replace("%2e", ".")
        if dots == "..":
            del kept[max(1, len(kept) - 1) :]
        elif dots != ".":
            kept.append(segment)
    return "/".join(kept) + ("/" if last.lower().replace("%2e", ".") in _DOTS else "")
