"""Countries and places in the admin, where the status page of the sitemaps leads to."""

from django.contrib import admin

from atlas.models import Country, Place


@admin.register(Country)
class CountryAdmin(admin.ModelAdmin):
    """Countries, by name."""

    search_fields = ("code", "name")


@admin.register(Place)
class PlaceAdmin(admin.ModelAdmin):
    """Places; so many that they are searched, not counted."""

    search_fields = ("name", "slug")
    autocomplete_fields = ("country",)
    show_full_result_count = False
