"""The pages of the videos, and the player that stands inside of each."""

from django.urls import path

from videos import views

urlpatterns = [
    path("<slug:slug>/", views.video, name="video"),
    path("<slug:slug>/player/", views.player, name="video-player"),
]
