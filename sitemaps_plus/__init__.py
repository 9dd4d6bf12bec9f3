"""Sitemaps for Django sites of any size.

One pipeline, imports upward only::

    errors  conf                                   everywhere
    addresses  dates  text  codes  reports         plain Python: what an entry may be
    fields  declared  values  video  entries       plain Python: images, videos, news
    elements  video_element  extensions            plain Python: their XML
    languages  hooks  url_for                      what hooks give
    per_language  related  siblings  media  items  rows of other tables, other languages, media
    sitemaps  registry                             declare (no models)
    origin  keys  sections  models                 one section of one site; state; scheme and host
    plans  freshness  paging                       plan: which rows on which page, which pages changed
    writer  rendering  rows  objects               render: entries to bytes; the row path; the object path
    columns  patterns  blocks                      render: many rows at a time
    overrides  templated                           render: a template of the project in the writer's place
    pages                                          THE pipeline: (site, section, number) -> document
    stores/  build                                 keep and deliver files
    views  classic  urls  checks  management       deliver and watch
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
