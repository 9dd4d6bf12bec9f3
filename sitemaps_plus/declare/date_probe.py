"""Tell whether a method only hands out a date column, so that the database can look at all of them."""

from __future__ import annotations

from typing import Any

from django.db.models import DateField


def plain_column(sitemap: Any, name: str, model: Any) -> str | None:
    """Return the date field whose value a method hook hands out as it is (``return item.updated_at``), or None.

    The method is called with two probes in place of objects, one filled and one empty: what does more than read one
    attribute, or has another value for one that is empty, betrays itself.
    """
    method, filled, empty = getattr(sitemap, name), _Probe(), _Probe(is_empty=True)
    try:
        found, nothing = method(filled), method(empty)
    except Exception:
        # Whatever it raised: the method does more than read one attribute.
        return None
    if filled._seen.is_spoiled or empty._seen.is_spoiled or type(found) is not _Attribute or nothing is not None:
        return None
    fields = {field.name for field in model._meta.concrete_fields if isinstance(field, DateField)}
    return found._name if found._name in fields else None


class _Seen:
    """What a method did with a probe; it stays spoiled when the method swallows the exception."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.is_spoiled = False


def _spoil(self: Any, *args: object, **kwargs: object) -> Any:
    object.__getattribute__(self, "_seen").is_spoiled = True
    raise TypeError("The method does more than read one attribute.")


# Everything but handing the value on: comparing, converting, calling, calculating, writing it.
_SPOILING = (
    "abs", "add", "and", "bool", "bytes", "call", "complex", "contains", "copy", "deepcopy", "delattr", "delitem",
    "enter", "eq", "float", "floordiv", "format", "fspath", "ge", "getitem", "gt", "hash", "index", "int", "invert",
    "iter", "le", "len", "lt", "mod", "mul", "ne", "neg", "next", "or", "pos", "pow", "radd", "rand", "reduce_ex",
    "repr", "rfloordiv", "rmod", "rmul", "ror", "round", "rpow", "rsub", "rtruediv", "rxor", "setattr", "setitem",
    "str", "sub", "truediv", "xor",
)  # fmt: skip


class _Attribute:
    """What a probe gives for an attribute; nothing can be done with it but hand it on."""

    _seen: _Seen
    _name: str

    def __init__(self, seen: _Seen, name: str) -> None:
        vars(self).update(_seen=seen, _name=name)

    # isinstance() asks for it.
    __class__ = property(_spoil)

    def __getattr__(self, name: str) -> Any:
        _spoil(self)


class _Probe:
    """Stands for an object of which only one attribute is read."""

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
