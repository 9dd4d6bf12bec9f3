"""Turn the languages of a project into codes for ``hreflang``, for the URLs of a row and for ``x-default``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.conf import settings
from django.urls import get_script_prefix
from django.utils.translation import get_supported_language_variant

from sitemaps_plus.conf import get_settings
from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.codes import check_hreflang

_CODE = re.compile(r"[A-Za-z0-9]+(?:[-_@][A-Za-z0-9]+)*")
_BETWEEN = re.compile(r"[\s,;]+")


def hreflang_of(language: str) -> str | None:
    """Return the ``hreflang`` of a language code of Django, in canonical case: ``zh-Hans`` for ``zh-hans``.

    ``SITEMAPS_PLUS["HREFLANG"]`` has priority: ``{"es-419": "es"}``; None there means no ``hreflang``. Raises
    InvalidEntry for a code that search engines do not know (G-HRF).
    """
    given = get_settings().HREFLANG
    # The check E002 reports a setting that is not a dict.
    code: Any = given.get(language, language) if isinstance(given, Mapping) else language
    if code is None:
        return None
    found = check_hreflang(code) if isinstance(code, str) else None
    if found is None or (found == "x-default" and not same_language(language, found)):
        reason = (
            f'SITEMAPS_PLUS["HREFLANG"] has {shown(code)} for {shown(language)}; give a code such as "es", or None.'
        )
        raise InvalidEntry("E-HREFLANG-LANG", reason)
    return found


def valid_hreflang_of(language: str) -> str | None:
    """Return the ``hreflang`` of a language code of Django, or None if it has no valid one."""
    try:
        return hreflang_of(language)
    except InvalidEntry:
        return None


def languages_in(given: Any) -> list[str]:
    """Return the languages of a row, each once; `given` is a list of codes, or a text of codes and commas.

    Raises ValueError for a value that cannot be a language code.
    """
    if given is None:
        return []
    parts: Iterable[Any] = _BETWEEN.split(given) if isinstance(given, str) else given
    # A column of a table of translations may be empty.
    codes = [code for code in dict.fromkeys(parts) if code not in (None, "")]
    for code in codes:
        if not (isinstance(code, str) and _CODE.fullmatch(code)):
            raise ValueError(f"{shown(code)} is not a language code; give codes of LANGUAGES.")
    return codes


def known_languages(codes: Iterable[str]) -> list[str]:
    """Return those of `codes` that are in ``LANGUAGES``, as written there; tables may have rows of former languages."""
    known = {code_of(code): code for code, _ in settings.LANGUAGES}
    return list(dict.fromkeys(known[code_of(code)] for code in codes if code_of(code) in known))


def code_of(language: Any) -> str:
    """Return the code of a language as Django writes it: ``pt-br`` for ``pt_BR``."""
    return str(language).replace("_", "-").lower()


def own_language(given: Any) -> str:
    """Return the language code of a row that has one language; ``LANGUAGE_CODE`` for an empty value."""
    return code_of(given) if given else settings.LANGUAGE_CODE


def same_language(one: Any, other: Any) -> bool:
    """Return whether two codes mean the same language: ``pt_BR`` and ``pt-br`` do."""
    return code_of(one) == code_of(other)


def default_language(languages: Collection[str]) -> str | None:
    """Return which of `languages` Django uses without any other wish: ``LANGUAGE_CODE``, or a variant of it; or None.

    With ``LANGUAGE_CODE = "en-us"`` and only ``en`` in ``LANGUAGES``, that is ``en``.
    """
    if settings.LANGUAGE_CODE in languages:
        return settings.LANGUAGE_CODE
    try:
        variant = get_supported_language_variant(settings.LANGUAGE_CODE)
    except LookupError:
        return None
    return variant if variant in languages else None


def x_default_of(given: Any, hrefs: Mapping[str, str], *, strips_prefix: bool = True) -> str | None:
    """Return the URL for ``x-default`` of a row, or None; `hrefs` are the row's URLs by language.

    `given` is the value of the hook: True for the URL in the `default_language` (with `strips_prefix`, without the
    language prefix, as in Django), a language code for the URL in that language, or a URL.
    """
    if given is None or given is False or given == "":
        return None
    if given in (True, 1):
        default = default_language(hrefs)
        if default is None:
            return None
        return without_language(hrefs[default], default) if strips_prefix else hrefs[default]
    text = str(given)
    if _CODE.fullmatch(text):
        return next((href for code, href in hrefs.items() if same_language(code, text)), None)
    return text


def without_language(url: str, language: str) -> str:
    """Return `url` without `language` as the first segment of its path (after the script prefix)."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    before = get_script_prefix().lstrip("/")
    if slash and path.startswith(f"{before}{language}/"):
        path = before + path[len(before) + len(language) + 1 :]
    return f"{scheme}{separator}{host}{slash}{path}"
