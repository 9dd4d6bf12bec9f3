"""Link the rows of a table that say the same in several languages, one row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

from django.db.models import F

from sitemaps_plus.declare.hooks import Column, Member, Reader
from sitemaps_plus.declare.languages import code_of, hreflang_of, x_default_of
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, shown
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.values.fields import Expression, Gives


class _Place(NamedTuple):
    """One row of a cluster as all of its rows link to it."""

    row: Any
    loc: str


@dataclass(frozen=True, slots=True)
class Siblings:
    """Links between rows with the same `key`: ``hreflang = Siblings("translation_key", language=F("locale"))``.

    Each row has one language. It is listed once, under its own address, and links to every row of its cluster that the
    sitemap lists on any page, itself included. Addresses are made under the row's own language.
    """

    key: str
    """Column that rows which say the same have in common; rows where it is empty stand alone."""
    _: KW_ONLY
    language: Any
    """Expression for the language of a row."""

    gives: ClassVar[Gives] = "links"

    def __post_init__(self) -> None:
        """Raise InvalidSitemap for a language that is not an expression."""
        if not isinstance(self.key, str) or not isinstance(self.language, Expression):
            raise InvalidSitemap(
                f"Siblings({self.key!r}, language={self.language!r}): give the name of a column and the language as "
                'an expression, as in Siblings("translation_key", language=F("locale")).'
            )

    def expressions(self) -> dict[str, Any]:
        """Return the columns of the cluster, the row and its language."""
        return {"cluster": Column(F(self.key), load=_load), "row": F("pk"), "language": self.language}

    def builder(self) -> Callable[[Sequence[Any]], list[Link]]:
        """Return the function from the loaded cluster of a row to its links."""
        return _links


def _links(values: Sequence[Any]) -> list[Link]:
    cluster, row, language = values
    if not cluster or not language:
        return []
    code = hreflang_of(code_of(language))
    if code is None:
        return []
    first = cluster.get(code)
    if first is not None and first.row != row:
        raise InvalidEntry(
            "E-HREFLANG-REPEATED",
            f"The row has the language {shown(language)}, as row {first.row} of its cluster has, which is linked; "
            "give one of them another language or key.",
        )
    return [Link(name, place.loc) for name, place in cluster.items()] if len(cluster) > 1 else []


def _load(keys: Sequence[Any], reader: Reader) -> list[Mapping[str, _Place]]:
    wanted = {key for key in keys if key not in (None, "")}
    members: dict[Any, list[Member]] = {}
    for member in reader.members(wanted):
        members.setdefault(member.cluster, []).append(member)
    clusters = {key: _cluster(found) for key, found in members.items()}
    return [clusters.get(key, {}) for key in keys]


def _cluster(members: Iterable[Member]) -> dict[str, _Place]:
    """Return the links of rows that say the same, by ``hreflang``: the first row of each language."""
    cluster: dict[str, _Place] = {}
    hrefs: dict[str, str] = {}
    wishes = []
    for member in members:
        code = _code(member.language)
        if code is None or code in cluster:
            continue
        cluster[code] = _Place(member.row, member.loc)
        hrefs[code_of(member.language)] = member.loc
        wishes.append(member.x_default)
    # The same for all of them: the first row that says anything.
    wish = next((wish for wish in wishes if wish not in (None, False, "")), None)
    others = x_default_of(wish, hrefs, strips_prefix=False)
    return {**cluster, "x-default": _Place(None, others)} if others and cluster else cluster


def _code(language: str) -> str | None:
    try:
        return hreflang_of(code_of(language))
    except InvalidEntry:
        # Its own row says so.
        return None
