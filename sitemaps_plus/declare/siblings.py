"""Link rows of one table that are translations of each other, one row per language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

from django.db.models import F

from sitemaps_plus.declare.hooks import Column, Member, Reader
from sitemaps_plus.declare.languages import code_of, hreflang_of, valid_hreflang_of, x_default_of
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, shown
from sitemaps_plus.protocol.entries import Link
from sitemaps_plus.values.fields import Expression, Gives


class _Sibling(NamedTuple):
    """A row to which all rows of its cluster link."""

    row: Any
    loc: str


@dataclass(frozen=True, slots=True)
class Siblings:
    """Links between rows with the same `key`: ``hreflang = Siblings("translation_key", language=F("locale"))``.

    Each row has one language and one URL, which is made in that language. It links to every row of its cluster that the
    sitemap lists on any page, including itself.
    """

    key: str
    """The column with the same value in all translations; a row where it is empty has no links."""
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
        """Return the expressions for the cluster, the row and its language."""
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
            f"The row has the language {shown(language)}, and so has row {first.row} of its cluster, which is linked; "
            "give one of them another language or key.",
        )
    return [Link(name, sibling.loc) for name, sibling in cluster.items()] if len(cluster) > 1 else []


def _load(keys: Sequence[Any], reader: Reader) -> list[Mapping[str, _Sibling]]:
    wanted = {key for key in keys if key not in (None, "")}
    members: dict[Any, list[Member]] = {}
    for member in reader.members(wanted):
        members.setdefault(member.cluster, []).append(member)
    clusters = {key: _cluster(found) for key, found in members.items()}
    return [clusters.get(key, {}) for key in keys]


def _cluster(members: Iterable[Member]) -> dict[str, _Sibling]:
    """Return the rows to link to, by ``hreflang``: the first row of each language, and that for ``x-default``."""
    cluster: dict[str, _Sibling] = {}
    hrefs: dict[str, str] = {}
    x_defaults = []
    for member in members:
        # The row itself reports an invalid one.
        code = valid_hreflang_of(code_of(member.language))
        if code is None or code in cluster:
            continue
        cluster[code] = _Sibling(member.row, member.loc)
        hrefs[code_of(member.language)] = member.loc
        x_defaults.append(member.x_default)
    # The same for the whole cluster: the first row with a value decides.
    given = next((value for value in x_defaults if value not in (None, False, "")), None)
    others = x_default_of(given, hrefs, strips_prefix=False)
    return {**cluster, "x-default": _Sibling(None, others)} if others and cluster else cluster
