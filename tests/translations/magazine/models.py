from django.db import models
from django.urls import reverse
from django.utils.translation import get_language
from parler.models import TranslatableModel, TranslatedFields


class Article(TranslatableModel):
    """Title and slug are in the table of translations."""

    film = models.URLField(blank=True)
    updated_at = models.DateTimeField(db_index=True)

    translations = TranslatedFields(
        title=models.CharField(max_length=100, blank=True),
        slug=models.SlugField(max_length=100, blank=True),
        is_ready=models.BooleanField(default=True),
    )

    def __str__(self):
        return f"article {self.pk}"

    def get_absolute_url(self):
        # An object keeps the language that it was loaded under: name the one that is active now.
        slug = self.safe_translation_getter("slug", language_code=get_language())
        return reverse("article", kwargs={"slug": slug})
