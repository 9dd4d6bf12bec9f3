"""Pages partition the rows under any sequence of changes, for keys of every kind."""

import itertools
import uuid

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from plan_samples import Cells, Numbers, Seats, Tokens, Words, all_keys, keys_on, numbers, sizes, undone
from samples import section_of
from sitemaps_plus.errors import PageGone, PageNotFound
from sitemaps_plus.plan.planner import refresh
from testapp.models import Cell, Number, Seat, Token, Word

TEXTS = [
    "".join(letters)
    for size in (1, 2, 3)
    for letters in itertools.product(["a", "A", "b", "é", "É", "e", "ß", "z", " ", "-"], repeat=size)
]
"""Texts that collations order, and hold for equal, in different ways; some end in spaces."""


def make_number(n):
    # Some are negative, most beyond 32 bits.
    return Number(id=(n - 200) * 2**54 + n)


def make_token(n):
    return Token(id=uuid.uuid5(uuid.NAMESPACE_URL, str(n)))


def make_word(n):
    return Word(text=TEXTS[n * 7 % len(TEXTS)])


def make_cell(n):
    return Cell(row=n % 5 - 2, column=TEXTS[n * 7 % len(TEXTS)])


def make_seat(n):
    return Seat(hall=n % 5 - 2, name=TEXTS[n * 7 % len(TEXTS)])


KINDS = [
    pytest.param(Numbers, make_number, id="integer"),
    pytest.param(Tokens, make_token, id="uuid"),
    pytest.param(Words, make_word, id="text"),
    pytest.param(Cells, make_cell, id="composite"),
    pytest.param(Seats, make_seat, id="several-columns"),
]

some = st.lists(st.integers(0, 400), min_size=1, max_size=25)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), some),
        st.tuples(st.just("delete"), some),
        st.tuples(st.just("refresh"), st.none()),
        st.tuples(st.just("split"), st.integers(0, 400)),
        st.tuples(st.sampled_from(["empty", "repack"]), st.none()),
        st.tuples(st.just("limit"), st.sampled_from([1, 2, 5, 10])),
    ),
    min_size=4,
    max_size=20,
)


def is_gone(plan, number):
    with pytest.raises(PageNotFound) as caught:
        plan.find(number)
    return isinstance(caught.value, PageGone)


class Witness:
    """Watches a section while it changes, and knows what may never happen."""

    def __init__(self, section, make):
        self.section = section
        self.make = make
        self.issued = 0
        self.seen = {}
        """By key: the number it was last on, and the highest number issued by then."""
        self.plan = self.refresh()

    def insert(self, some):
        rows = [self.make(n) for n in some]
        # Two texts may be one to the database.
        type(rows[0]).objects.bulk_create(rows, ignore_conflicts=True)

    def delete(self, some):
        keys = all_keys(self.section)
        for n in {n % len(keys) for n in some if keys}:
            self.section.queryset().filter(**dict(zip(self.section.key.names, keys[n], strict=True))).delete()

    def empty(self, _):
        self.section.queryset().delete()

    def refresh(self, _=None, **how):
        self.plan = refresh(self.section, **(how or {"force": True}))
        assert all(rows <= self.section.rows_limit for rows in sizes(self.plan) if "split" not in how)
        self.count_numbers()
        return self.plan

    def repack(self, _):
        self.refresh(repack=True)
        self.seen.clear()

    def limit(self, limit):
        if limit != self.section.sitemap.limit:
            self.section.sitemap.limit = limit
            # No force: another layout is reason enough.
            self.refresh(force=False)
            self.seen.clear()

    def split(self, n):
        keys = all_keys(self.section)
        if keys:
            key = keys[n % len(keys)]
            (number,) = (page.number for page in self.plan.pages if key in keys_on(self.section, page))
            self.refresh(split={number: key})
            assert [key] in [keys_on(self.section, page)[:1] for page in self.plan.pages]

    def count_numbers(self):
        fresh = sorted(set(numbers(self.plan)) - set(range(1, self.issued + 1)))
        assert fresh == list(range(self.issued + 1, self.issued + 1 + len(fresh)))
        self.issued += len(fresh)
        gone = set(range(1, self.issued + 1)).difference(numbers(self.plan))
        assert all(is_gone(self.plan, number) for number in gone)
        assert not is_gone(self.plan, self.issued + 1)

    def look(self):
        """Every row is on one page, in the order of the pages, and on the number it was on or on a later one."""
        on_pages = [(key, page.number) for page in self.plan.pages for key in keys_on(self.section, page)]
        assert [key for key, _ in on_pages] == all_keys(self.section)
        for key, number in on_pages:
            before, issued = self.seen.get(key, (number, 0))
            assert number == before or number > issued
            self.seen[key] = (number, self.issued)


@pytest.mark.django_db
@pytest.mark.parametrize(("sitemap", "make"), KINDS)
def test_pages_partition_the_rows_under_any_changes(sitemap, make):
    @hypothesis_settings(max_examples=hypothesis_settings.default.max_examples * 3 // 5)
    @given(changes, st.sampled_from([0.5, 0.9, 1.0]))
    def under(changes, fill):
        with undone():
            section = section_of(sitemap)
            section.sitemap.fill = fill
            witness = Witness(section, make)
            for name, argument in changes:
                getattr(witness, name)(argument)
                witness.look()
            witness.refresh()
            witness.look()

    under()
