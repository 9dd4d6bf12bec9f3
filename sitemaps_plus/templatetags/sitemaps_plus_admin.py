"""The times of the status page: how long ago, with the moment itself for those who want it."""

from datetime import datetime, timedelta

from django import template
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from sitemaps_plus.freshness import moment

register = template.Library()

_MINUTE = timedelta(minutes=1)


@register.filter
def ago(when: datetime | None) -> SafeString:
    """Return how long ago something was; "-" where that is not known."""
    if when is None:
        return SafeString("-")
    when = moment(when)
    is_now = timezone.now() - when < _MINUTE
    return _time(when, _("just now") if is_now else _("%(age)s ago") % {"age": timesince(when)})


@register.filter
def since(when: datetime) -> SafeString:
    """Return for how long something has been."""
    when = moment(when)
    return _time(when, _("for %(age)s") % {"age": timesince(when)})


@register.simple_tag
def querystring_of(name: str, value: str) -> str:
    """Return a query string of one name and value."""
    return urlencode({name: value})


def _time(when: datetime, text: str) -> SafeString:
    shown = formats.date_format(timezone.localtime(when), "DATETIME_FORMAT")
    return format_html('<time datetime="{}" title="{}">{}</time>', when.isoformat(), shown, text)
