"""Several processes publish what one does; one that dies, or is stopped, takes nothing with it."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.db import transaction

from databases import shared_database
from factories import DAY
from samples import make_products, paths
from sitemaps_plus import ModelSitemap, register
from sitemaps_plus.build import build
from sitemaps_plus.build.executors.pool import usable_cores
from sitemaps_plus.build.options import BuildOptions
from sitemaps_plus.models import Build, SitemapPage
from testapp.models import Article, Product
from xml_checks import locs

pytestmark = pytest.mark.django_db(transaction=True)

KINDS = ["rows", "objects", "site-rows", "languages", "plain", "news", "one", "bad"]


class Rows(ModelSitemap):
    queryset = Product.objects.all()
    limit = 10

    def location(self, item: Product) -> str:
        return f"/{item.slug}/"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    with shared_database(tmp_path, SitemapPage, Build, Product, Article, Site) as address:
        yield address


@pytest.fixture
def start(database: str, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Give what starts the command in a process group of its own; its files go to `files`."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: str, files: str = "files", **environment: str) -> subprocess.Popen[str]:
        (tmp_path / "temporary").mkdir(exist_ok=True)
        command = subprocess.Popen(
            [sys.executable, "-m", "django", "build_sitemaps", "--skip-checks", *args],
            env={
                **os.environ,
                "DATABASE_URL": database,
                "DJANGO_SETTINGS_MODULE": "crew.settings",
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
                "CREW_FILES": str(tmp_path / files),
                "TMPDIR": str(tmp_path / "temporary"),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(command)
        return command

    yield start
    for command in started:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)
        command.wait()
        for pipe in (command.stdout, command.stderr):
            if pipe:
                pipe.close()


@pytest.fixture
def run(start: Any, tmp_path: Path) -> Callable[..., tuple[dict[str, Any], str, dict[str, bytes]]]:
    """Return what runs the command and gives its report, its standard error and the files that are there then."""

    def run(*args: str, files: str = "files", **environment: str) -> tuple[dict[str, Any], str, dict[str, bytes]]:
        stdout, stderr = start(*args, "--json", files=files, **environment).communicate(timeout=60)
        folder = tmp_path / files
        found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        return json.loads(stdout), stderr, found

    return run


def pids(folder: Path) -> set[int]:
    """Return the processes that have left a note."""
    return {int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")}


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def comparable(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report without what two builds of the same rows do not share."""
    return {name: value for name, value in report.items() if name not in ("seconds", "indexes")}


def stored() -> list[Any]:
    names = ("site", "label", "number", "start", "digest", "urls", "bytes", "changed_at", "validator")
    return list(SitemapPage.objects.order_by("site", "label", "number").values_list(*names))


def sections(report: dict[str, Any]) -> dict[str, Any]:
    return {section["label"]: section for section in report["sections"] if section["site"] == "example.com"}


def rows_of(files: dict[str, bytes], label: str) -> list[str]:
    """Return the addresses on the pages that the index of a section lists."""
    listed = paths(locs(files[f"example.com/sitemap-{label}.xml"]))
    return [row for path in listed for row in paths(locs(gzip.decompress(files[f"example.com{path}.gz"])))]


def test_two_processes_publish_the_bytes_of_one_for_every_kind_of_section(run: Any, tmp_path: Path) -> None:
    make_products(25)
    Product.objects.filter(slug="product-7").update(priority=7)
    Article.objects.bulk_create(Article(title=f"News {n}", published_at=DAY) for n in range(3))

    one, stderr_of_one, files_of_one = run(*KINDS, "--workers", "1", files="one")
    before, alone = stored(), pids(tmp_path)
    SitemapPage.objects.all().delete()
    two, stderr, files_of_two = run(*KINDS, "--workers", "2", files="two")

    assert len(alone) == 1
    assert len(pids(tmp_path) - alone) == 2, stderr
    assert comparable(one) == comparable(two)
    assert two["complete"], stderr
    assert {section["site"] for section in two["sections"]} == {"example.com", "example.org"}
    assert sections(two)["bad"]["left_out"] == 3
    assert sections(two)["bad"]["dropped"] == 1
    assert sections(two)["plain"]["pages"] == 3
    assert files_of_one == files_of_two
    assert stored() == before
    assert rows_of(files_of_two, "rows") == [f"/product-{n}/" for n in range(1, 26)]
    # The report has them, and nothing has them twice.
    assert "was left out" not in stderr_of_one
    assert "was left out" not in stderr


@pytest.mark.parametrize("workers", ["1", "2", "3"])
def test_pages_that_several_processes_find_too_large_are_split_and_no_row_is_lost(run: Any, workers: str) -> None:
    make_products(120)

    report, stderr, files = run("large", "--workers", workers, CREW_BYTES="1500")

    assert report["complete"], stderr
    assert rows_of(files, "large") == [f"/product-{n}/" for n in range(1, 121)]
    pages = [gzip.decompress(data) for name, data in files.items() if name.startswith("example.com/sitemap-large-")]
    assert len(pages) == sections(report)["large"]["pages"] > 3
    assert max(map(len, pages)) <= 1500
    assert sections(report)["large"]["urls"] == 120
    # What is stored says the same of each page.
    assert sum(SitemapPage.objects.filter(site=1).values_list("urls", flat=True)) == 120


