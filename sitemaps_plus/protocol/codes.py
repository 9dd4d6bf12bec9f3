"""Turn language and country codes into those that search engines accept, or suggest the right one."""

import re
from functools import lru_cache

from sitemaps_plus.errors import InvalidEntry, shown
from sitemaps_plus.protocol.text import Warn

LANGUAGES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
    jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb
    nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq
    sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()  # noqa: SIM905 - twenty lines less
)
"""The 183 languages of ISO 639-1."""

COUNTRIES = frozenset(
    """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
    FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
    JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
    MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
    PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
    TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
    """.split()  # noqa: SIM905 - twenty lines less
)
"""The 249 countries of ISO 3166-1, alpha-2."""

_COUNTRY_HINTS = {"UK": "GB"}
# Reserved by ISO 3166, but not countries; Google ignores them.
_RESERVED = {"EU", "UN"}
# Frequent mistakes: country codes, outdated codes and habits.
_LANGUAGE_HINTS = {
    "cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "in": "id", "iw": "he", "ji": "yi", "jp": "ja", "mo": "ro",
    "sh": "sr-Latn", "ua": "uk", "us": "en", "vn": "vi",
}  # fmt: skip
_TAG = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
_CHINESE = {"hans": "zh-cn", "hant": "zh-tw", "cn": "zh-cn", "sg": "zh-cn", "tw": "zh-tw", "hk": "zh-tw", "mo": "zh-tw"}


@lru_cache(maxsize=1024)
def check_country(code: str) -> str:
    """Return a country code of ISO 3166-1 in upper case; raise `InvalidEntry` ``E-COUNTRY`` for others (G-VID)."""
    country = code.strip().upper()
    if country in COUNTRIES:
        return country
    raise InvalidEntry("E-COUNTRY", f"{shown(code)} is not a country of ISO 3166-1{_country_hint(country)}")


@lru_cache(maxsize=1024)
def check_hreflang(code: str) -> str:
    """Return `code` as the value of ``hreflang``, in canonical case with hyphens: ``zh_hans_us`` gives ``zh-Hans-US``.

    The code is an ISO 639-1 language, then optionally an ISO 15924 script and an ISO 3166-1 region; or ``x-default``
    (G-HRF). Raise `InvalidEntry`: ``E-HREFLANG-LANG`` for the language, ``E-HREFLANG-REGION`` for the other parts.
    """
    hyphenated = code.replace("_", "-")
    if hyphenated.lower() == "x-default":
        return "x-default"
    language, *rest = hyphenated.split("-")
    if language.lower() not in LANGUAGES:
        raise InvalidEntry("E-HREFLANG-LANG", _no_language(code, language.lower()))
    parts = [language.lower()]
    if rest and re.fullmatch("[A-Za-z]{4}", rest[0]):
        parts.append(rest.pop(0).capitalize())
    if rest:
        if len(rest) > 1 or rest[0].upper() not in COUNTRIES:
            raise InvalidEntry("E-HREFLANG-REGION", _no_region(code, "-".join(parts), "-".join(rest).upper()))
        parts.append(rest[0].upper())
    return "-".join(parts)


def warn_of_underscore(given: str, written: str, warn: Warn) -> None:
    """Warn ``W-HREFLANG-CODE`` if `given`, which is `written` as ``hreflang``, has an underscore."""
    if "_" in given:
        warn("W-HREFLANG-CODE", f"hreflang {shown(given)} was written as {shown(written)}; it has hyphens.")


@lru_cache(maxsize=1024)
def check_news_language(code: str) -> str:
    """Return `code` as the language of a news publication: ``en-GB`` gives ``en``, ``zh-Hans`` gives ``zh-cn``.

    The language has two letters (ISO 639-1) or three (ISO 639-2); only Chinese keeps a second part (G-NWS).
    Raise `InvalidEntry` ``E-NEWS-LANGUAGE``.
    """
    tag = code.strip().lower()
    language, *rest = re.split("[-_]", tag)
    if not _TAG.fullmatch(tag) or not (language in LANGUAGES or re.fullmatch("[a-z]{3}", language)):
        raise InvalidEntry("E-NEWS-LANGUAGE", _no_language(code, language))
    if language == "zh" and rest:
        return _CHINESE.get(rest[0], "zh")
    return language


def _country_hint(country: str) -> str:
    if country in _COUNTRY_HINTS:
        return f"; did you mean {_COUNTRY_HINTS[country]!r}?"
    if country in _RESERVED:
        return "; list its countries one by one instead."
    return "; use two letters, such as 'IE'."


def _no_language(code: str, language: str) -> str:
    if language in _LANGUAGE_HINTS:
        return f"{shown(code)} does not begin with a language; did you mean {_LANGUAGE_HINTS[language]!r}?"
    return f"{shown(code)} does not begin with a language of ISO 639-1; use two letters, such as 'en'."


def _no_region(code: str, before: str, region: str) -> str:
    if region in _COUNTRY_HINTS:
        hint = f"did you mean '{before}-{_COUNTRY_HINTS[region]}'?"
    else:
        hint = f"write {before!r}, or add the two letters of a country to it."
    return f"In {shown(code)}, {shown(region)} is not a country of ISO 3166-1; {hint}"
