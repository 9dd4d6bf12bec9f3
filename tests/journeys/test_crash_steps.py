"""Each step of a build can be its last, whatever it has found: each time all is whole, and the next build completes it.

``STEPS=all`` takes each step of each scenario in turn, ``STEPS=40`` so many that are drawn; without it one of a few
scenarios is tried. ``-k "lost-manifest"`` chooses a scenario. ``CRASHES_SEED`` draws the same rows and steps again.
"""

import gzip
import os
import random
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib.sites.models import Site
from django.db import connection

from crashes.crawler import Look, Published, look
from crashes.driver import Builder
from crashes.scenarios import HOST, LABELS, SCENARIOS, Maker, State
from databases import shared_database
from sitemaps_plus.models import Build, SitemapPage
from testapp.models import Article, Product

if not hasattr(os, "fork"):
    pytest.skip("there is no fork on this system", allow_module_level=True)

STEPS = os.environ.get("STEPS", "")
"""How many steps of each scenario; "all" for each of them."""

FEW = ("splits", "lost manifest", "tables of before", "half of the files removed")
"""The scenarios of an ordinary run."""


class Shop(NamedTuple):
    """What all scenarios share."""

    builder: Builder
    make: Maker
    draw: random.Random


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any) -> Iterator[Shop]:
    seed = int(os.environ.get("CRASHES_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
    print(f"CRASHES_SEED={seed}")
    draw = random.Random(seed)  # noqa: S311 - drawn again on purpose
    root = tmp_path_factory.mktemp("steps")
    with django_db_blocker.unblock():
        if connection.vendor != "sqlite":
            pytest.skip("a state is a copy of a file of SQLite")
        models = SitemapPage, Build, Product, Article, Site
        with shared_database(root, *models, init_command="PRAGMA synchronous=OFF") as address:
            Site.objects.bulk_create(
                [Site(pk=1, domain="example.com", name="x"), Site(pk=2, domain="example.org", name="y")]
            )
            builder = Builder(address, root, root / "files")
            yield Shop(builder, Maker(builder, draw, root), draw)
            builder.close()


def look_at(state: State) -> dict[str, Look]:
    """Return what each index of a state leads to."""
    return {path.name: look(state.files, HOST, path.name) for path in state.site.iterdir() if is_index(path.name)}


def is_index(name: str) -> bool:
    return re.fullmatch(r"sitemap(-[a-z-]*[a-z])?\.xml(\.gz)?", name) is not None


def without_dates(name: str, data: bytes) -> bytes:
    """Return an index without what tells when a page was seen to differ; all other files as they are."""
    if not is_index(name):
        return data
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return re.sub(rb"<lastmod>[^<]*</lastmod>", b"", text)


def read_site(state: State) -> dict[str, bytes]:
    return read(state.site)


def read(folder: Path) -> dict[str, bytes]:
    """Return the files that are there, but for what only builds read."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"}


def differing(ours: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    """Return the names of files that are not the same, dates in indexes aside."""
    return [
        name
        for name in sorted(ours.keys() | wanted.keys())
        if name not in ours
        or name not in wanted
        or without_dates(name, ours[name]) != without_dates(name, wanted[name])
    ]


def assert_whole(before: dict[str, bytes], looks: dict[str, Look], state: State) -> None:
    """Fail where a killed build has made anything worse than it was."""
    published = Published(state.files, state.table, hosts=(HOST,), labels=LABELS)
    steady = {
        label: set(state.table.now)
        for label in LABELS
        if not (label == "media" and state.how.get("code") == "unregistered")
    }
    found = look_at(state)
    for name in looks:
        if name not in found:
            assert "media" in name
            assert "media" not in steady, f"{name} is gone"
    for name, now in found.items():
        was = looks.get(name, Look())
        published.compare(name, was, now, steady)
        assert now.missing <= was.missing, f"{name} lists {now.missing - was.missing}, which are missing"
        is_repaired = before.get(name) != (state.site / name).read_bytes()
        pages = {file for file in now.missing if file.endswith(".xml.gz")}
        assert not (is_repaired and pages), f"{name} is new, and lists {pages}, which are missing"


def assert_completed(builder: Builder, state: State, usual: dict[str, bytes]) -> None:
    """Fail unless one undisturbed build gives what a full one gives into an empty folder.

    `usual` are the files that have been seen to be so after a build that nobody killed.
    """
    labels = tuple(label for label in LABELS if label in state.args)
    state.expire()
    ended = state.run(builder, *state.args)
    assert ended.status == 0, ended.said
    published = Published(state.files, state.table, hosts=(HOST,), labels=labels)
    assert published.differences() == []
    ended = state.run(builder, *labels, "--site", "1", "--check")
    assert ended.status == 0, ended.said
    ours = read_site(state)
    if differing(ours, usual):
        # Pages may have got other numbers.
        fresh = state.folder / "fresh"
        ended = state.run(builder, *labels, "--site", "1", "--full", files=str(fresh))
        assert ended.status == 0, ended.said
        assert differing(ours, read(fresh / HOST)) == []
    assert not [path for path in (state.folder / "staging").rglob("*") if path.is_file()]


def chosen(count: int, draw: random.Random) -> list[int]:
    """Return the numbers of the steps before which builds are killed."""
    if STEPS == "all":
        return list(range(1, count + 1))
    return sorted(draw.sample(range(1, count + 1), min(count, int(STEPS or 1))))


@pytest.mark.parametrize(
    "name", [pytest.param(name, id=name.replace(" ", "-")) for name in (SCENARIOS if STEPS else FEW)]
)
def test_each_step_of_a_build_can_be_its_last(shop: Shop, tmp_path: Path, name: str) -> None:
    state = SCENARIOS[name](shop.make)
    # Each build removes at once what no index lists.
    how = {"settings_": {"GRACE_PERIOD": 0}}
    before, looks = read_site(state), look_at(state)
    whole = state.copy(tmp_path / "whole")
    steps = whole.run(shop.builder, *state.args, at=0, **how).steps
    assert_completed(shop.builder, replace(whole, how={**whole.how, **how}), {})
    usual = read_site(whole)
    problems = []

    for at in chosen(len(steps), shop.draw):
        copy = state.copy(tmp_path / "killed")
        ended = copy.run(shop.builder, *state.args, at=at, **how)
        try:
            # A build on a busy machine renews its lease, so that another one may have fewer steps.
            is_over = ended.status == 0 and len(ended.steps) < at
            assert ended.status == -signal.SIGKILL or is_over, ended.said
            assert_whole(before, looks, copy)
            assert_completed(shop.builder, replace(copy, how={**copy.how, **how}), usual)
        except AssertionError as error:
            problems.append(f"step {at}, {ended.steps[-1] if ended.steps else ''}: {str(error)[:300]}")
        shutil.rmtree(copy.folder)

    assert problems == [], f"{len(problems)} steps"