def test_a_process_that_dies_fails_its_section_and_the_others_are_built(run: Any) -> None:
    make_products(40)
    _, _, before = run("rows", "--workers", "1")

    report, stderr, files = run("deadly", "rows", "--workers", "2")

    found = sections(report)
    assert found["deadly"]["error"] == (
        "SitemapError: The process that rendered page 2 was ended by signal 9 (Killed). The system does that when "
        "memory runs out: use fewer workers, or a smaller `limit`."
    )
    assert (found["deadly"]["rendered"], found["deadly"]["pages"]) == (1, 0)
    assert found["rows"]["error"] is None
    assert found["rows"]["pages"] == 4
    assert "Not everything was built" in stderr
    assert files == before


def test_an_error_in_another_process_is_told_as_one_here(run: Any) -> None:
    make_products(40)

    one, _, _ = run("heavy", "bad", "--strict", "--workers", "1")
    two, stderr, files = run("heavy", "bad", "--strict", "--workers", "2")

    assert comparable(one) == comparable(two)
    assert sections(two)["heavy"]["error"] == "MemoryError: no room for Product 15"
    assert (sections(two)["heavy"]["rendered"], sections(two)["heavy"]["pages"]) == (1, 0)
    assert re.match(r"StrictError: Sitemap section 'bad': row \d+ was left out", sections(two)["bad"]["error"])
    # Where it happened is told, too; of our own errors the text says all.
    assert "in from_db\n" in stderr
    assert stderr.count("In the other process:") == 2
    assert files == {}


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_build_that_is_stopped_leaves_no_process_and_no_file(
    start: Any, tmp_path: Path, kind: signal.Signals
) -> None:
    make_products(40)
    building = start("slow", "--workers", "2")
    deadline = time.monotonic() + 30
    while len(pids(tmp_path)) < 2 and time.monotonic() < deadline and building.poll() is None:
        time.sleep(0.02)
    workers = pids(tmp_path)
    assert len(workers) == 2, building.poll() is not None and building.communicate()
    assert all(map(is_alive, workers))

    # As a terminal does: Ctrl-C goes to all processes of the group.
    (os.killpg if kind == signal.SIGINT else os.kill)(building.pid, kind)
    _, stderr = building.communicate(timeout=20)

    # Not between two pages: those of other processes need not be waited for.
    assert building.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[kind]
    deadline = time.monotonic() + 10
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_alive, workers))
    assert not (tmp_path / "files").exists()
    if kind != signal.SIGKILL:
        assert list((tmp_path / "temporary").iterdir()) == []
        assert "Its published files are complete" in stderr
        assert "Traceback" not in stderr


def test_a_section_of_one_page_starts_no_process(run: Any, tmp_path: Path) -> None:
    make_products(10)

    report, _, _ = run("objects", "--workers", "2")

    assert report["complete"]
    assert len(pids(tmp_path)) == 1


# Where other processes cannot help


@pytest.fixture
def _rows_registered(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}
    register("rows", Rows)
    make_products(25)


@pytest.mark.usefixtures("_rows_registered")
@pytest.mark.skipif("__import__('django.db').db.connection.vendor != 'sqlite'", reason="is not in memory")
def test_a_database_in_memory_is_built_by_one_process_which_says_so(caplog: pytest.LogCaptureFixture) -> None:
    result = build(workers=2)

    assert result.sections[0].pages == 3
    assert result.is_complete
    assert "One process builds the sitemaps, not 2: the database 'default' is in the memory" in caplog.text


@pytest.mark.usefixtures("database", "_rows_registered")
def test_rows_of_an_open_transaction_are_built_by_one_process_which_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with transaction.atomic():
        make_products(1, first=26)
        result = build(workers=2)

    assert result.sections[0].urls == 26
    assert "a transaction is open on the database 'default'" in caplog.text


@pytest.mark.usefixtures("database", "_rows_registered")
def test_a_section_that_only_this_process_knows_fails_with_the_remedy() -> None:
    result = build(workers=2)

    assert result.sections[0].error == (
        "SitemapError: No section 'rows' is registered in a process of its own. Register it where every process does, "
        "in the sitemaps.py of an app, or build without workers."
    )


@pytest.mark.parametrize("workers", [-1, 0, "00", "some", "", 1.5, True, None])
def test_a_number_that_cannot_be_is_refused(workers: object) -> None:
    with pytest.raises(ValueError, match=f"{workers!r} is not a number of processes: use 1 or more"):
        build(workers=workers)


@pytest.mark.parametrize(("given", "processes"), [("auto", "auto"), (1, 1), (2, 2), ("12", 12)])
def test_a_number_of_processes_may_be_text(given: Any, processes: object) -> None:
    assert BuildOptions(workers=given).processes == processes


def test_as_many_cores_are_used_as_the_process_may_use() -> None:
    assert usable_cores() == len(os.sched_getaffinity(0))
