"""Replace published files by rendered ones, in an order that leaves a whole set wherever a build breaks off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from sitemaps_plus.build.ready import Ready
from sitemaps_plus.conf import get_settings
from sitemaps_plus.declare.registry import registry
from sitemaps_plus.models import SitemapPage
from sitemaps_plus.plan.currency import unregistered
from sitemaps_plus.plan.overrides import INDEX, find_override
from sitemaps_plus.plan.pages import Page
from sitemaps_plus.plan.records import record_publishings
from sitemaps_plus.plan.sections import get_section
from sitemaps_plus.plan.sites import SiteOrigin, directory
from sitemaps_plus.protocol.names import (
    INDEX_FORMATS,
    Format,
    file_name,
    index_name,
    page_file,
    parse_page_file,
)
from sitemaps_plus.protocol.writer import IndexItem
from sitemaps_plus.render.indexes import is_lastmod_ahead, make_index
from sitemaps_plus.stores.manifest import SectionEntry
from sitemaps_plus.stores.packing import Document, formats, make_format
from sitemaps_plus.stores.published import PublishedFiles, index_files, page_files
from sitemaps_plus.stores.recovery import recover

Pause = Callable[[], None]
"""Called before each page is replaced; raises where the build has to end there."""


class PublishedSet:
    """The built files of one site, to be changed by one build."""

    def __init__(self, site: SiteOrigin, *, is_verified: bool = False, pause: Pause = lambda: None) -> None:
        """Read the manifest, or make it again from the files; raise SitemapError where it is that of another origin.

        With `is_verified` the files are read as well, so that a damaged one is replaced; else the manifest is trusted.
        `pause` is called before each file of a lost manifest is read.
        """
        self.site = site
        self.files = PublishedFiles(site.domain)
        self.store = self.files.store
        self.manifest = self.files.checked_manifest(site.base)
        recover(self.files, self.manifest, registry, self._base_of, also_listed=self._also_listed, pause=pause)
        self.is_verified = is_verified
        self._formats, self._extension = tuple(formats()), get_settings().EXTENSION
        self.changed: dict[str, None] = {}
        """URLs whose content this build has changed."""
        self.removed: dict[str, None] = {}
        """URLs that the index no longer lists."""
        self._announced: dict[str, str] = {}
        """The digests of indexes that are about to be replaced, and have not been yet."""
        self._leaving: list[str] = []
        """The files that the section that is being published retires."""
        self._is_behind = False
        """Whether the stored manifest lacks a page that an index may list, or has one that it leaves out."""

    @property
    def unregistered(self) -> dict[str, int]:
        """The published sections that are no longer registered, and how many URLs each has."""
        return unregistered(self.manifest)

    def repair(self) -> None:
        """Replace each index that is missing, or may list other pages than those that are there.

        Call it before a build does anything else. An index that would list nothing is removed: where there is no file,
        the views may answer, and a crawler tries again.
        """
        labels = {index_name(label): label for label in self.manifest.sections}
        names = {name for name, digest in self.manifest.indexes.items() if not digest or not self.files.has_index(name)}
        for label, numbers in self.files.lost.items():
            names |= {index_name(label), index_name()}
            for number in numbers:
                self._note_removed(self.manifest.section(label).base, label, number, formats())
        if not names:
            return
        self.manifest.indexes.update(dict.fromkeys(names, ""))
        self._store()
        for name in sorted(names & labels.keys()):
            self._publish_index(name, self._index(labels[name], self.manifest.sections[labels[name]]))
        if index_name() in names:
            self._publish_site_index()
        self._store()

    def publish(self, ready: Ready, pause: Pause) -> int:
        """Publish a section: new pages, an index with both, the changed pages, and the index.

        Return how many pages were replaced. What breaks off has changed some pages and lost no row: the next build
        completes it.
        """
        label = ready.plan.section.label
        known = self.manifest.section(label)
        entries = ready.entries(known)
        if self.is_verified:
            self._doubt_damaged(ready, known)
        changed = [page for page in ready.pages if known.digest(page.number) != entries[page.number].digest]
        doubted = {page.number for page in changed if not known.digest(page.number)}
        # Before anything is published: a project's template may raise, and a staged page may be damaged.
        section = SectionEntry(pages=entries, fingerprint=ready.fingerprint, base=ready.plan.section.public_base)
        index = self._index(label, section)
        for page in changed:
            ready.staged(page)
        new = [page for page in changed if page.number not in known.pages]
        # Inserts push rows to the next page, deletes pull them back. Replace the receiving page first.
        old = [page for page in changed if page.number in known.pages]
        is_growing = sum(page.urls for page in entries.values()) >= known.urls_published
        old = old[::-1] if is_growing or ready.plan.section.paged_by == "key" else old
        was = self.manifest.indexes.get(index_name(label))
        is_same = section == known and list(entries) == list(known.pages)
        self._leaving, self._is_behind = [], not is_same
        # A build that broke off may have left an index that lacks a page to which rows have moved.
        is_lacking = bool(new) or self._is_doubted(index_name(label)) or self._is_doubted(index_name())
        if changed:
            self._announce(label, old)
        with self.store.together():
            # No index lists them yet.
            for page in reversed(new):
                self._replace(ready, page, pause, is_doubted=page.number in doubted)
        if label in self.manifest.sections and new:
            # A later index is made from the manifest, even if this build breaks off.
            known.pages.update({page.number: entries[page.number] for page in new})
            self._store(label)
        self._is_behind = label not in self.manifest.sections
        if is_lacking and old:
            # Before a page gives up rows, an index lists the page that has them now.
            here = {**entries, **{page.number: known.pages[page.number] for page in old}}
            both = SectionEntry(pages={**known.pages, **here}, base=ready.plan.section.public_base)
            self._publish_index(index_name(label), make_index(self._items(label, both)), label)
            self._publish_index(index_name(), make_index(self._all_items({label: both})), label)
        for page in old:
            self._replace(ready, page, pause, is_doubted=page.number in doubted)
            known.pages[page.number] = entries[page.number]
        self._leaving = self._retire(label, known, known.pages.keys() - entries.keys())
        self._is_behind |= bool(self._leaving)
        self.manifest.sections[label] = section
        rendered = [page for page in ready.pages if page.number in ready.outcomes]
        record_publishings(
            ((page, entries[page.number].digest, ready.outcomes[page.number].report) for page in rendered), ready.began
        )
        self._publish_index(index_name(label), index, label)
        if not is_same or self.manifest.indexes.get(index_name(label)) != was:
            self._store(label)
        self._is_behind = False
        for number in ready.outcomes:
            # A storage that cannot list its files would never be cleared of them.
            ready.staging.remove(page_file(label, number))
        return len(changed)

    def finish(self, *, prune: bool, keeps_unregistered: bool = False) -> str | None:
        """Publish the index of the site, remove files retired long ago, and return the path of the index."""
        for label in () if keeps_unregistered else self.unregistered:
            section = self.manifest.sections.pop(label)
            self._is_behind = True
            self._retire(label, section, section.pages)
            self._publish_index(index_name(label), None)
        place = self._publish_site_index()
        for label, section in self.manifest.sections.items():
            if self.manifest.indexes.get(index_name(label)) == "":
                # A build broke off while it replaced this index, which may list a file that is about to be removed.
                self._publish_index(index_name(label), self._index(label, section))
        self._retire_unlisted()
        self._remove_retired(0 if prune else get_settings().GRACE_PERIOD)
        self._store()
        self.files.manifest_file.remove_notes(self.files.names or ())
        return place

    def stale_indexes(self, labels: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the label of each index that `finish` would change, "" for that of the site, and why.

        Compares with the manifest; pages that are due are not considered.
        """
        sections = {
            label: replace(section, base=get_section(label, self.site).public_base)
            for label, section in self.manifest.sections.items()
            if label in registry
        }
        for label in labels:
            section = sections.get(label) or SectionEntry()
            if not self._is_published(index_name(label), self._index(label, section)):
                yield label, self._why_stale(index_name(label), "section")
        for label in self.unregistered:
            yield label, "the section is no longer registered"
        items = list(self._all_items(sections))
        if not self._is_published(index_name(), make_index(items) if items else None):
            yield "", self._why_stale(index_name(), "site")

    def _doubt_damaged(self, ready: Ready, known: SectionEntry) -> None:
        """Mark the pages whose files are damaged as unfinished."""
        for page in ready.pages:
            is_known = page.number in ready.outcomes and known.digest(page.number)
            if is_known and self._is_damaged(ready.files(page)):
                known.doubt(page.number)

    def _is_damaged(self, files: dict[str, bytes]) -> bool:
        return not all(self.store.holds(self._path(name), data) for name, data in files.items())

    def _announce(self, label: str, old: Iterable[Page]) -> None:
        """Note in the manifest that files are about to change, so that no build trusts them if this one is killed."""
        known = self.manifest.section(label)
        for page in old:
            known.doubt(page.number)
        for name in (index_name(label), index_name()):
            if digest := self.manifest.indexes.get(name):
                self._announced[name] = digest
                self.manifest.indexes[name] = ""
        if label in self.manifest.sections or self._announced:
            self._store(label)

    def _store(self, label: str = "") -> None:
        """Store what became of a section; without a label, the whole manifest."""
        if label:
            self.files.manifest_file.write_section(self.manifest, label, self._leaving)
        else:
            self.files.manifest_file.write(self.manifest)
            self._is_behind = False

    def _replace(self, ready: Ready, page: Page, pause: Pause, *, is_doubted: bool) -> None:
        pause()
        label, base = ready.plan.section.label, ready.plan.section.public_base
        for name, data in ready.files(page).items():
            if self._publish_file(name, data, is_doubted=is_doubted):
                # Also under the name in the index: a web server may make that from the file.
                self.changed[f"{base}{name}"] = self.changed[f"{base}{self._listed_name(label, page.number)}"] = None

    def _publish_file(self, name: str, data: bytes, *, is_doubted: bool) -> bool:
        """Replace a file and return whether its bytes changed; one that `is_doubted` is compared first."""
        if is_doubted and self.files.has(name) and self.store.holds(self._path(name), data):
            return False
        self.store.publish(self._path(name), data)
        if self.files.names is not None:
            self.files.names.add(name)
        return True

    def _publish_site_index(self) -> str | None:
        items = list(self._all_items({}))
        return self._publish_index(index_name(), make_index(items) if items else None)

    def _publish_index(self, name: str, document: Document | None, label: str = "") -> str | None:
        """Publish an index and return its path; without a document, remove the index.

        The next index is made from the manifest, which must know all that this index lists: it is stored first, or
        what became of the section with that label.
        """
        if document is None:
            for file in index_files(name):
                if self.store.has(self._path(file)):
                    self.store.remove(self._path(file))
                    (self.files.names or set()).discard(file)
                    self.removed[f"{self._base_of()}{file}"] = None
            self.manifest.indexes.pop(name, None)
            return None
        if announced := self._announced.pop(name, ""):
            # It was announced, but not replaced.
            self.manifest.indexes[name] = announced
        if not self._is_published(name, document):
            # One of its two files may be there already.
            is_doubted = self.manifest.indexes.get(name) in (None, "", document.digest)
            if not is_doubted:
                self.manifest.indexes[name] = ""
            if self._is_behind or not (is_doubted or announced):
                self._store(label)
            for file, data in _index_files(name, document).items():
                if self._publish_file(file, data, is_doubted=is_doubted):
                    self.changed[f"{self._base_of()}{file}"] = None
            self.manifest.indexes[name] = document.digest
        return self.store.where(self._path(file_name(name, "xml")))

    def _is_doubted(self, name: str) -> bool:
        """Return whether an earlier build broke off while it replaced an index."""
        return self.manifest.indexes.get(name) == "" and name not in self._announced

    def _is_published(self, name: str, document: Document | None) -> bool:
        if document is None:
            return name not in self.manifest.indexes
        is_published = self.files.has_index(name) and self.manifest.indexes.get(name) == document.digest
        return is_published and not (self.is_verified and self._is_damaged(_index_files(name, document)))

    def _why_stale(self, name: str, of: str) -> str:
        is_there = self.files.has_index(name) and name in self.manifest.indexes
        return f"the index of the {of} {'would list something else' if is_there else 'is missing'}"

    def _index(self, label: str, section: SectionEntry) -> Document | None:
        return make_index(self._items(label, section)) if section.pages else None

    def _items(self, label: str, section: SectionEntry) -> Iterator[IndexItem]:
        # Most texts tell without being parsed that they are not of the future.
        recent = (timezone.now() - timedelta(days=2)).date().isoformat()
        for number, page in section.pages.items():
            is_ahead = page.lastmod is not None and page.lastmod >= recent and is_lastmod_ahead(page.lastmod)
            lastmod = None if is_ahead else page.lastmod
            yield IndexItem(f"{section.base}{self._listed_name(label, number)}", lastmod)

    def _all_items(self, others: dict[str, SectionEntry]) -> Iterator[IndexItem]:
        """Yield the items of the site's index, with `others` in place of the manifest entries of those sections."""
        for label in (*registry, *self.unregistered):
            section = others.get(label) or self.manifest.sections.get(label)
            if section is not None:
                yield from self._items(label, section)

    def _also_listed(self, label: str) -> Iterable[int]:
        """Return the pages that were built, where a project's template may write their names in its own way."""
        if find_override(INDEX) is None:
            return ()
        built = SitemapPage.objects.filter(site=self.site.id, label=label, retired_at=None).exclude(built_digest="")
        return built.exclude(rows=0).order_by("rank", "number").values_list("number", flat=True)

    def _retire(self, label: str, section: SectionEntry, numbers: Iterable[int]) -> list[str]:
        """Retire the files of pages of a section, and return their names."""
        retired = []
        for number in sorted(numbers):
            forms = dict.fromkeys([*self._formats, *section.pages[number].formats])
            retired += page_files(label, number, forms)
            self._note_removed(section.base, label, number, forms)
        for name in retired:
            self.manifest.retired.setdefault(name, time.time())
        return retired

    def _note_removed(self, base: str, label: str, number: int, forms: Iterable[Format]) -> None:
        for name in (*page_files(label, number, forms), self._listed_name(label, number)):
            self.removed[f"{base}{name}"] = None

    def _retire_unlisted(self) -> None:
        """Retire files that belong to no listed page, such as those of a killed build."""
        wanted = {
            name
            for label, section in self.manifest.sections.items()
            for number in section.pages
            for name in page_files(label, number, self._formats)
        }
        for name in wanted & self.manifest.retired.keys():
            # The page is listed again.
            del self.manifest.retired[name]
        for name in sorted((self.files.names or set()) - wanted):
            file = parse_page_file(name)
            if file and file.label in self.manifest.sections:
                self.manifest.retired.setdefault(name, time.time())

    def _remove_retired(self, period: float) -> None:
        now = time.time()
        for name, since in list(self.manifest.retired.items()):
            # A time in the future came from another clock.
            self.manifest.retired[name] = min(since, now)
            if since <= now - period or not period:
                self.store.remove(self._path(name))
                del self.manifest.retired[name]

    def _path(self, name: str) -> str:
        return f"{self.files.directory}/{name}"

    def _listed_name(self, label: str, number: int) -> str:
        return page_file(label, number, self._extension)

    def _base_of(self, label: str = "") -> str:
        if label in registry:
            return get_section(label, self.site).public_base
        return self.site.public_url or f"{self.site.origin}{directory()}"


def _index_files(name: str, document: Document) -> dict[str, bytes]:
    return {file_name(name, format): make_format(document.gzipped, format) for format in INDEX_FORMATS}
