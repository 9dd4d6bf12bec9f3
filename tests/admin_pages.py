"""Read pages of the admin in tests, and make users and builds for them."""

import re
from datetime import timedelta
from html.parser import HTMLParser

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from samples import Products
from sitemaps_plus.models import Build

STATUS = "/admin/sitemaps_plus/sitemappage/"
HISTORY = "/admin/sitemaps_plus/build/"
SECTION = f"{STATUS}1/products/"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class WellFormed(HTMLParser):
    """Fails if an element is not closed, or if there are inline styles or scripts."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert len(given) == len(attributes), f"<{tag}> has an attribute twice"
        assert not any(name == "style" or name.startswith("on") for name in given), f"<{tag}> has {given}"
        assert tag != "style"
        assert tag != "script" or given.get("src", "").startswith("/")
        assert not given.get("href", "").startswith("javascript:")
        self.tags.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


class Broken(Products):
    """Products, the first of which has a URL that no page can list."""

    def location(self, item):
        return "https://elsewhere.example/" if item.slug == "product-1" else f"/{item.slug}/"


def user(*permissions):
    made = User.objects.create_user(f"user{User.objects.count()}", is_staff=True)
    made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return made


def client_of(someone, **given):
    client = Client(**given)
    client.force_login(someone)
    return client


def page(client, address=STATUS):
    """Return the text of a page; it must be well-formed and work under a strict policy."""
    response = client.get(address)
    assert response.status_code == 200
    text = response.content.decode()
    parser = WellFormed()
    parser.feed(text)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    return text


def tags(client, address=STATUS):
    """Return the elements of a page, each with its attributes."""
    parser = WellFormed()
    parser.feed(page(client, address))
    return parser.tags


def words(html):
    """Return the words of a page without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def running(**given):
    now = timezone.now()
    values = {"lease": "site 1", "holder": "process 7 on far", "started_at": now, "progress": "products: 2 / 8"}
    return Build.objects.create(site=1, **{**values, "expires_at": now + timedelta(minutes=5), **given})
