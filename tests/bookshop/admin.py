"""Only events are registered: rows of the other models have no link."""

from django.contrib import admin

from bookshop.models import Event

admin.site.register(Event)
