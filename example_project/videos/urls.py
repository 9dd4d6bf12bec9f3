"""The pages of the videos, and the player on each of them."""

from django.urls import path

from videos import views

urlpatterns = [
    path("<slug:slug>/", views.video, name="video"),
    path("<slug:slug>/player/", views.player, name="video-player"),
]
