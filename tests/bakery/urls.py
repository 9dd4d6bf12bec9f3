from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("", include("sitemaps_plus.urls")),
    path("breads/<slug:slug>/", lambda request, slug: HttpResponse(slug), name="bread-detail"),
    path("shops/<slug:slug>/", lambda request, slug: HttpResponse(slug), name="shop-detail"),
]
