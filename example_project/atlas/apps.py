"""The atlas: countries and places of the world."""

from django.apps import AppConfig


class AtlasConfig(AppConfig):
    name = "atlas"
