"""The texts of the admin: each is translatable, and the German translation is complete."""

import ast
import gettext
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import django
import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone, translation

import sitemaps_plus
from factories import ProductFactory
from samples import Products
from sitemaps_plus import Image, register
from sitemaps_plus.build import build
from sitemaps_plus.build.start import local
from sitemaps_plus.models import Build, CrawlerVisit, SitemapPage
from sitemaps_plus.templatetags.sitemaps_plus_admin import ago

PACKAGE = Path(sitemaps_plus.__file__).parent
GERMAN = PACKAGE / "locale" / "de" / "LC_MESSAGES"
STATUS = "/admin/sitemaps_plus/sitemappage/"
SECTION = f"{STATUS}1/products/"
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*\}|%%|--[\w-]+")

needs_gettext = pytest.mark.skipif(
    shutil.which("xgettext") is None and os.environ.get("CI") != "true", reason="gettext is not installed"
)


@dataclass
class Message:
    """One message of a catalogue."""

    msgid: str
    """With the context before it, as in the compiled file."""
    plural: str
    texts: list[str]
    flags: set[str]

    def compiled(self):
        """Return the entries that it has in the compiled file."""
        if not self.plural:
            return {self.msgid: self.texts[0]}
        return {(self.msgid, number): text for number, text in enumerate(self.texts)}


def read_po(path):
    """Return the messages of a catalogue, its header first."""
    found = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        fields, flags, name = {}, set(), ""
        for line in block.splitlines():
            if line.startswith("#"):
                assert not line.startswith("#~"), f"obsolete: {line}"
                flags |= set(line[2:].split(", ")) if line.startswith("#,") else set()
                continue
            keyword, _, text = line.partition('"')
            name = keyword.strip() or name
            fields[name] = fields.get(name, "") + ast.literal_eval(f'"{text}')
        context = f"{fields['msgctxt']}\x04" if "msgctxt" in fields else ""
        texts = [text for name, text in fields.items() if name.startswith("msgstr")]
        found.append(Message(context + fields["msgid"], fields.get("msgid_plural", ""), texts, flags))
    return found


def read_mo(path):
    with path.open("rb") as compiled:
        return gettext.GNUTranslations(compiled)._catalog


def placeholders(text):
    return sorted(PLACEHOLDER.findall(text))


HEADER, *MESSAGES = read_po(GERMAN / "django.po")


@pytest.fixture(autouse=True)
def _english_again():
    yield
    # A request does not reset its language.
    translation.deactivate()


# The German texts


def test_every_text_has_a_german_one():
    assert len(MESSAGES) > 200
    assert [one.msgid for one in MESSAGES if not all(one.texts) or len(one.texts) != (2 if one.plural else 1)] == []
    assert [one.msgid for one in [HEADER, *MESSAGES] if "fuzzy" in one.flags] == []


def test_the_compiled_texts_are_those_of_the_catalogue():
    # The compiled file does not have the date of the sources.
    compiled = {"": re.sub(r"POT-Creation-Date.*\n", "", HEADER.texts[0])}
    for message in MESSAGES:
        compiled |= message.compiled()

    assert read_mo(GERMAN / "django.mo") == compiled


def test_german_texts_have_the_placeholders_of_the_english_ones():
    wrong = [
        (one.msgid, text)
        for one in MESSAGES
        for text in one.texts
        if placeholders(text) != placeholders(one.plural or one.msgid)
    ]

    assert wrong == []


def test_german_texts_begin_and_end_like_the_english_ones():
    ends = (".", ":", "?", " ")

    assert [one.msgid for one in MESSAGES if not one.plural if _end(one.msgid, ends) != _end(one.texts[0], ends)] == []


def _end(text, ends):
    return text[-1] if text.endswith(ends) else ""


