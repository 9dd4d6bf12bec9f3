"""The pages of the atlas, below the prefix of a language."""

from django.urls import path, register_converter
from django.views.generic import TemplateView

from atlas import views
from atlas.converters import UnicodeSlugConverter

register_converter(UnicodeSlugConverter, "uslug")

urlpatterns = [
    path("", views.home, name="home"),
    path("about/", TemplateView.as_view(template_name="atlas/about.html"), name="about"),
    path("countries/<str:code>/", views.country, name="country"),
    path("places/<int:pk>-<uslug:slug>/", views.place, name="place"),
]
