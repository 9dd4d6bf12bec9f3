"""Path converters of the atlas."""

from django.urls.converters import StringConverter


class UnicodeSlugConverter(StringConverter):
    """A slug of the letters and digits of any script, as ``slugify(allow_unicode=True)`` makes it."""

    regex = r"[-\w]+"
