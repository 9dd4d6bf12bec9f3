"""Read the related rows of a chunk of rows with one more query: pictures, tags, translations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db.models import F, Field, Model, Q, QuerySet
from django.utils.translation import get_language

from sitemaps_plus.declare.hooks import Column, Reader, is_needed
from sitemaps_plus.declare.languages import same_language
from sitemaps_plus.declare.loading import file_url, storages_of
from sitemaps_plus.errors import InvalidSitemap, shown
from sitemaps_plus.values.base import attempt
from sitemaps_plus.values.fields import Declared, Expression, Gives

_PARENT = "_sitemap_parent"
_LANGUAGE = "_sitemap_language"


@dataclass(frozen=True, slots=True)
class Related:
    """A value from many rows of another model: ``Related("photos", Image(loc=F("file")))``.

    The relation is a foreign key of the other model, a many-to-many field from either side, or a generic relation.
    Expressions are those of the other model, which is read through its default manager, one query per chunk of rows. A
    value such as ``Image(...)`` gives one for each related row. An expression gives a list; with `language`, one text.
    """

    relation: str
    """The name of the relation, as in queries or as the attribute of an object."""
    value: Any
    """A value such as ``Image(...)``, or an expression of the related model."""
    _: KW_ONLY
    language: Any = None
    """Expression for the language of a related row: only rows in the language of the URL are used."""
    filter: Q | None = None
    """A condition for the related rows."""
    order_by: str | Sequence[str] = field(default=())
    """Their order; default: the ordering of the model."""

    def __post_init__(self) -> None:
        """Raise InvalidSitemap for an argument that the database cannot use."""
        parts = self.parts()
        if not isinstance(self.relation, str) or not parts or any(_is_loaded(part) for part in parts):
            raise InvalidSitemap(
                f"Related({self.relation!r}, {self.value!r}): give the name of a relation, and a value or an "
                "expression of the related model's columns, as in Related('photos', Image(loc=F('file')))."
            )
        if self.language is not None and not isinstance(self.language, Expression):
            raise self._wrong("language", "an expression of the related model, as in language=F('language_code')")
        if self.filter is not None and not getattr(self.filter, "conditional", False):
            raise self._wrong("filter", "a condition, as in filter=Q(is_public=True)")
        names = [self.order_by] if isinstance(self.order_by, str | Expression) else self.order_by
        if not isinstance(names, list | tuple) or not all(isinstance(name, str | Expression) for name in names):
            raise self._wrong("order_by", "names of columns, as in order_by=('position', '-id')")
        if not isinstance(self.order_by, str):
            object.__setattr__(self, "order_by", tuple(names))

    @property
    def gives(self) -> Gives:
        """A list of values or texts; with `language` one text."""
        if isinstance(self.value, Declared):
            return "values"
        return "texts" if self.language is None else "text"

    def expressions(self) -> dict[str, Any]:
        """Return the key of the row; a loader repositions it by the related rows."""
        return {"rows": Column(F("pk"), load=self._load)}

    def builder(self) -> Callable[[Sequence[Any]], Any]:
        """Return the function from the loaded rows to a list, or to the text in the active language."""
        is_value = isinstance(self.value, Declared)
        build = self.value.builder() if is_value else lambda values: values[0]
        language = get_language() or settings.LANGUAGE_CODE

        def make(values: Sequence[Any]) -> Any:
            rows = values[0] or ()
            if self.language is not None:
                rows = [row for row in rows if same_language(row[0], language)]
            made = [attempt(build, row[1:]) for row in rows]
            if is_value or self.language is None:
                return made
            return made[0] if made else None

        return make

    def _wrong(self, name: str, remedy: str) -> InvalidSitemap:
        given = f"{name}={shown(getattr(self, name))}"
        return InvalidSitemap(f"Related({self.relation!r}, ..., {given}): give {remedy}.")

    def parts(self) -> list[Any]:
        """Return the expressions of the related model."""
        if isinstance(self.value, Declared) and not isinstance(self.value, type):
            return list(self.value.expressions().values())
        return [self.value] if isinstance(self.value, Expression) else []

    def _load(self, keys: Sequence[Any], reader: Reader) -> list[Sequence[Any]]:
        found: dict[Any, list[Sequence[Any]]] = {}
        for parent, *row in self._read(set(keys), reader):
            found.setdefault(parent, []).append(row)
        return [found.get(key, ()) for key in keys]

    def _read(self, keys: set[Any], reader: Reader) -> Iterator[Sequence[Any]]:
        """Yield parent, language and values of each related row."""
        relation = find_relation(reader.rows.model, self.relation)  # type: ignore[arg-type]
        rows = relation.rows(keys, reader.rows.db)
        if self.filter is not None:
            rows = rows.filter(self.filter)
        parts = self.parts()
        columns = {_PARENT: F(relation.parent), _LANGUAGE: self.language or F("pk")}
        needed = [(at, part) for at, part in enumerate(parts) if is_needed(part, lambda: reader.languages)]
        columns |= {f"_sitemap_part_{at}": part for at, part in needed}
        wanted = rows.annotate(**columns).order_by(*_names(self.order_by) or relation.ordering, "pk")
        position = {alias: at for at, alias in enumerate(columns)}
        positions = [position.get(f"_sitemap_part_{at}") for at in range(len(parts))]
        fields = {alias: wanted.query.annotations[alias].output_field for alias in columns}
        storages = {position[alias]: storage for alias, storage in storages_of(fields).items()}
        for found in wanted.values_list(*columns):
            record = list(found)
            for at, storage in storages.items():
                record[at] = file_url(storage, record[at])
            values = [None if at is None else record[at] for at in positions]
            yield (relation.key_of(record[0]), record[1], *values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The path from a model to many rows of another model."""

    model: type[Model]
    """The other model."""
    parent: str
    """The lookup from the other model to the key of the first."""
    conditions: Callable[[], Mapping[str, Any]] = dict
    """Further conditions for its rows."""
    key: Field[Any, Any] | None = None
    """The primary key of the first model, if the lookup gives another type."""

    def rows(self, keys: set[Any], using: str) -> QuerySet[Any]:
        """Return the rows related to the rows with `keys`."""
        rows = self.model._default_manager.using(using)
        return rows.filter(**{f"{self.parent}__in": keys}, **self.conditions())

    def key_of(self, parent: Any) -> Any:
        """Return the key of a row of the first model, from the value of `parent`."""
        return parent if self.key is None else self.key.to_python(parent)

    @property
    def ordering(self) -> Sequence[Any]:
        """The default ordering of the other model."""
        return tuple(self.model._meta.ordering or ())