def test_texts_that_django_also_has_are_translated_as_there():
    """All apps share one catalogue, so that another translation of ours would change forms of the project."""
    ours = {key: text for one in MESSAGES for key, text in one.compiled().items()}
    differing = {}
    for path in Path(django.__file__).parent.rglob("locale/de/LC_MESSAGES/django.mo"):
        theirs = read_mo(path)
        differing |= {key: (text, theirs[key]) for key, text in ours.items() if key and theirs.get(key, text) != text}

    assert differing == {}


@needs_gettext
def test_the_catalogue_has_every_text_of_the_sources(tmp_path, monkeypatch):
    copy = shutil.copytree(PACKAGE, tmp_path / "sitemaps_plus", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(copy)

    call_command("makemessages", locale=["de"], no_location=True, no_obsolete=True, verbosity=0)

    _, *fresh = read_po(copy / "locale" / "de" / "LC_MESSAGES" / "django.po")
    # In any order, because a text may move to another module.
    assert sorted((one.msgid, one.plural) for one in fresh) == sorted((one.msgid, one.plural) for one in MESSAGES)


def test_scripts_have_no_texts():
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("static/**/*.js"))
    strings = [found[1:-1] for found in re.findall(r"\"[^\"\n]*\"|'[^'\n]*'", scripts)]

    assert "yes" in strings
    assert [text for text in strings if re.match(r"[A-Za-z]+ ", text) and text != "use strict"] == []


# Pages as a person sees them


@pytest.fixture
def project(settings, db):
    """A site with rows, one of which is left out, a build, and a visit."""
    settings.ROOT_URLCONF = "testapp.urls_admin"
    settings.SITEMAPS_PLUS = {"ORIGIN": "https://example.com"}

    class Broken(Products):
        images = [Image(loc="/a.jpg")]

        def location(self, item):
            return "https://elsewhere.example/" if item.slug == "product-1" else f"/{item.slug}/"

    register("products", Broken)
    for number in range(1, 16):
        ProductFactory(slug=f"product-{number}", name=f"Product {number}")
    build()
    now = timezone.now()
    CrawlerVisit.objects.create(
        site=1, label="products", crawler="Googlebot", day=now.date(), count_200=3, last_at=now - timedelta(days=2)
    )
    # A build that died, and rows that changed long ago.
    Build.objects.create(site=1, lease="site 1", holder="far", started_at=now, expires_at=now - timedelta(days=1))
    SitemapPage.objects.filter(number=1).update(digest="other", changed_at=now - timedelta(days=40))


@pytest.fixture
def boss(db):
    client = Client(headers={"accept-language": "de"})
    client.force_login(User.objects.create_superuser("boss"))
    return client


def text_of(client, address):
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_the_status_page_is_german_for_readers_of_german(boss, project):
    text = re.sub(r"<[^>]+>", " ", text_of(boss, STATUS))
    words = set(re.findall(r"\w+", text))

    assert {"Probleme", "Abschnitt", "Ausgelassen", "Größe"} <= words
    assert not {"Problems", "Section", "Sections", "Size"} & words
    assert "vor 2\xa0Tagen" in text
    assert "Alle Seiten erstellen" in text
    assert "Left out" not in text
    assert "Build every page" not in text


@pytest.mark.parametrize(
    ("age", "german"),
    [
        (timedelta(minutes=1, seconds=1), "vor 1 Minute"),
        (timedelta(minutes=2, seconds=1), "vor 2 Minuten"),
        (timedelta(hours=26), "vor 1 Tag"),
        (timedelta(days=15), "vor 2 Wochen"),
    ],
)
def test_german_ages_have_their_case(age, german):
    when = timezone.now() - age

    with translation.override("de"):
        assert f">{german}<" in ago(when).replace("\xa0", " ")


def test_english_ages_are_those_of_django():
    when = timezone.now() - timedelta(hours=26)

    assert ">1 day ago<" in ago(when).replace("\xa0", " ")


# All texts are marked: with a translation that puts each text in brackets, a text without brackets is not marked.


