from modeltranslation.translator import TranslationOptions, register

from shop.models import Product


@register(Product)
class ProductTranslation(TranslationOptions):
    fields = ("name", "slug")
