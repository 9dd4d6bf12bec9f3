"""Sitemaps for Django sites of any size.

The rooms, from the ground up; imports only go down::

    protocol    the sitemap format in plain Python: rules for entries, and the XML writer
    values      images, videos, news and links in plain Python: fields, rules and XML
    stores      finished documents: packed, in a cache, as files; what is published
    declare     the classes of a sitemaps.py, read once into hooks
    plan        one section of one site, divided into pages; which pages changed
    render      the rows of one page, turned into bytes; render.bulk: many rows at a time
    validation  checks of finished documents, as a crawler would make them
    serve       answers to requests, mostly without a query
    build       builds: which pages are due, who renders them, how they are published
    watch       status, problems and the search for a URL, for people and monitors

Django finds the others by name: admin, checks, management, templatetags, migrations, templates, static, locale.
"""

from sitemaps_plus.declare.per_language import PerLanguage
from sitemaps_plus.declare.registry import register, registry
from sitemaps_plus.declare.related import Related
from sitemaps_plus.declare.siblings import Siblings
from sitemaps_plus.declare.sitemaps import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap
from sitemaps_plus.declare.url_for import UrlFor
from sitemaps_plus.values.alternate import Alternate
from sitemaps_plus.values.image import Image
from sitemaps_plus.values.news import News
from sitemaps_plus.values.video import Video

__version__ = "0.1.0"

__all__ = [
    "Alternate",
    "GenericSitemap",
    "Image",
    "ModelSitemap",
    "News",
    "NewsSitemap",
    "PerLanguage",
    "Related",
    "Siblings",
    "Sitemap",
    "UrlFor",
    "Video",
    "register",
    "registry",
]