@pytest.fixture
def bracketed(settings, tmp_path):
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    text = (GERMAN / "django.po").read_text(encoding="utf-8")
    header, _, messages = text.partition("\n\n")
    for message in MESSAGES:
        assert "\n" not in "".join(message.texts)
    # A text of several lines begins with an empty string.
    messages = re.sub(r'^(msgstr(?:\[\d\])? ")', r"\1⟦", messages, flags=re.MULTILINE)
    messages = re.sub(r'(^msgstr(?:\[\d\])? (?:".*"\n)*".*)"$', r'\1⟧"', messages, flags=re.MULTILINE)
    (folder / "django.po").write_text(f"{header}\n\n{messages}", encoding="utf-8")
    subprocess.run([shutil.which("msgfmt") or "msgfmt", "-o", folder / "django.mo", folder / "django.po"], check=True)
    settings.LOCALE_PATHS = [tmp_path]


class Seen(HTMLParser):
    """Collects the texts in our part of a page that are shown or read aloud."""

    def __init__(self):
        super().__init__()
        self.texts, self.depth = [], 0

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id") == "sitemaps-live":
            self.depth = 1
        elif self.depth and tag == "div":
            self.depth += 1
        if self.depth:
            names = (
                ("aria-label", "alt", "placeholder") if tag == "time" else ("aria-label", "alt", "placeholder", "title")
            )
            self.texts += [given[name] for name in names if given.get(name)]

    def handle_endtag(self, tag):
        self.depth -= self.depth > 0 and tag == "div"

    def handle_data(self, data):
        if self.depth:
            self.texts.append(data)


def unmarked(html):
    """Return the words outside of brackets."""
    parser = Seen()
    parser.feed(html)
    text = " ".join(parser.texts)
    assert "⟦" in text
    while "⟦" in text:
        text, before = re.sub(r"⟦[^⟦⟧]*⟧", " ", text), text
        assert text != before
    return set(re.findall(r"[^\W\d_]{2,}", text))


@needs_gettext
@pytest.mark.parametrize(
    "address", [STATUS, SECTION, f"{SECTION}1/", f"{STATUS}?find=/product-1/", f"{STATUS}?find=/product-2/"]
)
def test_every_text_of_the_pages_is_marked(boss, project, bracketed, address):
    # Names of sections, hooks, sites and crawlers, URLs, and Django's own units.
    data = {"products", "location", "example", "com", "https", "Googlebot", "product", "xml", "sitemap", "gz", "KB"}
    # The reason of a row that is left out is stored in English.
    data |= {
        word
        for page in SitemapPage.objects.all()
        for problem in page.problems
        for word in re.findall(r"\w+", problem[3])
    }

    assert unmarked(text_of(boss, address)) - data == set()


@needs_gettext
def test_every_name_of_the_models_is_marked(bracketed):
    config = apps.get_app_config("sitemaps_plus")
    with translation.override("de"):
        names = [str(config.verbose_name)]
        for model in config.get_models():
            meta = model._meta
            names += [
                str(meta.verbose_name),
                str(meta.verbose_name_plural),
                *(str(name) for _, name in meta.permissions),
            ]
            names += [str(model(site=1))]
            fields = [field for field in meta.get_fields() if not field.primary_key]
            names += [str(field.verbose_name) for field in fields]
            names += [str(field.help_text) for field in fields if field.help_text]
            names += [str(label) for field in fields for _, label in field.choices or ()]
        history = admin.site.get_model_admin(Build)
        names += [str(label_for_field(name, Build, history)) for name in {*history.list_display, *history.fields}]

    assert [name for name in names if "⟦" not in name and not name.startswith("sitemap-")] == []


@needs_gettext
def test_the_reason_why_a_build_cannot_start_is_in_the_language_of_the_user(monkeypatch, bracketed):
    monkeypatch.setattr(local.sys, "prefix", "/nowhere")
    monkeypatch.setattr(local.sys, "executable", "")

    with translation.override("de"), pytest.raises(local.BuildNotStarted, match=r"^⟦In .* wurde kein Python"):
        local._python()
