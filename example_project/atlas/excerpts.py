"""Turn one ``<url>`` of a built file into a few readable lines."""

from collections.abc import Iterator
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

_INDENT = "  "


def excerpt(url: etree._Element, tag: str) -> str:
    """Return a ``<url>`` with one element on each line; extensions other than `tag` are only counted."""
    lines = [_opening(url)]
    for name, children in groupby(url, key=_name):
        found = list(children)
        if ":" in name and found[0].tag != tag:
            lines.append(f"{_INDENT}<!-- {len(found)} {name} -->")
        else:
            lines += [_INDENT + line for child in found for line in _lines(child)]
    return "\n".join([*lines, f"</{_name(url)}>"])


def _lines(element: etree._Element) -> Iterator[str]:
    inside = [line for child in element for line in _lines(child)]
    closing = f"</{_name(element)}>"
    if len(inside) > 1:
        yield from [_opening(element), *(_INDENT + line for line in inside), closing]
    elif inside or element.text:
        yield _opening(element) + (inside[0] if inside else escape(element.text or "")) + closing
    else:
        yield _opening(element).removesuffix(">") + "/>"


def _opening(element: etree._Element) -> str:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attrib.items())
    return f"<{_name(element)}{attributes}>"


def _name(element: etree._Element) -> str:
    name = etree.QName(element).localname
    return f"{element.prefix}:{name}" if element.prefix else name
