"""Sections with keys of every kind, and the pages that they are divided into."""

from contextlib import contextmanager

from django.db import transaction

import xml_checks
from samples import text_of
from sitemaps_plus import ModelSitemap
from testapp.models import Cell, Number, Product, Seat, Token, Word


class TenProducts(ModelSitemap):
    """Ten products on a page, in new pages nine."""

    queryset = Product.objects.all()
    limit = 10


class Unlike(ModelSitemap):
    """Pages by a key of another kind."""

    limit = 10


class Tokens(Unlike):
    queryset = Token.objects.all()


class Numbers(Unlike):
    queryset = Number.objects.all()


class Words(Unlike):
    queryset = Word.objects.all()


class Cells(Unlike):
    queryset = Cell.objects.all()


class Seats(Unlike):
    queryset = Seat.objects.all()
    key = ("hall", "name")


def sizes(plan):
    return [page.record.rows for page in plan.pages]


def numbers(plan):
    return [page.number for page in plan.pages]


def keys_on(section, page):
    names = section.key.names
    return list(page.rows(section).order_by(*names).values_list(*names))


def all_keys(section):
    names = section.key.names
    return list(section.queryset().order_by(*names).values_list(*names))


def locs(document):
    return xml_checks.locs(text_of(document))


@contextmanager
def undone():
    """Take back what an example does to the database."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
