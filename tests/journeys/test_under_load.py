"""A rush on a page is one rendering, and no answer is wrong while the cache goes away and comes back."""

import gzip
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

for package in ("gunicorn", "redis"):
    pytest.importorskip(package, reason="is not in this environment; tox -e load has it")
REDIS = shutil.which("redis-server")
if os.environ.get("CI") != "true" and REDIS is None:
    pytest.skip("there is no redis-server to start", allow_module_level=True)

RUSH = 500
CRAWLERS = 12
ROWS = 1_000
PAGE, INDEX = "/sitemap-products-1.xml", "/sitemap.xml"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes
    """Unpacked."""


class Redis:
    """A server of this test's own."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert REDIS, "there is no redis-server"
        options = {"bind": "127.0.0.1", "port": self.port, "save": "", "appendonly": "no", "dir": self._folder}
        command = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen([REDIS, *command], stdout=subprocess.DEVNULL)
        wait_for(lambda: answers(self.port), "Redis")

    def send(self, kind: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(kind)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def wait_for(is_so: Callable[[], bool], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.02)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Site:
    """The project behind gunicorn."""

    def __init__(self, port: int, notes: Path) -> None:
        self._port = port
        self._notes = notes

    def get(self, path: str, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", path, headers={"Host": "example.com", **headers})
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            body = response.read()
        finally:
            connection.close()
        packed = told.get("content-encoding") == "gzip"
        return Answer(response.status, told, gzip.decompress(body) if packed else body)

    def renderings(self) -> int:
        return len(self._notes.read_text().splitlines()) if self._notes.exists() else 0


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file with the rows, and no plan."""
    file = tmp_path_factory.mktemp("database") / "rush.sqlite3"
    work = f"""
from django.core.management import call_command
from samples import make_products
call_command("migrate", run_syncdb=True, verbosity=0)
make_products({ROWS})
"""
    command = [sys.executable, "-m", "django", "shell", "--no-imports", "-c", work]
    subprocess.run(command, env=environment(file), check=True)
    return file


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def serve(database: Path, redis: Redis, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Give what starts gunicorn with an empty cache, a page of which rendering takes `slow` seconds longer."""
    file, notes, log = tmp_path / "rush.sqlite3", tmp_path / "notes", tmp_path / "log"
    shutil.copy(database, file)
    started: list[subprocess.Popen[bytes]] = []

    def serve(slow: float) -> Site:
        told = {
            "RUSH_REDIS": f"redis://127.0.0.1:{redis.port}/0",
            "RUSH_NOTES": str(notes),
            "RUSH_SLOW": str(slow),
        }
        # Open before gunicorn is there: who comes too soon waits.
        with socket.create_server(("127.0.0.1", 0), backlog=2 * RUSH) as listening, log.open("wb") as output:
            options = ["--workers=2", "--threads=4", "--timeout=60", f"--bind=fd://{listening.fileno()}"]
            command = [sys.executable, "-m", "gunicorn", *options, "django.core.wsgi:get_wsgi_application()"]
            gunicorn = subprocess.Popen(
                command,
                env=environment(file, **told),
                pass_fds=[listening.fileno()],
                stdout=output,
                stderr=output,
            )
            started.append(gunicorn)
            return Site(listening.getsockname()[1], notes)

    yield serve
    for gunicorn in started:
        gunicorn.terminate()
        gunicorn.wait(20)
    # A worker that dies is replaced, and nobody would know.
    assert log.read_text().count("Booting worker") == 2, log.read_text()


def environment(database: Path, **told: str) -> dict[str, str]:
    """Return the environment of a process of the project."""
    return {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{database}",
        "DJANGO_SETTINGS_MODULE": "rush.settings",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
        **told,
    }


def listed(answer: Answer) -> int:
    return answer.body.count(b"<loc>https://example.com/product-")


def test_five_hundred_who_ask_at_once_for_a_page_that_nobody_has_made_get_it_from_one_rendering(serve):
    site = serve(slow=1.0)
    ready = threading.Barrier(RUSH)

    def ask(number: int) -> Answer:
        ready.wait(30)
        return site.get(PAGE, **({"Accept-Encoding": "gzip"} if number % 2 else {}))

    with ThreadPoolExecutor(RUSH) as crowd:
        found = list(crowd.map(ask, range(RUSH)))

    assert Counter(answer.status for answer in found) == {200: RUSH}
    assert {len(answer.body) for answer in found} == {len(found[0].body)}
    assert len({answer.body for answer in found}) == 1
    assert len({answer.headers["etag"] for answer in found}) == 1
    assert listed(found[0]) == ROWS
    assert site.renderings() == 1


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGSTOP], ids=["dies", "hangs"])
def test_a_cache_that_goes_away_under_load_and_comes_back_spoils_no_answer(serve, redis, kind):
    site = serve(slow=0.0)
    right = {path: site.get(path) for path in (PAGE, INDEX)}
    tag = right[PAGE].headers["etag"]
    requests = [
        lambda: (PAGE, site.get(PAGE, **{"Accept-Encoding": "gzip"})),
        lambda: (PAGE, site.get(PAGE)),
        lambda: (PAGE, site.get(PAGE, **{"If-None-Match": tag})),
        lambda: (INDEX, site.get(INDEX)),
    ]
    is_over = threading.Event()
    counted: Counter[int] = Counter()
    wrong: list[Answer] = []

    def ask(number: int) -> None:
        for turn in range(100_000):
            if is_over.is_set():
                return
            path, answer = requests[(number + turn) % len(requests)]()
            counted[answer.status] += 1
            is_right = answer.body == (right[path].body if answer.status == 200 else b"")
            if answer.status not in (200, 304) or not is_right or answer.headers["etag"] != right[path].headers["etag"]:
                wrong.append(answer)

    def more(count: int = 50) -> None:
        """Wait for so many more answers."""
        enough = counted.total() + count
        wait_for(lambda: counted.total() >= enough or bool(wrong), "answers")

    with ThreadPoolExecutor(CRAWLERS) as crowd:
        crawlers = [crowd.submit(ask, number) for number in range(CRAWLERS)]
        try:
            more()
            before = site.renderings()
            redis.send(kind)
            more()
            without = site.renderings()
            if kind == signal.SIGSTOP:
                redis.send(signal.SIGCONT)
            else:
                redis.kill()
                redis.start()
            wait_for(lambda: is_kept_again(site), "the cache is asked again")
            more()
        finally:
            is_over.set()
    for crawler in crawlers:
        crawler.result()

    assert [answer[:2] for answer in wrong] == []
    assert listed(right[PAGE]) == ROWS
    assert counted[200]
    assert counted[304]
    assert before == 1
    assert without > before


def is_kept_again(site: Site) -> bool:
    """Return whether a second of load goes by without a rendering."""
    before = site.renderings()
    time.sleep(1)
    return site.renderings() == before
