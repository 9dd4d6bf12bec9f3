"""The articles: invented news about travelling."""

from django.apps import AppConfig


class ArticlesConfig(AppConfig):
    name = "articles"
