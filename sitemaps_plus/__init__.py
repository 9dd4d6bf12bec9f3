"""Sitemaps for Django sites of any size.

One pipeline, imports upward only::

    errors  conf                                   everywhere
    addresses  dates  text  codes  reports         plain Python: what an entry may be
    fields  declared  values  video  entries       plain Python: images, videos, news
    elements  video_element  extensions            plain Python: their XML
    hooks  url_for  media  items                   what hooks give
    sitemaps  registry                             declare (no models)
    origin  keys  sections  models                 one section of one site; state; scheme and host
    plans  freshness  paging                       plan: which rows on which page, which pages changed
    writer  rendering  rows  objects               render: entries to bytes; the row path; the object path
    pages                                          THE pipeline: (site, section, number) -> document
    stores/  build                                 keep and deliver files
    views  classic  urls  checks  management       deliver and watch
"""

from sitemaps_plus.registry import register, registry
from sitemaps_plus.sitemaps import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap
from sitemaps_plus.url_for import UrlFor
from sitemaps_plus.values import Alternate, Image, News
from sitemaps_plus.video import Video

__version__ = "0.1.0"

__all__ = [
    "Alternate",
    "GenericSitemap",
    "Image",
    "ModelSitemap",
    "News",
    "NewsSitemap",
    "Sitemap",
    "UrlFor",
    "Video",
    "register",
    "registry",
]