@lru_cache(maxsize=256)
def find_relation(model: type[Model], name: str) -> Relation:
    """Return the relation `name` of `model`; raise InvalidSitemap if it has none to many rows."""
    found = _field(model, name)
    if found is None:
        known = ", ".join(sorted(_relations(model))) or "none"
        raise InvalidSitemap(f"{model.__name__} has no relation {name!r} to many rows. It has: {known}.")
    if hasattr(found, "object_id_field_name"):
        return Relation(
            model=found.related_model,
            parent=found.object_id_field_name,
            conditions=lambda: {found.content_type_field_name: found.get_content_type()},
            key=model._meta.pk,
        )
    # A reverse relation has its field on the other model.
    back = found.field.name if found.auto_created else found.related_query_name()
    return Relation(model=found.related_model, parent=f"{back}__pk")


def _field(model: type[Model], name: str) -> Any:
    by_name = _relations(model)
    if name in by_name:
        return by_name[name]
    return next((one for one in by_name.values() if _accessor(one) == name), None)


def _relations(model: type[Model]) -> dict[str, Any]:
    # Hidden ones as well: a many-to-many field of this model may hide its reverse side.
    return {
        one.name: one
        for one in model._meta.get_fields()
        if one.is_relation and (one.one_to_many or one.many_to_many or (one.one_to_one and one.auto_created))
    }


def _accessor(relation: Any) -> str | None:
    return relation.get_accessor_name() if relation.auto_created else None


def _names(order_by: str | Sequence[str]) -> tuple[str, ...]:
    return (order_by,) if isinstance(order_by, str) else tuple(order_by)


def _is_loaded(part: Any) -> bool:
    return isinstance(part, Column) and part.load is not None
