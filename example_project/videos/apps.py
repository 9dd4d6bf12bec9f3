"""The videos: animated tours of countries."""

from django.apps import AppConfig


class VideosConfig(AppConfig):
    name = "videos"
