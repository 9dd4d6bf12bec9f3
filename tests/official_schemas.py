"""Combine the published schemas, which must not be redistributed, into one for a page with all extensions."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from xml_checks import SCHEMAS

_PACKAGE = "sitemap@4.0.1"
_LOCATIONS = {
    "http://www.sitemaps.org/schemas/sitemap/0.9": "sitemap.xsd",
    "http://www.google.com/schemas/sitemap-image/1.1": "sitemap-image.xsd",
    "http://www.google.com/schemas/sitemap-video/1.1": "sitemap-video.xsd",
    "http://www.google.com/schemas/sitemap-news/0.9": "sitemap-news.xsd",
    "http://www.w3.org/1999/xhtml": "xhtml-strict.xsd",
}


def official_schemas(directory: Path) -> Path:
    """Download the schemas and return their directory; if that fails, skip the test, or fail it on CI."""
    npm = shutil.which("npm")
    if npm is None:
        _give_up("npm, which fetches the published schemas, is not installed")
    else:
        command = [npm, "pack", _PACKAGE, "--silent", "--pack-destination", str(directory)]
        packed = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)
        if packed.returncode:
            _give_up(f"npm could not fetch {_PACKAGE}: {packed.stderr[-500:]}")
    (archive,) = directory.glob("*.tgz")
    with tarfile.open(archive) as packed_files:
        packed_files.extractall(directory, filter="data")
    return directory / "package" / "schema"


def official_schema(directory: Path) -> Any:
    """Return the schema of an ``<urlset>`` with all extensions."""
    etree = pytest.importorskip("lxml.etree")
    schemas = official_schemas(directory)
    # The XHTML schema refers to one on the web.
    xhtml = schemas / "xhtml-strict.xsd"
    shutil.copy(SCHEMAS / "xml-ns.xsd", schemas)
    xhtml.write_text(xhtml.read_text().replace("http://www.w3.org/2001/xml.xsd", "xml-ns.xsd"))
    imports = "".join(f'<import namespace="{name}" schemaLocation="{file}"/>' for name, file in _LOCATIONS.items())
    driver = schemas / "driver.xsd"
    driver.write_text(f'<schema xmlns="http://www.w3.org/2001/XMLSchema">{imports}</schema>')
    return etree.XMLSchema(etree.parse(driver, etree.XMLParser(no_network=True, resolve_entities=False)))


def _give_up(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
