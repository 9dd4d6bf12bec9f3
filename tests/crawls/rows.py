"""A section with small pages."""

from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from sitemaps_plus import ModelSitemap
from testapp.models import Product


class Rows(ModelSitemap):
    queryset = Product.objects.all()
    location = Concat(Value("/"), F("slug"), Value("/"), output_field=CharField())
    lastmod = F("updated_at")
    limit = 20
