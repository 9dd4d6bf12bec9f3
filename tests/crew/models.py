"""Rows that cannot be read."""

from testapp.models import Product


class Heavy(Product):
    """A product; two of them do not fit into memory."""

    class Meta:
        proxy = True

    @classmethod
    def from_db(cls, db, field_names, values):
        heavy = super().from_db(db, field_names, values)
        if heavy.slug in ("product-15", "product-25"):
            raise MemoryError(f"no room for {heavy}")
        return heavy
