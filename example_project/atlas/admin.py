"""Countries and places in the admin; the status page of the sitemaps links to them."""

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from atlas.models import Country, Place


@admin.register(Country)
class CountryAdmin(admin.ModelAdmin):
    """Countries, by name."""

    search_fields = ("code", "name")


@admin.register(Place)
class PlaceAdmin(admin.ModelAdmin):
    """Places; there are so many that they are searched and not counted."""

    search_fields = ("name", "slug")
    autocomplete_fields = ("country",)
    show_full_result_count = False
    exclude = ("updated_at",)

    def save_model(self, request: HttpRequest, obj: Place, form: ModelForm, change: bool) -> None:
        """Save a place with the time of the change, by which the next build finds it."""
        obj.updated_at = timezone.now()
        super().save_model(request, obj, form, change)
