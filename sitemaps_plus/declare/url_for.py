"""Turn the name of a URL pattern and values of a row into the path that reverse() gives, without its price a row."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import quote
from weakref import WeakKeyDictionary

from django.urls import NoReverseMatch, get_resolver, get_script_prefix, get_urlconf, reverse
from django.urls.resolvers import URLResolver, get_ns_resolver
from django.utils.http import RFC3986_SUBDELIMS, escape_leading_slashes
from django.utils.translation import get_language

from sitemaps_plus.declare.hooks import depends_on_language
from sitemaps_plus.declare.per_language import PerLanguage
from sitemaps_plus.errors import InvalidEntry, InvalidSitemap, NotTranslated
from sitemaps_plus.values.fields import Declared, Expression, Gives

_Build: TypeAlias = Callable[[Sequence[object]], str]
_ToUrl: TypeAlias = Callable[[Any], object]

_DOTS = (".", "..")
_TEXT_SHOWN = 300
_SHAPES_KEPT = 1024

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# By these a regular expression can match alone and not beside others: lookarounds, anchors, back references, flags,
# atomic groups, possessive quantifiers. Some that it finds are harmless (`[*+]`); they only take the slower way.
_DEPENDS_ON_NEIGHBOURS = re.compile(r"\(\?(?!:)|\\[AbBGZz1-9]|(?<!\[)\^|\$|[+*?}]\+")
# What quote() leaves as it is, in no need of an escape anywhere in a path.
_PLAIN_TEXT = r"(?!\.\.?\Z)(?=[-A-Za-z0-9_.~]+\Z)(?:%s)\Z"


class UrlFor:
    """The location of each row by the name of its URL pattern: ``UrlFor("product-detail", slug=F("slug"))``.

    Keyword arguments are ORM expressions, computed by the database for each row, values that differ by language
    (``PerLanguage``, ``Related``), or constants. The path equals that of ``reverse()``; only ``None``, ``.`` and ``..``
    leave the row out, since none of them names a page of its own.
    """

    gives: ClassVar[Gives] = "path"
    """It builds a path of this site, so that values which need an absolute URL may add the origin."""

    def __init__(self, viewname: str, /, **kwargs: object) -> None:
        """Declare a location; raises InvalidSitemap for a `viewname` that is not a string, or several for one value."""
        if not isinstance(viewname, str):
            raise InvalidSitemap(
                f"UrlFor() takes the name of a URL pattern, not {_stable_repr(viewname)}: "
                'give the pattern a name in the URLconf and write UrlFor("that-name", ...).'
            )
        for name, value in kwargs.items():
            if isinstance(value, Declared) and not depends_on_language(value):
                raise InvalidSitemap(
                    f"UrlFor({viewname!r}): {name}={_stable_repr(value)} gives several values for one row; say which "
                    'one, as in Related("translations", F("slug"), language=F("language_code")).'
                )
        self.viewname = viewname
        self.kwargs = kwargs

    def __repr__(self) -> str:
        """Return the declaration as a text that is the same in every process."""
        values = (f"{name}={_stable_repr(value)}" for name, value in self.kwargs.items())
        return f"UrlFor({', '.join([repr(self.viewname), *values])})"

    def __eq__(self, other: object) -> bool:
        """Compare by view name and keyword arguments."""
        if not isinstance(other, UrlFor):
            return NotImplemented
        return self.viewname == other.viewname and self.kwargs == other.kwargs

    def __hash__(self) -> int:
        """Return a hash of the names alone: a constant need not be hashable."""
        return hash((self.viewname, frozenset(self.kwargs)))

    def expressions(self) -> dict[str, Any]:
        """Return the expressions by the name of their keyword argument, in declared order, without the constants."""
        found: dict[str, Any] = {}
        for name, value in self.kwargs.items():
            if isinstance(value, Declared):
                found |= {f"{name}.{part}": expression for part, expression in value.expressions().items()}
            elif isinstance(value, Expression):
                found[name] = value
        return found

    def builder(self) -> Callable[[Sequence[object]], str]:
        """Return the function from the values of `expressions()` to the path of one row.

        It holds for the active URLconf, script prefix and language. It raises InvalidEntry: E-URL-VALUE for a value
        that leaves the row out, E-URL-REVERSE where ``reverse()`` finds no pattern for the row.
        """
        given = {name: value for name, value in self.kwargs.items() if isinstance(value, Declared | Expression)}
        constants = {name: value for name, value in self.kwargs.items() if name not in given}
        names = (*given, *constants)
        shape = _active_shape(self.viewname, names)
        build = self._reversed_builder(names, tuple(constants.values()), shape.to_urls)
        if shape.compiled is not None:
            build = _compiled_builder(shape.compiled, tuple(constants.values()), build)
        return self._in_language(given, build) if any(isinstance(one, Declared) for one in given.values()) else build

    def compiled(self) -> "Compiled | None":
        """Return the path in parts, for the URLconf, script prefix and language now active; None where only rows tell.

        The position of a parameter is that of its value among those of `expressions()`.
        """
        places: dict[str, int] = {}
        start = 0
        for name, value in self.kwargs.items():
            if isinstance(value, Declared):
                chosen = value.position() if isinstance(value, PerLanguage) else None
                if chosen is None:
                    return None
                places[name] = start + chosen
                start += len(value.expressions())
            elif isinstance(value, Expression):
                places[name] = start
                start += 1
        constants = {name: value for name, value in self.kwargs.items() if name not in places}
        shape = _active_shape(self.viewname, (*places, *constants))
        names = [*places, *constants]
        return None if shape.compiled is None else _with_constants(shape.compiled, names, places, constants)

    def _in_language(self, given: Mapping[str, Any], build: _Build) -> _Build:
        """Return `build` behind what chooses the values of the language now active."""
        takes = [
            (name, value.builder(), len(value.expressions())) if isinstance(value, Declared) else (name, None, 1)
            for name, value in given.items()
        ]

        def choose(values: Sequence[object]) -> str:
            row, chosen = iter(values), []
            for name, take, size in takes:
                value = next(row) if take is None else take(list(islice(row, size)))
                if take is not None and value in (None, ""):
                    raise NotTranslated("E-URL-VALUE", f"{self!r}: {name} is empty in {get_language()!r}; fill it.")
                chosen.append(value)
            return build(chosen)

        return choose

    def check(self) -> list[str]:
        """Return what is wrong whatever the rows hold: an unknown name, keyword arguments that no pattern takes."""
        try:
            candidates = _candidates(get_resolver(get_urlconf()), self.viewname)
        except NoReverseMatch as error:
            return [f"{self!r}: {error}. Correct the namespace, or include its URLs in the URLconf."]
        if not candidates:
            return [f"{self!r}: no URL pattern has this name. Correct it, or give the pattern this name."]
        if any(candidate.takes(self.kwargs) for candidate in candidates):
            return []
        taken = sorted({f"({', '.join(candidate.params)})" for candidate in candidates})
        return [f"{self!r}: URL patterns of this name take {' or '.join(taken)}. Give the keyword arguments of one."]

    def _reversed_builder(
        self, names: Sequence[str], constants: Sequence[object], to_urls: Mapping[str, Sequence[_ToUrl]]
    ) -> _Build:
        """Return the function that leaves out None and dots and hands every other row to reverse()."""

        def build(values: Sequence[object]) -> str:
            row = dict(zip(names, (*values, *constants), strict=True))
            for name, value in row.items():
                if value is None or any(_is_dots(to_url, value) for to_url in to_urls[name]):
                    raise self._value_error(name, value)
            try:
                return reverse(self.viewname, kwargs=row)
            except NoReverseMatch as error:
                for name, value in row.items():
                    if str(value) == "":
                        raise self._value_error(name, value) from error
                raise self._reverse_error(error) from error

        return build

    def _value_error(self, name: str, value: object) -> InvalidEntry:
        return InvalidEntry(
            "E-URL-VALUE",
            f"{self!r}: {name} is {_shortened(_stable_repr(value))}, with which no page can be named. "
            "Fill it, or leave such rows out of the queryset.",
        )

    def _reverse_error(self, error: NoReverseMatch) -> InvalidEntry:
        return InvalidEntry(
            "E-URL-REVERSE",
            f"{self!r}: {_shortened(str(error))} Correct the value or the URL pattern, "
            "or leave such rows out of the queryset.",
        )


class _Candidate(NamedTuple):
    """One way of a URLconf to make a path under a name, in the words that reverse() keeps it in."""

    template: str
    params: Sequence[str]
    pattern: str
    defaults: Mapping[str, object]
    converters: Mapping[str, Any]

    def takes(self, names: Collection[str]) -> bool:
        """Tell whether the keyword arguments fit by their names."""
        return not set(names).symmetric_difference(self.params).difference(self.defaults)

    def to_url(self, name: str) -> _ToUrl:
        """Return what makes text of a value of this parameter."""
        converter = self.converters.get(name)
        return str if converter is None else converter.to_url


class Param(NamedTuple):
    """A parameter of a compiled path and the literal text up to the next."""

    position: int
    to_url: _ToUrl
    match: Callable[[str], object]
    """Whether a text suits the converter and needs no quoting."""
    suits: Callable[[str], object]
    """Whether a text suits the converter."""
    literal: str


class Compiled(NamedTuple):
    """A path as quoted text and parameters between it."""

    head: str
    params: Sequence[Param]


class _Shape(NamedTuple):
    """What a name and keyword names come to under one URLconf, script prefix and language."""

    compiled: Compiled | None
    to_urls: Mapping[str, Sequence[_ToUrl]]


# By the resolver itself: a changed URLconf has a new one, and the shapes of the old one go with it.
_shapes: WeakKeyDictionary[URLResolver, dict[tuple[object, ...], _Shape]] = WeakKeyDictionary()


def _active_shape(viewname: str, names: tuple[str, ...]) -> _Shape:
    resolver, prefix = get_resolver(get_urlconf()), get_script_prefix()
    key = (viewname, names, prefix, get_language())
    kept = _shapes.setdefault(resolver, {})
    shape = kept.get(key)
    if shape is None:
        if len(kept) >= _SHAPES_KEPT:
            kept.clear()
        shape = kept[key] = _shape(resolver, viewname, names, prefix)
    return shape


def _shape(resolver: URLResolver, viewname: str, names: tuple[str, ...], prefix: str) -> _Shape:
    try:
        candidates = _candidates(resolver, viewname)
    except NoReverseMatch:
        candidates = []
    fitting = [candidate for candidate in candidates if candidate.takes(names)]
    return _Shape(
        # reverse() passes over candidates of other names whatever the values are; the next one is its first.
        compiled=_compile(fitting[0], names, prefix) if fitting else None,
        to_urls={name: [candidate.to_url(name) for candidate in fitting] for name in names},
    )


def _candidates(resolver: URLResolver, viewname: str) -> list[_Candidate]:
    """Return the candidates of a name in the order in which reverse() tries them."""
    *namespaces, name = viewname.split(":")
    path, converters = "", {}
    for namespace in namespaces:
        instances = resolver.app_dict.get(namespace, [namespace])
        instance = namespace if namespace in instances else instances[0]
        if instance not in resolver.namespace_dict:
            raise NoReverseMatch(f"{namespace!r} is not a registered namespace")
        extra, resolver = resolver.namespace_dict[instance]
        path += extra
        converters.update(resolver.pattern.converters)
    if path:
        resolver = get_ns_resolver(path, resolver, tuple(converters.items()))
    return [
        _Candidate(template, params, pattern, defaults, known)
        for forms, pattern, defaults, known in resolver.reverse_dict.getlist(name)
        for template, params in forms
    ]


def _compile(candidate: _Candidate, names: tuple[str, ...], prefix: str) -> Compiled | None:
    """Return the candidate in compiled form, or None where that would not always equal reverse()."""
    first, *rest = _PLACEHOLDER.split(candidate.template)
    params, literals = rest[::2], rest[1::2]
    if sorted(params) != sorted(names) or any("%" in literal for literal in (first, *literals)):
        return None
    try:
        matches = [_plain_match(candidate.converters[name].regex) for name in params]
    except (KeyError, re.error):
        return None
    # The pattern must be these literals and converters and nothing else: then texts that match one by one make a
    # path that matches as a whole, and reverse() would find nothing to refuse.
    expected = re.escape(first)
    for name, literal in zip(params, literals, strict=True):
        expected += f"(?P<{name}>{candidate.converters[name].regex}){re.escape(literal)}"
    if candidate.pattern != expected + r"\Z" or None in matches:
        return None
    return Compiled(
        # A value is never empty nor begins with a slash, so only the text before it can make "//".
        head=escape_leading_slashes(quoted(prefix + first)),
        params=[
            Param(
                names.index(name),
                candidate.to_url(name),
                match,
                re.compile(rf"(?:{candidate.converters[name].regex})\Z").match,
                quoted(literal),
            )
            for name, match, literal in zip(params, matches, literals, strict=True)
            if match is not None
        ],
    )


def _plain_match(regex: str) -> Callable[[str], object] | None:
    """Return the match of a text that suits the converter and needs no quoting, or None if that says too little."""
    re.compile(regex)  # On its own: what closes a group that it did not open is no part of its own.
    return None if _DEPENDS_ON_NEIGHBOURS.search(regex) else re.compile(_PLAIN_TEXT % regex).match


def _compiled_builder(compiled: Compiled, constants: Sequence[object], checked: _Build) -> _Build:
    """Return the function that builds plain rows itself and hands every other one to `checked`."""
    head, params = compiled
    if len(params) == 1 and not constants:
        return _single_builder(head, params[0], checked)

    def build(values: Sequence[object]) -> str:
        row = (*values, *constants)
        pieces = [head]
        for position, to_url, match, _, literal in params:
            if (value := row[position]) is None:
                return checked(values)
            try:
                text = to_url(value)
            except ValueError:
                return checked(values)
            # As "%s" does it.
            if type(text) is not str:
                text = str(text)
            if not match(text):
                return checked(values)
            pieces += text, literal
        return "".join(pieces)

    return build


def _single_builder(head: str, param: Param, checked: _Build) -> _Build:
    """Return the same for the most frequent path, one value a row, without a loop."""
    _, to_url, match, _, tail = param

    def build(values: Sequence[object]) -> str:
        (value,) = values
        if value is None:
            return checked(values)
        try:
            text = to_url(value)
        except ValueError:
            return checked(values)
        if type(text) is not str:
            text = str(text)
        if not match(text):
            return checked(values)
        return "".join((head, text, tail))

    return build


def _with_constants(
    compiled: Compiled, names: Sequence[str], places: Mapping[str, int], constants: Mapping[str, object]
) -> Compiled | None:
    """Return the path with its constants as text, None where one of them is not plain."""
    head, params = compiled.head, []
    for param in compiled.params:
        name = names[param.position]
        if name in places:
            params.append(param._replace(position=places[name]))
            continue
        text = str(param.to_url(constants[name]))
        if not param.match(text):
            return None
        if params:
            params[-1] = params[-1]._replace(literal=params[-1].literal + text + param.literal)
        else:
            head += text + param.literal
    return Compiled(head, params)


def quoted(text: str, also: str = "") -> str:
    """Return text as ``reverse()`` writes it in a path; the characters of `also` stay too."""
    return quote(text, safe=f"{RFC3986_SUBDELIMS}/~:@{also}")


def _is_dots(to_url: _ToUrl, value: object) -> bool:
    try:
        return str(to_url(value)) in _DOTS
    except Exception:  # Whatever a converter raises is for reverse() to meet, if it gets that far.
        return False


def _stable_repr(value: object) -> str:
    return _ADDRESS.sub("", repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}..."
