"""The pages of the atlas: the continents with their countries, one country with its places, one place."""

from django.core.paginator import Paginator
from django.db.models import Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from articles.models import Article
from atlas.models import Continent, Country, Place
from videos.models import Film

PLACES_A_PAGE = 200
NEWEST_SHOWN = 5


def home(request: HttpRequest) -> HttpResponse:
    """Show the countries by continent and the newest articles and films."""
    countries = Country.objects.annotate(places_count=Count("places")).order_by("name")
    context = {
        "continents": Continent.objects.prefetch_related(Prefetch("countries", countries)).order_by("code"),
        "articles": Article.objects.order_by("-published_at")[:NEWEST_SHOWN],
        "films": Film.objects.order_by("-published_at")[:NEWEST_SHOWN],
    }
    return render(request, "atlas/home.html", context)


def country(request: HttpRequest, code: str) -> HttpResponse:
    """Show a country and its places, the largest first."""
    found = get_object_or_404(Country.objects.select_related("continent"), pk=code)
    places = Paginator(found.places.order_by("-population", "pk"), PLACES_A_PAGE)
    context = {"country": found, "page": places.get_page(request.GET.get("page"))}
    return render(request, "atlas/country.html", context)


def place(request: HttpRequest, pk: int, slug: str) -> HttpResponse:
    """Show a place; a slug that is not its own leads to the address with the right one."""
    found = get_object_or_404(Place.objects.select_related("country"), pk=pk)
    if slug != found.slug:
        return redirect(found, permanent=True)
    return render(request, "atlas/place.html", {"place": found})
