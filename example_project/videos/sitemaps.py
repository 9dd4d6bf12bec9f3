"""The sitemap of the videos."""

from django.db.models import F

from sitemaps_plus import ModelSitemap, UrlFor, Video, register
from sitemaps_plus.values import Uploader
from videos.models import Film


@register("videos")
class FilmSitemap(ModelSitemap):
    """The pages of the films, with all fields for video search."""

    queryset = Film.objects.all()
    location = UrlFor("video", slug=F("slug"))
    lastmod = F("published_at")
    videos = Video(
        thumbnail_loc=F("thumbnail"),
        title=F("title"),
        description=F("summary"),
        player_loc=UrlFor("video-player", slug=F("slug")),
        duration=F("duration"),
        publication_date=F("published_at"),
        tags=["tour", F("country__name"), F("country__continent__name_en")],
        family_friendly=True,
        requires_subscription=False,
        uploader=Uploader(name="The Atlas", info=UrlFor("about")),
    )
