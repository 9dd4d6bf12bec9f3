"""Find out whether a method only returns a date field, so that the database can aggregate it."""

from __future__ import annotations

from typing import Any

from django.db.models import DateField


def plain_column(sitemap: Any, name: str, model: Any) -> str | None:
    """Return the date field that a method hook returns unchanged (``return item.updated_at``), or None.

    The method is called with two probes in place of objects, one with a value and one without. A probe notices
    everything except reading and returning a single attribute.
    """
    method, filled, empty = getattr(sitemap, name), _Probe(), _Probe(is_empty=True)
    try:
        found, nothing = method(filled), method(empty)
    except Exception:
        # A method that raises does more than read one attribute.
        return None
    if filled._seen.is_spoiled or empty._seen.is_spoiled or type(found) is not _Attribute or nothing is not None:
        return None
    fields = {field.name for field in model._meta.concrete_fields if isinstance(field, DateField)}
    return found._name if found._name in fields else None


class _Seen:
    """A record of how a method used a probe; it stays spoiled if the method catches the exception."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.is_spoiled = False


def _spoil(self: Any, *args: object, **kwargs: object) -> Any:
    object.__getattribute__(self, "_seen").is_spoiled = True
    raise TypeError("The method does more than read one attribute.")


# All operations on a value: comparing, converting, calling, calculating, writing.
_SPOILING = (
    "abs", "add", "and", "bool", "bytes", "call", "complex", "contains", "copy", "deepcopy", "delattr", "delitem",
    "enter", "eq", "float", "floordiv", "format", "fspath", "ge", "getitem", "gt", "hash", "index", "int", "invert",
    "iter", "le", "len", "lt", "mod", "mul", "ne", "neg", "next", "or", "pos", "pow", "radd", "rand", "reduce_ex",
    "repr", "rfloordiv", "rmod", "rmul", "ror", "round", "rpow", "rsub", "rtruediv", "rxor", "setattr", "setitem",
    "str", "sub", "truediv", "xor",
)  # fmt: skip


class _Attribute:
    """The value of a probe's attribute: a method can return it, and every other operation spoils it."""

    _seen: _Seen
    _name: str

    def __init__(self, seen: _Seen, name: str) -> None:
        vars(self).update(_seen=seen, _name=name)

    # isinstance() reads it.
    __class__ = property(_spoil)

    def __getattr__(self, name: str) -> Any:
        _spoil(self)


class _Probe:
    """A stand-in for an object, of which only one attribute may be read."""

    _seen: _Seen
    _is_empty: bool

    def __init__(self, *, is_empty: bool = False) -> None:
        vars(self).update(_seen=_Seen(), _is_empty=is_empty)

    __class__ = property(_spoil)

    def __getattr__(self, name: str) -> _Attribute | None:
        if name.startswith("__") or self._seen.name not in (None, name):
            _spoil(self)
        self._seen.name = name
        return None if self._is_empty else _Attribute(self._seen, name)


for _class in (_Attribute, _Probe):
    for _name in _SPOILING:
        setattr(_class, f"__{_name}__", _spoil)
