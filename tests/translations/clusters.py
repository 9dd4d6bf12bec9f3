"""Fetch the sitemaps of a project and prove what must hold between addresses that link to each other."""

import ast
import gzip
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from django.core.checks import run_checks
from django.core.files.storage import storages
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from xml_checks import SITEMAP, locs, validate

LINK = "{http://www.w3.org/1999/xhtml}link"
# A language, perhaps a script, perhaps a country, each in the case that its standard writes.
CODE = re.compile(r"[a-z]{2}(-[A-Z][a-z]{3})?(-[A-Z]{2})?|x-default")
GUIDES = Path(__file__).parents[2] / "docs" / "how-to"

Clusters = dict[str, dict[str, str]]
"""The links of each address by ``hreflang``."""


def served(label: str, host: str = "example.com") -> list[bytes]:
    """Return the pages of a section as a crawler finds them: from the index of the site on."""
    index = _get(f"https://{host}/sitemap.xml")
    pages = [url for url in locs(index) if re.search(rf"/sitemap-{label}-\d+\.xml$", url)]
    assert pages, f"the index lists no page of {label}"
    return [_get(url) for url in pages]


def built(label: str) -> list[bytes]:
    """Return the pages of a section as the command writes them."""
    call_command("build_sitemaps", stdout=io.StringIO())
    storage = storages["sitemaps"]
    index = storage.open("example.com/sitemap.xml").read()
    names = [urlsplit(url).path.lstrip("/") for url in locs(index) if re.search(rf"/sitemap-{label}-\d+\.", url)]
    return [gzip.decompress(storage.open(f"example.com/{name}.gz").read()) for name in names]


def clusters(pages: list[bytes]) -> Clusters:
    """Return the links of each address on `pages`, which are valid and name no address twice."""
    found: Clusters = {}
    for url in (url for page in pages for url in validate(page)):
        loc, links = url.findtext(f"{SITEMAP}loc", ""), [link.attrib for link in url.findall(LINK)]
        assert loc not in found, f"{loc} is listed twice"
        assert all(set(link) == {"rel", "hreflang", "href"} and link["rel"] == "alternate" for link in links)
        found[loc] = {link["hreflang"]: link["href"] for link in links}
        assert len(found[loc]) == len(links), f"{loc} names a language twice"
    return found


def linked(pages: list[bytes], other_hosts: tuple[str, ...] = ()) -> Clusters:
    """Return the clusters of `pages`, proved complete: each member lists itself and says what all others say."""
    found = clusters(pages)
    for loc, links in found.items():
        assert all(CODE.fullmatch(code) for code in links), links
        members = {href for code, href in links.items() if code != "x-default"}
        assert not links or loc in members, f"{loc} does not list itself"
        for href in members:
            if urlsplit(href).hostname not in other_hosts:
                assert found.get(href) == links, f"{loc} links to {href}, which does not link back"
    return found


def paths(found: Clusters) -> dict[str, dict[str, str]]:
    """Return clusters without scheme and host."""
    return {_path(loc): {code: _path(href) for code, href in links.items()} for loc, links in found.items()}


def answers(found: Clusters) -> dict[str, str]:
    """Return the language in which each address answers, by path; fail for one that does not, or moved."""
    answered = {}
    for loc in found:
        response = Client().get(urlsplit(loc).path, headers={"host": "example.com"})
        assert response.status_code == 200, loc
        answered[_path(loc)] = response.headers["Content-Language"]
    return answered


def complaints() -> list[str]:
    """Return what the system checks find in the project."""
    return [f"{message.id}: {message.msg}" for message in run_checks()]


def queries(render: Callable[[], object]) -> int:
    """Return how many queries `render` takes once what is kept between requests is there."""
    render()
    with CaptureQueriesContext(connection) as captured:
        render()
    return len(captured)


def undocumented(section: str, project: str, guide: str = "languages.md") -> list[str]:
    """Return the code of the guide, under the heading `section` if one is given, that is not part of `project`."""
    text = (GUIDES / guide).read_text()
    if section:
        _, found, rest = text.partition(f"\n## {section}\n")
        assert found, f"{guide} has no section {section!r}"
        text = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    shown = [code for block in re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M) for code in _statements(block)]
    assert shown, f"{section!r} shows no code"
    sources = [Path(__file__).parent / "base_settings.py", *(Path(__file__).parent / project).rglob("*.py")]
    held = {code for path in sources for code in _statements(path.read_text())}
    return [code for code in shown if code not in held]


def _statements(source: str) -> Iterator[str]:
    """Yield the statements of a module in one form of writing, each imported name alone; comments do not count."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom):
            yield from (f"from {node.module} import {ast.unparse(name)}" for name in node.names)
        else:
            yield ast.unparse(node)


def _get(url: str) -> bytes:
    parts = urlsplit(url)
    # Whoever asks, and in whatever language: the sitemap is the same for everybody.
    response = Client().get(parts.path, headers={"host": parts.hostname, "accept-language": "de"})
    assert response.status_code == 200, response.content
    return response.getvalue()


def _path(url: str) -> str:
    return url.removeprefix("https://example.com")
