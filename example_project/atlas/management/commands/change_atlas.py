"""Change a hundred places, as editors do in a day, and break one of them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import F
from django.utils import timezone

from atlas.models import Place

CHANGED = 100


class Command(BaseCommand):
    """Change the newest places; one loses its slug, and so its URLs."""

    help = f"Change the {CHANGED} places with the highest ids, and empty the slug of one of them."

    def handle(self, *args: Any, **options: Any) -> None:
        """Add a person to each place, empty one slug, and say which."""
        places = list(Place.objects.order_by("-pk")[:CHANGED])
        if not places:
            raise CommandError("There are no places: run load_atlas first.")
        # As an import that lost a value would write it: past the form, which requires a slug.
        broken = Place.objects.filter(pk=places[len(places) // 2].pk)
        changed = Place.objects.filter(pk__in=[place.pk for place in places])
        changed.update(population=F("population") + 1, updated_at=timezone.now())
        broken.update(slug="")
        self.stdout.write(
            f"Changed {len(places)} places. One of them, {broken.get()} ({broken.get().pk}), has no slug any more: "
            "no URL can be made of it."
        )
