"""Filters and tags of the status page: times as ages, addresses to read, titles of media, and query strings."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import npgettext_lazy

from sitemaps_plus.plan.validators import moment
from sitemaps_plus.watch.entries import Media
from sitemaps_plus.watch.readable import readable

register = template.Library()

_MINUTE = timedelta(minutes=1)

# Not Django's own strings: in many languages, "2 days" differs between "2 days ago" and "2 days".
_AGO: dict[str, Any] = {
    "year": npgettext_lazy("ago", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("ago", "%(num)d month", "%(num)d months", "num"),
    "week": npgettext_lazy("ago", "%(num)d week", "%(num)d weeks", "num"),
    "day": npgettext_lazy("ago", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("ago", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("ago", "%(num)d minute", "%(num)d minutes", "num"),
}


@register.filter
def ago(when: datetime | None) -> SafeString:
    """Return roughly how long ago something happened, with the exact time as a title; "-" if it is not known."""
    if when is None:
        return SafeString("-")
    when = moment(when)
    is_now = timezone.now() - when < _MINUTE
    text = _("just now") if is_now else _("%(age)s ago") % {"age": timesince(when, time_strings=_AGO, depth=1)}
    shown = formats.date_format(timezone.localtime(when), "DATETIME_FORMAT")
    return format_html('<time datetime="{}" title="{}">{}</time>', when.isoformat(), shown, text)


register.filter(readable)


@register.filter
def title_of(media: Media) -> str:
    """Return the title of an image, video or news; if it has none, its kind."""
    return media.title or {"image": _("image"), "video": _("video"), "news": _("news")}.get(media.name, media.name)


@register.simple_tag
def querystring_of(name: str, value: str) -> str:
    """Return a query string with one parameter."""
    return urlencode({name: value})
