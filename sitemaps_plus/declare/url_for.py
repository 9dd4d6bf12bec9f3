"""Turn the name of a URL pattern and the values of a row into the path of reverse(), without its cost for each row."""

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
# With these a regular expression may match by itself and not as a part of a pattern: lookarounds, anchors, back
# references, flags, atomic groups, possessive quantifiers. A few matches are harmless (`[*+]`) and only cost speed.
_DEPENDS_ON_NEIGHBOURS = re.compile(r"\(\?(?!:)|\\[AbBGZz1-9]|(?<!\[)\^|\$|[+*?}]\+")
# Characters that quote() never changes and that need no escape in a path.
_PLAIN_TEXT = r"(?!\.\.?\Z)(?=[-A-Za-z0-9_.~]+\Z)(?:%s)\Z"


class UrlFor:
    """The location of each row by the name of its URL pattern: ``UrlFor("product-detail", slug=F("slug"))``.

    Keyword arguments are ORM expressions, computed by the database for each row, values that differ by language
    (``PerLanguage``, ``Related``), or constants. The path equals that of ``reverse()``. A row with ``None``, ``.`` or
    ``..`` is left out, because it would not have a URL of its own.
    """

    gives: ClassVar[Gives] = "path"
    """It builds a path of this site: values that need an absolute URL add the origin."""

    def __init__(self, viewname: str, /, **kwargs: object) -> None:
        """Declare a location; raises InvalidSitemap if `viewname` is no text or an argument has several values."""
        if not isinstance(viewname, str):
            raise InvalidSitemap(
                f"UrlFor() takes the name of a URL pattern, not {_stable_repr(viewname)}: "
                'give the pattern a name in the URLconf and write UrlFor("that-name", ...).'
            )
        for name, value in kwargs.items():
            if isinstance(value, Declared) and not depends_on_language(value):
                raise InvalidSitemap(
                    f"UrlFor({viewname!r}): {name}={_stable_repr(value)} gives several values for one row; choose one, "
                    'as in Related("translations", F("slug"), language=F("language_code")).'
                )
        self.viewname = viewname
        self.kwargs = kwargs

    def __repr__(self) -> str:
        """Return the declaration as a text that is the same in every process."""
        values = (f"{name}={_stable_repr(value)}" for name, value in self.kwargs.items())
        return f"UrlFor({', '.join([repr(self.viewname), *values])})"

    def __eq__(self, other: object) -> bool:
        """Compare view name and keyword arguments."""
        if not isinstance(other, UrlFor):
            return NotImplemented
        return self.viewname == other.viewname and self.kwargs == other.kwargs

    def __hash__(self) -> int:
        """Return a hash of the names only: a constant need not be hashable."""
        return hash((self.viewname, frozenset(self.kwargs)))

    def expressions(self) -> dict[str, Any]:
        """Return the expressions by the name of their keyword argument, in declared order, without constants."""
        found: dict[str, Any] = {}
        for name, value in self.kwargs.items():
            if isinstance(value, Declared):
                found |= {f"{name}.{part}": expression for part, expression in value.expressions().items()}
            elif isinstance(value, Expression):
                found[name] = value
        return found

    def builder(self) -> Callable[[Sequence[object]], str]:
        """Return the function from the values of `expressions()` to the path of one row.

        It is valid for the active URLconf, script prefix and language. It raises InvalidEntry: E-URL-VALUE for a value
        that leaves the row out, E-URL-REVERSE if ``reverse()`` finds no pattern for the row.
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
        """Return the path in parts for the active URLconf, script prefix and language; None if it cannot be compiled.

        The position of a parameter is that of its value in `expressions()`.
        """
        positions: dict[str, int] = {}
        start = 0
        for name, value in self.kwargs.items():
            if isinstance(value, Declared):
                chosen = value.position() if isinstance(value, PerLanguage) else None
                if chosen is None:
                    return None
                positions[name] = start + chosen
                start += len(value.expressions())
            elif isinstance(value, Expression):
                positions[name] = start
                start += 1
        constants = {name: value for name, value in self.kwargs.items() if name not in positions}
        shape = _active_shape(self.viewname, (*positions, *constants))
        names = [*positions, *constants]
        return None if shape.compiled is None else _with_constants(shape.compiled, names, positions, constants)

    def _in_language(self, given: Mapping[str, Any], build: _Build) -> _Build:
        """Return `build` with a step before it that chooses the values in the active language."""
        choosers = [
            (name, value.builder(), len(value.expressions())) if isinstance(value, Declared) else (name, None, 1)
            for name, value in given.items()
        ]

        def choose(values: Sequence[object]) -> str:
            row, chosen = iter(values), []
            for name, choose_one, size in choosers:
                value = next(row) if choose_one is None else choose_one(list(islice(row, size)))
                if choose_one is not None and value in (None, ""):
                    raise NotTranslated("E-URL-VALUE", f"{self!r}: {name} is empty in {get_language()!r}; fill it.")
                chosen.append(value)
            return build(chosen)

        return choose

    def check(self) -> list[tuple[str, str]]:
        """Return problems and remedies of every row: an unknown name, or keyword arguments that no pattern takes."""
        try:
            candidates = _candidates(get_resolver(get_urlconf()), self.viewname)
        except NoReverseMatch as error:
            return [(f"{self!r}: {error}.", "Correct the namespace, or include its URLs in the URLconf.")]
        if not candidates:
            return [(f"{self!r}: no URL pattern has this name.", "Correct it, or give the pattern this name.")]
        if any(candidate.takes(self.kwargs) for candidate in candidates):
            return []
        taken = sorted({f"({', '.join(candidate.params)})" for candidate in candidates})
        text = f"{self!r}: URL patterns of this name take {' or '.join(taken)}."
        return [(text, "Correct the keyword arguments: give those of one pattern.")]

    def _reversed_builder(
        self, names: Sequence[str], constants: Sequence[object], to_urls: Mapping[str, Sequence[_ToUrl]]
    ) -> _Build:
        """Return the function that refuses None and dots and calls reverse() for every other row."""

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
            f"{self!r}: {name} is {_shortened(_stable_repr(value))}, so this row has no URL. "
            "Fill it, or leave such rows out of the queryset.",
        )

    def _reverse_error(self, error: NoReverseMatch) -> InvalidEntry:
        problem = next(iter(self.check()), ())
        return InvalidEntry(
            "E-URL-REVERSE",
            " ".join(problem)
            or f"{self!r}: {_shortened(str(error))} Correct the value or the URL pattern, "
            "or leave such rows out of the queryset.",
        )


class _Candidate(NamedTuple):
    """A URL pattern of some name, in the form in which reverse() stores it."""

    template: str
    params: Sequence[str]
    pattern: str
    defaults: Mapping[str, object]
    converters: Mapping[str, Any]

    def takes(self, names: Collection[str]) -> bool:
        """Return whether the pattern takes keyword arguments of these names."""
        return not set(names).symmetric_difference(self.params).difference(self.defaults)

    def to_url(self, name: str) -> _ToUrl:
        """Return the function that turns a value of the parameter into text."""
        converter = self.converters.get(name)
        return str if converter is None else converter.to_url


class Param(NamedTuple):
    """A parameter of a compiled path, and the text between it and the next."""

    position: int
    to_url: _ToUrl
    match: Callable[[str], object]
    """Whether a text matches the converter and needs no quoting."""
    suits: Callable[[str], object]
    """Whether a text matches the converter."""
    literal: str


class Compiled(NamedTuple):
    """A path of quoted text with parameters in it."""

    head: str
    params: Sequence[Param]


class _Shape(NamedTuple):
    """The patterns for a name and keyword names under one URLconf, script prefix and language."""

    compiled: Compiled | None
    to_urls: Mapping[str, Sequence[_ToUrl]]


# By resolver: a changed URLconf has a new one, and the shapes of the old one are freed with it.
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
        # reverse() skips candidates with other parameters whatever the values are, and tries this one first.
        compiled=_compile(fitting[0], names, prefix) if fitting else None,
        to_urls={name: [candidate.to_url(name) for candidate in fitting] for name in names},
    )


def _candidates(resolver: URLResolver, viewname: str) -> list[_Candidate]:
    """Return the candidates for a name in the order in which reverse() tries them."""
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
    """Return the compiled candidate, or None if its paths would not always equal those of reverse()."""
    first, *rest = _PLACEHOLDER.split(candidate.template)
    params, literals = rest[::2], rest[1::2]
    if sorted(params) != sorted(names) or any("%" in literal for literal in (first, *literals)):
        return None
    try:
        matches = [_plain_match(candidate.converters[name].regex) for name in params]
    except (KeyError, re.error):
        return None
    # The pattern must consist of these literals and converters and nothing else. Then parts that match one by one make
    # a path that matches as a whole, and reverse() would accept it.
    expected = re.escape(first)
    for name, literal in zip(params, literals, strict=True):
        expected += f"(?P<{name}>{candidate.converters[name].regex}){re.escape(literal)}"
    if candidate.pattern != expected + r"\Z" or None in matches:
        return None
    return Compiled(
        # No value is empty or begins with a slash, so that only the text before it can contain "//".
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
    """Return the match of texts that the converter accepts and that need no quoting; None if that is not enough."""
    re.compile(regex)  # By itself, so that it cannot close a group that it did not open.
    return None if _DEPENDS_ON_NEIGHBOURS.search(regex) else re.compile(_PLAIN_TEXT % regex).match


def _compiled_builder(compiled: Compiled, constants: Sequence[object], checked: _Build) -> _Build:
    """Return the function that builds plain paths, and calls `checked` for every other row."""
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
            # The same as "%s".
            if type(text) is not str:
                text = str(text)
            if not match(text):
                return checked(values)
            pieces += text, literal
        return "".join(pieces)

    return build


def _single_builder(head: str, param: Param, checked: _Build) -> _Build:
    """Return the same function without a loop, for the most common path, with one value."""
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
    compiled: Compiled, names: Sequence[str], positions: Mapping[str, int], constants: Mapping[str, object]
) -> Compiled | None:
    """Return the path with its constants as text; None if one of them needs quoting."""
    head, params = compiled.head, []
    for param in compiled.params:
        name = names[param.position]
        if name in positions:
            params.append(param._replace(position=positions[name]))
            continue
        text = str(param.to_url(constants[name]))
        if not param.match(text):
            return None
        if params:
            params[-1] = params[-1]._replace(literal=params[-1].literal + text + param.literal)
        else:
            head += text + param.literal
    return Compiled(head, params)


class _Quoted(dict[int, str]):
    """What characters become in a path, by their numbers."""

    def __missing__(self, number: int) -> str:
        found = self[number] = quote(chr(number), safe=f"{RFC3986_SUBDELIMS}/~:@")
        return found


_QUOTED = _Quoted()


def quoted(text: str) -> str:
    """Return text as ``reverse()`` writes it in a path: like ``quote()``, in a third of the time."""
    return text.translate(_QUOTED)


def _is_dots(to_url: _ToUrl, value: object) -> bool:
    try:
        return str(to_url(value)) in _DOTS
    except Exception:  # code of any kind: reverse() raises the same if it is called
        return False


def _stable_repr(value: object) -> str:
    return _ADDRESS.sub("", repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}..."
