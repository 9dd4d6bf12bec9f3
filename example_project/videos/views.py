"""The page of one film, and its player."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.clickjacking import xframe_options_exempt

from videos.models import Film
from videos.tours import tour_of


def video(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a film on its page."""
    film = get_object_or_404(Film.objects.select_related("country__continent"), slug=slug)
    return render(request, "videos/video.html", {"film": film})


# Other sites may show a player in a frame.
@xframe_options_exempt
def player(request: HttpRequest, slug: str) -> HttpResponse:
    """Show only the player of a film."""
    film = get_object_or_404(Film.objects.select_related("country"), slug=slug)
    return render(request, "videos/player.html", {"film": film, "tour": tour_of(film.country)})
