"""The pages of the articles."""

from django.urls import path

from articles import views

urlpatterns = [path("<slug:slug>/", views.article, name="article")]
