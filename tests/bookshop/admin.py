"""The events alone: a row of the others leads nowhere."""

from django.contrib import admin

from bookshop.models import Event

admin.site.register(Event)
